"""A case while it is written: steps that torch runs as they are noted, then what torch says about the results.

A case is one line:

    NUMBER FAMILY | STEP | STEP => EXPECTATION ; EXPECTATION

A step is an op and its arguments; step k fills register %k. An expectation begins with the register it is about:

    %1 tensor DTYPE SIZES STRIDES OFFSET OWNER VALUES   OWNER: the first register with the same storage, or new
    %1 near   DTYPE SIZES STRIDES OFFSET OWNER VALUES   the same, and floating values may differ by a few roundings of
                                                        the largest one
    %1 steps:4 DTYPE SIZES STRIDES OFFSET OWNER VALUES  the same, and floating values may be four numbers of the dtype
                                                        away
    %1 layout DTYPE SIZES STRIDES OFFSET OWNER          the same without values: the memory is not initialized
    %1 count 3                                          a list of three tensors; its elements are %1.0, %1.1, %1.2
    %1 same %0                                          the very tensor of register 0
    %1 version 2
    %1 number f:0x1.8p+1
    %1 dtype f32
    %1 answer yes
    error index | error other                           the last step raises; index is torch's IndexError

A step that case_run.h does not name is an op of Pellucid, its arguments in the order of the schema; of NAME.out the
first is the out. A stride may be *, which is any. Lists are [1,2,3]. Numbers that promote are b:1, i:5 or f:0x1.8p+1.
Integers and bools are decimal; floating values are the hexadecimal digits of their bits, and every NaN is nan. More
than 64 values become #HASH: FNV-1a over 64-bit words, where a word is the integer, the bits, or all ones for NaN.
"""
import functools

import torch

DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
FLOATING = ("f64", "f32", "f16", "bf16")
INTEGRAL = ("i64", "i32", "i16", "i8", "u8")
BITS_OF = {"f64": torch.int64, "f32": torch.int32, "f16": torch.int16, "bf16": torch.int16}  # same width

# `in` fills element i with i % FILL_MODULUS, which the dtype holds exactly; bool holds i % 3 == 1.
FILL_MODULUS = {"f64": 1 << 24, "f32": 1 << 24, "f16": 2048, "bf16": 128, "i64": 1 << 24, "i32": 1 << 24,
                "i16": 1 << 15, "i8": 128, "u8": 128}
MAX_VALUES_IN_FULL = 64
MAX_SIZE = 1 << 40
WORD = (1 << 64) - 1


class NoAnswer(Exception):
    """torch's result is undefined, or no tensor at all: the case is drawn again."""


class Ref:
    """Register k."""

    def __init__(self, number):
        self.number = number

    def __str__(self):
        return f"%{self.number}"


class Num:
    """A number that promotes, where a plain int would be an axis, a size or an index."""

    def __init__(self, value):
        self.value = value

    def __str__(self):
        if isinstance(self.value, bool):
            return f"b:{int(self.value)}"
        if isinstance(self.value, int):
            return f"i:{self.value}"
        mantissa, p, exponent = self.value.hex().partition("p")  # printf's %a has no zeros at the end
        return f"f:{mantissa.rstrip('0').rstrip('.') if p else mantissa}{p}{exponent}"


class Operand:
    """An operand of result_type: a tensor with axes (d), one without (z), or a number."""

    def __init__(self, kind, what):
        self.kind, self.what = kind, what

    def __str__(self):
        return str(Num(self.what)) if self.kind == "n" else f"{self.kind}:{self.what}"

    def torch(self):
        if self.kind == "n":
            return self.what
        return torch.empty([2] if self.kind == "d" else [], dtype=DTYPES[self.what])


class Items:
    """The text between the brackets of x[...]."""

    def __init__(self, items):
        self.items = items

    def __str__(self):
        def text(item):
            if item is None:
                return "newaxis"
            if item is Ellipsis:
                return "..."
            if isinstance(item, slice):
                return ":".join("" if bound is None else str(bound) for bound in (item.start, item.stop, item.step))
            return str(item)

        return " ".join(text(item) for item in self.items)


class Bits:
    """Explicit elements: bit patterns where the dtype is floating, values elsewhere."""

    def __init__(self, dtype, values):
        self.dtype, self.values = dtype, values

    def __str__(self):
        width = DTYPES[self.dtype].itemsize * 2
        texts = (f"{value:0{width}x}" if self.dtype in FLOATING else str(int(value)) for value in self.values)
        return f"{self.dtype} [{','.join(texts)}]"

    def torch(self):
        if self.dtype not in FLOATING:
            return torch.tensor(self.values, dtype=DTYPES[self.dtype])
        bits = BITS_OF[self.dtype]
        half = 1 << (8 * bits.itemsize - 1)
        signed = [value - 2 * half if value >= half else value for value in self.values]
        return torch.tensor(signed, dtype=bits).view(DTYPES[self.dtype])


