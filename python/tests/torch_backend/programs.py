"""Random programs: views, writes in place, broadcasting, reductions, matmuls, dtypes, writes to inputs, several sizes.

    programs.py SEED [dynamic]    prints the program of a seed and compares it with eager

A program is the source of a function. It is built one statement at a time: each candidate runs in eager for every set of sizes, and is
dropped if PyTorch refuses it or if its result is large. So programs are legal, and rounding stays far below the tolerance.
Ops that round differently could not be compared after a step function, so comparisons and conversions to integers take exact values only.
"""
import itertools
import linecache
import random
import sys
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

MAX_STATEMENTS = 14
LARGEST = 16.0  # results beyond this are dropped: errors are relative to the largest element
MAX_HALF_OPS = 2  # ops in a row on f16 or bf16: each rounds to 3 or 2 digits
SIZES = [(4, 6), (7, 5), (3, 8), (2, 9), (5, 2), (6, 4), (1, 6), (4, 1), (0, 3), (8, 8)]
HALF = (torch.float16, torch.bfloat16)


@dataclass
class Value:
    """A variable of the program, for each set of sizes."""

    name: str
    tensors: list
    exact: bool = True  # computed without rounding
    half_ops: int = 0
    is_input_memory: bool = False  # an input, or a view of one

    @property
    def dtype(self):
        return self.tensors[0].dtype

    @property
    def dims(self):
        return self.tensors[0].dim()


@dataclass
class Program:
    seed: int
    source: str
    inputs: list  # for each set of sizes, the arguments
    dynamic: bool
    grad: bool
    function: object = field(init=False)

    def __post_init__(self):
        self.function = define(self.source, f"<random program {self.seed}>")

    def __str__(self):
        sizes = ["; ".join(f"{argument.dtype} {tuple(argument.shape)} {argument.stride()}" for argument in arguments) for arguments in self.inputs]
        return f"seed {self.seed}, dynamic={self.dynamic}, grad={self.grad}\n{self.source}" + "\n".join(f"inputs: {line}" for line in sizes)


def define(source, file):
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names = {"torch": torch, "F": F}
    exec(compile(source, file, "exec"), names)
    return names["program"]


