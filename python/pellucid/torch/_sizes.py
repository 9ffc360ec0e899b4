"""Sizes of a graph as expressions of the program's description: int | ("s", k) | (operator, E, E, ...)."""
from __future__ import annotations

import functools
import math
import operator

import sympy
import torch
from torch.utils._sympy import functions

from . import _inner_api


class Unsupported(Exception):
    """A node, or a form of it, that cannot be lowered. The text says why; the report shows it."""


BINARY = {
    functions.FloorDiv: "//", functions.CleanDiv: "//", functions.Mod: "%", functions.PythonMod: "%",
    functions.Max: "max", sympy.Max: "max", functions.Min: "min", sympy.Min: "min",
}
# Functions from floating point to integers. Sizes are not negative, so rounding towards zero is rounding down.
FLOORS = tuple(getattr(functions, name) for name in ("TruncToInt", "FloorToInt") if hasattr(functions, name))
CEILINGS = tuple(getattr(functions, name) for name in ("CeilToInt",) if hasattr(functions, name))
DIVISIONS = (functions.IntTrueDiv, functions.FloatTrueDiv)
MAX_DENOMINATOR = 1 << 20


class Sizes:
    """The symbols of a graph and where each call reads them.

    A symbol is read from an axis of an input if it is the size of one, otherwise from a number among the inputs. A symbol
    that occurs only in a size such as 2*s0 is computed from that size.
    """

    def __init__(self, placeholders):
        """placeholders: the values (FakeTensor, SymInt, ...) of the graph's inputs."""
        self.symbols = []  # (source, hint), as the program takes them
        self.numbers = set()  # inputs that are read as numbers
        self.symbol_of_source = {}
        self.known = {}  # sympy expression -> E
        self.readable = {}  # sympy expression -> (source, the size)
        self.axes = []  # (source, size) of all axes that are not plain integers
        for i, value in enumerate(placeholders):
            if isinstance(value, torch.Tensor):
                self.axes += [(("size", i, axis), size) for axis, size in enumerate(value.shape)
                              if isinstance(size, torch.SymInt)]
        for source, size in self.axes:
            if isinstance(size.node.expr, sympy.Symbol):
                self.readable.setdefault(size.node.expr, (source, size))
        for i, value in enumerate(placeholders):
            if isinstance(value, torch.SymInt):
                self.readable.setdefault(value.node.expr, (("value", i), value))
        for i, value in enumerate(placeholders):
            if isinstance(value, torch.Tensor):
                for axis, stride in enumerate(value.stride()):
                    if isinstance(stride, torch.SymInt) and isinstance(stride.node.expr, sympy.Symbol):
                        self.readable.setdefault(stride.node.expr, (("stride", i, axis), stride))

    def symbol(self, source, hint):
        """Returns the symbol that is read from `source`."""
        if hint is None:
            raise Unsupported("a size is not known when the graph is compiled")
        if source not in self.symbol_of_source:
            self.symbol_of_source[source] = ("s", len(self.symbols))
            self.symbols.append((source, hint))
            if source[0] == "value":
                self.numbers.add(source[1])
        return self.symbol_of_source[source]

    def expression(self, size):
        """Returns an int or SymInt as an expression of the program."""
        if isinstance(size, bool):
            raise Unsupported("a bool is passed as a size")
        if isinstance(size, int):
            return size
        if isinstance(size, torch.SymInt):
            return self.of_sympy(size.node.expr)
        raise Unsupported(f"{type(size).__name__} is passed as a size")

    def of_sympy(self, e):
        if e not in self.known:
            if e in self.readable:
                source, size = self.readable[e]
                self.known[e] = self.symbol(source, _inner_api.hint_of(size))
            else:
                self.known[e] = self._build(e)
        return self.known[e]

    def _build(self, e):
        if isinstance(e, sympy.Integer):
            return int(e)
        if isinstance(e, sympy.Symbol):
            return self._solve(e)
        if isinstance(e, sympy.Add):
            return ("+", *map(self.of_sympy, e.args))
        if isinstance(e, sympy.Mul):
            return ("*", *map(self.of_sympy, e.args))
        if isinstance(e, sympy.Pow) and e.exp.is_Integer and int(e.exp) > 0:
            return ("*", *[self.of_sympy(e.base)] * int(e.exp))
        if type(e) in BINARY:
            sign = BINARY[type(e)]
            return functools.reduce(lambda a, b: (sign, a, b), map(self.of_sympy, e.args))
        if isinstance(e, functions.ModularIndexing):
            base, divisor, modulus = map(self.of_sympy, e.args)
            return ("%", ("//", base, divisor), modulus)
        if isinstance(e, functions.Identity) or isinstance(e, functions.ToFloat):
            return self.of_sympy(e.args[0])
        if isinstance(e, FLOORS + CEILINGS + (sympy.floor, sympy.ceiling)):
            numerator, denominator = self.ratio(e.args[0])
            if isinstance(e, CEILINGS + (sympy.ceiling,)):
                return ("-", 0, ("//", ("-", 0, numerator), denominator))
            return ("//", numerator, denominator)
        raise Unsupported(f"the size {e} has no form that a program can compute ({type(e).__name__})")

    def ratio(self, e):
        """Returns a numerator and a denominator of a number, if floating-point arithmetic on it is exact."""
        if isinstance(e, DIVISIONS):
            (a, b), (c, d) = map(self.ratio, e.args)
            return product(a, d), product(b, c)
        if isinstance(e, sympy.Mul):
            pairs = [self.ratio(argument) for argument in e.args]
            return product(*[n for n, _ in pairs]), product(*[d for _, d in pairs])
        if isinstance(e, sympy.Rational):
            return int(e.p), int(e.q)
        if isinstance(e, (sympy.Float, float)):
            numerator, denominator = float(e).as_integer_ratio() if math.isfinite(float(e)) else (0, MAX_DENOMINATOR + 1)
            if denominator > MAX_DENOMINATOR:
                raise Unsupported(f"a size is a multiple of {float(e)}, which has no exact fraction")
            return numerator, denominator
        return self.of_sympy(e), 1

    def _solve(self, symbol):
        """Computes a symbol from a size a*symbol + b of an input."""
        for source, size in self.axes:
            e = size.node.expr
            if e.free_symbols != {symbol}:
                continue
            offset, rest = e.as_coeff_Add()
            factor, rest = rest.as_coeff_Mul()
            if rest == symbol and factor.is_Integer and offset.is_Integer:
                return ("//", ("-", self.symbol(source, _inner_api.hint_of(size)), int(offset)), int(factor))
        raise Unsupported(f"the size {symbol} is not the size of an input")


OPERATORS = {"-": operator.sub, "//": operator.floordiv, "%": operator.mod, "max": max, "min": min}


def product(*factors):
    """A product of expressions; numbers are multiplied now."""
    number = math.prod(f for f in factors if isinstance(f, int))
    others = [f for f in factors if not isinstance(f, int)]
    if not others:
        return number
    return ("*", *([number] if number != 1 else []), *others) if len(others) > 1 or number != 1 else others[0]


def evaluate(e, symbols):
    """The value of an expression, for the values of the symbols."""
    if isinstance(e, int):
        return e
    sign, *rest = e
    if sign == "s":
        return symbols[rest[0]]
    values = [evaluate(x, symbols) for x in rest]
    if sign == "+":
        return sum(values)
    if sign == "*":
        return math.prod(values)
    return OPERATORS[sign](*values)
