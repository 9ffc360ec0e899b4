"""Rules: how a node of PyTorch becomes calls of Pellucid's ops. `RULES` has one for each overload that is lowered.

Overloads whose arguments match ours by name or position are in the tables at the top and go through `by_schema`. The others have
a short function. A rule raises Unsupported, with the reason, for a form that cannot be lowered.
"""
from __future__ import annotations

import functools
import math

import torch
from torch import fx

from . import _inner_api
from ._lowering import Unsupported, arguments_of, aten, bound_arguments, value_of, with_defaults

prims = torch.ops.prims
RULES = {}
# Rules by the name of a schema, for ops of other packages, which may be registered later.
NAMED_RULES = {}


def find_rule(target):
    """Returns the rule of an op, or None."""
    found = RULES.get(target)
    if found is None and NAMED_RULES:
        schema = getattr(target, "_schema", None)
        found = NAMED_RULES.get(schema.name) if schema is not None else None
    return found


# ---- Tables

# Ops with the same name and the same arguments. All functional overloads are taken.
SAME = """
abs acos acosh add addcdiv addcmul addmm amax amin aminmax argmax argmin asin asinh atan atan2 atanh baddbmm bitwise_and
bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm cat ceil celu clamp clamp_max clamp_min
constant_pad_nd convolution copysign cos cosh cummax cummin cumprod cumsum deg2rad diagonal div dot elu eq erf erfc erfinv exp
exp2 expm1 flip floor floor_divide fmax fmin fmod frac gather ge gelu gelu_backward gt hardshrink hardsigmoid
hardswish hardtanh heaviside hypot index_select isfinite isinf isnan isneginf isposinf kthvalue ldexp le leaky_relu lerp log
log10 log1p log2 logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logsumexp lt
masked_scatter max_pool2d_with_indices max_pool3d_with_indices maximum mean minimum mish mm mul mv nan_to_num
ne neg nextafter permute pow rad2deg reciprocal relu relu6 remainder repeat roll round rsqrt rsub searchsorted select
select_scatter selu sgn sigmoid sign signbit silu silu_backward sin sinc sinh slice slice_scatter softplus softshrink sort split
split_with_sizes sqrt square stack std sub sum t tan tanh threshold topk transpose tril triu trunc unbind unsqueeze
upsample_bicubic2d upsample_bilinear2d upsample_nearest2d var var_mean where xlogy avg_pool2d avg_pool3d adaptive_max_pool2d
_cdist_forward _pdist_forward scatter_add scatter_reduce scatter outer count_nonzero prod median histc
_embedding_bag_backward _embedding_bag_dense_backward _embedding_bag_per_sample_weights_backward
""".split()
# Overloads under another name here.
RENAMED = {
    "_adaptive_avg_pool2d": "adaptive_avg_pool2d", "_adaptive_avg_pool3d": "adaptive_avg_pool3d",
    "_adaptive_avg_pool2d_backward": "adaptive_avg_pool2d_backward", "special_entr": "entr",
    "special_ndtr": "ndtr", "special_xlog1py": "xlog1py", "__and__": "bitwise_and", "__or__": "bitwise_or",
    "__xor__": "bitwise_xor", "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
    "threshold_backward": "threshold_backward",  # those of tanh and sigmoid are decomposed: min-cut then recomputes the result
}
# Overloads whose names hide another function, or whose size depends on data.
EXCLUDED = {"max.default", "max.other", "min.default", "min.other", "where.default", "median.dim"}


def is_traced(target):
    """Whether graphs can have an overload: those without tensors are TorchScript's, and implicit composites are decomposed."""
    types = [str(argument.type) for argument in target._schema.arguments]
    makes_tensor = any("Tensor" in str(result.type) for result in target._schema.returns)
    return makes_tensor and any("Tensor" in text for text in types) and not _inner_api.is_implicit_composite(target)


def overloads(name):
    """Returns the overloads of an op of ATen that neither write their arguments nor use named axes."""
    packet = getattr(aten, name, None)
    for overload in packet.overloads() if packet is not None else ():
        target = getattr(packet, overload)
        text = str(target._schema)
        if f"{name}.{overload}" not in EXCLUDED and "!" not in text and "Dimname" not in text and is_traced(target):
            yield target


def rule(*targets):
    """Registers a rule for overloads."""
    def register(function):
        for target in targets:
            RULES[target] = function
        return function
    return register


