"""Optimizers, with PyTorch's names, arguments and rules. A step is one kernel for all parameters of a group.

A whole training step can be compiled: the learning rate is a tensor, which a compiled step reads anew each time.
"""
from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping

import pellucid as pel
from pellucid import errors, ops
from pellucid._core import Tensor


class Group(typing.Dict[str, typing.Any]):
    """Parameters that share their settings. `group["lr"] = 0.1` takes effect at the next step, in compiled ones too."""

    def __init__(self, settings: Mapping[str, typing.Any]) -> None:
        super().__init__(settings)
        self.lr, self.step = pel.tensor(float(self["lr"])), pel.tensor(0.0)
        self.states: list[list[Tensor]] = []

    def __setitem__(self, name: str, value: typing.Any) -> None:
        if name == "lr":
            self.lr.fill_(float(value))
        super().__setitem__(name, value)


class Optimizer:
    """The base of optimizers. `params`: tensors, or dicts with "params" and settings of their own."""

    _states: tuple[str, ...] = ()  # of each parameter

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, typing.Any]], defaults: dict[str, typing.Any]) -> None:
        listed: list[typing.Any] = list(params)
        if not listed:
            raise _value_error("an optimizer needs parameters, and there are none in the list")
        groups = listed if isinstance(listed[0], dict) else [{"params": listed}]
        self.param_groups: list[Group] = []
        seen: set[int] = set()
        for settings in groups:
            members = list(settings["params"])
            for tensor in members:
                if not isinstance(tensor, Tensor) or not tensor.is_leaf:
                    raise _value_error("an optimizer takes leaves: tensors that no recorded call has made")
                if id(tensor) in seen:
                    raise _value_error("a parameter is in the list twice, or in two groups")
                seen.add(id(tensor))
            group = Group({**defaults, **settings, "params": members})
            group.states = [[_state_like(tensor) for tensor in members] for _ in self._states]
            self.param_groups.append(group)

    def zero_grad(self) -> None:
        for group in self.param_groups:
            for tensor in group["params"]:
                tensor.grad = None

    def step(self) -> None:
        """Updates every parameter that has a gradient."""
        with pel.no_grad():
            for group in self.param_groups:
                grads = {i: tensor.grad for i, tensor in enumerate(group["params"]) if tensor.grad is not None}
                if grads:
                    states = [[state[i] for i in grads] for state in group.states]
                    self._update(group, [group["params"][i] for i in grads], states, list(grads.values()))

    def _update(self, group: Group, params: list[Tensor], states: list[list[Tensor]], grads: list[Tensor]) -> None:
        raise NotImplementedError

    def state_dict(self) -> dict[str, typing.Any]:
        """Settings, steps and the state of each parameter, by group and in the order of the parameters."""
        return {"groups": [{"settings": {name: value for name, value in group.items() if name != "params"},
                            "step": group.step.detach(),
                            **{name: [tensor.detach() for tensor in state] for name, state in zip(self._states, group.states)}}
                           for group in self.param_groups]}

    def load_state_dict(self, state: Mapping[str, typing.Any]) -> None:
        """Copies a state into this optimizer, which has the same groups."""
        sizes = [len(group["params"]) for group in self.param_groups]
        found = [len(saved[self._states[0]]) if self._states else size for saved, size in zip(state["groups"], sizes)]
        if len(state["groups"]) != len(sizes) or found != sizes:
            raise _value_error(f"the state does not fit: the optimizer has groups of {sizes} parameters, the state of {found}")
        with pel.no_grad():
            for group, saved in zip(self.param_groups, state["groups"]):
                for name, value in saved["settings"].items():
                    group[name] = value
                group.step.copy_(saved["step"])
                for name, own in zip(self._states, group.states):
                    for to, tensor in zip(own, saved[name]):
                        to.copy_(tensor)

    def __repr__(self) -> str:
        settings = [", ".join(f"{name}={value}" for name, value in group.items() if name != "params") for group in self.param_groups]
        return f"{type(self).__name__}({'; '.join(settings)})"


def _state_like(tensor: Tensor) -> Tensor:
    with pel.no_grad():
        return pel.zeros_like(tensor, dtype=pel.float32 if tensor.dtype in (pel.float16, pel.bfloat16) else tensor.dtype)


def _value_error(message: str) -> errors.ValueError:
    error = errors.ValueError(f"E04 value: {message}")
    error.code = "E04"
    return error


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum if it is not 0."""

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, typing.Any]], lr: float = 1e-3, momentum: float = 0.0,
                 dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> None:
        self._states = ("momentum",) if momentum else ()
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov})

    def _update(self, group: Group, params: list[Tensor], states: list[list[Tensor]], grads: list[Tensor]) -> None:
        ops.sgd_step_(group.step, params, states[0] if states else [], grads, group.lr, momentum=group["momentum"],
                      dampening=group["dampening"], weight_decay=group["weight_decay"], nesterov=group["nesterov"])


class Adam(Optimizer):
    """Adam; the weight decay is added to the gradient."""

    _states = ("first", "second")
    _decoupled = False

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, typing.Any]], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def _update(self, group: Group, params: list[Tensor], states: list[list[Tensor]], grads: list[Tensor]) -> None:
        beta1, beta2 = group["betas"]
        ops.adam_step_(group.step, params, states[0], states[1], grads, group.lr, beta1=beta1, beta2=beta2, eps=group["eps"],
                       weight_decay=group["weight_decay"], decoupled=self._decoupled)


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    _decoupled = True

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, typing.Any]], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)


def clip_grad_norm_(parameters: Iterable[Tensor], max_norm: float) -> Tensor:
    """Scales gradients so that their total norm is at most max_norm. Returns the norm before."""
    with pel.no_grad():
        grads = [tensor.grad for tensor in parameters if tensor.grad is not None]
        if not grads:
            return pel.tensor(0.0)
        total = pel.stack([grad.norm() for grad in grads]).norm()
        factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor)
        return total
