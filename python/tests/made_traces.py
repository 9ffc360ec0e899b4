"""Traces in PyTorch's format, made for tests."""
import json

KERNEL = "void at::native::vectorized_elementwise_kernel<4, X>()"


def events(count, begin=0.0, sync_every=0):
    """Ops with a launch and a kernel each; the host takes 20 µs for one, the device 6."""
    made = []
    for i in range(count):
        at, launch = begin + 20.0 * i, {"correlation": i + 1}
        device = {**launch, "device": 0, "stream": 7}
        made += [
            {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": at, "dur": 15.0, "args": {}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 5, "dur": 5.0,
             "args": launch},
            {"ph": "X", "cat": "kernel", "name": KERNEL, "pid": 0, "tid": 7, "ts": at + 13, "dur": 6.0, "args": device}]
        if sync_every and i % sync_every == sync_every - 1:
            made.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 1, "tid": 1,
                         "ts": at + 15, "dur": 4.5, "args": {}})
    return made


def document(made):
    return json.dumps({"schemaVersion": 1, "traceEvents": made})


def write_trace(path, count=40, **more):
    path.write_text(document(events(count, **more)))
    return path


def write_large_trace(path, megabytes):
    """The same block of events again and again, each time later."""
    mark = 31_000_000_000.0  # µs: stands in every time of the block
    block = json.dumps(events(2000, begin=mark))[1:-1]
    with open(path, "w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [')
        for i in range(max(1, megabytes * 1_000_000 // len(block))):
            file.write((", " if i else "") + block.replace('"ts": 31', f'"ts": {100 + i}'))
        file.write("]}")
    return path
