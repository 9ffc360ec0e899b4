#!/usr/bin/env python3
"""Checks that dispatch and the compiler name no device: the device comes from the operands of the call.

A backend registers its kernels, packers and loop compiler for its own device. Code that passes calls on and names one
device would run the kernels of that device for tensors that are on another.

With --self-test it first proves, on small trees with one fault each, that it can fail.
"""
import re
import sys

from project_files import ROOT, self_test_tree

FOLDERS = ("src/dispatch", "src/compile")
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# Meta is not a device that kernels run on: it stands for "no data" and may be named.
DEVICE = re.compile(r"\bDeviceType::(?!Meta\b)[A-Z]\w*|\bk(?:Cpu|OpenCl|Cuda)\b")


def check(root):
    problems = []
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.*")):
        if path.suffix not in (".cc", ".h"):
            continue
        text = COMMENT_OR_STRING.sub(lambda match: "\n" * match.group().count("\n"), path.read_text(encoding="utf-8"))
        for match in DEVICE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            problems.append(f"{path.relative_to(root).as_posix()}:{line}: {match.group()}: "
                            "take the device from the operands of the call")
    return problems


def self_test():
    cases = [  # file, its text, what the only message must contain; None: no message
        ("src/dispatch/a.cc", "op.kernels(device.type);\nstd::array<int, kDeviceTypeCount> lists;\n", None),
        ("src/dispatch/a.cc", "// as DeviceType::Cpu does\n/* kCpu\n */ auto text = \"kCpu\";\n", None),
        ("src/dispatch/a.cc", "\nop.kernels(DeviceType::Cpu);\n", "src/dispatch/a.cc:2: DeviceType::Cpu"),
        ("src/dispatch/deep/a.h", "/* first\n */\nStream stream(kCpu);\n", "src/dispatch/deep/a.h:3: kCpu"),
        ("src/compile/a.cc", "if (x.device() == kCuda) {}\n", "src/compile/a.cc:1: kCuda"),
        ("src/compile/passes/a.cc", "DeviceType::OpenCl\n", "src/compile/passes/a.cc:1: DeviceType::OpenCl"),
        ("src/compile/a.cc", "DeviceType::Meta\nkMeta\n", None),
        ("src/backends/cpu/a.cc", "DeviceType::Cpu\n", None),
    ]
    for name, text, expected in cases:
        self_test_tree({name: text}, check, expected)


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
    found = check(ROOT)
    print("\n".join(found) or "devices: fine")
    sys.exit(bool(found))