def aten_rule(*names):
    """As `rule`, for overloads by name: this version of PyTorch may not have all of them."""
    targets = []
    for name in names:
        packet, _, overload = name.partition(".")
        found = getattr(getattr(aten, packet, None), overload or "default", None)
        if found is not None:
            targets.append(found)
    return rule(*targets)


def add_tables():
    for name, op in {**{name: name for name in SAME}, **RENAMED}.items():
        if arguments_of(op) is not None:
            for target in overloads(name):
                RULES[target] = functools.partial(call_by_schema, op)


def call_by_schema(op, lowering, node):
    return lowering.by_schema(op, node)


add_tables()


def filled(lowering, size, value, dtype):
    """A tensor with one value, which may be a number, a size or a fraction of sizes."""
    given = value_of(value)
    if isinstance(given, torch.SymFloat):
        number = lowering.emit("to", self=lowering.as_f64(lowering.tensor(value)), dtype=dtype)
        return lowering.emit("expand", self=number, size=size)
    if isinstance(given, (bool, int, float)) and not isinstance(value, fx.Node):
        if dtype == torch.bool:
            value = bool(given)
        elif dtype.is_floating_point:
            value = float(given)
        elif isinstance(given, float):
            value = int(given)
    return lowering.emit("full", size=size, fill_value=value, dtype=dtype)


def one(node):
    """The traced value of a node with one result."""
    return node.meta["val"]


# ---- Views and copies


@aten_rule("view", "_unsafe_view", "_reshape_alias")
def view(lowering, node):
    # Graphs are functional, and our strides may differ from PyTorch's between ops: a view may need a copy here.
    return lowering.emit("reshape", self=node.args[0], shape=list(one(node).shape))


@aten_rule("expand")
def expand(lowering, node):
    return lowering.emit("expand", self=node.args[0], size=list(one(node).shape))


@aten_rule("alias", "detach")
def alias(lowering, node):
    return lowering.tensor(node.args[0])


@aten_rule("squeeze", "squeeze.dim", "squeeze.dims")
def squeeze(lowering, node):
    # By the traced sizes: an axis of a symbolic size is not an axis of size 1.
    return lowering.emit("reshape", self=node.args[0], shape=list(one(node).shape))


@aten_rule("as_strided")
def as_strided(lowering, node):
    bound = with_defaults(node)
    source = value_of(node.args[0])
    base = lowering.tensor(node.args[0])
    if base[0] != "input":  # the strides of a computed value are ours: as_strided means PyTorch's
        if not source.is_contiguous():
            raise Unsupported("as_strided of a computed value that is not contiguous")
        base = lowering.emit("contiguous", self=base)
    offset = bound["storage_offset"]
    start = 0 if offset is None else lowering.size(offset)
    if source.storage_offset() != 0:
        start = ("-", start, lowering.size(source.storage_offset())) if offset is not None else 0
    return lowering.emit("as_strided", self=base, size=bound["size"], stride=bound["stride"], storage_offset=("size", start))


def copied(lowering, node, x):
    row_major = node.kwargs.get("memory_format") == torch.contiguous_format
    return lowering.emit("clone", self=x, row_major=row_major)


@aten_rule("clone", "lift_fresh_copy", "lift_fresh")
def clone(lowering, node):
    return copied(lowering, node, node.args[0])


@rule(aten._to_copy.default, prims.convert_element_type.default)
def to_copy(lowering, node):
    if one(node).dtype == value_of(node.args[0]).dtype:
        return copied(lowering, node, node.args[0])
    return lowering.emit("to_copy", self=node.args[0], dtype=one(node).dtype)


@aten_rule("copy_")
def copy_(lowering, node):
    target = lowering.tensor(node.args[0])
    if target[0] != "input":
        raise Unsupported("copy_ writes a value that is not an input")
    lowering.written_inputs.add(target[1])
    return lowering.emit("copy_", self=target, src=node.args[1])


@aten_rule("copy")
def copy(lowering, node):
    wide = lowering.emit("expand", self=node.args[1], size=list(one(node).shape))
    return lowering.emit("to_copy", self=wide, dtype=one(node).dtype)


# ---- Tensors from sizes and numbers


@aten_rule("full", "scalar_tensor", "full_like", "new_full", "fill.Scalar")
def full(lowering, node):
    bound = bound_arguments(node)
    value = bound.get("fill_value", bound.get("value", bound.get("s")))
    return filled(lowering, list(one(node).shape), value, one(node).dtype)


@aten_rule("zeros", "zeros_like", "new_zeros")
def zeros(lowering, node):
    return filled(lowering, list(one(node).shape), 0, one(node).dtype)


