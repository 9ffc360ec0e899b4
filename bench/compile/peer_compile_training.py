"""The same steps as compile_training.cc, by torch.compile from Python."""

import functools

from server import CACHE, compile_in, serve

from training import Training, time_steps

if __name__ == "__main__":
    compile_in(CACHE)
    training = functools.cache(Training)
    serve({f"step_f32_{threads}t": functools.partial(time_steps, training, threads) for threads in (1, 2)})
