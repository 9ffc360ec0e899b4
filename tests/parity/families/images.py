"""Convolutions, pooling and resampling of small whole numbers: sums are exact in any order.

Not drawn: integers, for some of which torch has no kernels; images that torch refuses for the order of their axes;
windows of avg_pool3d that are larger than the input without its padding, which torch alone refuses; transposed
convolutions with nothing in them, which torch refuses for some dtypes; convolutions of bf16, where torch gives NaN
for some strides and forgets the bias of transposed ones, and groups with other strides than row-major ones, which it
gets wrong; gradients of max_pool2d for a window that sees nothing, which torch writes out of bounds and we refuse,
and its index; adaptive_avg_pool3d of bf16, which torch adds in bf16; bicubic at positions that are not multiples of 1/8,
because its weights cancel: torch itself is ten roundings off there. Not compared: strides of results, which are
channels-last here where the input is."""
import torch

from families.pointwise import operand
from families.reductions import words_of
from program import NoAnswer, Num, OPS

aten = torch.ops.aten


def plain(value):
    return value.value if isinstance(value, Num) else value


def called(f):
    def call(*args):
        try:
            return f(*(plain(value) for value in args))
        except RuntimeError as error:
            if any(text in str(error) for text in ("memory format", "smaller than kernel size", "not implemented for")):
                raise NoAnswer from error
            raise
    return call


def backward(grad, x, w, bias, stride, padding, dilation, transposed, more, groups):
    return aten.convolution_backward(grad, x, w, bias, stride, padding, dilation, transposed, more, groups,
                                     [True, True, True])


OPS.update({name: called(call) for name, call in {
    "conv1d": torch.conv1d, "conv2d": torch.conv2d, "conv3d": torch.conv3d,
    "conv_transpose1d": torch.conv_transpose1d, "conv_transpose2d": torch.conv_transpose2d,
    "conv_transpose3d": torch.conv_transpose3d, "convolution": torch.convolution, "convolution_backward": backward,
    "max_pool1d": torch.max_pool1d, "max_pool2d": torch.max_pool2d, "max_pool3d": torch.max_pool3d,
    "max_pool2d_with_indices": aten.max_pool2d_with_indices, "max_pool3d_with_indices": aten.max_pool3d_with_indices,
    "max_pool2d_with_indices_backward": aten.max_pool2d_with_indices_backward,
    "avg_pool1d": aten.avg_pool1d, "avg_pool2d": aten.avg_pool2d, "avg_pool3d": aten.avg_pool3d,
    "avg_pool2d_backward": aten.avg_pool2d_backward,
    "adaptive_avg_pool1d": aten.adaptive_avg_pool1d, "adaptive_avg_pool2d": aten.adaptive_avg_pool2d,
    "adaptive_avg_pool3d": aten.adaptive_avg_pool3d, "adaptive_max_pool2d": aten.adaptive_max_pool2d,
    "adaptive_avg_pool2d_backward": aten._adaptive_avg_pool2d_backward,
    "upsample_nearest2d": aten.upsample_nearest2d, "upsample_bilinear2d": aten.upsample_bilinear2d,
    "upsample_bicubic2d": aten.upsample_bicubic2d,
}.items()})


def tensor(program, rng, dtype, sizes, values=(-2, -1, 1, 1, 2, 3), layouts=("dense", "permuted", "gaps")):
    return operand(program, rng, dtype, sizes, words_of(rng, dtype, list(values)), layouts=layouts)[1]


def expect(program, ref, kind="near"):
    if program.error:
        return
    result = program.value(ref)
    if isinstance(result, torch.Tensor):
        program.expect_tensor(program.do("contiguous", ref), kind, visible_strides=True)
        return
    for i in range(len(result)):
        piece = program.do("contiguous", program.do("pick", ref, i))
        exact = result[i].dtype == torch.int64
        program.expect_tensor(piece, "tensor" if exact else kind, visible_strides=True)


def numbers(rng, axes, choices, full=False):
    if not full and rng.random() < 0.3:
        return [rng.choice(choices)]
    return [rng.choice(choices) for _ in range(axes)]


def convolution(program, rng, axes, transposed):
    dtype = rng.choice(("f32", "f32", "f64"))
    groups, channels, out = rng.choice((1, 1, 1, 2, 3)), rng.choice((1, 2, 3, 5)), rng.choice((1, 2, 3, 4))
    size = [rng.choice((1, 2, 3, 5, 6, 7)) for _ in range(axes)]
    kernel = [rng.choice((1, 1, 2, 3, 4)) for _ in range(axes)]
    batch = rng.choice(([], [1], [2], [3], [0] if rng.random() < 0.3 else [2]))
    weight = [groups * channels, out, *kernel] if transposed else [groups * out, channels, *kernel]
    spoiled = rng.random()
    if spoiled < 0.03:
        weight[1] += 1
    if 0.03 < spoiled < 0.05:
        weight.append(1)
    layouts = ("dense",) if groups > 1 else ("dense", "permuted", "gaps")
    x = tensor(program, rng, dtype, [*batch, groups * channels, *size], layouts=layouts)
    w = tensor(program, rng, dtype, weight, layouts=layouts)
    bias = tensor(program, rng, dtype, [groups * out + (rng.random() < 0.02)]) if rng.random() < 0.5 else None
    stride, padding = numbers(rng, axes, (1, 1, 2, 3)), numbers(rng, axes, (0, 0, 1, 2))
    dilation = numbers(rng, axes, (1, 1, 2))
    name = f"conv_transpose{axes}d" if transposed else f"conv{axes}d"
    if transposed:
        more = numbers(rng, axes, (0, 0, 0, 1))
        result = program.do(name, x, w, bias, stride, padding, more, groups, dilation)
        if program.error is None and 0 in (*batch, *program.value(result).shape[-axes:]):
            raise NoAnswer
        return result
    return program.do(name, x, w, bias, stride, padding, dilation, groups)


