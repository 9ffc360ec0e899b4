"""The only file that uses PyTorch's inner API. These names move between releases, so each function here catches what can be
missing and returns None or an empty value: callers then take the path that needs no inner API, or leave the graph to PyTorch."""
from __future__ import annotations

import contextlib
import functools
import typing

import torch
from torch._dynamo.backends.common import aot_autograd  # noqa: F401  for _backend
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

MISSING = (ImportError, AttributeError, TypeError, KeyError, IndexError, RuntimeError)


def why_unusable():
    """Returns why no graph can run with this version of PyTorch, as a sentence, or None."""
    if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        return None
    return (f"tensors of PyTorch {torch.__version__} have no __dlpack_c_exchange_api__, which gives programs their memory; "
            "install PyTorch 2.13 or later")


def partition_function():
    """Returns the function that splits a joint graph into forward and backward, recomputing what is cheap in backward."""
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    def partition(joint_module, joint_inputs, **settings):
        remove_identities(joint_module)
        return min_cut_rematerialization_partition(joint_module, joint_inputs, **settings)
    return partition


def remove_identities(graph_module):
    """Removes detach and alias, which change nothing in a graph without in-place writes. The partitioner would save their input."""
    aten = torch.ops.aten
    for node in list(graph_module.graph.nodes):
        if node.op == "call_function" and node.target in (aten.detach.default, aten.alias.default):
            node.replace_all_uses_with(node.args[0])
            graph_module.graph.erase_node(node)


def core_decompositions(extra):
    """Returns core ATen's table of decompositions, and those of the ops in `extra`."""
    from torch._decomp import core_aten_decompositions, get_decompositions
    table = dict(core_aten_decompositions())
    table.update(get_decompositions(extra))
    return table


def is_implicit_composite(target):
    """Returns whether an op is made of others, and AOTAutograd always replaces it by these."""
    try:
        return target.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd)
    except MISSING:
        return False


def _tracing_context():
    try:
        return torch._guards.TracingContext.try_get()
    except MISSING:
        return None


def static_inputs(graph_module, is_backward):
    """Returns the numbers of the placeholders that are parameters or buffers: their memory seldom moves between calls."""
    placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    marked = {i for i, node in enumerate(placeholders) if node.meta.get("is_static_input")}
    if is_backward:
        return frozenset(marked)
    try:
        listed = _tracing_context().fw_metadata.static_input_indices
    except MISSING:
        listed = ()
    return frozenset(marked | {i for i in listed if i < len(placeholders)})


def saved_for_backward(output_count):
    """Returns the numbers of the outputs of a forward graph that only backward reads."""
    try:
        saved = _tracing_context().fw_metadata.tensors_saved_for_backwards_slice
        return frozenset(range(output_count)[saved])
    except MISSING:
        return frozenset()


def report_output_strides(strides):
    """Tells AOTAutograd the strides of the outputs of a forward graph; None for those that have the traced ones."""
    context = _tracing_context()
    reported = getattr(context, "output_strides", None)
    if reported is None or len(reported) != 0:
        return False
    reported.extend(strides)
    return True


def hint_of(size):
    """Returns the value that a SymInt has in the example, or None."""
    if isinstance(size, int):
        return size
    try:
        hint = size.node.hint
        return None if hint is None else int(hint)
    except MISSING:
        return None


def compile_id():
    """Returns the name of the compilation of Dynamo that runs now, such as "0/1", or None."""
    try:
        found = torch._guards.CompileContext.current_compile_id()
        return None if found is None else str(found)
    except MISSING:
        return None


class Compilation(typing.NamedTuple):
    """What Dynamo knows about one compilation."""
    compile_id: str
    function: str
    file: str
    line: int
    recompile_reason: str | None  # the guard that failed; None for a first compilation
    total: float | None  # seconds


