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


def rank_document(rank, ranks=4, steps=6, late_rank=2, late_us=400.0):
    """The trace of one rank: each step loads data, runs ten kernels and ends with an all-reduce. One rank loads late in each step."""
    made, number, busy_us, transfer_us = [], 0, 200.0, 50.0
    step_us = 20.0 + late_us + busy_us + transfer_us + 20.0

    def span(category, name, pid, tid, begin, dur, **args):
        made.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": begin, "dur": dur, "args": args})

    for step in range(steps):
        begin = 1e6 + step * step_us
        loaded = begin + 20.0 + (late_us if rank == late_rank else 0.0)
        end = begin + step_us - 20.0  # of the collective, on all ranks
        span("user_annotation", f"ProfilerStep#{step}", 100, 1, begin, step_us)
        span("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 100, 1, begin, loaded - begin)
        for kernel in range(10):
            number += 1
            at = loaded + 3.0 + 4.0 * kernel
            span("cpu_op", "aten::relu", 100, 1, at - 1.0, 3.5)
            span("cuda_runtime", "cudaLaunchKernel", 100, 1, at, 2.0, correlation=number)
            span("kernel", KERNEL, 0, 7, loaded + 10.0 + 19.0 * kernel, 18.0, correlation=number, device=0, stream=7)
        number += 1
        span("cpu_op", "nccl:all_reduce", 100, 1, loaded + 50.0, 4.0)
        span("cuda_runtime", "cudaLaunchKernel", 100, 1, loaded + 51.0, 2.0, correlation=number)
        arrives = loaded + busy_us
        span("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 0, 20, arrives, end - arrives,
             **{"correlation": number, "device": 0, "stream": 20, "Collective name": "allreduce", "In msg nelems": 1 << 20,
                "Out msg nelems": 1 << 20, "Group size": ranks, "dtype": "Float", "Process Group Name": "0"})
        span("cuda_runtime", "cudaStreamSynchronize", 100, 1, loaded + 60.0, end + 2.0 - loaded - 60.0, correlation=number)
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}, "traceEvents": made})