def text_of(argument):
    if argument is None:
        return "none"
    if isinstance(argument, (list, tuple)):
        return "[" + ",".join(str(value) for value in argument) + "]"
    return str(argument)


def filled(dtype, count):
    values = torch.arange(count)
    if dtype == "bool":
        return values % 3 == 1
    return (values % FILL_MODULUS[dtype]).to(DTYPES[dtype])


def dtype_option(name):
    return {} if name is None else {"dtype": DTYPES[name]}


def combined_result_type(operands):
    """torch.result_type takes two operands. For more, this is the same rule: promote_types inside each of the three
    ranks (tensors with axes, tensors without, numbers), then result_type between the ranks, lowest first."""
    if len(operands) == 2:
        return torch.result_type(*(operand.torch() for operand in operands))
    ranks = {}
    for operand in operands:
        dtype = torch.tensor(operand.what).dtype if operand.kind == "n" else DTYPES[operand.what]
        ranks.setdefault(operand.kind, []).append(dtype)
    joined = {kind: functools.reduce(torch.promote_types, dtypes) for kind, dtypes in ranks.items()}
    result = None
    if "n" in joined:
        result = joined["n"]
        number = {torch.bool: True, torch.int64: 1, torch.float32: 1.0}[result]
    if "z" in joined:
        zero = torch.empty([], dtype=joined["z"])
        result = zero.dtype if result is None else torch.result_type(zero, number)
    if "d" in joined:
        lower = number if "z" not in joined and "n" in joined else torch.empty([], dtype=result or torch.bool)
        result = torch.result_type(torch.empty([2], dtype=joined["d"]), lower)
    return result


aten = torch.ops.aten
OPS = {
    "in": filled,
    "data": Bits.torch,
    "pick": lambda pieces, i: pieces[i],
    # views
    "t": torch.Tensor.t,
    "transpose": torch.Tensor.transpose,
    "permute": aten.permute.default,
    "movedim": torch.Tensor.movedim,
    "view": aten.view.default,
    "reshape": torch.reshape,
    "expand": aten.expand.default,
    "squeeze_all": torch.Tensor.squeeze,
    "squeeze": lambda x, axes: x.squeeze(axes[0]) if len(axes) == 1 else x.squeeze(tuple(axes)),
    "unsqueeze": torch.Tensor.unsqueeze,
    "select": torch.Tensor.select,
    "slice": aten.slice.Tensor,
    "narrow": torch.Tensor.narrow,
    "split": torch.Tensor.split,
    "chunk": torch.Tensor.chunk,
    "unbind": torch.Tensor.unbind,
    "flatten": torch.Tensor.flatten,
    "unflatten": torch.Tensor.unflatten,
    "diagonal": torch.Tensor.diagonal,
    "as_strided": torch.Tensor.as_strided,
    "index": lambda x, items: x[tuple(items.items)],
    # copies and writes
    "contiguous": torch.Tensor.contiguous,
    "clone": torch.Tensor.clone,
    "to": lambda x, dtype: x.to(DTYPES[dtype]),
    "copy_": torch.Tensor.copy_,
    "fill_": lambda x, value: x.fill_(value.value),
    "zero_": torch.Tensor.zero_,
    "item": torch.Tensor.item,
    # creation
    "empty": lambda size, dtype: torch.empty(size, **dtype_option(dtype)),
    "empty_strided": lambda size, stride, dtype: torch.empty_strided(size, stride, **dtype_option(dtype)),
    "zeros": lambda size, dtype: torch.zeros(size, **dtype_option(dtype)),
    "ones": lambda size, dtype: torch.ones(size, **dtype_option(dtype)),
    "full": lambda size, value, dtype: torch.full(size, value.value, **dtype_option(dtype)),
    "empty_like": lambda x, dtype: torch.empty_like(x, **dtype_option(dtype)),
    "zeros_like": lambda x, dtype: torch.zeros_like(x, **dtype_option(dtype)),
    "ones_like": lambda x, dtype: torch.ones_like(x, **dtype_option(dtype)),
    "full_like": lambda x, value, dtype: torch.full_like(x, value.value, **dtype_option(dtype)),
    "arange_to": lambda end, dtype: torch.arange(end.value, **dtype_option(dtype)),
    "arange": lambda start, end, step, dtype: torch.arange(start.value, end.value, step.value, **dtype_option(dtype)),
    "linspace": lambda start, end, steps, dtype: torch.linspace(start.value, end.value, steps, **dtype_option(dtype)),
    "eye": lambda rows, columns, dtype: torch.eye(rows, **({} if columns is None else {"m": columns}),
                                                  **dtype_option(dtype)),
    # promotion
    "promote_types": lambda a, b: torch.promote_types(DTYPES[a], DTYPES[b]),
    "can_cast": lambda a, b: torch.can_cast(DTYPES[a], DTYPES[b]),
    "result_type": lambda *operands: combined_result_type(operands),
}


