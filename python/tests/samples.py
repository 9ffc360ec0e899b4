"""A call of every op, from the names and types of its arguments."""
import pellucid as pel

NAMES = {
    "src": 0, "dst": 0, "dim": 0, "dim0": 0, "dim1": 1, "index": 1, "start": 0, "length": 1, "chunks": 2, "split_size": 1, "steps": 3, "n": 2, "k": 1,
    "num_samples": 1, "p": 0.5, "equation": "ij,jk->ik", "train": False, "low": 0, "high": 3, "end": 3, "dtype": pel.float32,
    "value": 1, "threshold": 1, "fill_value": 1, "size": (2, 2), "shape": (4,), "sizes": (1, 2), "stride": (2, 1),
    "dims": (1, 0), "repeats": (1, 2), "shifts": (1,), "pad": (1, 0), "num_classes": 3, "training": True,
    "split_sizes": (1, 1), "output_size": (2, 2), "kernel_size": (1, 1), "dilation": (1, 1), "padding": (0, 0),
    "num_weights": 2, "reduce": "sum", "N": 2, "C": 2, "HxW": 1, "group": 1, "num_groups": 1, "normalized_shape": (2,),
    "source": (0,), "destination": (1,), "scale_grad_by_freq": False, "groups": 1, "transposed": False,
    "output_padding": (0, 0), "ceil_mode": False, "count_include_pad": True, "align_corners": False, "alpha": 1,
}
# Calls whose sizes depend on each other.
WHOLE = {
    "adam_step_": lambda: ((pel.zeros(()), [pel.ones(2)], [pel.zeros(2)], [pel.zeros(2)], [pel.ones(2)], pel.tensor(0.1)), {}),
    "sgd_step_": lambda: ((pel.zeros(()), [pel.ones(2)], [pel.zeros(2)], [pel.ones(2)], pel.tensor(0.1)), {}),
    "attention_backward": lambda: ((*[pel.ones(2, 2, 2, 2)] * 5, pel.ones(2, 2, 2)), {}),
    "scaled_dot_product_attention": lambda: ([pel.ones(2, 2, 2, 2)] * 3, {}),
    "avg_pool2d_backward": lambda: ((pel.ones(1, 1, 2, 2), pel.ones(1, 1, 2, 2), 1, 1, 0, False, True), {}),
    "max_pool2d_with_indices_backward": lambda: (
        (pel.ones(1, 1, 2, 2), pel.ones(1, 1, 2, 2), 1, 1, 0, 1, False, pel.zeros(1, 1, 2, 2, dtype=pel.int64)), {}),
    "batch_norm_apply": lambda: ((pel.ones(2, 2), pel.ones(2), pel.ones(2)), {}),
    "binary_cross_entropy_with_logits": lambda: ((pel.ones(2), pel.ones(2)), {}),
    "clamp": lambda: ((pel.ones(2), 0, 1), {}),
    "clamp_": lambda: ((pel.ones(2), 0, 1), {}),
    "clamp.out": lambda: ((pel.ones(2), pel.ones(2), 0, 1), {}),
    "col2im": lambda: ((pel.ones(1, 1, 4), (2, 2), (1, 1), (1, 1), (0, 0), (1, 1)), {}),
    "convolution": lambda: ((pel.ones(1, 1, 2, 2), pel.ones(1, 1, 1, 1), None, 1, 0, 1, False, 0, 1), {}),
    "convolution_backward": lambda: (
        (pel.ones(1, 1, 2, 2), pel.ones(1, 1, 2, 2), pel.ones(1, 1, 1, 1), None, 1, 0, 1, False, 0, 1, (1, 1, 0)), {}),
    "cosine_embedding_loss": lambda: ((pel.ones(2, 2), pel.ones(2, 2), pel.ones(2)), {}),
    "cross_entropy": lambda: ((pel.ones(2, 3), pel.zeros(2, dtype=pel.int64)), {}),
    "cross_entropy_rows": lambda: ((pel.ones(2, 3), 1), {}),
    "cross_entropy_rows_backward": lambda: ((pel.ones(2, 3), None, pel.ones(2, 3), 1), {}),
    "embedding": lambda: ((pel.ones(2, 3), pel.tensor([0, 1])), {}),
    "embedding_dense_backward": lambda: ((pel.ones(2, 3), pel.tensor([0, 1]), 2), {}),
    "exponential_": lambda: ((pel.ones(2),), {}),
    "grid_sampler_2d": lambda: ((pel.ones(1, 1, 2, 2), pel.zeros(1, 1, 2, 2)), {}),
    "index": lambda: ((pel.ones(2, 2), [pel.tensor([0])]), {}),
    "index_put": lambda: ((pel.ones(2, 2), [pel.tensor([0])], pel.ones(2)), {}),
    "index_put_": lambda: ((pel.ones(2, 2), [pel.tensor([0])], pel.ones(2)), {}),
    "layer_norm": lambda: ((pel.ones(2, 2), (2,)), {}),
    "linear": lambda: ((pel.ones(2, 3), pel.ones(4, 3)), {}),
    "masked_scatter": lambda: ((pel.ones(2), pel.tensor([True, False]), pel.zeros(2)), {}),
    "native_group_norm": lambda: ((pel.ones(2, 2), None, None, 2, 2, 1, 1), {}),
    "native_group_norm_backward": lambda: (
        (pel.ones(2, 2), pel.ones(2, 2), pel.ones(2, 1), pel.ones(2, 1), None, 2, 2, 1, 1), {}),
    "native_layer_norm_backward": lambda: ((pel.ones(2, 2), pel.ones(2, 2), (2,), pel.ones(2, 1), pel.ones(2, 1)), {}),
    "nll_loss": lambda: ((pel.ones(2, 3), pel.zeros(2, dtype=pel.int64)), {}),
    "one_hot": lambda: ((pel.tensor([0, 1]), 2), {}),
    "pad": lambda: ((pel.ones(2, 2), (1, 1)), {}),
    "repeat_interleave": lambda: ((pel.ones(2, 2), pel.tensor([1, 2])), {"dim": 0}),
    "add_layer_norm": lambda: ((pel.ones(2, 4), pel.ones(2, 4), [4]), {}),
    "add_rms_norm": lambda: ((pel.ones(2, 4), pel.ones(2, 4), [4]), {}),
    "softmax_cross_entropy": lambda: ((pel.ones(2, 3), pel.zeros(2, dtype=pel.int64)), {}),
    "native_softmax_cross_entropy": lambda: ((pel.ones(2, 3), pel.zeros(2, dtype=pel.int64)), {}),
    "softmax_cross_entropy_backward": lambda: (
        (pel.ones(()), pel.ones(2, 3), pel.zeros(2, dtype=pel.int64), pel.ones(())), {}),
    "linear_cross_entropy": lambda: ((pel.ones(2, 4), pel.ones(3, 4), pel.zeros(2, dtype=pel.int64)), {}),
    "native_linear_cross_entropy": lambda: ((pel.ones(2, 4), pel.ones(3, 4), pel.zeros(2, dtype=pel.int64)), {}),
    "linear_cross_entropy_backward": lambda: (
        (pel.ones(()), pel.ones(2, 4), pel.ones(3, 4), pel.zeros(2, dtype=pel.int64), pel.ones(()), pel.ones(2), pel.ones(2)), {}),
    "rotary_embedding": lambda: ((pel.ones(2, 2, 2, 2), pel.ones(1), pel.ones(1)), {}),
    "to_device": lambda: ((pel.ones(2, 2), "queue"), {}),
    "select_scatter": lambda: ((pel.ones(2, 2), pel.ones(2), 0, 1), {}),
    "slice_scatter": lambda: ((pel.ones(2, 2), pel.ones(1, 2), 0, 0, 1), {}),
    "unflatten": lambda: ((pel.ones(2, 2), 0, (1, 2)), {}),
    "expand": lambda: ((pel.ones(2, 1), (2, 2)), {}),
    "_embedding_bag": lambda: ((pel.ones(2, 3), pel.tensor([0, 1]), pel.tensor([0])), {}),
    "_embedding_bag_forward_only": lambda: ((pel.ones(2, 3), pel.tensor([0, 1]), pel.tensor([0])), {}),
    "_embedding_bag_backward": lambda: (
        (pel.ones(1, 3), pel.tensor([0, 1]), pel.tensor([0]), pel.tensor([0, 0]), pel.tensor([2]), pel.tensor([2]), 2,
         False, 0, False, None), {}),
    "_embedding_bag_dense_backward": lambda: (
        (pel.ones(1, 3), pel.tensor([0, 1]), pel.tensor([0, 0]), pel.tensor([2]), pel.tensor([2]), 2, False, 0, None), {}),
    "_embedding_bag_per_sample_weights_backward": lambda: (
        (pel.ones(1, 3), pel.ones(2, 3), pel.tensor([0, 1]), pel.tensor([0]), pel.tensor([0, 0]), 0), {}),
    "grouped_mm": lambda: ((pel.ones(2, 2, 3), pel.ones(2, 3, 2)), {}),
    "empty_permuted": lambda: (((2, 3), (1, 0)), {}),
    "_pdist_forward": lambda: ((pel.ones(2, 2),), {}),
    "bincount": lambda: ((pel.tensor([0, 1]),), {}),
    "item": lambda: ((pel.ones(1),), {}),
    "meshgrid": lambda: (([pel.ones(2), pel.ones(2)],), {}),
    "einsum": lambda: (("ij,jk->ik", [pel.ones(2, 2), pel.ones(2, 2)]), {}),
    "adaptive_avg_pool2d_backward": lambda: ((pel.ones(1, 1, 1, 1), pel.ones(1, 1, 2, 2)), {}),
    "searchsorted": lambda: ((pel.tensor([0.0, 1.0]), pel.tensor([0.5])), {}),
}


