"""Modules: parameters with names, and the functions that use them. Names, arguments and initial distributions are PyTorch's.

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.down(pellucid.relu(self.up(x)))
"""
from __future__ import annotations

import math
import threading
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pellucid as pel
from pellucid import _core, errors
from pellucid._core import DType, Tensor

_Ints = typing.Union[int, Sequence[int]]


class _Calls(threading.local):
    paths: dict[int, str] = {}  # of the modules inside the outermost one that a profile has seen called


_calls = _Calls()


def Parameter(data: Tensor, requires_grad: bool = True) -> Tensor:
    """Returns a tensor over the same memory that is a parameter of the module it is assigned to: a leaf that requires a gradient."""
    return data.detach().requires_grad_(requires_grad)


class Module:
    """The base of modules. Assigned modules are submodules; assigned leaves that require a gradient are parameters."""

    training: bool

    def __init__(self) -> None:
        # Names alone: values are plain attributes.
        self.__dict__.update(_parameters={}, _buffers={}, _modules={}, training=True)

    def forward(self, *args: typing.Any, **keywords: typing.Any) -> typing.Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args: typing.Any, **keywords: typing.Any) -> typing.Any:
        if not _core.is_profiling():
            return self.forward(*args, **keywords)
        outer = _calls.paths
        if id(self) not in outer:  # the outermost module of a call names those inside
            _calls.paths = {id(module): path or "model" for path, module in self.named_modules()}
        span = _core.OpenRange(_calls.paths[id(self)], is_module=True)
        span.enter()
        try:
            return self.forward(*args, **keywords)
        finally:
            span.exit()
            _calls.paths = outer

    def __setattr__(self, name: str, value: typing.Any) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"call super().__init__() of {type(self).__name__} before its attributes are assigned")
        if isinstance(value, Module):
            self._forget(name)
            self._modules[name] = None
        elif isinstance(value, Tensor):
            if name not in self._buffers and name not in self._parameters and value.requires_grad and value.is_leaf:
                self._forget(name)
                self._parameters[name] = None
        elif value is not None:
            self._forget(name)
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        self._forget(name)
        super().__delattr__(name)

    def __getattr__(self, name: str) -> typing.Any:  # only for names that are missing; type checkers accept any
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    def _forget(self, name: str) -> None:
        for names in (self._parameters, self._buffers, self._modules):
            names.pop(name, None)

    def register_parameter(self, name: str, value: Tensor | None) -> None:
        """Adds a parameter, which may be None: then it is not in the state."""
        self._forget(name)
        self._parameters[name] = None
        self.__dict__[name] = value

    def register_buffer(self, name: str, value: Tensor | None) -> None:
        """Adds state that is not trained."""
        self._forget(name)
        self._buffers[name] = None
        self.__dict__[name] = value

    def add_module(self, name: str, module: Module) -> None:
        setattr(self, name, module)

    # ---- What is inside

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all inside, with their paths. Each once."""
        seen: set[int] = set()

        def walk(module: Module, path: str) -> Iterator[tuple[str, Module]]:
            if id(module) in seen:
                return
            seen.add(id(module))
            yield path, module
            for name, inner in module.named_children():
                yield from walk(inner, f"{path}.{name}" if path else name)

        yield from walk(self, prefix)

    def modules(self) -> Iterator[Module]:
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return ((name, self.__dict__[name]) for name in self._modules)

    def children(self) -> Iterator[Module]:
        return (module for _, module in self.named_children())

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """In the order in which they were added; those of submodules after a module's own. A shared one is there once."""
        yield from self._named("_parameters", set())

    def parameters(self) -> Iterator[Tensor]:
        return (tensor for _, tensor in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        yield from self._named("_buffers", set())

    def buffers(self) -> Iterator[Tensor]:
        return (tensor for _, tensor in self.named_buffers())

    def _named(self, kind: str, seen: set[int] | None) -> Iterator[tuple[str, Tensor]]:
        for path, module in self.named_modules():
            for name in module.__dict__[kind]:
                tensor = module.__dict__[name]
                if tensor is None or seen is not None and id(tensor) in seen:
                    continue
                if seen is not None:
                    seen.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor

    # ---- State

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by path. They share their memory with the module's."""
        return {name: tensor.detach() for kind in ("_parameters", "_buffers") for name, tensor in self._named(kind, None)}

    def load_state_dict(self, state: Mapping[str, typing.Any], strict: bool = True) -> None:
        """Copies values into parameters and buffers. They are tensors of this package or of others, or arrays."""
        own = self.state_dict()
        missing, unknown = [name for name in own if name not in state], [name for name in state if name not in own]
        if strict and (missing or unknown):
            raise _value_error("the state does not fit the module: " + "; ".join(
                f"{title} {', '.join(names[:5])}{' and more' * (len(names) > 5)}"
                for title, names in (("it lacks", missing), ("it has, and the module has not,", unknown)) if names)
                + ". strict=False loads the others")
        values = {name: _ours(state[name]) for name in own if name in state}
        for name, value in values.items():
            if value.shape != own[name].shape:
                raise _value_error(f"{name} has the sizes {own[name].shape}, and its new value has {value.shape}")
        with pel.no_grad():
            for name, value in values.items():
                own[name].copy_(value)

    def apply(self, function: Callable[[Module], typing.Any]) -> Module:
        """Calls a function with each submodule, and then with this one."""
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    def train(self, mode: bool = True) -> Module:
        for module in self.modules():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> Module:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self) -> None:
        for parameter in self.parameters():
            parameter.grad = None

    def to(self, dtype: DType) -> Module:
        """Floating parameters and buffers become new tensors of this dtype."""
        with pel.no_grad():
            made: dict[int, Tensor] = {}
            for module in self.modules():
                for name in (*module._parameters, *module._buffers):
                    tensor = module.__dict__[name]
                    if tensor is None or tensor.dtype not in _FLOATING:
                        continue
                    if id(tensor) not in made:
                        made[id(tensor)] = tensor.detach().to(dtype).requires_grad_(tensor.requires_grad)
                    module.__dict__[name] = made[id(tensor)]
        return self

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        inner = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self.named_children()]
        about = self.extra_repr()
        if not inner:
            return f"{type(self).__name__}({about})"
        return f"{type(self).__name__}({about}\n  " + "\n  ".join(inner) + "\n)"


