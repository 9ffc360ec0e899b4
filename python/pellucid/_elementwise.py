"""Ops of one's own: elementwise ones from a Python function, and those that a C++ library registers.

The function is called once, with an Element for each argument. Operators and ops of the package on elements append steps to a
formula, of which the library makes kernels. Gradients are derived from the steps.
"""
from __future__ import annotations

import ctypes
import functools
import inspect
import math
import os
import typing
from collections.abc import Callable, Sequence

from . import _core, errors

Number = typing.Union[int, float, bool]
_FLOATING = (_core.float16, _core.bfloat16, _core.float32, _core.float64)
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def _argument_error(message: str) -> errors.ArgumentError:
    error = errors.ArgumentError(f"E04 value: {message}")
    error.code = "E04"
    return error


def _registry_error(message: str) -> errors.RegistryError:
    error = errors.RegistryError(f"E10 registry: {message}")
    error.code = "E10"
    return error


class _Trace:
    """A formula that is being written. Equal steps are one."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.steps: list[typing.Any] = []
        self._known: dict[typing.Any, Element] = {}
        self.arguments = [Element(self, i) for i in range(len(names))]

    def value(self, value: typing.Any) -> Element:
        """An element of this formula, or a number as one."""
        if isinstance(value, Element):
            if value._trace is not self:
                raise _argument_error("an element of another formula is used: a formula has its own arguments alone")
            return value
        if isinstance(value, _core.Tensor):
            raise _argument_error("a formula computes one element from its arguments: pass the tensor as an argument of the op")
        if not isinstance(value, (int, float)):
            raise _argument_error(f"expected an element of the formula or a number, got {type(value).__name__}")
        return self._append((type(value), repr(value)), value)

    def call(self, name: str, args: Sequence[typing.Any]) -> Element:
        numbers = tuple(self.value(arg)._at for arg in args)
        return self._append((name, numbers), (name, numbers))

    def text(self, at: int) -> str:
        """The formula of a value, for people."""
        if at < len(self.names):
            return self.names[at]
        step = self.steps[at - len(self.names)]
        if not isinstance(step, tuple):
            return repr(step)
        name, args = step
        inner = [self.text(arg) for arg in args]
        if name in _INFIX and len(args) == 2:
            sides = [f"({text})" if " " in text and not text.endswith(")") else text for text in inner]
            return f"{sides[0]} {_INFIX[name]} {sides[1]}"
        return f"{name}({', '.join(inner)})"

    def _append(self, key: typing.Any, step: typing.Any) -> Element:
        if key not in self._known:
            self._known[key] = Element(self, len(self.names) + len(self.steps))
            self.steps.append(step)
        return self._known[key]


class Element:
    """One element of each tensor, in the formula of an op. Operators, and elementwise ops of the package, make new ones."""

    __slots__ = ("_trace", "_at")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: _Trace, at: int) -> None:
        self._trace = trace
        self._at = at

    def __repr__(self) -> str:
        return f"<element {self._trace.text(self._at)}>"

    def __bool__(self) -> bool:
        raise _argument_error("a formula is the same for all elements and cannot branch on one: use pellucid.where(condition, a, b), "
                              "and & | ~ for and, or, not")

    def __getattr__(self, name: str) -> Callable[..., Element]:
        found = _core.ops.get(name)
        if found is None or name.startswith("_"):
            raise AttributeError(f"an element of a formula has no attribute {name}")
        return functools.partial(found, self)

    def __pow__(self, other: Element | Number) -> Element:
        simple = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
        if isinstance(other, (int, float)) and other in simple:
            return self._trace.call(simple[other], [self])
        return self._trace.call("pow", [self, other])

    def __add__(self, other: typing.Any) -> Element:
        return self._trace.call("add", [self, other])

    def __radd__(self, other: typing.Any) -> Element:
        return self._trace.call("add", [other, self])

    def __sub__(self, other: typing.Any) -> Element:
        return self._trace.call("sub", [self, other])

    def __rsub__(self, other: typing.Any) -> Element:
        return self._trace.call("sub", [other, self])

    def __mul__(self, other: typing.Any) -> Element:
        return self._trace.call("mul", [self, other])

    def __rmul__(self, other: typing.Any) -> Element:
        return self._trace.call("mul", [other, self])

    def __truediv__(self, other: typing.Any) -> Element:
        return self._trace.call("div", [self, other])

    def __rtruediv__(self, other: typing.Any) -> Element:
        return self._trace.call("div", [other, self])

    def __floordiv__(self, other: typing.Any) -> Element:
        return self._trace.call("floor_divide", [self, other])

    def __rfloordiv__(self, other: typing.Any) -> Element:
        return self._trace.call("floor_divide", [other, self])

    def __mod__(self, other: typing.Any) -> Element:
        return self._trace.call("remainder", [self, other])

    def __rmod__(self, other: typing.Any) -> Element:
        return self._trace.call("remainder", [other, self])

    def __and__(self, other: typing.Any) -> Element:
        return self._trace.call("bitwise_and", [self, other])

    def __rand__(self, other: typing.Any) -> Element:
        return self._trace.call("bitwise_and", [other, self])

    def __or__(self, other: typing.Any) -> Element:
        return self._trace.call("bitwise_or", [self, other])

    def __ror__(self, other: typing.Any) -> Element:
        return self._trace.call("bitwise_or", [other, self])

    def __xor__(self, other: typing.Any) -> Element:
        return self._trace.call("bitwise_xor", [self, other])

    def __rxor__(self, other: typing.Any) -> Element:
        return self._trace.call("bitwise_xor", [other, self])

    def __rpow__(self, other: typing.Any) -> Element:
        return self._trace.call("pow", [other, self])

    def __lt__(self, other: typing.Any) -> Element:
        return self._trace.call("lt", [self, other])

    def __le__(self, other: typing.Any) -> Element:
        return self._trace.call("le", [self, other])

    def __gt__(self, other: typing.Any) -> Element:
        return self._trace.call("gt", [self, other])

    def __ge__(self, other: typing.Any) -> Element:
        return self._trace.call("ge", [self, other])

    def __eq__(self, other: typing.Any) -> Element:  # type: ignore[override]
        return self._trace.call("eq", [self, other])

    def __ne__(self, other: typing.Any) -> Element:  # type: ignore[override]
        return self._trace.call("ne", [self, other])

    def __neg__(self) -> Element:
        return self._trace.call("neg", [self])

    def __abs__(self) -> Element:
        return self._trace.call("abs", [self])

    def __invert__(self) -> Element:
        return self._trace.call("bitwise_not", [self])


def _apply(op: _core.Op, args: list[typing.Any], keywords: dict[str, typing.Any]) -> Element:
    """What an op does with elements: one more step."""
    names = [argument[0] for argument in op.arguments]
    placed = list(args)
    for name, value in keywords.items():
        if len(placed) >= len(names) or names[len(placed)] != name:
            raise _argument_error(f"in a formula, {op.__name__} takes its arguments in their order: {op.schema}")
        placed.append(value)
    trace = next(value._trace for value in placed if isinstance(value, Element))
    return trace.call(op.__name__, placed)


_core._set_element_type(Element, _apply)


# ---- Gradients: g is that of the result r; one contribution for each argument, None where there is none.

def _where(condition: Element, a: typing.Any, b: typing.Any) -> Element:
    return condition._trace.call("where", [condition, a, b])


def _call(name: str, *args: typing.Any) -> Element:
    return next(arg for arg in args if isinstance(arg, Element))._trace.call(name, args)


def _normal_density(x: Element) -> Element:
    return _call("exp", x * x * -0.5) * (1 / math.sqrt(2 * math.pi))


_GRADIENTS: dict[str, Callable[..., tuple[typing.Any, ...]]] = {
    "add": lambda g, r, a, b: (g, g),
    "sub": lambda g, r, a, b: (g, -g),
    "mul": lambda g, r, a, b: (g * b, g * a),
    "div": lambda g, r, a, b: (g / b, -(g * r) / b),
    "neg": lambda g, r, x: (-g,),
    "abs": lambda g, r, x: (_where(x > 0, g, _where(x < 0, -g, 0)),),
    "maximum": lambda g, r, a, b: (_where(a > b, g, _where(a == b, g * 0.5, 0)), _where(b > a, g, _where(a == b, g * 0.5, 0))),
    "minimum": lambda g, r, a, b: (_where(a < b, g, _where(a == b, g * 0.5, 0)), _where(b < a, g, _where(a == b, g * 0.5, 0))),
    "clamp": lambda g, r, x, low, high: (_where((x >= low) & (x <= high), g, 0), None, None),
    "pow": lambda g, r, a, b: (_where(b == 0, 0, g * (b * _call("pow", a, b - 1))),
                               _where((a == 0) & (b >= 0), 0, g * (r * _call("log", a)))),
    "square": lambda g, r, x: (g * (x * 2),),
    "reciprocal": lambda g, r, x: (-g * r * r,),
    "sqrt": lambda g, r, x: (g / (r * 2),),
    "rsqrt": lambda g, r, x: (g * (r * r * r) * -0.5,),
    "exp": lambda g, r, x: (g * r,),
    "exp2": lambda g, r, x: (g * r * math.log(2),),
    "expm1": lambda g, r, x: (g * (r + 1),),
    "log": lambda g, r, x: (g / x,),
    "log2": lambda g, r, x: (g / (x * math.log(2)),),
    "log10": lambda g, r, x: (g / (x * math.log(10)),),
    "log1p": lambda g, r, x: (g / (x + 1),),
    "logaddexp": lambda g, r, a, b: (g * _call("exp", a - r), g * _call("exp", b - r)),
    "sinh": lambda g, r, x: (g * _call("cosh", x),),
    "cosh": lambda g, r, x: (g * _call("sinh", x),),
    "tanh": lambda g, r, x: (g * (1 - r * r),),
    "asinh": lambda g, r, x: (g / _call("sqrt", x * x + 1),),
    "acosh": lambda g, r, x: (g / _call("sqrt", x * x - 1),),
    "atanh": lambda g, r, x: (g / (1 - x * x),),
    "sin": lambda g, r, x: (g * _call("cos", x),),
    "cos": lambda g, r, x: (-g * _call("sin", x),),
    "tan": lambda g, r, x: (g * (1 + r * r),),
    "asin": lambda g, r, x: (g / _call("sqrt", 1 - x * x),),
    "acos": lambda g, r, x: (-g / _call("sqrt", 1 - x * x),),
    "atan": lambda g, r, x: (g / (x * x + 1),),
    "atan2": lambda g, r, y, x: (g * (x / (x * x + y * y)), -g * (y / (x * x + y * y))),
    "hypot": lambda g, r, a, b: (g * (a / r), g * (b / r)),
    "erf": lambda g, r, x: (g * (_call("exp", -(x * x)) * (2 / math.sqrt(math.pi))),),
    "erfc": lambda g, r, x: (g * (_call("exp", -(x * x)) * (-2 / math.sqrt(math.pi))),),
    "ndtr": lambda g, r, x: (g * _normal_density(x),),
    "relu": lambda g, r, x: (_where(r > 0, g, 0),),
    "sigmoid": lambda g, r, x: (g * (r * (1 - r)),),
    "log_sigmoid": lambda g, r, x: (g * _call("sigmoid", -x),),
    "silu": lambda g, r, x: (g * (_call("sigmoid", x) * (1 + x * (1 - _call("sigmoid", x)))),),
    "gelu": lambda g, r, x: (g * (_call("ndtr", x) + x * _normal_density(x)),),
    "remainder": lambda g, r, a, b: (g, -g * _call("floor", a / b)),
    "fmod": lambda g, r, a, b: (g, -g * _call("trunc", a / b)),
    "where": lambda g, r, c, a, b: (None, _where(c, g, 0), _where(c, 0, g)),
}
_STEPS = """floor ceil trunc round sign floor_divide lt le gt ge eq ne logical_and logical_or logical_not logical_xor bitwise_and
bitwise_or bitwise_xor bitwise_not isnan isinf isfinite isposinf isneginf signbit""".split()
_GRADIENTS.update({name: lambda g, r, *args: (None,) * len(args) for name in _STEPS})


def _derived_gradients(formula: _Trace) -> tuple[_Trace, list[Element | None]] | None:
    """The gradient of each argument as a formula of the result's gradient and the arguments; None if a step has no rule."""
    free = next(name for name in ("grad", "grad_", "grad__") if name not in formula.names)
    trace = _Trace([free, *formula.names])
    values = trace.arguments[1:]
    calls = []
    for step in formula.steps:
        if isinstance(step, tuple):
            args = [values[at] for at in step[1]]
            values.append(trace.call(step[0], args))
            calls.append((step[0], step[1], len(values) - 1))
        else:
            values.append(trace.value(step))
    gradients: dict[int, Element] = {len(values) - 1: trace.arguments[0]}
    for name, at, result in reversed(calls):
        if result not in gradients:
            continue
        rule = _GRADIENTS.get(name)
        if rule is None or len(at) != len(inspect.signature(rule).parameters) - 2 and name not in _STEPS:
            return None
        for argument, part in zip(at, rule(gradients[result], values[result], *(values[i] for i in at))):
            if part is not None:
                gradients[argument] = gradients[argument] + part if argument in gradients else trace.value(part)
    return trace, [gradients.get(i) for i in range(len(formula.names))]


