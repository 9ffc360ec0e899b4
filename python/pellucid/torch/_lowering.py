"""Turns a graph of AOTAutograd into the description of a program (see `Description`).

`Lowering` visits the nodes in order. Each op has a rule (`_rules.py`) that appends calls of Pellucid's ops. Most rules are
`by_schema`: the arguments of PyTorch's schema are matched with those of ours by name, then by position, and converted by our
types. A node without a rule, or with a form that its rule refuses, is recorded in `failures`; the visit goes on, so that one
pass finds all nodes that stay with PyTorch.
"""
from __future__ import annotations

import collections
import functools
import operator
import re
import typing

import sympy
import torch
from torch import fx
from torch.utils import _pytree as pytree
from torch.utils._sympy import functions

from pellucid import _core

from ._sizes import Sizes, Unsupported

aten = torch.ops.aten

DTYPES = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
    torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool",
}
NONE = ("none",)


class Description(typing.NamedTuple):
    """The arguments of `_torch.Program`, in its order, without options."""
    symbols: list
    inputs: list
    calls: list
    outputs: list
    returns: list


# ---- Our schemas


class Argument(typing.NamedTuple):
    name: str
    base: str  # Tensor, int, Dim, float, bool, Scalar, DType, Device or str
    is_list: bool
    has_default: bool
    default: object


@functools.lru_cache(maxsize=None)
def arguments_of(op):
    """Returns the arguments of our op `op`, or None if there is no such op."""
    record = _core.ops.get(op)
    if record is None:
        return None
    arguments = []
    for name, type_, has_default, default, _, _ in record.arguments:
        base = type_.removesuffix("?")
        arguments.append(Argument(name.rstrip("_"), base.removesuffix("[]"), base.endswith("[]"), has_default, default))
    return arguments


def is_kernel(op):
    return _core.ops[op].kind.lower() in ("kernel", "composite")


# ---- Source lines

FRAME = re.compile(r'File "([^"]+)", line (\d+)')
TORCH_FOLDER = torch.__path__[0]


@functools.lru_cache(maxsize=4096)
def last_user_frame(stack_trace):
    frames = FRAME.findall(stack_trace)
    users = [frame for frame in frames if not frame[0].startswith(TORCH_FOLDER)]
    if not frames:
        return "", 0
    file, line = (users or frames)[-1]
    return file, int(line)


def location_of(node):
    """Returns (file, line) of the user's code that a node comes from; ("", 0) if unknown."""
    stack_trace = node.meta.get("stack_trace")
    if stack_trace:
        return last_user_frame(stack_trace)
    for source in node.all_input_nodes:  # a node that a pass has added
        if source.meta.get("stack_trace"):
            return last_user_frame(source.meta["stack_trace"])
    return "", 0


# ---- Values of nodes


def value_of(x):
    """The traced value of a node, or `x` itself."""
    return x.meta.get("val") if isinstance(x, fx.Node) else x


def is_lowered(x):
    return isinstance(x, tuple) and len(x) > 0 and isinstance(x[0], str)


def is_number_node(node):
    """Whether a node computes a size or a number on the host, not a tensor. Expressions are read where they are used."""
    value = node.meta.get("val")
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool))


ASSERTIONS = {
    aten._assert_scalar.default, aten._assert_tensor_metadata.default, aten.sym_constrain_range_for_size.default,
    aten.sym_constrain_range.default,
}
HOST_READS = {aten._local_scalar_dense.default, aten.item.default}
# These are declared as views, and copy if they have to.
MAYBE_COPIES = {"aten::reshape", "aten::contiguous", "aten::flatten", "aten::to", "aten::_reshape_alias"}


@functools.lru_cache(maxsize=None)
def is_view(target):
    schema = getattr(target, "_schema", None)
    if schema is None or schema.name in MAYBE_COPIES or not schema.returns:
        return False
    alias = schema.returns[0].alias_info
    return alias is not None and not alias.is_write and schema.arguments[0].alias_info is not None


