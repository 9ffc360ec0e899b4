"""Runs a program with a terminal as its stdout."""
import os
import pty
import subprocess


def run_at_terminal(command, environment, cwd=None):
    """Returns the exit code and what was printed, with its escape codes. Stderr is not a terminal, and is discarded."""
    ours, its = pty.openpty()
    child = subprocess.Popen(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=its,
                             stderr=subprocess.DEVNULL)
    os.close(its)
    output = b""
    try:
        while piece := os.read(ours, 65536):
            output += piece
    except OSError:  # Linux: the last writer has closed it
        pass
    os.close(ours)
    return child.wait(), output.decode().replace("\r\n", "\n")
