"""item(): the value of a tensor with one element, and an error for any other."""
from families.copies import random_float_bits, random_integer
from layouts import random_tensor
from program import Bits, DTYPES, FLOATING, Num


def case(program, rng):
    dtype = rng.choice(list(DTYPES))
    if rng.random() < 0.5:
        values = [random_float_bits(rng, dtype) if dtype in FLOATING else random_integer(rng, dtype) for _ in range(4)]
        data = program.do("data", Bits(dtype, values))
        rank = rng.randint(0, 3)
        x = program.do("as_strided", data, [1] * rank, [1] * rank, rng.randint(0, 3))
    else:
        sizes = [1] * rng.randint(0, 4) if rng.random() < 0.7 else None
        _, x = random_tensor(program, rng, dtype, sizes=sizes, max_rank=2)
    result = program.do("item", x)
    if program.error is None:
        value = program.value(result)
        program.expect(result, "number f:nan" if value != value else f"number {Num(value)}")
