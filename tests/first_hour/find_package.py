#!/usr/bin/env python3
"""A project outside the tree, by find_package and by pkg-config, as docs/install.md has it, on an installation that was moved."""
import sys

from door import ROOT, blocks, expect, main, run

PAGE = "docs/install.md"


def open_door(folder, build):
    installed, home, project = folder / "installed", folder / "home", folder / "project"
    for each in (home, project):
        each.mkdir()
    run("cmake", "--install", build, "--prefix", installed, cwd=folder)
    installed.rename(home / "pellucid")
    env = {"HOME": str(home), "LD_LIBRARY_PATH": ""}

    cmake = blocks(PAGE, "CMake")
    for name, _, text in cmake:
        if name:
            (project / name).write_text(text, encoding="utf-8")
    commands = [text for _, language, text in cmake if language == "sh"]
    wanted = [text for _, language, text in cmake if language == "text"]
    printed = run("sh", "-ec", commands[0], cwd=project, env=env)
    expect(printed.endswith(wanted[0]), f"hello printed:\n{printed}\n{PAGE} has:\n{wanted[0]}")

    commands = [text for _, language, text in blocks(PAGE, "pkg-config") if language == "sh"]
    printed = run("sh", "-ec", commands[0], cwd=project, env=env)
    expect(printed.endswith(wanted[0]), f"with pkg-config hello printed:\n{printed}")

    program = home / "pellucid/bin/pellucid"
    expect("linear" in run(program, "ops", cwd=folder, env=env), "pellucid ops does not list linear")


if __name__ == "__main__":
    sys.exit(main(open_door, sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release"))