def spatial_axes(name):
    digits = [c for c in name if c in "123"]
    return int(digits[0]) if digits else 2


def sample_tensor(op_name, argument):
    base = op_name.removesuffix(".out").removesuffix("_")
    if argument in ("condition", "mask"):
        return pel.ones(2, 2, dtype=pel.bool)
    if base.startswith("bitwise"):
        return pel.ones(2, 2, dtype=pel.int64)
    if argument == "out" and base in ("eq", "ne", "lt", "le", "gt", "ge", "isneginf", "isposinf", "signbit", "logical_and",
                                      "logical_or", "logical_xor", "logical_not"):
        return pel.ones(2, 2, dtype=pel.bool)
    if base == "float_power":
        return pel.ones(2, 2, dtype=pel.float64)
    if base.startswith("conv") or "_pool" in base or base.startswith("upsample"):
        return pel.ones(*[1] * (2 + spatial_axes(base)))
    if base == "attention":
        return pel.ones(2, 2, 2, 2)
    if base in ("bmm", "baddbmm"):
        return pel.ones(2, 2, 2)
    if base in ("dot", "outer") or argument == "vec":
        return pel.ones(2)
    if argument in ("index", "indices"):
        return pel.zeros(2, dtype=pel.int64) if base == "index_select" else pel.zeros(2, 2, dtype=pel.int64)
    if argument in ("mean", "scale", "running_mean", "running_var"):
        return pel.ones(2)
    return pel.ones(2, 2)


def sample(op_name, argument, type_):
    if type_.endswith("?"):
        return None
    if type_ == "Tensor":
        return sample_tensor(op_name, argument)
    if type_ == "Tensor[]":
        return [pel.ones(2, 2), pel.ones(2, 2)]
    if argument == "dim" and type_.endswith("[]"):
        return (0,)
    if op_name.startswith(("adaptive", "upsample", "avg_pool", "max_pool")) and type_.endswith("[]"):
        return (1,) * spatial_axes(op_name)
    return NAMES[argument]


def sample_call(name, op):
    """Returns positional and keyword arguments."""
    if name in WHOLE:
        args, keywords = WHOLE[name]()
        return list(args), keywords
    args, keywords = [], {}
    for argument, type_, has_default, _, keyword_only, _ in op.arguments:
        if has_default:
            continue
        value = sample(name, argument, type_)
        if keyword_only:
            keywords[argument] = value
        else:
            args.append(value)
    return args, keywords