def base_of(node):
    """The node whose memory a view is of: through all views."""
    while node.op == "call_function":
        source = node.args[0] if node.args and isinstance(node.args[0], fx.Node) else None
        if source is None:
            break
        if node.target is operator.getitem:
            if source.op != "call_function" or not is_view(source.target):
                break
        elif not is_view(node.target):
            break
        node = source
    return node


def strides_of(node, base):
    """The strides that a result has in eager PyTorch. Those of a traced view may differ on axes of size 1, so they are computed again;
    not with symbols, whose views only the tracing can compute."""
    value, of_base = node.meta["val"], base.meta["val"]
    traced = tuple(value.stride())
    if node is base or not all(isinstance(size, int) for size in value.shape) or 1 not in value.shape:
        return traced
    steps = [node]
    while steps[-1].args[0] is not base:
        steps.append(steps[-1].args[0])
    arguments = pytree.tree_leaves([(step.args[1:], step.kwargs) for step in steps])
    if any(isinstance(number, (fx.Node, torch.SymInt)) for number in (*of_base.shape, *of_base.stride(), *arguments)):
        return traced
    view = torch.empty_strided(of_base.shape, of_base.stride(), dtype=of_base.dtype, device="meta")
    for step in reversed(steps):
        view = step.target(view, *step.args[1:], **step.kwargs)
    return tuple(view.stride()) if view.shape == value.shape else traced


def computes(node):
    """Whether a node counts as an op of the graph: not sizes, items of tuples, or checks of the tracing."""
    return (node.op == "call_function" and node.target is not operator.getitem and node.target not in ASSERTIONS
            and (not is_number_node(node) or node.target in HOST_READS))


# ---- Matching of schemas

# Arguments of PyTorch that do not change values on a CPU.
IGNORED = {"layout", "device", "pin_memory", "non_blocking", "implicit", "sparse_grad", "stable", "memory_format"}
COMPATIBLE = {
    "Tensor": {"Tensor", "number"}, "int": {"int", "SymInt"}, "Dim": {"int", "SymInt"}, "float": {"float", "number"},
    "bool": {"bool"}, "Scalar": {"number", "int", "float", "bool", "SymInt"}, "DType": {"int", "ScalarType"},
    "Device": {"Device"}, "str": {"str"},
}


def base_type(argument):
    """The type of an argument of PyTorch's schema: without "optional" and "list"."""
    text = str(argument.type)
    return re.sub(r"^(Optional|List)\[|\]+$", "", re.sub(r"^(Optional|List)\[", "", text))


@functools.lru_cache(maxsize=None)
def match_schemas(target, op, renamed):
    """Returns {name of PyTorch's argument: our name or None}."""
    ours = arguments_of(op)
    theirs = target._schema.arguments
    names = [a.name for a in ours]
    renamed = dict(renamed)
    matched = {}
    for argument in theirs:
        name = renamed.get(argument.name, argument.name)
        matched[argument.name] = name if name in names else None
    taken = {name for name in matched.values() if name is not None}
    for i, argument in enumerate(theirs):
        if matched[argument.name] is None and i < len(ours) and ours[i].name not in taken \
                and argument.name not in IGNORED and base_type(argument) in COMPATIBLE[ours[i].base]:
            matched[argument.name] = ours[i].name
            taken.add(ours[i].name)
    return matched


@functools.lru_cache(maxsize=None)
def names_of(target):
    """The names of the arguments of PyTorch's schema: asking the schema itself takes longer than the rest of a rule."""
    return tuple(argument.name for argument in target._schema.arguments)


@functools.lru_cache(maxsize=None)
def defaults_of(target):
    """Returns {name: default} of PyTorch's schema. Not to be changed."""
    return {a.name: a.default_value for a in target._schema.arguments if a.has_default_value()}


def bound_arguments(node):
    """Returns the arguments of a node by PyTorch's names; those left out are not in it."""
    names = names_of(node.target)
    bound = dict(zip(names, node.args))
    if node.kwargs:
        bound.update((name, node.kwargs[name]) for name in names[len(node.args):] if name in node.kwargs)
    return bound


