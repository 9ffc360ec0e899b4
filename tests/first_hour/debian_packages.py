#!/usr/bin/env python3
"""The Debian packages: made, checked for dependencies that Debian 12 has, installed into an empty root, used, and removed."""
import os
import sys
from pathlib import Path

from door import ROOT, blocks, expect, main, run

PACKAGES = ("libpellucid0", "libpellucid-dev", "libpellucid-runtime0", "pellucid")
MAX_LIBRARY_BYTES = 45_000_000


def dpkg(root, *arguments, cwd):
    # Dependencies are not in the empty root: apt resolves them below instead. Links to shared libraries are ldconfig's.
    return run("dpkg", f"--root={root}", "--force-not-root", "--force-depends", "--force-script-chrootless", *arguments, cwd=cwd)


def files(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*")
                  if not path.is_dir() and "var/lib/dpkg" not in str(path))


def open_door(folder, build):
    run("cpack", "-G", "DEB", "--config", Path(build) / "CPackConfig.cmake", "-B", folder / "packages", cwd=folder, seconds=300)
    packages = {name: next((folder / "packages").glob(f"{name}_*.deb")) for name in PACKAGES}
    for name, package in packages.items():
        print(f"{name}: {package.stat().st_size / 1e6:.1f} MB")
    plan = run("apt-get", "--simulate", "--no-install-recommends", "install", *packages.values(), cwd=folder)
    expect(all(f"Inst {name} " in plan for name in PACKAGES), f"apt would not install all packages:\n{plan}")

    root = folder / "root"
    for each in ("updates", "info", "triggers"):
        (root / "var/lib/dpkg" / each).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg(root, "--install", *packages.values(), cwd=folder)
    library = next((root / "usr/lib").rglob("libpellucid.so.0.*"))
    print(f"library: {library.stat().st_size / 1e6:.1f} MB")
    expect(library.stat().st_size <= MAX_LIBRARY_BYTES, f"{library.name} is larger than {MAX_LIBRARY_BYTES} bytes")

    env = {"LD_LIBRARY_PATH": str(library.parent)}
    version = run(root / "usr/bin/pellucid", "--version", cwd=folder, env=env)
    expect(library.name.endswith(version.split()[-1]), f"pellucid --version printed {version} next to {library.name}")
    run(root / "usr/bin/pellucid-doctor", "--help", cwd=folder, env=env)
    project = folder / "project"
    project.mkdir()
    for name, _, text in blocks("docs/install.md", "CMake"):
        if name:
            (project / name).write_text(text, encoding="utf-8")
    run("cmake", "-B", "build", f"-DCMAKE_PREFIX_PATH={root}/usr", cwd=project)
    run("cmake", "--build", "build", cwd=project)
    print(run(project / "build/hello", cwd=project, env=env))

    dpkg(root, "--purge", *reversed(PACKAGES), cwd=folder)
    left = files(root)
    expect(not left, "files left after the packages were removed:\n" + "\n".join(left))


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("debian_packages: dpkg needs root to set the owners of files", file=sys.stderr)
    sys.exit(main(open_door, sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release"))
