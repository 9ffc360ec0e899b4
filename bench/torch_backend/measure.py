"""One measurement in one process. Prints a JSON object for each case, and progress on stderr.

    measure.py first_call CASE BACKEND            seconds of the first call; BACKEND is pellucid or inductor
    measure.py steady THREADS DTYPE SECONDS CASE...    eager, Inductor and Pellucid in turns
    measure.py training THREADS SECONDS CASE...   the same for forward and backward
    measure.py memory CASE BACKEND                how far a training step grows the process; BACKEND may be eager too
    measure.py add SECONDS                        a + b of 8 floats
    measure.py new_size                           what a new length costs in a GPT-2 of 12 layers
    measure.py turns SECONDS                      an op of torch and one of ours in turn, on two threads

One thread: CPU time of the process, so that a busy machine disturbs less. Two: wall time.
"""

import json
import logging
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")

import torch  # noqa: E402

logging.disable(logging.WARNING)  # missing GPU, Triton

import models  # noqa: E402
import pellucid  # noqa: E402
import pellucid.torch  # noqa: E402
from pellucid.torch import _compare  # noqa: E402

EAGER, INDUCTOR, PELLUCID = "eager", "inductor", "pellucid"
MAX_ROUNDS = 21


def set_threads(count):
    torch.set_num_threads(count)
    pellucid.set_num_threads(count)


def clock_for(threads):
    return time.process_time if threads == 1 else time.perf_counter


def emit(**result):
    print(json.dumps(result), flush=True)


def say(message):
    print(f"  {message}", file=sys.stderr, flush=True)


def backend_of(name):
    return pellucid.torch.backend if name == PELLUCID else name


def compiled(function, name):
    return function if name == EAGER else torch.compile(_compare.distinct(function), backend=backend_of(name))


def first_call(case, backend):
    """Modules of the compiler are imported, and the model has run once, before the clock starts."""
    import torch._dynamo
    import torch._inductor.compile_fx

    set_threads(1)
    table = models.FIRST_CALL if case in models.FIRST_CALL else models.QUICK
    model, inputs = models.made(table, case)
    with torch.no_grad():
        model(**inputs)
        faster = torch.compile(model, backend=backend_of(backend))
        start, start_cpu = time.perf_counter(), time.process_time()
        faster(**inputs)
        seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
        later = []
        for _ in range(5):
            start = time.perf_counter()
            faster(**inputs)
            later.append(time.perf_counter() - start)
    result = dict(case=case, backend=backend, seconds=seconds, cpu=cpu, later=min(later))
    if backend == PELLUCID:
        parts = pellucid.torch.report().first_calls
        # The first call also runs the model: that is not a cost of compiling.
        first_plan = max(parts.first_plans_and_runs - min(later), 0.0)
        result.update(dynamo=parts.dynamo, aot_autograd=parts.aot_autograd, lowering=parts.lowering,
                      capture_and_compile=parts.capture_and_compile, first_plan=first_plan,
                      ours=parts.lowering + parts.capture_and_compile + first_plan)
    emit(**result)


def steady(threads, dtype, seconds, *cases):
    threads = int(threads)
    set_threads(threads)
    for case in cases:
        say(f"{case}, {dtype}, {threads} thread{'s' if threads > 1 else ''}")
        torch._dynamo.reset()
        pellucid.torch.reset_report()
        table = models.STEADY if case in models.STEADY else models.QUICK
        model, inputs = models.made(table, case, getattr(torch, dtype))
        with torch.no_grad():
            def call():
                return model(**inputs)

            calls = {name: compiled(call, name) for name in (EAGER, INDUCTOR, PELLUCID)}
            outputs = {name: first_tensor(function()) for name, function in calls.items()}
            samples = _compare.interleave(calls, float(seconds), clock_for(threads), MAX_ROUNDS)
        seen = pellucid.torch.report()
        emit(case=case, threads=threads, dtype=dtype, samples=samples,
             errors={name: _compare.largest_difference(outputs[EAGER], outputs[name]) for name in (INDUCTOR, PELLUCID)},
             nodes=seen.nodes, nodes_here=seen.nodes_here)


def first_tensor(output):
    return output if isinstance(output, torch.Tensor) else output[0]