def with_defaults(node):
    """Returns the arguments of a node by PyTorch's names, defaults included."""
    return {**defaults_of(node.target), **bound_arguments(node)}


# ---- The lowering


class Lowering:
    """One pass over a graph. Rules use `emit`, `by_schema`, `tensor`, `size` and `sizes`."""

    def __init__(self, graph_module, find_rule, static=frozenset(), random="pellucid", shares_results=False,
                 saved=frozenset()):
        """find_rule: the rule of a target, or None. static: numbers of the inputs that are parameters.
        shares_results: results that are views of one value have to share its memory.
        saved: numbers of the results that only backward reads; they may have other strides than the traced ones."""
        self.graph_module = graph_module
        self.find_rule = find_rule
        self.static = static
        self.random = random
        self.shares_results = shares_results
        self.saved = saved
        self.axis_orders = {}  # result of ours -> its axes by their order in memory, if PyTorch's may have another one
        self.saved_strides = {}  # number of a result -> its strides, if they are not the traced ones
        self.result_views = {}  # number of a result -> (sizes, strides, offset) of the view that it is
        self.nodes = list(graph_module.graph.nodes)
        self.placeholders = [node for node in self.nodes if node.op == "placeholder"]
        self.input_values = [node.meta.get("pellucid_input", node.meta.get("val")) for node in self.placeholders]
        self.index = {node: i for i, node in enumerate(self.placeholders)}
        self.size_expressions = Sizes(self.input_values)
        self.calls = []
        self.values = {}  # node -> an argument, or a list of arguments for a node with several results
        self.failures = {}  # node -> why it stays with PyTorch
        self.calls_of = {}  # node -> range of its calls
        self.checked = set()  # nodes whose values have a dtype, device and layout that programs have
        self.used_inputs = set()
        self.written_inputs = set()
        self.result_count = 0  # of the graph; the description may return some sizes more
        self.draws = 0  # random ops so far
        self.node = None

    # -- What rules use

    @property
    def needs_seed(self):
        return self.draws > 0

    def emit(self, op, /, **given):
        """Appends a call of our op, with arguments by our names. Returns its result."""
        arguments = arguments_of(op)
        if arguments is None:
            raise Unsupported(f"Pellucid has no op {op}")
        converted = []
        for argument in arguments:
            if argument.name in given and (given[argument.name] is not None or not argument.has_default):
                converted.append(self.convert(argument, given.pop(argument.name), op))
            elif argument.has_default:
                given.pop(argument.name, None)
                converted.append(self.convert(argument, argument.default, op))
            else:
                raise Unsupported(f"{op} needs the argument {argument.name}")
        if given:
            raise Unsupported(f"{op} has no argument {', '.join(sorted(given))}")
        file, line = location_of(self.node) if self.node is not None else ("", 0)
        self.calls.append((op, converted, file, line))
        return ("value", len(self.calls) - 1, -1)

    def by_schema(self, op, node, /, renamed=(), dropped=(), **given):
        """Appends a call of `op` with the arguments of `node`, matched by name, then by position. `given` go first."""
        if arguments_of(op) is None:
            raise Unsupported(f"Pellucid has no op {op}")
        matched = match_schemas(node.target, op, tuple(renamed))
        defaults = defaults_of(node.target)
        fraction = False
        for name, value in bound_arguments(node).items():
            ours = matched[name]
            if name in dropped or ours in given:
                continue
            fraction = fraction or isinstance(value_of(value), torch.SymFloat)
            if ours is not None:
                given[ours] = value
            elif name not in IGNORED and not (name in defaults and defaults[name] == value):
                raise Unsupported(f"{op} has no argument for {name}={value}")
        result = self.emit(op, **given)
        if fraction and isinstance(node.meta.get("val"), torch.Tensor):  # a fraction is a tensor here, and promotes as one
            result = self.emit("to", self=result, dtype=node.meta["val"].dtype)
        return result

    def tensor(self, x):
        """An argument where our schema has a Tensor."""
        if is_lowered(x):
            return x
        if isinstance(x, fx.Node):
            value = x.meta.get("val")
            if isinstance(value, (torch.SymInt, torch.SymFloat, int, float)):
                return self.number(value, x)
            if x not in self.values:
                raise Unsupported(f"the value of {x.name} is not a tensor")
            lowered = self.values[x]
            if isinstance(lowered, list):
                raise Unsupported(f"{x.name} has several results, where one is expected")
            if lowered[0] == "input":
                self.used_inputs.add(lowered[1])
            return lowered
        return self.number(x, None)

    def number(self, x, node):
        if isinstance(x, torch.SymInt):
            return ("number_size", self.size_expressions.expression(x))
        if isinstance(x, torch.SymFloat):
            return self.fraction(x.node.expr)
        if isinstance(x, (bool, int, float)):
            if node is not None and node.op == "placeholder":
                if not isinstance(x, int) or isinstance(x, bool):
                    raise Unsupported(f"the input {node.name} is a {type(x).__name__}")
                return ("number_size", self.size_expressions.symbol(("value", self.index[node]), x))
            return ("number", x)
        if x is None:
            return NONE
        raise Unsupported(f"{type(x).__name__} is passed as a tensor")

    def fraction(self, e):
        """A fraction of sizes as a float64 tensor without axes."""
        if isinstance(e, (sympy.Float, float)):
            return ("number", float(e))
        if e.is_Integer:
            return ("number", float(int(e)))
        if isinstance(e, functions.ToFloat):
            return self.fraction(e.args[0])
        if isinstance(e, (functions.IntTrueDiv, functions.FloatTrueDiv)):
            return self.emit("div", self=self.as_f64(self.fraction(e.args[0])), other=self.fraction(e.args[1]))
        if isinstance(e, sympy.Pow) and e.exp == -1:
            return self.emit("reciprocal", self=self.as_f64(self.fraction(e.base)))
        if isinstance(e, (sympy.Mul, sympy.Add)) and not e.is_integer:
            op = "mul" if isinstance(e, sympy.Mul) else "add"
            parts = [self.fraction(argument) for argument in e.args]
            return functools.reduce(lambda a, b: self.emit(op, self=self.as_f64(a), other=b), parts)
        return ("number_size", self.size_expressions.of_sympy(e))

    def as_f64(self, number):
        if number[0] == "number":
            return self.emit("full", size=[], fill_value=float(number[1]), dtype=torch.float64)
        if number[0] == "number_size":
            return self.emit("full", size=[], fill_value=("size", number[1]), dtype=torch.float64)
        return number

    def size(self, x):
        """An expression for an int, a SymInt, or a node that is one."""
        value = value_of(x)
        if isinstance(x, fx.Node) and x.op == "placeholder" and isinstance(value, int):
            return self.size_expressions.symbol(("value", self.index[x]), value)
        if isinstance(value, bool):
            return int(value)
        return self.size_expressions.expression(value)

    def sizes(self, values):
        return [self.size(x) for x in values]

    def draw(self):
        """Records a random op. It draws from Pellucid's generator, which the caller of the program seeds in each call."""
        if self.random == "torch":
            raise Unsupported('random ops stay with PyTorch (options={"random": "torch"})')
        self.draws += 1

    def convert(self, argument, x, op):
        """Converts a value to an argument of our schema."""
        if is_lowered(x):
            return x
        if x is None:
            return NONE
        base = argument.base
        if argument.is_list:
            if base == "Tensor":
                return ("values", [self.tensor(element) for element in x])
            if isinstance(x, (int, torch.SymInt, fx.Node)):
                x = [x]
            return ("sizes", self.sizes(x))
        if base == "Tensor":
            return self.tensor(x)
        if base in ("int", "Dim"):
            return ("size", self.size(x))
        if base == "DType":
            if isinstance(x, torch.dtype):
                return ("dtype", dtype_name(x))
            raise Unsupported(f"{op}: {argument.name} is {x}, where a dtype is expected")
        if base == "Device":
            return NONE
        value = value_of(x)
        if base == "str":
            return ("string", value)
        if base == "bool" and isinstance(value, (bool, int)):
            return ("bool", bool(value))
        if base == "float" and isinstance(value, (int, float)):
            return ("float", float(value))
        if base == "Scalar":
            if isinstance(value, bool):
                return ("bool", value)
            if isinstance(value, (int, torch.SymInt)):
                return ("size", self.size(x))
            if isinstance(value, float):
                return ("float", value)
        raise Unsupported(f"{op}: {argument.name} is a {type(value).__name__}, which is not known when the graph is compiled")

    # -- The pass

    def run(self):
        """Visits all nodes. Returns self; `failures` says which nodes stay with PyTorch."""
        for i, node in enumerate(self.placeholders):
            self.values[node] = ("input", i)
        for node in self.nodes:
            if node.op == "get_attr":
                self.values[node] = ("constant", self.attribute(node.target))
            elif node.op == "call_function":
                self.visit(node)
            elif node.op not in ("placeholder", "output"):
                self.failures[node] = f"{node.op} is not an op"
        return self

    def attribute(self, path):
        return functools.reduce(getattr, path.split("."), self.graph_module)

    def visit(self, node):
        if node.target in ASSERTIONS:
            return
        if node.target in HOST_READS:
            self.failures[node] = "it reads a value on the host"
            return
        if is_number_node(node):
            return
        if node.target is operator.getitem:
            self.values[node] = item_of(self.values[node.args[0]], node.args[1])
            return
        first = len(self.calls)
        self.node = node
        try:
            rule = self.find_rule(node.target)
            if rule is None:
                raise Unsupported("Pellucid has no counterpart of this op")
            self.check_values(node)
            self.values[node] = rule(self, node)
        except Unsupported as error:
            self.failures[node] = str(error)
            del self.calls[first:]
            self.values[node] = ("missing",)
        self.calls_of[node] = range(first, len(self.calls))
        self.node = None

    def check_values(self, node):
        """Raises Unsupported if an operand or a result has a dtype, device or layout that programs do not have."""
        for each in (*node.all_input_nodes, node):
            if each in self.checked:
                continue
            values = each.meta.get("val")
            for value in values if isinstance(values, (tuple, list)) else (values,):
                if isinstance(value, torch.Tensor):
                    check_tensor(value)
            self.checked.add(each)

    def describe(self):
        """Returns the description of the whole graph. Raises Unsupported if its outputs or inputs have no description."""
        if self.failures:
            raise Unsupported(next(iter(self.failures.values())))
        results = next(node for node in self.nodes if node.op == "output").args[0]
        if not isinstance(results, (list, tuple)):
            results = [results]
        outputs, returns, number_of_output = [], [], {}
        shared = self.shared_bases(results)
        for i, node in enumerate(results):
            if node in shared:
                self.result_views[i] = self.view_of(node, shared[node])
                node = shared[node]
            returns.append(self.returned(node, i, outputs, number_of_output))
        self.result_count = len(returns)
        self.result_views = {i: self.with_numbers(view, returns) for i, view in self.result_views.items()}
        inputs = self.inputs()
        return Description(self.size_expressions.symbols, inputs, self.calls, outputs, returns)

    def shared_bases(self, results):
        """Returns {result: its base} for the results that are views of a value which another result is, or is a view of."""
        if not self.shares_results:
            return {}
        bases = {node: base_of(node) for node in results
                 if isinstance(node, fx.Node) and isinstance(node.meta.get("val"), torch.Tensor)}
        count = collections.Counter(bases.values())
        return {node: base for node, base in bases.items()
                if node is not base and count[base] > 1 and base not in self.index and base.op == "call_function"}

    def view_of(self, node, base):
        value = node.meta["val"]
        offset = value.storage_offset() - base.meta["val"].storage_offset()
        return self.sizes(value.shape), self.sizes(strides_of(node, base)), self.size(offset)

    def with_numbers(self, view, returns):
        """Replaces expressions by the numbers of further returns that are their values; plain integers stay."""
        def number(e):
            if isinstance(e, int):
                return e
            returns.append(("size", e))
            return ("return", len(returns) - 1)
        sizes, strides, offset = view
        return [number(e) for e in sizes], [number(e) for e in strides], number(offset)

    def returned(self, node, number, outputs, number_of_output):
        if node is None:
            return NONE
        if not isinstance(node, fx.Node):
            if isinstance(node, int) and not isinstance(node, bool):
                return ("size", node)
            raise Unsupported(f"the graph returns a constant {type(node).__name__}")
        if node in self.index:
            return ("input", self.index[node])
        value = node.meta.get("val")
        if isinstance(value, (int, torch.SymInt)):
            return ("size", self.size(node))
        if not isinstance(value, torch.Tensor):
            raise Unsupported(f"the graph returns a {type(value).__name__}")
        base = base_of(node)
        if base in self.index:
            self.used_inputs.add(self.index[base])
            of_base = self.input_values[self.index[base]]
            offset = value.storage_offset() - base.meta["val"].storage_offset()
            if tuple(of_base.stride()) == tuple(base.meta["val"].stride()):
                return ("view", self.index[base], self.sizes(value.shape), self.sizes(strides_of(node, base)), self.size(offset))
        if node not in number_of_output:
            lowered = self.tensor(node)
            if lowered == ("missing",):
                raise Unsupported(f"the graph returns {node.name}, which stays with PyTorch")
            number_of_output[node] = len(outputs)
            strides = tuple(value.stride()) if number in self.saved else strides_of(node, base)
            if number in self.saved and lowered in self.axis_orders:
                strides = self.saved_strides[number] = dense_strides(value.shape, self.axis_orders[lowered])
            outputs.append((lowered, self.sizes(strides), dtype_name(value.dtype)))
        return ("result", number_of_output[node])

    def inputs(self):
        """Describes the inputs. Sizes of one input may be read from another one, which is then used too."""
        described = {}
        while True:
            used = self.used_inputs | {source[1] for source, _ in self.size_expressions.symbols}
            new = [i for i in used if i not in described and i < len(self.placeholders)]
            if not new:
                return [described.get(i, ("unused",)) for i in range(len(self.placeholders))]
            for i in new:
                described[i] = self.input(i)

    def input(self, i):
        value = self.input_values[i]
        if not isinstance(value, torch.Tensor):
            return ("number",)
        check_tensor(value)
        is_static = i in self.static and i not in self.written_inputs
        return ("tensor", dtype_name(value.dtype), self.sizes(value.shape), self.sizes(value.stride()), is_static)


def dense_strides(sizes, order):
    """Strides of a dense tensor whose axes have this order in memory, outermost first."""
    strides, stride = [1] * len(sizes), 1
    for axis in reversed(order):
        strides[axis] = stride
        stride = stride * sizes[axis]
    return tuple(strides)


def item_of(lowered, item):
    if isinstance(lowered, list):
        return lowered[item]
    if lowered[0] == "value":
        return ("value", lowered[1], item)
    return lowered  # a missing value


def dtype_name(dtype):
    if dtype not in DTYPES:
        raise Unsupported(f"Pellucid has no dtype {str(dtype).removeprefix('torch.')}")
    return DTYPES[dtype]


def check_tensor(value):
    dtype_name(value.dtype)
    if value.device.type != "cpu":
        raise Unsupported(f"a tensor is on {value.device}; programs run on the CPU")
    if value.layout != torch.strided:
        raise Unsupported(f"a tensor is {value.layout}; programs take strided tensors")
    if value.is_neg() or value.is_conj():
        raise Unsupported("a tensor has its negative or conjugate bit set")


def lowered_overloads():
    """Returns the overloads of PyTorch's ops that have a rule."""
    from ._rules import RULES
    return list(RULES)
