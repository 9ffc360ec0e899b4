"""Which ops AOTAutograd decomposes for us: core ATen's table and some more, without every op that has a rule."""
from __future__ import annotations

import functools

import torch

from . import _inner_api
from ._rules import RULES

# Ops outside of core ATen's table that PyTorch can decompose and Pellucid has no op for.
EXTRA = """
_embedding_bag _fused_rms_norm _fused_rms_norm_backward _native_batch_norm_legit_functional _safe_softmax
_unsafe_masked_index _unsafe_masked_index_put_accumulate addmv binary_cross_entropy_with_logits dist elu_backward
hardsigmoid_backward hardswish hardswish_backward hardtanh_backward leaky_relu_backward linalg_vector_norm max_pool2d_with_indices_backward
mish_backward mse_loss mse_loss_backward native_batch_norm_backward native_dropout_backward nll_loss_backward nll_loss_forward
select_backward slice_backward smooth_l1_loss_backward softplus_backward unfold_backward upsample_nearest2d
upsample_nearest2d_backward
""".split()


@functools.lru_cache(maxsize=None)
def table():
    """Returns the table, made once."""
    extra = [getattr(torch.ops.aten, name) for name in EXTRA if hasattr(torch.ops.aten, name)]
    decompositions = _inner_api.core_decompositions(extra)
    return {target: function for target, function in decompositions.items() if target not in RULES}