def words_of(tensor):
    """The elements in row-major order, as integers; None is NaN."""
    dtype = DTYPE_NAMES[tensor.dtype]
    flat = tensor.contiguous().flatten()
    if dtype not in FLOATING:
        return [int(value) for value in flat.tolist()]
    mask = (1 << (8 * tensor.itemsize)) - 1
    bits = flat.view(BITS_OF[dtype]).tolist()
    return [None if nan else value & mask for value, nan in zip(bits, flat.isnan().tolist())]


def values_text(tensor, in_full=False):
    words = words_of(tensor)
    if len(words) > MAX_VALUES_IN_FULL and not in_full:
        digest = 0xcbf29ce484222325
        for word in words:
            digest = ((digest ^ (WORD if word is None else word & WORD)) * 0x100000001b3) & WORD
        return f"#{digest:016x}"
    if DTYPE_NAMES[tensor.dtype] not in FLOATING:
        return "[" + ",".join(map(str, words)) + "]"
    width = tensor.itemsize * 2
    return "[" + ",".join("nan" if word is None else f"{word:0{width}x}" for word in words) + "]"


class Program:
    def __init__(self):
        self.steps = []
        self.registers = []
        self.error = None
        self.expectations = []

    def do(self, op, *arguments):
        """Notes a step and runs it; returns its register. After an error nothing more may be done."""
        assert self.error is None, self.steps
        self.steps.append(" ".join([op, *filter(None, map(text_of, arguments))]))
        values = [self.resolved(argument) for argument in arguments]
        try:
            result = OPS[op](*values)
        except IndexError:
            self.error = "index"
        except (RuntimeError, TypeError, ValueError) as error:
            # unflatten of a tensor without axes wraps an IndexError into a RuntimeError; what counts is the inner one.
            wrapped = "unflatten got an unexpected error" in str(error) and "has no dimensions" in str(error)
            self.error = "index" if wrapped else "other"
        else:
            # With a size of 0 torch accepts negative sizes, and sizes so large that strides overflow.
            if isinstance(result, torch.Tensor) and any(not 0 <= size < MAX_SIZE for size in result.shape):
                raise NoAnswer
            self.registers.append(result)
        return Ref(len(self.steps) - 1)

    def resolved(self, argument):
        if isinstance(argument, list):
            return [self.resolved(each) for each in argument]
        return self.registers[argument.number] if isinstance(argument, Ref) else argument

    def value(self, ref):
        return self.registers[ref.number]

    def owner_of(self, tensor):
        storage = tensor.untyped_storage()._cdata
        for number, other in enumerate(self.registers):
            if isinstance(other, torch.Tensor) and other is not tensor and other.untyped_storage()._cdata == storage:
                return f"%{number}"
        return "new"

    def expect(self, ref, text):
        self.expectations.append(f"{ref} {text}")

    def expect_tensor(self, ref, kind="tensor", tensor=None, visible_strides=False):
        """With visible_strides, those that no element tells are *: of axes of size 1, and all of an empty tensor."""
        tensor = self.value(ref) if tensor is None else tensor
        strides = list(tensor.stride())
        if visible_strides:
            hidden = [size == 1 or tensor.numel() == 0 for size in tensor.shape]
            strides = ["*" if is_hidden else stride for is_hidden, stride in zip(hidden, strides)]
        parts = [kind, DTYPE_NAMES[tensor.dtype], text_of(list(tensor.shape)), text_of(strides),
                 str(tensor.storage_offset()), self.owner_of(tensor)]
        if kind != "layout":
            parts.append(values_text(tensor, in_full=kind == "near"))
        self.expect(ref, " ".join(parts))

    def expect_result(self, ref, kind="tensor"):
        """The tensor, or every tensor of the list."""
        if self.error:
            return
        result = self.value(ref)
        if isinstance(result, torch.Tensor):
            self.expect_tensor(ref, kind)
            return
        self.expect(ref, f"count {len(result)}")
        for i, piece in enumerate(result):
            self.expect_tensor(f"{ref}.{i}", kind, piece)

    def line(self, number, family):
        expected = f"error {self.error}" if self.error else " ; ".join(self.expectations)
        assert expected
        return f"{number} {family} | {' | '.join(self.steps)} => {expected}"