class Builder:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seed = seed
        self.dynamic = self.random.random() < 0.5
        self.grad = self.random.random() < 0.2
        self.sizes = self.random.sample(SIZES, 2)
        self.lines, self.values = [], []
        self.numbers = itertools.count()
        torch.manual_seed(seed)
        for _ in range(self.random.randint(1, 3)):
            self.add_input()
        self.inputs = [[value.tensors[i].detach() for value in self.values] for i in range(len(self.sizes))]
        self.pristine = [[copy_of(tensor) for tensor in arguments] for arguments in self.inputs]
        self.count = len(self.values)

    def add_input(self):
        """Draws form, strides and dtype of an input; both sizes of a program have the same form."""
        form = self.random.choice(["ab", "ab", "ab", "ba", "a", "b", "2ab", "bb"])
        layout = self.random.choice(["dense", "dense", "transposed", "strided", "offset"])
        dtype = self.random.choices([torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool, torch.int32],
                                    [10, 0 if self.grad else 1, 0 if self.grad else 1, 0 if self.grad else 2, 0 if self.grad else 1,
                                     0 if self.grad else 1])[0]
        tensors = []
        for a, b in self.sizes:
            shape = [{"a": a, "b": b, "2": 2}[letter] for letter in form]
            tensors.append(draw(shape, dtype, layout))
        self.values.append(Value(f"x{len(self.values)}", tensors, is_input_memory=True))

    def pick(self, condition=lambda value: True):
        fitting = [value for value in self.values if condition(value)]
        if not fitting:
            raise LookupError
        # Late values more often, so that programs are chains too.
        return self.random.choices(fitting, [index + 1 for index in range(len(fitting))])[0]

    def floating(self, **_):
        return self.pick(lambda value: value.dtype.is_floating_point and value.half_ops < MAX_HALF_OPS)

    def axis(self, value):
        return self.random.randrange(-value.dims, value.dims)

    def candidate(self):
        """Returns a statement: (expression or None, statement without a result or None, sources, is exact, is a view)."""
        kind = self.random.choices(
            [self.unary, self.binary, self.view, self.reduce, self.matmul, self.convert, self.write, self.choose, self.join, self.step],
            [5, 5, 6, 3, 2, 1, 3, 1, 1, 1])[0]
        return kind()

    def unary(self):
        x = self.floating()
        form = self.random.choice(["torch.tanh({0})", "torch.sigmoid({0})", "F.gelu({0})", "torch.exp(torch.tanh({0}))", "torch.sin({0})",
                                   "{0}.square()", "torch.sqrt({0}.abs() + 1)", "F.silu({0})", "torch.log1p({0}.abs())", "1 / ({0}.abs() + 1)",
                                   "F.relu({0})", "-{0}", "{0}.abs()", "{0}.clamp(-1, 0.5)", "{0} * 0.5"])
        exact = form in ("F.relu({0})", "-{0}", "{0}.abs()", "{0}.clamp(-1, 0.5)", "{0} * 0.5")
        return form.format(x.name), None, [x], exact, False

    def binary(self):
        x, y = self.pick(), self.pick()
        form = self.random.choice(["{0} + {1}", "{0} - {1}", "{0} * {1}", "torch.maximum({0}, {1})", "torch.minimum({0}, {1})", "{0} + 1",
                                   "3 - {0}", "torch.where({0} > 0, {0}, {1})" if x.exact else "{0} + {1}", "torch.add({0}, {1}, alpha=2)"])
        exact = not any(value.dtype.is_floating_point for value in (x, y)) or "m" in form and "torch.m" in form
        return form.format(x.name, y.name), None, [x, y], exact, False

    def view(self):
        x = self.pick(lambda value: value.dims > 0)
        axis, other = self.axis(x), self.axis(x)
        forms = ["{0}.transpose({1}, {2})", "{0}.narrow({1}, 1, 2)", "{0}.unsqueeze({1})", "{0}.flip({1})", "{0}.reshape(-1)",
                 "{0}.flatten()", "{0}[1:]", "{0}[..., ::2]", "{0}[0]", "{0}.select({1}, -1)", "{0}.chunk(2, {1})[0]", "{0}.mT",
                 "{0}.movedim({1}, {2})", "{0}.unsqueeze(0).expand(3, *{0}.shape)", "{0}.contiguous()", "{0}.clone()", "{0}.view({0}.shape)",
                 "{0}.roll(1, {1})", "{0}.diagonal()", "{0}.squeeze()", "{0}.tril()", "{0}.repeat_interleave(2, {1})",
                 "{0}.unflatten({1}, (-1, 2))", "F.pad({0}, (1, 2))", "{0}.as_strided(({0}.shape[0],), (1,))"]
        form = self.random.choice(forms)
        return form.format(x.name, axis, other), None, [x], True, True

    def reduce(self):
        x = self.floating()
        axis = self.axis(x) if x.dims else 0
        form = self.random.choice(["{0}.sum({1})", "{0}.mean({1})", "{0}.mean()", "{0}.sum({1}, keepdim=True)", "{0}.amax({1})", "{0}.amin({1})",
                                   "torch.softmax(torch.tanh({0}), {1})", "{0}.cumsum({1})", "torch.logsumexp(torch.tanh({0}), {1})",
                                   "F.layer_norm({0}, {0}.shape[-1:], eps=0.1)", "{0}.var({1}, unbiased=False)", "{0}.prod({1})",
                                   "torch.linalg.vector_norm({0} + 3, dim={1})", "{0}.max({1})[0]", "{0}.sort({1})[0]"])
        exact = any(op in form for op in ("amax", "amin", ".max(", "sort"))
        return form.format(x.name, axis), None, [x], exact, False

    def matmul(self):
        x, y = self.floating(), self.floating()
        form = self.random.choice(["{0} @ {1}", "{0} @ {1}.mT", "{0}.mT @ {1}", "F.linear({0}, {1})", "torch.einsum('...i,...i->...', {0}, {1})",
                                   "torch.outer({0}.flatten(), {1}.flatten())"])
        return form.format(x.name, y.name), None, [x, y], False, False

    def convert(self):
        x = self.pick()
        names = ["float32", "float32", "float64", "bfloat16", "float16"]
        if x.exact and not x.dtype.is_floating_point or x.exact and self.random.random() < 0.3:
            names += ["int64", "int32", "bool", "uint8"] if not x.dtype.is_floating_point else ["int64", "int32", "bool"]
        name = self.random.choice(names)
        return f"{x.name}.to(torch.{name})", None, [x], x.exact and name not in ("bfloat16", "float16"), False

    def write(self):
        """A write in place, to a value or to a part of it."""
        x = self.pick(lambda value: not (self.grad and value.is_input_memory))
        y = self.pick()
        form = self.random.choice(["{0}.add_({1})", "{0}.mul_(0.5)", "{0}.copy_({1})", "{0}[1:] = 2", "{0}[0].mul_(2)", "{0}.zero_()", "{0}.fill_(1)",
                                   "{0}[..., 0] = {0}[..., -1]", "{0}.mT.add_(1)", "{0}.clamp_(-1, 1)", "{0}.masked_fill_({0} > 1, 0)" if x.exact else "{0}.neg_()",
                                   "{0}.t()[0].copy_({0}.t()[1])", "{0}.sub_({1})", "{0}.view(-1)[::2].add_(1)", "{0} += {1}"])
        return None, form.format(x.name, y.name), [x, y], False, False

    def choose(self):
        """Indexing with an index that every size allows."""
        x = self.pick(lambda value: value.dims > 0)
        form = self.random.choice(["{0}[torch.tensor([0, 1, 0])]", "{0}.index_select({1}, torch.tensor([1, 0]))",
                                   "torch.gather({0}, {1}, torch.zeros({0}.shape, dtype=torch.long))", "{0}[:, torch.tensor([1, 0])]",
                                   "F.embedding(torch.tensor([[0, 1], [1, 1]]), {0})", "torch.take_along_dim({0}, torch.zeros_like({0}, dtype=torch.long), {1})"])
        return form.format(x.name, self.axis(x)), None, [x], True, False

    def join(self):
        x, y = self.pick(), self.pick()
        form = self.random.choice(["torch.cat([{0}, {1}], -1)", "torch.cat([{0}, {1}])", "torch.stack([{0}, {0}], 0)", "torch.stack([{0}, {1}], -1)"])
        return form.format(x.name, y.name), None, [x, y], True, False

    def step(self):
        x = self.pick(lambda value: value.exact)
        form = self.random.choice(["{0} > 0", "({0} > 0) & ({0} < 1)", "({0} > 0).any()", "({0} > 0).sum()", "{0} == {0}", "({0} > 0).sum(-1)",
                                   "{0}.argmax(-1)", "({0} != 0).all()", "torch.where({0} > 0, 1.0, -1.0)", "{0}.round()", "{0}.floor()"])
        return form.format(x.name), None, [x], True, False

    def try_candidate(self):
        try:
            expression, statement, sources, exact, is_view = self.candidate()
        except LookupError:
            return
        if statement and not all(may_write(*(value.tensors[index] for value in sources)) for index in range(len(self.sizes))):
            return
        results = []
        backup = [[copy_of(tensor) for tensor in value.tensors] for value in self.values] if statement else None
        try:
            for index in range(len(self.sizes)):
                names = {"torch": torch, "F": F, **{value.name: value.tensors[index] for value in self.values}}
                if statement:
                    exec(statement, names)
                else:
                    results.append(eval(expression, names))
            touched = results or [tensor for value in self.values for tensor in value.tensors]
            if any(is_large(tensor) for tensor in touched):
                raise ValueError
        except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
            if backup:
                for value, tensors in zip(self.values, backup):
                    for tensor, saved in zip(value.tensors, tensors):
                        restore(tensor, saved)
            return
        exact = exact and all(value.exact for value in sources)
        half_ops = max(value.half_ops for value in sources)
        if statement:
            self.lines.append(statement)
            for value in self.values:  # others may share its memory
                value.exact = value.exact and (exact or not value.dtype.is_floating_point)
            sources[0].half_ops += sources[0].dtype in HALF
            return
        name = f"v{next(self.numbers)}"
        self.lines.append(f"{name} = {expression}")
        is_half = results[0].dtype in HALF or any(value.dtype in HALF for value in sources)
        self.values.append(Value(name, results, exact, half_ops + (is_half and not is_view), is_view and sources[0].is_input_memory))

    def build(self):
        wanted = self.random.randint(4, MAX_STATEMENTS)
        for _ in range(10 * wanted):
            if len(self.lines) >= wanted:
                break
            with torch.no_grad():
                self.try_candidate()
        made = [value.name for value in self.values[self.count:]]
        returned = self.random.sample(made, min(len(made), self.random.randint(1, 4)))
        if self.random.random() < 0.2 or not returned:
            returned.append(self.random.choice(self.values[:self.count]).name)
        names = ", ".join(value.name for value in self.values[:self.count])
        body = "\n".join(f"    {line}" for line in self.lines)
        source = f"def program({names}):\n{body}\n    return {', '.join(returned)},\n"
        return Program(self.seed, source, self.pristine, self.dynamic, self.grad)


