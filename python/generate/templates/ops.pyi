# All ops of the registry. Written at build time from the records.
import builtins
from collections.abc import Sequence

from pellucid._core import DType, Int, Number, Tensor

# FUNCTIONS
