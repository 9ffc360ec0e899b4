#!/usr/bin/env python3
"""A Trainer of Lightning whose trace the doctor diagnoses: a callback ends the profiler's steps.

    python3 examples/doctor_lightning.py [--doctor PELLUCID_DOCTOR] [FOLDER]
"""
import sys

from doctor_example import ask_doctor, record, run, torch

try:
    import lightning
except ImportError:
    print("lightning is not installed")
    sys.exit(77)


class EndSteps(lightning.Callback):
    def __init__(self, profiler):
        self.profiler = profiler

    def on_train_batch_end(self, *args, **kwargs):
        self.profiler.step()


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 10))

    def training_step(self, batch, index):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.layers(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main(folder, doctor):
    data = torch.utils.data.TensorDataset(torch.randn(320, 64), torch.randint(0, 10, (320,)))
    with record(folder) as profiler:
        trainer = lightning.Trainer(max_steps=10, accelerator="cpu", callbacks=[EndSteps(profiler)], logger=False,
                                    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
        trainer.fit(Classifier(), torch.utils.data.DataLoader(data, batch_size=32))
    return ask_doctor(doctor, folder)


if __name__ == "__main__":
    sys.exit(run(main))
