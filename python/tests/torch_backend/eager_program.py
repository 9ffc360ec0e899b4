"""A second implementation of `pellucid._torch.Program`: it runs a description op by op with Pellucid's eager ops.

It shows whether a lowering is right apart from capture, fusion and plans; tests compare the compiled program with it.
"""
import time

import pellucid
import torch
from pellucid import _core
from pellucid.torch._sizes import evaluate


class EagerProgram:
    def __init__(self, tensor_type, symbols, inputs, calls, outputs, returns, freezes=False):
        self.symbols, self.inputs, self.steps = symbols, inputs, calls
        self.outputs, self.returns = outputs, returns
        for op, arguments, _, _ in calls:
            expected = len(_core.ops[op].arguments)
            if len(arguments) != expected:
                raise ValueError(f"{op} takes {expected} arguments; the description has {len(arguments)}")
        self.calls = self.ns = self.copies_for_strides = self.first_call_ns = self.compile_ns = 0
        self.compiles = self.plans = 1

    def explain(self):
        return self.graph()

    def graph(self):
        return "\n".join(f"%{i} = {op}({arguments})  # {file}:{line}" for i, (op, arguments, file, line) in enumerate(self.steps))

    def kernels(self):
        return [op for op, _, _, _ in self.steps]

    def __call__(self, args):
        start = time.perf_counter_ns()
        torch_inputs = list(args)
        args.clear()
        assert len(torch_inputs) == len(self.inputs), (len(torch_inputs), len(self.inputs))
        sizes = [self._read(source, torch_inputs) for source, _ in self.symbols]
        inputs = [self._input(i, described, x, sizes) for i, (described, x) in enumerate(zip(self.inputs, torch_inputs))]
        values = []
        for op, arguments, _, _ in self.steps:
            record = _core.ops[op]
            positional, keywords = [], {}
            for (name, _, _, _, is_keyword, _), argument in zip(record.arguments, arguments):
                value = self._argument(argument, values, inputs, sizes)
                if is_keyword:
                    keywords[name] = value
                else:
                    positional.append(value)
            values.append(record(*positional, **keywords))
        results = []
        for argument, strides, _ in self.outputs:
            result = torch.from_dlpack(self._argument(argument, values, inputs, sizes))
            if strides is not None:
                wanted = tuple(evaluate(e, sizes) for e in strides)
                if not same_strides(result, wanted):
                    result = torch.empty_strided(result.shape, wanted, dtype=result.dtype).copy_(result)
                    self.copies_for_strides += 1
                elif result.stride() != wanted:
                    result = result.as_strided(result.shape, wanted)
            results.append(result)
        returned = [self._return(r, torch_inputs, results, sizes) for r in self.returns]
        self.calls += 1
        self.ns += time.perf_counter_ns() - start
        return returned

    def _read(self, source, torch_inputs):
        kind, i, *axis = source
        if kind == "value":
            return int(torch_inputs[i])
        return torch_inputs[i].shape[axis[0]] if kind == "size" else torch_inputs[i].stride(axis[0])

    def _input(self, i, described, x, sizes):
        if described[0] != "tensor":
            return x
        _, dtype, shape, strides, _ = described
        assert tuple(x.shape) == tuple(evaluate(e, sizes) for e in shape), (i, x.shape, shape)
        assert same_strides(x, [evaluate(e, sizes) for e in strides]), (i, x.stride(), strides)
        tensor = pellucid.from_dlpack(x.detach())
        assert str(tensor.dtype).removeprefix("pellucid.") in (dtype, LONG_NAMES.get(dtype)), (i, tensor.dtype, dtype)
        return tensor

    def _argument(self, argument, values, inputs, sizes):
        kind, *rest = argument
        if kind == "none":
            return None
        if kind == "value":
            return values[rest[0]] if rest[1] < 0 else values[rest[0]][rest[1]]
        if kind == "input":
            return inputs[rest[0]]
        if kind == "values":
            return [self._argument(x, values, inputs, sizes) for x in rest[0]]
        if kind in ("size", "number_size"):
            return evaluate(rest[0], sizes)
        if kind == "sizes":
            return [evaluate(e, sizes) for e in rest[0]]
        if kind == "constant":
            return pellucid.from_dlpack(rest[0].detach())
        assert kind in ("float", "bool", "string", "dtype", "number"), argument
        return rest[0]

    def _return(self, described, torch_inputs, results, sizes):
        kind, *rest = described
        if kind == "none":
            return None
        if kind == "input":
            return torch_inputs[rest[0]]
        if kind == "size":
            return evaluate(rest[0], sizes)
        if kind == "result":
            return results[rest[0]]
        base = torch_inputs[rest[0]]
        shape, strides = ([evaluate(e, sizes) for e in list_] for list_ in rest[1:3])
        return base.as_strided(shape, strides, base.storage_offset() + evaluate(rest[3], sizes))


LONG_NAMES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16",
    "i8": "int8", "u8": "uint8",
}


def same_strides(tensor, strides):
    """Strides of axes with one element, and all of an empty tensor, do not matter."""
    return tensor.numel() == 0 or all(a == b for a, b, n in zip(tensor.stride(), strides, tensor.shape) if n > 1)