_FLOATING = (pel.float64, pel.float32, pel.float16, pel.bfloat16)


def _value_error(message: str) -> errors.ValueError:
    error = errors.ValueError(f"E04 value: {message}")
    error.code = "E04"
    return error


def _ours(value: typing.Any) -> Tensor:
    """A tensor of this package over the same memory. Of a tensor of PyTorch that requires a gradient, its values."""
    if isinstance(value, Tensor):
        return value
    return pel.from_dlpack(value.detach() if getattr(value, "requires_grad", False) else value)


# ---- Containers

class Sequential(Module):
    """Modules called one after the other."""

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for i, module in enumerate(modules):
            setattr(self, str(i), module)

    def forward(self, x: typing.Any) -> typing.Any:
        for module in self.children():
            x = module(x)
        return x

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, at: int) -> Module:
        return list(self.children())[at]


class ModuleList(Module):
    """Modules in a list, named by their index."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> ModuleList:
        setattr(self, str(len(self)), module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, at: int) -> Module:
        return list(self.children())[at]


# ---- Layers

def _uniform(*sizes: int, bound: float) -> Tensor:
    return pel.empty(*sizes).uniform_(-bound, bound).requires_grad_()


class Linear(Module):
    """x @ weight.T + bias. The weight is [out, in]."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bound = 1 / math.sqrt(in_features) if in_features else 0
        self.weight = _uniform(out_features, in_features, bound=bound)
        self.register_parameter("bias", _uniform(out_features, bound=bound) if bias else None)

    def forward(self, x: Tensor) -> Tensor:
        return pel.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


class Embedding(Module):
    """Rows of a table, by index."""

    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        super().__init__()
        self.weight = pel.randn(num_embeddings, embedding_dim).requires_grad_()

    def forward(self, indices: Tensor) -> Tensor:
        return pel.embedding(self.weight, indices)

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.weight.shape))


def _shape(shape: _Ints) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


