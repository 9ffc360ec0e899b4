"""inspect.signature of an op."""
import inspect

from pellucid._parameters import parameters_of

KINDS = {
    "positional": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "variadic": inspect.Parameter.VAR_POSITIONAL,
    "keyword": inspect.Parameter.KEYWORD_ONLY,
}
RESULTS = {"Tensor": "Tensor", "Tensor[]": "tuple[Tensor, ...]", "Scalar": "int | float | bool"}


def signature_of(op):
    parameters = []
    for parameter in parameters_of(op.arguments, op.has_out):
        default = parameter.default if parameter.has_default else inspect.Parameter.empty
        parameters.append(
            inspect.Parameter(parameter.name, KINDS[parameter.kind], default=default, annotation=parameter.annotation))
    results = [RESULTS[result] for result in op.results]
    returns = results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"
    return inspect.Signature(parameters, return_annotation=returns)
