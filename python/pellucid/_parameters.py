"""The parameters of an op in Python, from its record. Signatures and stubs are both made by this."""
from typing import NamedTuple

ANNOTATIONS = {
    "Tensor": "Tensor | Number", "Tensor[]": "Sequence[Tensor]", "int": "Int", "Dim": "Int", "int[]": "Sequence[Int] | Int",
    "Dim[]": "Sequence[Int] | Int", "float": "float", "bool": "bool", "Scalar": "Number", "DType": "DType | str",
    "Device": "str", "str": "str",
}


class Parameter(NamedTuple):
    name: str
    kind: str  # positional, variadic or keyword
    annotation: str
    has_default: bool
    default: object


def list_index(types):
    """The argument that takes all further positional integers, as in view(2, 3), or None. `types` are (type, is keyword-only)."""
    positional = [type_ for type_, is_keyword in types if not is_keyword]
    if positional and positional[-1].removesuffix("?") in ("int[]", "Dim[]") and positional[:-1] in ([], ["Tensor"]):
        return len(positional) - 1
    return None


def annotation_of(type_):
    return ANNOTATIONS[type_.removesuffix("?")] + (" | None" if type_.endswith("?") else "")


def parameters_of(arguments, has_out):
    """`arguments` as Op.arguments has them: (name, type, has default, default, is keyword-only, is variadic)."""
    parameters = []
    is_keyword = False
    for name, type_, has_default, default, keyword_only, variadic in arguments:
        if variadic:
            is_keyword = True
            parameters.append(Parameter(name, "variadic", ANNOTATIONS[type_.removesuffix("?")], False, None))
            continue
        is_keyword = is_keyword or keyword_only
        parameters.append(
            Parameter(name, "keyword" if is_keyword else "positional", annotation_of(type_), has_default, default))
    if has_out:
        parameters.append(Parameter("out", "keyword", "Tensor | None", True, None))
    return parameters
