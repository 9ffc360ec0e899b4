#!/usr/bin/env python3
"""Builds the doctor's page: one HTML file that contains pellucid-doctor as WebAssembly.

    packaging/web/build.py [--build FOLDER] [--jobs N]

Installs the package ziglang in the folder, fetches the pinned sources of the doctor's dependencies
(packaging/doctor/fetch_sources.py), compiles libc++ and the doctor, and writes pellucid-doctor.html into the folder. The same
sources give the same bytes.
"""
import argparse
import base64
import gzip
import html
import json
import os
import pathlib
import subprocess
import sys
import time

WEB = pathlib.Path(__file__).resolve().parent
ROOT = WEB.parents[1]
sys.path += [str(WEB.parent), str(WEB.parent / "doctor")]
import notices  # noqa: E402
from zig import ZIG_VERSION, find_zig  # noqa: E402

MAX_PAGE_BYTES = 1_200_000


def build_program(build, jobs):
    """Returns the path of the program."""
    # ccache would only see the script that starts zig.
    environment = dict(os.environ, LC_ALL="C", PELLUCID_ZIG=str(find_zig(build)), ZIG_GLOBAL_CACHE_DIR=str(build / "zig-cache"),
                       ZIG_LOCAL_CACHE_DIR=str(build / "zig-cache"), CCACHE_COMPILERCHECK=f"string:ziglang {ZIG_VERSION}")
    folder = build / "program"
    subprocess.run(["cmake", "-S", WEB, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    f"-DCMAKE_TOOLCHAIN_FILE={WEB / 'toolchain.cmake'}"], check=True, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", "pellucid-doctor", "runtime_test", "-j", str(jobs)], check=True, env=environment)
    return folder / "pellucid/bin/pellucid-doctor.wasm"


def read(name):
    return (WEB / name).read_text(encoding="utf-8")


def licences(build):
    """Returns the licence of the doctor and those of what it contains: the page has no other files to put them into."""
    own = notices.section("pellucid-doctor", (ROOT / "LICENSE").read_text(encoding="utf-8"))
    return html.escape(f"{notices.CONTENTS} Its own licence is the first.\n{own}" +
                       notices.licences("web", ROOT / ".sources", find_zig(build)))


def make_page(program, build):
    """Returns the page. The program is packed by gzip, which browsers unpack, and written in base64."""
    packed = base64.b64encode(gzip.compress(program, 9, mtime=0)).decode()
    worker = json.dumps(read("wasi.js") + read("worker.js"), ensure_ascii=False).replace("</", "<\\/")
    parts = {"css": read("page.css"), "script": read("page.js"), "program": packed, "worker": worker,
             "licences": licences(build)}
    page = read("page.html")
    for name, text in parts.items():
        before, after = page.split("{{" + name + "}}")  # exactly one
        page = before + text + after
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/web", help="folder to build in")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    build = asked.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    subprocess.run([sys.executable, ROOT / "packaging/doctor/fetch_sources.py", ROOT / ".sources"], check=True,
                   stdout=subprocess.DEVNULL)
    program = build_program(build, asked.jobs)
    page = make_page(program.read_bytes(), build)
    path = build / "pellucid-doctor.html"
    path.write_text(page, encoding="utf-8")
    size = path.stat().st_size
    print(f"{path}: {size / 1e6:.2f} MB, of {program.stat().st_size / 1e6:.2f} MB of WebAssembly, in {time.monotonic() - begin:.0f} s")
    if size > MAX_PAGE_BYTES:
        sys.exit(f"build.py: the page has {size} bytes, more than {MAX_PAGE_BYTES}")


if __name__ == "__main__":
    main()
