#!/usr/bin/env python3
"""Starts the ranks of a job on this machine and waits for them: run_ranks.py N PROGRAM [ARGUMENTS].

Each rank gets the environment that torchrun would give it. Ranks that run longer than the limit are killed.
"""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

LIMIT_SECONDS = 120


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Ranks:
    """The processes of a job. Their output goes to files, so that none of them waits for a reader."""

    def __init__(self, count, command, environment=None, per_rank=None):
        self.folder = tempfile.TemporaryDirectory(prefix="pellucid_ranks_")
        self.processes = []
        self.ended = {}
        port = str(unused_port())
        for rank in range(count):
            own = {**os.environ, "PELLUCID_THREADS": "1", "RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank),
                   "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
                   **(environment or {}), **(per_rank(rank) if per_rank else {})}
            with open(self.path(rank, "out"), "wb") as out, open(self.path(rank, "err"), "wb") as err:
                self.processes.append(subprocess.Popen([str(part) for part in command], env=own, stdout=out, stderr=err))

    def path(self, rank, kind):
        return pathlib.Path(self.folder.name) / f"{rank}.{kind}"

    def out(self, rank):
        return self.path(rank, "out").read_text(errors="replace")

    def err(self, rank):
        return self.path(rank, "err").read_text(errors="replace")

    def wait_for(self, text, rank, limit=LIMIT_SECONDS):
        """Until a rank has printed this text."""
        until = time.monotonic() + limit
        while text not in self.out(rank):
            if time.monotonic() > until or self.processes[rank].poll() is not None:
                raise TimeoutError(f"rank {rank} did not print {text!r}:\n{self.out(rank)}{self.err(rank)}")
            time.sleep(0.001)

    def signal(self, rank, number):
        self.processes[rank].send_signal(number)

    def wait(self, ranks=None, limit=LIMIT_SECONDS):
        """Until these ranks have ended; `ended` has the moment of each. Kills all of them after the limit."""
        waits_for = set(range(len(self.processes)) if ranks is None else ranks)
        until = time.monotonic() + limit
        while waits_for:
            for rank in sorted(waits_for):
                if self.processes[rank].poll() is not None:
                    self.ended[rank] = time.monotonic()
                    waits_for.discard(rank)
            if waits_for and time.monotonic() > until:
                self.kill()
                raise TimeoutError(f"ranks {sorted(waits_for)} have not ended within {limit} s")
            time.sleep(0.0005)
        return [process.returncode for process in self.processes]

    def kill(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()

    def close(self):
        self.kill()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def main():
    if len(sys.argv) < 3 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    with Ranks(int(sys.argv[1]), sys.argv[2:]) as ranks:
        codes = ranks.wait()
        for rank, code in enumerate(codes):
            for line in (ranks.out(rank) + ranks.err(rank)).splitlines():
                print(f"{rank}: {line}")
            if code != 0:
                print(f"{rank}: ended with {code}")
    sys.exit(max(abs(code) for code in codes))


if __name__ == "__main__":
    main()
