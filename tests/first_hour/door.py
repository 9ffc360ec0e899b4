"""What the tests of the doors share: a fresh folder, commands with a time limit, and the blocks of a page."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:^`([\w./]+)`:\n\n)?(?:^<!--[^\n]*-->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Closed(Exception):
    """A door that does not open, with the reason."""


def blocks(page, heading):
    """(file name or "", language, text) of each block under a heading of a page of the documentation."""
    text = (ROOT / page).read_text(encoding="utf-8")
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if match is None:
        raise Closed(f"{page} has no heading '{heading}'")
    return BLOCK.findall(match[1])


def run(*command, cwd, seconds=120, env=None):
    """Runs a command and returns what it printed. Its output is shown if it fails."""
    shown = " ".join(map(str, command))
    print(f"$ {shown.strip()}", flush=True)
    done = subprocess.run([str(word) for word in command], cwd=cwd, env={**os.environ, **(env or {})}, timeout=seconds,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Closed(f"exit status {done.returncode} of: {shown}\n{done.stdout}")
    return done.stdout


def expect(condition, message):
    if not condition:
        raise Closed(message)


def main(open_door, *arguments):
    """Calls open_door(folder, *arguments) with an empty folder, and says how long it took."""
    start = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="pellucid_door_"))
    name = Path(sys.argv[0]).stem
    try:
        open_door(folder, *arguments)
    except (Closed, subprocess.TimeoutExpired) as error:
        print(f"{name}: CLOSED\n{error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{name}: open, {time.monotonic() - start:.0f} s")
    return 0