def convolution_backward(program, rng):
    axes, transposed = rng.choice((1, 2, 2, 3)), rng.random() < 0.4
    dtype = rng.choice(("f32", "f64"))
    groups, channels, out = rng.choice((1, 1, 2, 3)), rng.choice((1, 2, 3)), rng.choice((1, 2, 3))
    size = [rng.choice((3, 4, 5, 6)) for _ in range(axes)]
    kernel = [rng.choice((1, 2, 3)) for _ in range(axes)]
    stride, padding, dilation = [numbers(rng, axes, c, full=True) for c in ((1, 2, 3), (0, 0, 1), (1, 1, 2))]
    more = [rng.randrange(max(s, d)) if transposed else 0 for s, d in zip(stride, dilation)]
    weight = [groups * channels, out, *kernel] if transposed else [groups * out, channels, *kernel]
    x = tensor(program, rng, dtype, [rng.choice((1, 2, 3)), groups * channels, *size])
    w = tensor(program, rng, dtype, weight)
    args = [stride, padding, dilation, Num(transposed), more, groups]
    forward = program.do("convolution", x, w, None, *args)
    if program.error:
        return forward
    grad = tensor(program, rng, dtype, list(program.value(forward).shape))
    return program.do("convolution_backward", grad, x, w, [groups * out], *args)


def pool(program, rng, name):
    axes = int(name[name.index("pool") + 4])
    dtype = rng.choice(("f32", "f32", "f64", "f32" if name == "adaptive_avg_pool3d" else "bf16"))
    size = [rng.choice((1, 2, 3, 5, 8, 11)) for _ in range(axes)]
    lead = rng.choice(([2], [1, 3], [2, 1], [2, 9]))
    x = tensor(program, rng, dtype, [*lead, *size], (-2, -1, 1, 1, 2, 3, 5, -7))
    if name.startswith("adaptive") and "backward" not in name:
        return program.do(name, x, [rng.choice((1, 1, 2, 3, 7)) for _ in range(axes)])
    if name == "adaptive_avg_pool2d_backward":
        return program.do(name, tensor(program, rng, dtype, [*lead, rng.choice((1, 2, 4)), rng.choice((1, 2, 3))]), x)
    kernel = numbers(rng, axes, (1, 2, 2, 3, 3, 5), full=True)
    stride = [] if rng.random() < 0.3 else numbers(rng, axes, (1, 2, 3))
    padding = [rng.choice((0, k // 2)) if rng.random() > 0.02 else k for k in kernel]
    ceil = Num(rng.random() < 0.4)
    if name.startswith("max"):
        args = [kernel, stride, padding, numbers(rng, axes, (1, 1, 2)), ceil]
        if not name.endswith("backward"):
            result = program.do(name, x, *args)
            if program.error is None and len(program.value(result)) == 2 and program.value(result)[0].isinf().any():
                raise NoAnswer
            return result
        both = program.do("max_pool2d_with_indices", x, *args)
        if program.error:
            return both
        values, indices = program.value(both)
        if indices.numel() and int(indices.max()) >= size[0] * size[1]:
            raise NoAnswer
        grad = tensor(program, rng, dtype, list(values.shape))
        return program.do(name, grad, x, *args, program.do("pick", both, 1))
    args = [kernel, stride, padding, ceil, Num(rng.random() < 0.5)]
    if axes > 1 and rng.random() < 0.3:
        args.append(rng.choice((1, 2, 5)))
    if not name.endswith("backward"):
        return program.do(name, x, *args)
    forward = program.do("avg_pool2d", x, *args)
    if program.error:
        return forward
    args += [None] * (6 - len(args))
    return program.do(name, tensor(program, rng, dtype, list(program.value(forward).shape)), x, *args)


def upsample(program, rng, name):
    dtype = rng.choice(("f32", "f64"))
    size = [rng.choice((1, 2, 3, 5, 8)) for _ in range(2)]
    x = tensor(program, rng, dtype, [rng.choice((1, 2)), rng.choice((1, 2, 9)), *size])
    out = [rng.choice((1, 2, 3, 4, 7, 10, 16)) for _ in range(2)]
    align = [] if "nearest" in name else [Num(rng.random() < 0.5)]
    if "bicubic" in name:
        out = [2 * n - 1 if align[0].value else rng.choice((n, 2 * n, 4 * n)) for n in size]
        return program.do(name, x, out, *align, None, None)
    scales = [Num(rng.choice((0.5, 1.5, 2.0))), Num(rng.choice((0.7, 2.0, 3.0)))] if rng.random() < 0.3 else [None, None]
    return program.do(name, x, out, *align, *scales)


POOLS = ("max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices",
         "max_pool2d_with_indices_backward", "avg_pool1d", "avg_pool2d", "avg_pool3d", "avg_pool2d_backward",
         "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool2d",
         "adaptive_avg_pool2d_backward")
UPSAMPLES = ("upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d")
BUILDERS = ([lambda p, r, a=a, t=t: convolution(p, r, a, t) for a in (1, 2, 2, 3) for t in (False, True)] +
          [convolution_backward] * 3 + [lambda p, r, n=n: pool(p, r, n) for n in POOLS] +
          [lambda p, r, n=n: upsample(p, r, n) for n in UPSAMPLES])


def numbered_case(program, rng, number):
    expect(program, BUILDERS[number % len(BUILDERS)](program, rng))
