"""What the backend records about each graph, and its text."""
from __future__ import annotations

import logging
import os

from . import _inner_api
from ._lowering import computes, location_of

logger = logging.getLogger("pellucid.torch")


def op_name(node):
    return str(node.target)


def place_text(node):
    file, line = location_of(node)
    return f"{os.path.basename(file)}:{line}" if file else "unknown line"


class Graph:
    """One graph of AOTAutograd."""

    def __init__(self, number, kind, compile_id):
        self.number = number
        self.kind = kind
        self.compile_id = compile_id
        self.nodes = self.flops = 0
        self.left = {}  # node name -> (op, reason, file, line, FLOPs)
        self.programs = []
        self.lowering_ns = self.build_ns = self.compile_ns = self.first_call_ns = 0
        self.torch_ns = self.torch_calls = 0
        self.reused = 0
        self.flops_of = {}
        self.released = {}

    def count(self, lowering):
        for node in lowering.nodes:
            if computes(node):
                self.nodes += 1
                self.flops_of[node.name] = _inner_api.flops_of(node)
        self.flops = sum(self.flops_of.values())

    def leave(self, node, reason):
        file, line = location_of(node)
        self.left[node.name] = (op_name(node), reason, file, line, self.flops_of.get(node.name, 0))
        say_once(op_name(node), reason, file, line)

    def add_program(self, program):
        import weakref
        program.records.append(self)
        self.programs.append(weakref.ref(program))

    def release(self, program):
        pass

    def ns_here(self):
        return sum(p().program.ns for p in self.programs if p() is not None)


_graphs = []
_said = set()


def add_graph(kind, compile_id):
    graph = Graph(len(_graphs), kind, compile_id)
    _graphs.append(graph)
    return graph


def say_once(op, reason, file, line):
    if (op, reason) not in _said:
        _said.add((op, reason))
        logger.warning("%s stays with PyTorch: %s (%s:%d). pellucid.torch.report() has the whole list.", op, reason, file, line)
