"""The memory of a step of compile_training.cc, by torch.compile from Python."""

import functools

from server import CACHE, compile_in, serve

from training import Training, step_bytes

if __name__ == "__main__":
    compile_in(CACHE)
    serve({"step_bytes": functools.partial(step_bytes, functools.cache(Training))})
