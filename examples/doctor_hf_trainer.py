#!/usr/bin/env python3
"""A Trainer of Hugging Face whose trace the doctor diagnoses: a callback ends the profiler's steps.

    python3 examples/doctor_hf_trainer.py [--doctor PELLUCID_DOCTOR] [FOLDER]
"""
import sys
import tempfile

from doctor_example import ask_doctor, record, run, torch

try:
    import transformers
except ImportError:
    print("transformers is not installed")
    sys.exit(77)


class EndSteps(transformers.TrainerCallback):
    def __init__(self, profiler):
        self.profiler = profiler

    def on_step_end(self, args, state, control, **kwargs):
        self.profiler.step()


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 80

    def __getitem__(self, index):
        tokens = torch.randint(0, 100, (32,))
        return {"input_ids": tokens, "labels": tokens}


def main(folder, doctor):
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=100, n_positions=64))
    with tempfile.TemporaryDirectory() as output, record(folder) as profiler:
        arguments = transformers.TrainingArguments(output, max_steps=10, per_device_train_batch_size=8, report_to=[], use_cpu=True,
                                                   save_strategy="no", disable_tqdm=True)
        transformers.Trainer(model, arguments, train_dataset=Tokens(), callbacks=[EndSteps(profiler)]).train()
    return ask_doctor(doctor, folder)


if __name__ == "__main__":
    sys.exit(run(main))