class _Definition(typing.NamedTuple):
    name: str
    parameters: tuple[tuple[str, str], ...]  # name, and declaration in the schema
    formula: _Trace
    result: Element
    dtypes: tuple[_core.DType, ...]
    doc: str

    @property
    def schema(self) -> str:
        return f"{self.name}({', '.join(declaration for _, declaration in self.parameters)}) -> Tensor"

    @property
    def tensors(self) -> list[int]:
        return [i for i, (_, declaration) in enumerate(self.parameters) if declaration.startswith("Tensor ")]


def _register(definition: _Definition, gradients: tuple[_Trace, list[Element | None]] | None) -> _core.Op:
    trace, last = definition.formula, definition.result
    if last._at != len(trace.names) + len(trace.steps) - 1:  # the result is the last step
        last = trace._append(("result",), ("add", (last._at, trace.value(0)._at)))
    functions: dict[str, Callable[..., _core.Tensor]] = {}
    constant: list[str] = []
    if gradients is not None:
        for i in definition.tensors:
            argument, result = definition.parameters[i][0], gradients[1][i]
            if result is None:
                constant.append(argument)
            else:
                functions[argument] = _gradient_function(definition, gradients[0], argument, result)
    table = {"arguments": list(trace.names), "functions": functions, "constant": constant}
    return _core._register_elementwise(definition.schema, list(trace.steps), list(definition.dtypes), table, definition.doc)


