"""The files that belong to the project: tracked by git, or new and not ignored."""
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CPP = (".cc", ".h")


def project_files(*suffixes):
    """Paths relative to ROOT with one of the suffixes; no suffix means every file."""
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = sorted({Path(name) for name in listing.split("\0") if name})
    return [path for path in paths if (ROOT / path).is_file() and (not suffixes or path.suffix in suffixes)]


def self_test_tree(files, check, expected):
    """Writes {name: text} to a folder of its own; ends with an error unless check(folder) finds only `expected`, or nothing if None."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        problems = check(Path(folder))
    right = not problems if expected is None else len(problems) == 1 and expected in problems[0]
    if not right:
        sys.exit(f"self-test: {files}: expected {expected!r}, got {problems}")
