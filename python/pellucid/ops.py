"""All ops of the registry, those for the library's own use included. add.out is add_out here, and out= of add."""
from pellucid import _core

globals().update({name.replace(".", "_"): op for name, op in _core.ops.items() if "::" not in name})