@aten_rule("ones", "ones_like", "new_ones")
def ones(lowering, node):
    return filled(lowering, list(one(node).shape), 1, one(node).dtype)


@aten_rule("empty.memory_format", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted")
def empty(lowering, node):
    if any(stride == 0 and size > 1 for size, stride in zip(one(node).shape, one(node).stride())):
        raise Unsupported("an empty tensor whose elements overlap")
    return lowering.emit("empty", size=list(one(node).shape), dtype=one(node).dtype)


@aten_rule("fill.Tensor")
def fill_with_tensor(lowering, node):
    value = lowering.emit("to", self=node.args[1], dtype=one(node).dtype)
    return lowering.emit("clone", self=lowering.emit("expand", self=value, size=list(one(node).shape)), row_major=True)


@aten_rule("arange", "arange.start", "arange.start_step")
def arange(lowering, node):
    bound = bound_arguments(node)
    return lowering.emit("arange", start=bound.get("start", 0), end=bound["end"], step=bound.get("step", 1),
                         dtype=one(node).dtype)


@aten_rule("eye", "eye.m")
def eye(lowering, node):
    rows, columns = one(node).shape
    return lowering.emit("eye", n=rows, m=columns, dtype=one(node).dtype)


@aten_rule("linspace")
def linspace(lowering, node):
    if not one(node).dtype.is_floating_point:
        raise Unsupported("linspace of integers rounds in another way in PyTorch")
    return lowering.emit("linspace", start=node.args[0], end=node.args[1], steps=node.args[2], dtype=one(node).dtype)


# ---- Elementwise ops


@aten_rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(lowering, node):
    source, mask, value = node.args
    if not isinstance(value_of(value), torch.Tensor):
        return lowering.emit("masked_fill", self=source, mask=mask, value=value)
    return lowering.emit("where", condition=mask, self=lowering.emit("to", self=value, dtype=one(node).dtype), other=source)


@aten_rule("div.Tensor_mode", "div.Scalar_mode")
def div(lowering, node):
    # PyTorch rounds a quotient of float16 or bfloat16 before it truncates it.
    if node.kwargs.get("rounding_mode") == "trunc" and one(node).dtype in (torch.float16, torch.bfloat16):
        return lowering.emit("trunc", self=lowering.emit("div", self=node.args[0], other=node.args[1]))
    return lowering.by_schema("div", node)


@aten_rule("true_divide.Tensor")  # passes of PyTorch that run after tracing add it
def true_divide(lowering, node):
    return lowering.by_schema("div", node)


@aten_rule("logit")
def logit(lowering, node):
    eps = with_defaults(node)["eps"]
    if eps is not None and eps > 0.5:
        raise Unsupported("logit with eps above 0.5, where the bounds cross")
    return lowering.by_schema("logit", node)


@aten_rule("log_sigmoid_forward")
def log_sigmoid(lowering, node):
    return [lowering.emit("log_sigmoid", self=node.args[0]), ("missing",)]


@aten_rule("max.other")
def max_other(lowering, node):
    return lowering.by_schema("maximum", node)


@aten_rule("min.other")
def min_other(lowering, node):
    return lowering.by_schema("minimum", node)


# ---- Reductions


@aten_rule("max")
def max_all(lowering, node):
    return lowering.emit("amax", self=node.args[0])


@aten_rule("min")
def min_all(lowering, node):
    return lowering.emit("amin", self=node.args[0])


@aten_rule("max.dim", "min.dim", "median.dim")
def extreme_of_axis(lowering, node):
    op = {"aten::max": "max", "aten::min": "min", "aten::median": "median_dim"}[node.target._schema.name]
    return lowering.by_schema(op, node)


@aten_rule("any", "any.dim", "any.dims", "all", "all.dim", "all.dims")
def any_or_all(lowering, node):
    bound = bound_arguments(node)
    if list(bound["dim"] if isinstance(bound.get("dim"), (list, tuple)) else [0]) == []:
        raise Unsupported("a reduction over an empty list of axes")
    if one(node).dtype != torch.bool:
        raise Unsupported("any and all of uint8 have another dtype in PyTorch")
    return lowering.by_schema("any" if node.target._schema.name == "aten::any" else "all", node)


@aten_rule("_softmax", "_log_softmax")
def softmax(lowering, node):
    op = "softmax" if node.target is aten._softmax.default else "log_softmax"
    dtype = torch.float32 if node.args[2] else None
    return lowering.emit(op, self=node.args[0], dim=node.args[1], dtype=dtype)


@aten_rule("_safe_softmax")
def safe_softmax(lowering, node):
    return lowering.by_schema("safe_softmax", node)


@aten_rule("_softmax_backward_data", "_log_softmax_backward_data")
def softmax_backward(lowering, node):
    grad, result, axis, dtype = node.args
    op = "softmax_backward" if node.target is aten._softmax_backward_data.default else "log_softmax_backward"
    gradient = lowering.emit(op, grad=grad, result=result, dim=axis)
    if dtype != value_of(grad).dtype:
        gradient = lowering.emit("to_copy", self=gradient, dtype=dtype)
    return gradient


# ---- Norms


def items_of(result, count):
    return [("value", result[1], i) for i in range(count)]


def with_statistics(lowering, node, result):
    """Mean and reciprocal deviation of float16 and bfloat16 are float32 here; PyTorch may have the dtype of the input."""
    values = one(node)
    if all(value is None or value.dtype in (torch.float32, torch.float64) for value in values[1:]):
        return result
    first, *rest = items_of(result, len(values))
    return [first, *(lowering.emit("to", self=item, dtype=value.dtype) for item, value in zip(rest, values[1:]))]


@aten_rule("native_layer_norm")
def layer_norm(lowering, node):
    names = ("self", "normalized_shape", "weight", "bias", "eps")
    return with_statistics(lowering, node, lowering.emit("native_layer_norm", **dict(zip(names, node.args))))


@aten_rule("native_group_norm")
def group_norm(lowering, node):
    return with_statistics(lowering, node, lowering.by_schema("native_group_norm", node))


def norm_backward(lowering, node, op, names):
    """Parameters may have another dtype than the input, as with autocast: then all is computed in theirs, and the input's gradient rounded."""
    arguments, values = dict(zip(names, node.args)), one(node)
    own = value_of(arguments["self"]).dtype
    wide = next((value.dtype for value in values[1:] if value is not None), own)
    if wide == own:
        return lowering.emit(op, **arguments)
    for name in ("grad", "self"):
        arguments[name] = lowering.emit("to_copy", self=arguments[name], dtype=wide)
    first, *rest = items_of(lowering.emit(op, **arguments), len(values))
    return [lowering.emit("to_copy", self=first, dtype=own), *rest]


@aten_rule("native_layer_norm_backward")
def layer_norm_backward(lowering, node):
    names = ("grad", "self", "normalized_shape", "mean", "rstd", "weight")
    return norm_backward(lowering, node, "native_layer_norm_backward", names)


@aten_rule("native_group_norm_backward")
def group_norm_backward(lowering, node):
    names = ("grad", "self", "mean", "rstd", "weight", "N", "C", "HxW", "group")
    return norm_backward(lowering, node, "native_group_norm_backward", names)


@aten_rule("_native_batch_norm_legit_no_training")
def batch_norm_inference(lowering, node):
    return with_statistics(lowering, node, lowering.by_schema("_native_batch_norm_legit_no_training", node))


# ---- Matmuls, convolutions, attention


@aten_rule("convolution_backward")
def convolution_backward(lowering, node):
    bound = with_defaults(node)
    wanted = bound.pop("output_mask")
    bound["output_mask"] = [int(w) for w in wanted]
    return lowering.emit("convolution_backward", **bound)


FILLS = {aten.full.default: 1, aten.full_like.default: 1, aten.new_full.default: 2}  # target -> position of the number
ZEROS = {aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default}


def fill_of(node):
    """The number that all elements of a tensor are filled with, or None."""
    if not isinstance(node, fx.Node) or node.target not in FILLS:
        return 0 if isinstance(node, fx.Node) and node.target in ZEROS else None
    number = node.args[FILLS[node.target]]
    return number if isinstance(number, (int, float)) else None


@aten_rule("scatter.value")
def scatter_number(lowering, node):
    """One index in each row of a tensor of equal numbers, as in the gradient of nll_loss, is a comparison: compile fuses it."""
    source, dim, index, value = node.args[:4]
    fill = fill_of(source)
    sizes, picked = list(one(node).shape), list(one(index).shape)
    numbers = fill is not None and isinstance(value, (int, float)) and one(node).dtype.is_floating_point
    if not numbers or not sizes or len(picked) != len(sizes):
        return lowering.by_schema("scatter", node)
    dim %= len(sizes)
    others = [axis for axis in range(len(sizes)) if axis != dim]
    is_one = isinstance(picked[dim], int) and picked[dim] == 1
    if not is_one or any(lowering.size(sizes[axis]) != lowering.size(picked[axis]) for axis in others):
        return lowering.by_schema("scatter", node)
    positions = lowering.emit("arange", start=0, end=sizes[dim], step=1, dtype=torch.int64)
    shape = [sizes[dim] if axis == dim else 1 for axis in range(len(sizes))]
    positions = lowering.emit("reshape", self=positions, shape=shape)
    is_picked = lowering.emit("eq", self=positions, other=index)
    result = lowering.emit("where", condition=is_picked, self=float(value), other=float(fill))
    return result if one(node).dtype == torch.float32 else lowering.emit("to", self=result, dtype=one(node).dtype)


def constant_of(node):
    """The number that a tensor without axes is filled with, or None."""
    if isinstance(node, fx.Node) and node.target in (aten.full.default, aten.scalar_tensor.default):
        value = node.args[1] if node.target is aten.full.default else node.args[0]
        return value if isinstance(value, (int, float)) and value_of(node).dim() == 0 else None
    return node if isinstance(node, (int, float)) else None


VIEWS_OF_MASKS = {aten.expand.default: "expand", aten.view.default: "reshape", aten.unsqueeze.default: "reshape"}


def bool_mask(lowering, mask):
    """Returns the bool mask of which PyTorch has made where(mask, 0, -inf), or None."""
    if not isinstance(mask, fx.Node):
        return None
    if mask.target is aten.where.self:
        condition, yes, no = mask.args
        is_bool = isinstance(value_of(condition), torch.Tensor) and value_of(condition).dtype == torch.bool
        if is_bool and constant_of(yes) == 0 and constant_of(no) == -math.inf:
            return lowering.tensor(condition)
    if mask.target in VIEWS_OF_MASKS:
        inner = bool_mask(lowering, mask.args[0])
        if inner is not None:
            op = VIEWS_OF_MASKS[mask.target]
            return lowering.emit(op, self=inner, **{"size" if op == "expand" else "shape": list(one(mask).shape)})
    return None


def attention_arguments(lowering, node):
    bound = with_defaults(node)
    if bound.pop("dropout_p", 0.0):
        raise Unsupported("attention with dropout")
    bound.pop("return_debug_mask", None)
    mask = bound["attn_mask"]
    bound["attn_mask"] = bool_mask(lowering, mask) or mask
    return bound


@aten_rule("_scaled_dot_product_flash_attention_for_cpu")
def attention(lowering, node):
    result = lowering.emit("attention", **attention_arguments(lowering, node))
    # Sizes are (batch, heads, queries, ...). PyTorch's result has the layout of the query, and logsumexp the heads last.
    lowering.axis_orders[("value", result[1], 0)] = (0, 2, 1, 3)
    lowering.axis_orders[("value", result[1], 1)] = (0, 1, 2)
    return result


@aten_rule("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(lowering, node):
    bound = attention_arguments(lowering, node)
    return lowering.emit("attention_backward", grad=bound.pop("grad_out"), result=bound.pop("out"), **bound)


@aten_rule("_grouped_mm")
def grouped_mm(lowering, node):
    given = list(node.args) + [node.kwargs.get("offs")] * (len(node.args) < 3)
    rows, matrices, offsets = given[:3]
    if len(given) > 3 or node.kwargs.keys() - {"offs"}:
        raise Unsupported("grouped_mm with a bias or an output dtype")
    return lowering.emit("grouped_mm", self=rows, mat2=matrices, offs=offsets)


NAMED_RULES["transformers::grouped_mm_fallback"] = grouped_mm


def fused_multiply_add(lowering, node):
    a, b, c = node.args
    if isinstance(value_of(b), torch.Tensor):
        return lowering.emit("addcmul", self=c, tensor1=a, tensor2=b)
    return lowering.emit("add", self=c, other=a, alpha=b)


# What Dynamo makes of addcmul_ and addcdiv_, as in Adam. PyTorch registers it late.
NAMED_RULES["prims::fma"] = fused_multiply_add


# ---- Indexing


def index_arguments(node):
    """Returns the index tensors and their axes."""
    indices = node.args[1]
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    return [indices[axis] for axis in axes], axes


def is_mask(index):
    return value_of(index).dtype in (torch.bool, torch.uint8)


@aten_rule("index.Tensor", "_unsafe_index.Tensor")
def index(lowering, node):
    indices, axes = index_arguments(node)
    if any(map(is_mask, indices)):
        raise Unsupported("the size of an index with a mask depends on the mask's values")
    return lowering.emit("index", self=node.args[0], indices=indices, dim=axes)


@aten_rule("index_put", "_unsafe_index_put")
def index_put(lowering, node):
    source, _, values, *accumulate = node.args
    indices, axes = index_arguments(node)
    if any(map(is_mask, indices)):
        return masked_put(lowering, node, source, indices, axes, values, bool(accumulate and accumulate[0]))
    return lowering.emit("index_put", self=source, indices=indices, values=values, accumulate=bool(accumulate and accumulate[0]),
                         dim=axes)


def masked_put(lowering, node, source, indices, axes, values, accumulate):
    """x[mask] = value for a value with one element."""
    value, mask = value_of(values), value_of(indices[0])
    if len(indices) != 1 or axes != [0] or accumulate or mask.dtype != torch.bool or value.numel() != 1:
        raise Unsupported("index_put with a mask, and values that are not a single one")
    sizes = list(mask.shape) + [1] * (one(node).dim() - mask.dim())
    mask = lowering.emit("reshape", self=indices[0], shape=sizes)
    value = lowering.emit("reshape", self=lowering.emit("to", self=values, dtype=one(node).dtype), shape=[])
    return lowering.emit("where", condition=mask, self=value, other=source)


@aten_rule("embedding")
def embedding(lowering, node):
    return lowering.emit("embedding", weight=node.args[0], indices=node.args[1])


@aten_rule("embedding_dense_backward")
def embedding_backward(lowering, node):
    names = ("grad", "indices", "num_weights", "padding_idx", "scale_grad_by_freq")
    return lowering.emit("embedding_dense_backward", **dict(zip(names, node.args)))


@aten_rule("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(lowering, node):
    return lowering.by_schema("_embedding_bag", node)


@aten_rule("grid_sampler_2d")
def grid_sampler(lowering, node):
    if one(node).dtype in (torch.float16, torch.bfloat16):
        raise Unsupported("grid_sampler_2d rounds positions to the dtype of the grid, which PyTorch does not")
    return lowering.by_schema("grid_sampler_2d", node)


# ---- Pooling


@aten_rule("avg_pool2d_backward", "max_pool2d_with_indices_backward")
def pool_backward(lowering, node):
    bound = with_defaults(node)
    bound["stride"] = bound["stride"] or bound["kernel_size"]
    return lowering.emit(node.target._schema.name.removeprefix("aten::"), **bound)


# ---- Random numbers: of Pellucid's generator, seeded in each call


def draw(lowering, node):
    if node.kwargs.get("generator") is not None:
        raise Unsupported("a random op with a generator of its own")
    lowering.draw()


@aten_rule("native_dropout")
def dropout(lowering, node):
    source, p, train = node.args
    draw(lowering, node)
    return lowering.emit("native_dropout", input=source, p=p, train=train is not False)


@aten_rule("rand", "rand_like")
def rand(lowering, node):
    draw(lowering, node)
    return lowering.emit("rand", size=list(one(node).shape), dtype=one(node).dtype)


@aten_rule("randn", "randn_like")
def randn(lowering, node):
    draw(lowering, node)
    return lowering.emit("randn", size=list(one(node).shape), dtype=one(node).dtype)


@aten_rule("randint", "randint.low", "randint_like", "randint_like.low_dtype")
def randint(lowering, node):
    draw(lowering, node)
    bound = bound_arguments(node)
    return lowering.emit("randint", low=bound.get("low", 0), high=bound["high"], size=list(one(node).shape),
                         dtype=one(node).dtype)


@aten_rule("bernoulli")
def bernoulli(lowering, node):
    draw(lowering, node)
    return lowering.emit("bernoulli", self=node.args[0])


@aten_rule("bernoulli.p")
def bernoulli_p(lowering, node):
    draw(lowering, node)
    p = node.args[1] if len(node.args) > 1 else node.kwargs.get("p", 0.5)
    drawn = lowering.emit("rand", size=list(one(node).shape), dtype=torch.float32)
    return lowering.emit("to", self=lowering.emit("lt", self=drawn, other=p), dtype=one(node).dtype)


@aten_rule("randperm")
def randperm(lowering, node):
    draw(lowering, node)
    return lowering.emit("randperm", n=node.args[0], dtype=one(node).dtype)


@aten_rule("multinomial")
def multinomial(lowering, node):
    draw(lowering, node)
    return lowering.by_schema("multinomial", node, dropped=("generator",))
