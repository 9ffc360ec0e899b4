#!/usr/bin/env python3
"""Checks that every file which states the version has that of CMakeLists.txt. With --self-test it first proves that it can fail."""
import re
import sys

from project_files import ROOT, self_test_tree

SOURCE = ("CMakeLists.txt", r"^project\(Pellucid VERSION ([\d.]+)")
FULL = [  # file, and the pattern whose group is the version
    ("python/pyproject.toml", r'^version = "([\d.]+)"'),
    ("CITATION.cff", r"^version: ([\d.]+)"),
    ("action.yml", r"^    default: (\d+\.\d+\.\d+)$"),
    ("action.yml", r"pellucid/pellucid@v([\d.]+)"),
    ("docs/man/pellucid.1", r'"pellucid ([\d.]+)"'),
    ("doctor/docs/install.md", r"pellucid-doctor-([\d.]+)-linux"),
    ("doctor/docs/doctor.md", r"pellucid/pellucid@v([\d.]+)"),
]
MINOR = [("README.md", r"find_package\(pellucid ([\d.]+) "), ("docs/install.md", r"find_package\(pellucid ([\d.]+)[ )]")]


def check(root):
    version = re.search(SOURCE[1], (root / SOURCE[0]).read_text(encoding="utf-8"), re.MULTILINE)[1]
    problems = []
    for files, wanted in ((FULL, version), (MINOR, version.rpartition(".")[0])):
        for file, pattern in files:
            found = re.findall(pattern, (root / file).read_text(encoding="utf-8"), re.MULTILINE)
            problems += [f"{file}: expected {wanted}, the version of {SOURCE[0]}, found {other}" for other in found if other != wanted]
            if not found:
                problems.append(f"{file}: expected {wanted}, found no version: correct the pattern in scripts/check_versions.py")
    return problems


def self_test():
    good = {
        "CMakeLists.txt": "project(Pellucid VERSION 1.2.3 LANGUAGES CXX)\n", "python/pyproject.toml": 'version = "1.2.3"\n',
        "CITATION.cff": "version: 1.2.3\n", "action.yml": "# pellucid/pellucid@v1.2.3\n    default: 1.2.3\n",
        "docs/man/pellucid.1": '"pellucid 1.2.3"\n', "doctor/docs/install.md": "pellucid-doctor-1.2.3-linux\n",
        "doctor/docs/doctor.md": "pellucid/pellucid@v1.2.3\n", "README.md": "find_package(pellucid 1.2 REQUIRED)\n",
        "docs/install.md": "find_package(pellucid 1.2)\n",
    }
    self_test_tree(good, check, None)
    self_test_tree({**good, "CITATION.cff": "version: 1.2.2\n"}, check, "CITATION.cff: expected 1.2.3")
    self_test_tree({**good, "docs/install.md": "find_package(pellucid 1.1)\n"}, check, "docs/install.md: expected 1.2,")
    self_test_tree({**good, "CITATION.cff": "none\n"}, check, "found no version")


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
    found = check(ROOT)
    print("\n".join(found) or "versions: fine")
    sys.exit(bool(found))
