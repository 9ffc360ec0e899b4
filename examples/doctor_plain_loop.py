#!/usr/bin/env python3
"""A training loop whose trace the doctor diagnoses: plain PyTorch.

    python3 examples/doctor_plain_loop.py [--doctor PELLUCID_DOCTOR] [FOLDER]
"""
import sys

from doctor_example import ask_doctor, record, run, torch


def main(folder, doctor):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.utils.data.TensorDataset(torch.randn(320, 64), torch.randint(0, 10, (320,)))
    with record(folder) as profiler:
        for x, y in torch.utils.data.DataLoader(data, batch_size=32):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()  # one step ends here
    return ask_doctor(doctor, folder)


if __name__ == "__main__":
    sys.exit(run(main))
