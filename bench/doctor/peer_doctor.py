"""HTA, Meta's HolisticTraceAnalysis, loads the traces that doctor.cc reads."""

import functools
import pathlib
import warnings

from server import nanoseconds_per_call, serve

warnings.filterwarnings("ignore")

TRACES = pathlib.Path(__file__).resolve().parents[2] / "build" / "bench_traces"


def load(path):
    from hta.common.trace import Trace

    trace = Trace(trace_files={0: str(path)}, trace_dir="")
    trace.parse_traces(use_multiprocessing=False, use_memory_profiling=False)
    if len(trace.get_trace(0)) == 0:
        raise RuntimeError("HTA read no events")


def time_load(path, iters):
    return nanoseconds_per_call(functools.partial(load, path), iters)


if __name__ == "__main__":
    serve(
        {
            "load_20MB": functools.partial(time_load, TRACES / "small.json"),
            "load_20MB_gz": functools.partial(time_load, TRACES / "small.json.gz"),
        }
    )
