"""What a program prints where its stdout is a terminal."""
import os
import pty
import subprocess


def run_at_terminal(command, environment, cwd=None):
    """Returns the exit code and what was printed, with its escape codes. Stderr is no terminal, and is dropped."""
    ours, its = pty.openpty()
    child = subprocess.Popen(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=its,
                             stderr=subprocess.DEVNULL)
    os.close(its)
    output = b""
    try:
        while piece := os.read(ours, 65536):
            output += piece
    except OSError:  # Linux: the last writer is gone
        pass
    os.close(ours)
    return child.wait(), output.decode().replace("\r\n", "\n")