def draw(shape, dtype, layout):
    full = list(shape)
    if layout == "transposed":
        full = full[::-1]
    if layout == "strided":
        full[-1] *= 2
    if layout == "offset":
        full[0] += 2
    if dtype == torch.bool:
        tensor = torch.randint(0, 2, full).bool()
    elif dtype.is_floating_point:
        tensor = torch.randn(full).to(dtype)
    else:
        tensor = torch.randint(-4, 5, full, dtype=dtype)
    if layout == "transposed":
        tensor = tensor.permute(*range(tensor.dim() - 1, -1, -1))
    if layout == "strided":
        tensor = tensor[..., ::2]
    return tensor[2:] if layout == "offset" else tensor


def is_large(tensor):
    return tensor.numel() > 4096 or (tensor.numel() > 0 and tensor.is_floating_point()
                                     and not tensor.abs().max().item() <= LARGEST) or \
        (tensor.numel() > 0 and not tensor.is_floating_point() and tensor.double().abs().max().item() > 1000)


def copy_of(tensor):
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor) if is_injective(tensor) else tensor.clone()


def restore(tensor, saved):
    """Writes back what a dropped statement changed. Several elements of an expanded tensor are one, which its base restores."""
    if is_injective(tensor):
        tensor.copy_(saved)


def is_injective(tensor):
    """Returns whether no two elements have the same address."""
    steps = sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size > 1)
    end = 1
    for stride, size in steps:
        if stride < end:
            return False
        end = stride * size
    return True


