"""Collects the notices of the software that a program contains, which go with every copy of it."""
import pathlib

# Package of fetch_sources.py: the name of the software and the file with its licence.
LIBRARIES = {
    "fmtlib": ("fmt", "LICENSE.rst"),
    "simdjson": ("simdjson", "LICENSE"),
    "cli11": ("CLI11", "LICENSE"),
    "libisal": ("ISA-L", "LICENSE"),
    "libzstd": ("zstd", "LICENSE"),
}

# What the compilers link: {name: file}. Of Debian's, files of the system; of zig's, files of its library folder.
GNU = {
    "GNU C Library": "/usr/share/doc/libc6/copyright",
    "GNU Lesser General Public License, version 2.1": "/usr/share/common-licenses/LGPL-2.1",
    "libstdc++ and libgcc": "/usr/share/doc/libstdc++6/copyright",
    "GNU General Public License, version 3": "/usr/share/common-licenses/GPL-3",
}
ZIG = {"zig": "../LICENSE", "libc++, libc++abi and libunwind": "libcxx/LICENSE.TXT"}
ZIG_SYSTEMS = {
    "windows": {"MinGW-w64": "libc/mingw/COPYING"},
    "web": {"wasi-libc": "libc/wasi/LICENSE", "wasi-libc, MIT License": "libc/wasi/LICENSE-MIT", "musl": "libc/musl/COPYRIGHT"},
}

CONTENTS = "pellucid-doctor contains parts of the software below, under the licences that follow."
RELINKING = """
The GNU C Library is linked statically. The sources of pellucid-doctor, the versions of all it contains and the script that
builds it are public: with them the program can be linked with another version of the library.
"""


def section(name, text):
    line = "=" * 100
    return f"\n{line}\n{name}\n{line}\n\n{text.strip()}\n"


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")


def licences(target, sources, zig):
    """Returns the licences of what a target of build.py contains, or of the page: "web". `zig`: the compiler, if that built it."""
    files = {name: sources / package / file for package, (name, file) in LIBRARIES.items()}
    if zig is None:
        files |= GNU
    else:
        of_zig = {**ZIG, **ZIG_SYSTEMS.get(target.partition("-")[0], {})}
        files |= {name: zig.parent / "lib" / file for name, file in of_zig.items()}
    return "".join(section(name, read(path)) for name, path in files.items())


def notices(target, sources, zig):
    """Returns the text that goes with a program of build.py."""
    introduction = f"{CONTENTS} Its own licence is in the file LICENSE.\n" + (RELINKING if zig is None else "")
    return introduction + licences(target, sources, zig)
