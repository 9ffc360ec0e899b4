#!/usr/bin/env python3
"""Fetches the sources of the doctor's dependencies into .sources/, once. Building downloads nothing.

    packaging/doctor/fetch_sources.py [FOLDER]

They are Debian's source packages, by name and version, of which only the archive of the upstream project is unpacked. Each
archive is checked by its sha256 before it is unpacked. apt fetches them with lists and a cache in the folder itself: that
needs no root, and changes nothing on the system.
"""
import argparse
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Name of the source package: its version, the archive of the upstream project, and the sha256 of that. The versions are
# those of Debian 12, which the other builds use.
PACKAGES = {
    "fmtlib": ("9.1.0+ds1-2", "fmtlib_9.1.0+ds1.orig.tar.gz",
               "84ce1c2d0be3a9863935137969dcec6970125caac032f82474640bfc81463583"),
    "simdjson": ("3.0.1-1", "simdjson_3.0.1.orig.tar.gz",
                 "156b1bc5eb0561b2bd166b46d191fd3d95a3e709cc63761477d3b7aec2b6e9ed"),
    "cli11": ("2.1.2+ds-1", "cli11_2.1.2+ds.orig.tar.xz",
              "8143d20b688e98ccce8e24562d3b68e5f47c12e896c42c7ca8553dbde5bed55d"),
    "libisal": ("2.30.0-5", "libisal_2.30.0.orig.tar.xz",
                "f363f1be3d657d5676cef5253ee2233e60116e2fa9c9de86881185bf81e0e4b8"),
    "libzstd": ("1.5.4+dfsg2-5", "libzstd_1.5.4+dfsg2.orig.tar.xz",
                "8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953"),
}


def source_list():
    """Returns the lines of a sources.list for the source packages of the archives that this system already uses."""
    archives = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages", "Origin: Debian"],
        check=True, capture_output=True, text=True).stdout.splitlines()
    if not archives:
        sys.exit("apt knows no archive of Debian: run this on Debian 12, after apt-get update")
    return "".join(f"deb-src [trusted=yes] {archive}\n" for archive in sorted(set(archives)))  # sha256 is checked below


def apt(folder, *words, where):
    state = {"Dir::State": folder / "state", "Dir::State::lists": folder / "lists", "Dir::Cache": folder / "cache",
             "Dir::Etc::SourceList": folder / "sources.list", "Dir::Etc::SourceParts": "/dev/null",
             "Acquire::Languages": "none", "APT::Sandbox::User": "root"}  # the folder is closed to the user _apt
    options = [word for key, value in state.items() for word in ("-o", f"{key}={value}")]
    subprocess.run(["apt-get", "--quiet=2", *options, *words], check=True, cwd=where, timeout=600)


def download(packages, to):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("state/lists/partial", "lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        (folder / "sources.list").write_text(source_list(), encoding="utf-8")
        apt(folder, "update", where=folder)
        # --only-source: never the source of a binary package that happens to have the name
        apt(folder, "source", "--download-only", "--only-source",
            *(f"{package}={PACKAGES[package][0]}" for package in packages), where=folder)
        for package in packages:
            shutil.copy(folder / PACKAGES[package][1], to)


def unpack(archive, to):
    """Unpacks the archive; its one top folder becomes the folder `to`."""
    with tempfile.TemporaryDirectory(dir=to.parent) as name:
        with tarfile.open(archive) as tar:
            tar.extractall(name, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(name)
        tops = list(pathlib.Path(name).iterdir())
        (tops[0] if len(tops) == 1 else pathlib.Path(name)).rename(to)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / ".sources")
    folder = parser.parse_args().folder.resolve()
    archives = folder / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    missing = [package for package, (_, file, _) in PACKAGES.items() if not (archives / file).is_file()]
    if missing:
        download(missing, archives)
    for package, (version, file, sha256) in PACKAGES.items():
        archive = archives / file
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != sha256:
            sys.exit(f"{archive}: expected the sha256 {sha256}, found {found}: remove the file and run this again")
        done = folder / package / ".unpacked"
        if not done.is_file() or done.read_text(encoding="utf-8") != sha256:
            shutil.rmtree(folder / package, ignore_errors=True)
            unpack(archive, folder / package)
            done.write_text(sha256, encoding="utf-8")
        print(f"{package} {version}: {folder / package}")


main()