def _gradient_function(of: _Definition, trace: _Trace, argument: str, result: Element) -> Callable[..., _core.Tensor]:
    """Registers the op of a gradient when it is first needed, so that it has a gradient as well."""
    made: list[_core.Op] = []

    def gradient(*args: typing.Any) -> _core.Tensor:
        if not made:
            used = _only_needed(trace, result)
            parameters = ((trace.names[0], f"Tensor {trace.names[0]}"),
                          *((name, declaration.split("=")[0]) for name, declaration in of.parameters))
            definition = _Definition(f"{of.name}_grad_{argument}", parameters, *used, of.dtypes,
                                     f"The gradient of {of.name} with respect to {argument}.")
            made.append(_register(definition, _derived_gradients(used[0])))
        result_of_call: _core.Tensor = made[0](*args)
        return result_of_call

    return gradient


def _only_needed(trace: _Trace, result: Element) -> tuple[_Trace, Element]:
    """The steps that one result needs, as a formula of its own."""
    copy = _Trace(trace.names)
    values: dict[int, Element] = dict(enumerate(copy.arguments))

    def copied(at: int) -> Element:
        if at not in values:
            step = trace.steps[at - len(trace.names)]
            values[at] = copy.call(step[0], [copied(arg) for arg in step[1]]) if isinstance(step, tuple) else copy.value(step)
        return values[at]

    return copy, copied(result._at)


