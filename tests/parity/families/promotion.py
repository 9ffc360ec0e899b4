"""promote_types and can_cast over all pairs; result_type over one to four operands."""
from program import DTYPE_NAMES, DTYPES, Operand


def pair_case(program, rng, a, b):
    result = program.do("promote_types", a, b)
    program.expect(result, f"dtype {DTYPE_NAMES[program.value(result)]}")
    result = program.do("can_cast", a, b)
    program.expect(result, f"answer {'yes' if program.value(result) else 'no'}")


def random_operand(rng):
    kind = rng.choice("ddzzn")
    return Operand(kind, rng.choice((True, False, 0, 3, -5, 1 << 40, 2.5, 0.0, 1e300)) if kind == "n" else
                   rng.choice(list(DTYPES)))


def case(program, rng):
    operands = [random_operand(rng) for _ in range(rng.choices((1, 2, 3, 4), (1, 12, 3, 2))[0])]
    if len(operands) == 2 and all(operand.kind == "n" for operand in operands):
        operands[0] = Operand("z", rng.choice(list(DTYPES)))
    result = program.do("result_type", *operands)
    program.expect(result, f"dtype {DTYPE_NAMES[program.value(result)]}")