def training_calls(case, names, batch=4, length=64):
    model, tokens = models.TRAINING[case](batch, length)
    parameters = list(model.parameters())

    def loss():
        return models.loss_of(model, tokens)

    def step(function):
        for parameter in parameters:
            parameter.grad = None
        result = function()
        result.backward()
        return result

    return {name: (lambda function=compiled(loss, name): step(function)) for name in names}


def training(threads, seconds, *cases):
    threads = int(threads)
    set_threads(threads)
    for case in cases:
        say(f"training {case}, {threads} thread{'s' if threads > 1 else ''}")
        torch._dynamo.reset()
        pellucid.torch.reset_report()
        torch.manual_seed(0)
        calls = training_calls(case, (EAGER, INDUCTOR, PELLUCID))
        losses = {name: call().item() for name, call in calls.items()}
        samples = _compare.interleave(calls, float(seconds), clock_for(threads), MAX_ROUNDS)
        emit(case=case, threads=threads, samples=samples,
             errors={name: abs(losses[name] - losses[EAGER]) / abs(losses[EAGER]) for name in (INDUCTOR, PELLUCID)})


def memory(case, backend):
    """A batch whose activations are larger than the gradients. Each backend has its own process."""
    set_threads(2)
    torch.manual_seed(0)
    call = training_calls(case, (backend,), batch=8, length=128)[backend]
    for _ in range(3):
        call()
    emit(case=case, backend=backend, bytes=_compare.peak_bytes(call))


def add(seconds):
    set_threads(1)
    a, b = torch.randn(8), torch.randn(8)

    def function(a, b):
        return a + b

    functions = {name: compiled(function, name) for name in (EAGER, INDUCTOR, PELLUCID)}
    with torch.no_grad():
        calls = {name: (lambda f=f: f(a, b)) for name, f in functions.items()}
        for call in calls.values():
            for _ in range(100):
                call()
        samples = _compare.interleave(calls, float(seconds), time.process_time)
        below = [nanoseconds_below_python(calls[PELLUCID]) for _ in range(31)]
    emit(case="add", samples=samples, below_python=[nanoseconds * 1e-9 for nanoseconds in below])


def nanoseconds_below_python(call, count=200):
    """Returns the time of a call inside of our program, by its own counters."""
    before = pellucid.torch.report().graphs[0]
    for _ in range(count):
        call()
    after = pellucid.torch.report().graphs[0]
    return (after.ns_here - before.ns_here) / (after.calls - before.calls)


def new_size():
    """What planning costs depends on the number of nodes. The model is narrow, so that the difference of two calls shows it."""
    set_threads(1)
    torch.manual_seed(0)
    model = models.gpt2(12, 96, 12, 512).eval()
    faster = torch.compile(model, backend=pellucid.torch.backend, dynamic=True)
    costs = []
    with torch.no_grad():
        for length in (16, 17, 18, 20, 23, 25, 28, 31, 33, 38, 41, 43):
            tokens = models.text(2, length, 512)
            times = []
            for _ in range(4):
                start = time.process_time()
                faster(tokens, use_cache=False)
                times.append(time.process_time() - start)
            costs.append(max(times[0] - min(times[1:]), 0.0))
    emit(case="new_size", seconds=costs[2:], graphs=len(pellucid.torch.report().graphs))


def turns(seconds):
    """Both run elementwise ops over 4 MB, on two threads."""
    set_threads(2)
    x, y = torch.randn(1 << 20), torch.randn(1 << 20)
    out = torch.empty_like(x)
    faster = torch.compile(lambda x, y: x * y + 1, backend=pellucid.torch.backend)

    def both():
        torch.add(x, y, out=out)
        faster(x, y)

    with torch.no_grad():
        calls = {"torch": lambda: torch.add(x, y, out=out), "ours": lambda: faster(x, y), "both": both}
        samples = _compare.interleave(calls, float(seconds), time.perf_counter)
    emit(case="turns", samples=samples)


MEASUREMENTS = {function.__name__: function for function in (first_call, steady, training, memory, add, new_size, turns)}

if __name__ == "__main__":
    MEASUREMENTS[sys.argv[1]](*sys.argv[2:])
    sys.stdout.flush()
    os._exit(0)  # compilers leave worker processes that would be waited for