_registered: dict[str, tuple[typing.Any, _core.Op]] = {}


def op(function: Callable[..., typing.Any] | None = None, *, name: str | None = None,
       dtypes: Sequence[_core.DType] | None = None, gradient: Callable[..., typing.Any] | None = None) -> typing.Any:
    """Makes an elementwise op of a Python function. A decorator.

    The function is called once, with elements in place of tensors: it uses operators and elementwise ops of the package, and no
    branches; pellucid.where chooses. Parameters with a number as default are numbers, all others tensors. The op broadcasts,
    promotes dtypes, has a gradient, and compile() fuses it.

    name: "namespace::name"; the namespace is "user" if there is none.
    dtypes: those that it computes in; floating ones if none are passed, in which case integers count as float32.
    gradient: a function of the result's gradient and the arguments that returns the gradients of the tensors. Without it they
        are derived from the formula.
    """
    if function is None:
        return functools.partial(op, name=name, dtypes=dtypes, gradient=gradient)
    parameters = tuple(_parameter(each) for each in inspect.signature(function).parameters.values())
    names = [parameter[0] for parameter in parameters]
    trace = _Trace(names)
    result = trace.value(function(*trace.arguments))
    own = None
    if gradient is not None:
        tensors = [i for i, (_, declaration) in enumerate(parameters) if declaration.startswith("Tensor ")]
        own_trace = _Trace([next(iter(inspect.signature(gradient).parameters)), *names])
        parts = gradient(*own_trace.arguments)
        parts = parts if isinstance(parts, tuple) else (parts,)
        if len(parts) != len(tensors):
            raise _argument_error(f"the gradient returned {len(parts)} values, and the op has {len(tensors)} tensors: return one "
                                  "for each, or None")
        placed: list[Element | None] = [None] * len(names)
        for i, part in zip(tensors, parts):
            placed[i] = None if part is None else own_trace.value(part)
        own = own_trace, placed
    asked = name if name is not None else function.__name__
    asked = asked if "::" in asked else f"user::{asked}"
    doc = "\n\n".join(part for part in (inspect.getdoc(function), f"Formula: {trace.text(result._at)}") if part)
    key = (parameters, tuple(map(repr, trace.steps)), result._at, tuple(dtypes or _FLOATING), doc,
           own and (tuple(map(repr, own[0].steps)), tuple(None if part is None else part._at for part in own[1])))
    number, free = 1, asked
    while free in _registered and _registered[free][0] != key:  # a cell of a notebook that has changed
        number += 1
        free = f"{asked}_{number}"
    if free not in _registered:
        definition = _Definition(free, parameters, trace, result, tuple(dtypes or _FLOATING), doc)
        _registered[free] = key, _register(definition, own or _derived_gradients(trace))
    return _registered[free][1]