class LayerNorm(Module):
    """Normalizes over the last axes, then scales and shifts."""

    def __init__(self, normalized_shape: _Ints, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True) -> None:
        super().__init__()
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.register_parameter("weight", pel.ones(self.normalized_shape).requires_grad_() if elementwise_affine else None)
        self.register_parameter("bias", pel.zeros(self.normalized_shape).requires_grad_() if elementwise_affine and bias else None)

    def forward(self, x: Tensor) -> Tensor:
        return pel.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class RMSNorm(Module):
    """Divides by the root of the mean square over the last axes, then scales."""

    def __init__(self, normalized_shape: _Ints, eps: float | None = None, elementwise_affine: bool = True) -> None:
        super().__init__()
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.register_parameter("weight", pel.ones(self.normalized_shape).requires_grad_() if elementwise_affine else None)

    def forward(self, x: Tensor) -> Tensor:
        return pel.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class GroupNorm(Module):
    """Normalizes groups of channels."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__()
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.register_parameter("weight", pel.ones(num_channels).requires_grad_() if affine else None)
        self.register_parameter("bias", pel.zeros(num_channels).requires_grad_() if affine else None)

    def forward(self, x: Tensor) -> Tensor:
        return pel.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}"


class _BatchNorm(Module):
    """Normalizes channels over the batch; in evaluation, by the running mean and variance."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.register_parameter("weight", pel.ones(num_features).requires_grad_() if affine else None)
        self.register_parameter("bias", pel.zeros(num_features).requires_grad_() if affine else None)
        self.register_buffer("running_mean", pel.zeros(num_features))
        self.register_buffer("running_var", pel.ones(num_features))
        self.register_buffer("num_batches_tracked", pel.zeros((), dtype=pel.int64))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.num_batches_tracked += 1
        return pel.batch_norm(x, self.weight, self.bias, self.running_mean, self.running_var, self.training, self.momentum,
                              self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(_BatchNorm):
    """Over [batch, channels] or [batch, channels, length]."""


class BatchNorm2d(_BatchNorm):
    """Over [batch, channels, height, width]."""


class _Conv(Module):
    _axes = 0

    def __init__(self, in_channels: int, out_channels: int, kernel_size: _Ints, stride: _Ints = 1, padding: _Ints = 0,
                 dilation: _Ints = 1, groups: int = 1, bias: bool = True) -> None:
        super().__init__()
        kernel = (kernel_size,) * self._axes if isinstance(kernel_size, int) else tuple(kernel_size)
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel
        self._settings = (_shape(stride), _shape(padding), _shape(dilation), groups)
        bound = 1 / math.sqrt(in_channels // groups * math.prod(kernel))
        self.weight = _uniform(out_channels, in_channels // groups, *kernel, bound=bound)
        self.register_parameter("bias", _uniform(out_channels, bound=bound) if bias else None)

    def forward(self, x: Tensor) -> Tensor:
        convolve = (pel.conv1d, pel.conv2d, pel.conv3d)[self._axes - 1]
        result: Tensor = convolve(x, self.weight, self.bias, *self._settings)
        return result

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self._settings[0]}"


class Conv1d(_Conv):
    """Convolution of [batch, channels, length]."""
    _axes = 1


class Conv2d(_Conv):
    """Convolution of [batch, channels, height, width]."""
    _axes = 2


class Conv3d(_Conv):
    """Convolution of [batch, channels, depth, height, width]."""
    _axes = 3


class MaxPool2d(Module):
    """The largest element of each window."""

    def __init__(self, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0) -> None:
        super().__init__()
        self._settings = (_shape(kernel_size), () if stride is None else _shape(stride), _shape(padding))

    def forward(self, x: Tensor) -> Tensor:
        return pel.max_pool2d(x, *self._settings)


class AvgPool2d(Module):
    """The mean of each window."""

    def __init__(self, kernel_size: _Ints, stride: _Ints | None = None, padding: _Ints = 0) -> None:
        super().__init__()
        self._settings = (_shape(kernel_size), () if stride is None else _shape(stride), _shape(padding))

    def forward(self, x: Tensor) -> Tensor:
        return pel.avg_pool2d(x, *self._settings)


class Dropout(Module):
    """Zeros elements at random while training, and scales the others."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return pel.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Identity(Module):
    """Returns its argument."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Flatten(Module):
    """Merges the axes from start_dim to end_dim."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        return pel.flatten(x, self.start_dim, self.end_dim)


# ---- Activations and losses

class ReLU(Module):
    """max(x, 0)"""

    def forward(self, x: Tensor) -> Tensor:
        return pel.relu(x)


class GELU(Module):
    """x times the normal distribution function of x."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return pel.gelu(x, approximate=self.approximate)


class SiLU(Module):
    """x sigmoid(x)"""

    def forward(self, x: Tensor) -> Tensor:
        return pel.silu(x)


class Sigmoid(Module):
    """1 / (1 + exp(-x))"""

    def forward(self, x: Tensor) -> Tensor:
        return pel.sigmoid(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x: Tensor) -> Tensor:
        return pel.tanh(x)


class Softmax(Module):
    """exp(x) divided by its sum along an axis."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return pel.softmax(x, self.dim)


class CrossEntropyLoss(Module):
    """Of logits and classes, or probabilities of classes."""

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean",
                 label_smoothing: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self._settings = (reduction, ignore_index, label_smoothing)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return pel.cross_entropy(x, target, self.weight, *self._settings)


class MSELoss(Module):
    """The mean square of the difference."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return pel.mse_loss(x, target, self.reduction)
