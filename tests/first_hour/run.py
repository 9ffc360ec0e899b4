#!/usr/bin/env python3
"""Opens each door as a new user would, by its documentation, in fresh folders and environments.

    tests/first_hour/run.py [--build FOLDER] [DOOR...]

Builds what is missing: the doctor's wheel and page, the site of the documentation, and the Python wheel. Prints the seconds of each step. `./dev setup --doors`
installs the tools and browsers.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS = 1200  # of one step


def newest(folder, pattern):
    return max((ROOT / folder).glob(pattern), key=lambda path: path.stat().st_mtime)


def doors(build):
    """The steps of each door: commands, which may depend on files that earlier steps write."""
    python, doctor = ROOT / ".doors/bin/python", build / "bin/pellucid-doctor"
    peers = next((ROOT / ".peers/lib").glob("python3*/site-packages"), None)
    return {
        "find_package": [lambda: [sys.executable, HERE / "find_package.py", build]],
        "debian_packages": [lambda: [sys.executable, HERE / "debian_packages.py", build]],
        "doctor_wheel": [lambda: [sys.executable, HERE / "doctor_wheel.py", "--reference", doctor]],
        "web_page": [
            lambda: [sys.executable, ROOT / "packaging/web/build.py"],
            lambda: [sys.executable, HERE / "web_page.py", "--page", ROOT / "build/web/pellucid-doctor.html", "--native", doctor],
        ],
        "site": [lambda: [sys.executable, HERE / "site.py"]],
        "python_wheel": [
            lambda: [python, ROOT / "packaging/python/build.py", "--build", build],
            lambda: [sys.executable, HERE / "python_wheel.py", newest("build/python/dist", "*.whl"),
                     *(["--torch", peers] if peers else [])],
        ],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="a build of the library")
    parser.add_argument("doors", nargs="*", metavar="DOOR", help="only these")
    args = parser.parse_args()
    known = doors(args.build.resolve())
    unknown = [name for name in args.doors if name not in known]
    if unknown:
        parser.error(f"there is no door {unknown[0]}; there are {', '.join(known)}")

    closed, table = [], []
    for name in args.doors or known:
        for number, step in enumerate(known[name]):
            command = [str(word) for word in step()]
            print(f"\n-- {name}: {os.path.relpath(command[1], ROOT)}", flush=True)
            start = time.monotonic()
            done = subprocess.run(command, cwd=ROOT, timeout=SECONDS)
            table.append(f"{name if number == 0 else '':<16} {os.path.relpath(command[1], ROOT):<40} {time.monotonic() - start:5.0f} s")
            if done.returncode != 0:
                closed.append(name)
                break
    print("\n" + "\n".join(table))
    print(f"closed: {', '.join(closed)}" if closed else "all doors are open")
    return 1 if closed else 0


if __name__ == "__main__":
    sys.exit(main())
