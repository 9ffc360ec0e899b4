"""Splits a graph of which some nodes stay with PyTorch: the others form parts, and a part that is worth it becomes a program."""
from __future__ import annotations

import operator

import torch

from . import _inner_api
from ._lowering import aten, computes, is_kernel

# A call of a part costs about as much as a few small kernels: parts with fewer kernels and none of these stay with PyTorch.
MIN_KERNELS = 4
HEAVY = {
    "mm", "bmm", "addmm", "baddbmm", "mv", "matmul", "linear", "convolution", "convolution_backward", "attention",
    "attention_backward", "grouped_mm", "_grouped_mm",
}
TOO_SMALL = f"a part with fewer than {MIN_KERNELS} kernels and no matmul costs more than it saves"

WRITES_INPUT = "it writes an input, and other nodes of the graph stay with PyTorch"


class Part(torch.nn.Module):
    """A program as a module of the split graph."""

    def __init__(self, run, is_single):
        super().__init__()
        self.run = run
        self.is_single = is_single

    def forward(self, *args):
        results = self.run(list(args))
        return results[0] if self.is_single else tuple(results)


def writes_input(node):
    return node.op == "call_function" and node.target is aten.copy_.default


def is_worth_it(lowering, nodes):
    """Whether these nodes have a matmul, convolution or attention, or enough kernels."""
    kernels = 0
    for node in nodes:
        for i in lowering.calls_of.get(node, ()):
            op = lowering.calls[i][0]
            if op in HEAVY:
                return True
            kernels += is_kernel(op)
    return kernels >= MIN_KERNELS


def split(graph_module, lowering, compile_part):
    """Returns a graph module that calls programs for the parts that are worth it, and {node: reason} for what PyTorch runs.

    compile_part(module, static): returns a boxed callable, or the reason (str) why the part stays with PyTorch.
    """
    left = dict(lowering.failures)
    left.update({node: WRITES_INPUT for node in lowering.nodes if writes_input(node) and node not in left})
    supported = {node for node in lowering.nodes if node.op == "call_function" and node not in left}
    static_names = {node.name for i, node in enumerate(lowering.placeholders) if i in lowering.static}
    # The fused graph has other nodes, so what is found there is told by name.
    node_of_name = {node.name: node for node in lowering.nodes}
    partitioner, parts = _inner_api.propose_parts(graph_module, supported)
    worthy = []
    for part in parts:
        nodes = _inner_api.part_nodes(part)
        if is_worth_it(lowering, nodes):
            worthy.append(part)
        else:
            left.update({node: TOO_SMALL for node in nodes if computes(node)})
    if not worthy:
        return None, left
    fused, names = _inner_api.fuse_parts(partitioner, worthy)
    is_changed = False
    for node in list(fused.graph.nodes):
        if node.op != "call_module" or node.target not in names:
            continue
        module = getattr(fused, node.target)
        static = frozenset(i for i, argument in enumerate(node.args)
                           if isinstance(argument, torch.fx.Node) and argument.name in static_names)
        run = compile_part(module, static)
        if isinstance(run, str):
            left.update({node_of_name[inner.name]: run for inner in module.graph.nodes
                         if computes(inner) and inner.name in node_of_name})
            continue
        is_changed = True
        results = next(inner for inner in module.graph.nodes if inner.op == "output").args[0]
        setattr(fused, node.target, Part(run, not isinstance(results, (list, tuple))))
    if not is_changed:
        return None, left
    move_writes_to_end(fused)
    fused.recompile()
    return fused, left


def move_writes_to_end(graph_module):
    """Every read of an input has to come before the node that writes it; fusing may have moved reads."""
    nodes = list(graph_module.graph.nodes)
    output = nodes[-1]
    for node in nodes:
        if writes_input(node):
            output.prepend(node)


# ---- One node alone


def alone(node):
    """Returns a graph module that has one node, with its operands as inputs and its tensors as results."""
    graph = torch.fx.Graph()
    copies = {}
    for source in node.all_input_nodes:
        copies[source] = graph.placeholder(source.name)
        copies[source].meta = dict(source.meta)
    copy = graph.node_copy(node, lambda source: copies[source])
    copy.meta = dict(node.meta)
    results = node.meta.get("val")
    if isinstance(results, (list, tuple)):
        items = []
        for i, value in enumerate(results):
            if isinstance(value, torch.Tensor):
                items.append(graph.call_function(operator.getitem, (copy, i)))
                items[-1].meta = {"val": value}
        graph.output(tuple(items))
    else:
        graph.output((copy,))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def form_of(node):
    """A key: nodes with the same one can be lowered alike."""
    def value(source):
        val = source.meta.get("val")
        return f"{val.dtype}{tuple(val.shape)}{tuple(val.stride())}" if isinstance(val, torch.Tensor) else str(val)
    return str(node.target), repr(torch.fx.node.map_arg((node.args, node.kwargs), lambda source: value(source)))