def may_write(target, source):
    """Returns whether the result of writing `source` to `target` is defined: no two elements of the target are one, and the source
    is the target itself or has other memory."""
    same_memory = target.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()
    return is_injective(target) and (target is source or not same_memory)


def has_gradients(made: Program):
    """Returns whether eager can compute gradients: a write in place may have destroyed a value that backward needs."""
    from comparison import copy_args

    try:
        for pristine in made.inputs:
            args = [tensor.requires_grad_() for tensor in copy_args(pristine)]
            backward(made.function(*args))
    except RuntimeError:
        return False
    return True


def backward(outputs):
    loss = sum((output.double() ** 2).mean() for output in outputs if output.requires_grad and output.numel())
    if isinstance(loss, torch.Tensor):
        loss.backward()


def program(seed) -> Program:
    """Returns the program of a seed: always the same for the same versions of Python and PyTorch."""
    made = Builder(seed).build()
    # The gradient of as_strided of a view is wrong with AOTAutograd, for every backend.
    made.grad = made.grad and "as_strided" not in made.source and has_gradients(made)
    return made


def compare(made: Program):
    """Returns sentences about what differs between eager and the compiled program."""
    from comparison import compare_calls, compare_tensors, compiled, copy_args, forget

    forget()
    faster = compiled(made.function, dynamic=made.dynamic)
    problems = []
    for round_number, pristine in enumerate([*made.inputs, made.inputs[0]]):
        args = [copy_args(pristine), copy_args(pristine)]
        if made.grad:
            args = [[tensor.requires_grad_() for tensor in side] for side in args]
        with torch.set_grad_enabled(made.grad):
            expected, found = made.function(*args[0]), faster(*args[1])
        found_problems = compare_calls(args[0], expected, args[1], found, floor=1.0, all_strides=False)
        if made.grad and not found_problems:
            for outputs in (expected, found):
                backward(outputs)
            for index, (a, b) in enumerate(zip(*args)):
                # AOTAutograd returns zeros for an input on which no element of the loss depends; eager has no gradient there.
                # It also chooses other strides for axes of size 1 of gradients, so these are compared without strides.
                a_grad, b_grad = ((torch.zeros_like(side) if side.grad is None else side.grad).flatten().clone() for side in (a, b))
                found_problems += compare_tensors(f"gradient of input {index}", a_grad, b_grad, 1e-5, floor=1.0)
        problems += [f"call {round_number + 1}: {problem}" for problem in found_problems]
    return problems


if __name__ == "__main__":
    asked = program(int(sys.argv[1]))
    print(asked)
    differing = compare(asked)
    print("\n".join(differing) or "equal")
    sys.exit(bool(differing))
