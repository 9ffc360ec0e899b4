"""Writes a wheel that contains the program alone, as those of ruff and ninja do: no Python runs between the shell and the program.

The same bytes give the same wheel: entries are in a fixed order and have a fixed time.
"""
import base64
import hashlib
import pathlib
import stat
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
WHEN = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say

METADATA = """\
Metadata-Version: 2.4
Name: pellucid-doctor
Version: {version}
Summary: Diagnoses what bounds a PyTorch run, from the trace that its profiler wrote
License-Expression: Apache-2.0
License-File: LICENSE
License-File: NOTICES.txt
Keywords: pytorch,profiler,trace,kineto,gpu,performance
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: Console
Classifier: Intended Audience :: Developers
Classifier: Programming Language :: C++
Classifier: Topic :: Software Development :: Debuggers
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(data)}\n"


def make_wheel(program, version, tag, licenses, output):
    """Returns the path of the wheel. `licenses`: {name: bytes} of the files that state licences."""
    module = HERE / "pellucid_doctor"
    info = f"pellucid_doctor-{version}.dist-info"
    tags = "".join(f"Tag: py3-none-{each}\n" for each in tag.split("."))
    files = {f"pellucid_doctor/{path.name}": path.read_bytes() for path in sorted(module.glob("*.py"))}
    files[f"pellucid_doctor-{version}.data/scripts/{program.name}"] = program.read_bytes()
    for name, data in licenses.items():
        files[f"{info}/licenses/{name}"] = data
    readme = (HERE / "README_pypi.md").read_text(encoding="utf-8")
    files[f"{info}/METADATA"] = METADATA.format(version=version, readme=readme).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: pellucid {version}\nRoot-Is-Purelib: false\n{tags}".encode()
    records = "".join(record_line(name, data) for name, data in files.items())
    files[f"{info}/RECORD"] = f"{records}{info}/RECORD,,\n".encode()
    path = output / f"pellucid_doctor-{version}-py3-none-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: others have no mode, and the program could not be run
            entry.external_attr = (stat.S_IFREG | (0o755 if "/scripts/" in name else 0o644)) << 16
            wheel.writestr(entry, data)
    return path