def _parameter(parameter: inspect.Parameter) -> tuple[str, str]:
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise _argument_error(f"the function of an op has parameters with names, not *{parameter.name}")
    if parameter.default is inspect.Parameter.empty:
        return parameter.name, f"Tensor {parameter.name}"
    if not isinstance(parameter.default, (int, float)) or isinstance(parameter.default, bool):
        raise _argument_error(f"the default of {parameter.name} is {parameter.default!r}: a parameter with a default is a number")
    return parameter.name, f"Scalar {parameter.name}={parameter.default!r}"


def registered_op(name: str) -> _core.Op:
    """The op that a pickle names. The program that reads it has to define the op first."""
    found = _core.find_op(name)
    if found is None:
        raise _registry_error(f"there is no op {name}: define it, or load its library, before it is unpickled")
    return found


_libraries: dict[str, tuple[_core.Op, ...]] = {}


def load_library(path: str | os.PathLike[str]) -> tuple[_core.Op, ...]:
    """Loads a C++ library that registers ops when it is loaded, and returns these. `find_op("demo::axpb")` finds one by its name.

    The library is linked with the package's libpellucid.so; see examples/user_op.cc for an op in C++.
    """
    real = os.path.realpath(os.fspath(path))
    if real not in _libraries:
        before = set(_core._op_names())
        ctypes.CDLL(real)
        found = tuple(registered_op(name) for name in _core._op_names() if name not in before)
        if not found:
            raise _registry_error(f"{real} was loaded and registered no op: call pel::register_op in the initializer of a global "
                                  "variable, and link the library with libpellucid.so.0")
        _libraries[real] = found
    return _libraries[real]
