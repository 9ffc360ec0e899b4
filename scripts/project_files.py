"""The files that belong to the project: tracked by git, or new and not ignored."""
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CPP = (".cc", ".h")


def project_files(*suffixes):
    """Paths relative to ROOT with one of the suffixes; no suffix means every file."""
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = sorted({Path(name) for name in listing.split("\0") if name})
    return [path for path in paths if (ROOT / path).is_file() and (not suffixes or path.suffix in suffixes)]