def compilations(since_us):
    """Returns what Dynamo has recorded about its compilations since a time, oldest first."""
    try:
        from torch._dynamo.utils import get_compilation_metrics
        return [
            Compilation(str(m.compile_id), m.co_name, m.co_filename or "", m.co_firstlineno or 0, m.recompile_reason,
                        m.entire_frame_compile_time_s)
            for m in get_compilation_metrics()
            if m.compile_id is not None and m.co_name is not None and (m.start_time_us or 0) >= since_us]
    except MISSING:
        return []


@functools.lru_cache(maxsize=None)
def _flop_formulas():
    try:
        from torch.utils.flop_counter import flop_registry
        return flop_registry
    except MISSING:
        return {}


def _grouped_mm_flops(rows, matrices, *args, out_val=None, **kwargs):
    """Each row is multiplied with the matrix of its group."""
    count = rows.shape[-2] * rows.shape[-1] * matrices.shape[-1]
    return 2 * count * (rows.shape[0] if rows.dim() == 3 else 1)


OWN_FORMULAS = {"aten::_grouped_mm": _grouped_mm_flops, "transformers::grouped_mm_fallback": _grouped_mm_flops}


def flops_of(node):
    """Returns the floating-point operations of a node as PyTorch's flop counter counts them: matmul-like ops only."""
    schema = getattr(node.target, "_schema", None)
    formula = OWN_FORMULAS.get(schema.name) if schema is not None else None
    formula = formula or _flop_formulas().get(getattr(node.target, "overloadpacket", None))
    if formula is None:
        return 0

    def value(x):
        return x.meta.get("val") if isinstance(x, torch.fx.Node) else x

    args, kwargs = torch.fx.node.map_aggregate((node.args, node.kwargs), value)
    key = _shapes_of(node.target, args, kwargs)
    if key is not None and key in _known_flops:
        return _known_flops[key]
    try:
        flops = hint_of(formula(*args, **kwargs, out_val=node.meta.get("val"))) or 0
    except Exception:  # a formula meets a form that it does not know: the report then counts none
        flops = 0
    if key is not None:
        _known_flops[key] = flops
    return flops


_known_flops = {}  # of calls by _shapes_of: the layers of a model are alike, and a formula takes 0.1 ms


def _shapes_of(target, args, kwargs):
    """A key for calls that have the same FLOPs, or None if a size is a symbol: equal symbols of two graphs are not equal sizes."""
    shapes = [tuple(x.shape) if isinstance(x, torch.Tensor) else x for x in (*args, *kwargs.values())]
    return (target, len(args), *kwargs, str(shapes)) if _is_plain(shapes) else None


def _is_plain(x):
    return all(map(_is_plain, x)) if isinstance(x, (list, tuple)) else x is None or isinstance(x, (int, float, str))


class _Supported(OperatorSupportBase):
    def __init__(self, nodes):
        self.nodes = nodes

    def is_node_supported(self, submodules, node):
        return node in self.nodes


def propose_parts(graph_module, supported):
    """Returns the partitioner and its parts: sets of nodes of `supported`, each of which can run as one call."""
    partitioner = CapabilityBasedPartitioner(graph_module, _Supported(supported), allows_single_node_partition=True)
    return partitioner, partitioner.propose_partitions()


def part_nodes(part):
    return list(part.nodes)


def fuse_parts(partitioner, parts):
    """Replaces each part by a call of a module; returns the new graph module and the names of these modules."""
    fused = partitioner.fuse_partitions(parts)
    names = [node.target for node in fused.graph.nodes if node.op == "call_module"]
    return fused, names


@contextlib.contextmanager
def real_tensors():
    """No fake tensors inside, and none of the ops in Python that trace them: values that a compiler makes itself are real."""
    try:
        from torch._dispatch.python import no_python_dispatcher
        from torch._subclasses.fake_tensor import unset_fake_temporarily
    except MISSING:
        yield
        return
    with unset_fake_temporarily(), no_python_dispatcher():
        yield
