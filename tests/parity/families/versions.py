"""Version counters: shared by the views of one memory, grown by each write, 0 in a fresh tensor."""
import torch

from families.views import step
from layouts import random_tensor
from program import Num, Program


def case(program, rng):
    _, x = random_tensor(program, rng, "f32", max_rank=3, layouts=("dense", "permuted", "gaps"))
    tensors = [x]
    for _ in range(rng.randint(1, 7)):
        ref = rng.choice(tensors)
        action = rng.choice(("view", "view", "fill_", "zero_", "copy_", "fresh"))
        if action == "view":
            trial = Program()
            trial.steps, trial.registers = list(program.steps), list(program.registers)
            result = step(trial, rng, ref)
            if trial.error or not isinstance(trial.value(result), torch.Tensor) or trial.value(result).numel() > 4000:
                continue
            program.steps, program.registers = trial.steps, trial.registers
            tensors.append(result)
        elif action == "fresh":
            op = rng.choice(("clone", "contiguous", "zeros", "arange_to", "full_like"))
            arguments = {"zeros": [[2, 3], None], "arange_to": [Num(5), None], "full_like": [ref, Num(2.0), None]}
            tensors.append(program.do(op, *arguments.get(op, [ref])))
        elif action == "copy_":
            source = program.do("full", [], Num(7.0), None)
            program.do("copy_", ref, source)
        else:
            program.do(action, ref, *([Num(3.0)] if action == "fill_" else []))
        if program.error:
            return
    for number, register in enumerate(program.registers):
        if isinstance(register, torch.Tensor):
            program.expect(f"%{number}", f"version {register._version}")
