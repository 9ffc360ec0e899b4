"""What Pellucid cannot run stays with PyTorch: the program goes on with eager's result, and the report names op, reason and line.

It is said once, not in each call. With the option `strict` it is an error instead.
"""
import inspect
import logging
import re
import typing
import warnings
from dataclasses import dataclass

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.nn.functional as F  # noqa: E402
from comparison import check_same, compiled, forget, needs_pellucid, report  # noqa: E402
from torch import nn  # noqa: E402


@torch.library.custom_op("pellucid_tests::triple", mutates_args=())
def triple(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@triple.register_fake
def _(x):
    return torch.empty_like(x)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        return gradient * 2


def matrix(*sizes):
    torch.manual_seed(0)
    return torch.randn(*(sizes or (4, 6)))


def square():
    x = matrix(5, 5)
    return x @ x.t() + 5 * torch.eye(5)


@dataclass
class Case:
    function: typing.Callable
    inputs: typing.Callable = lambda: (matrix(),)
    op: str | None = None  # part of the name of the op that stays with PyTorch; None: Dynamo runs it outside of all graphs
    settings: dict | None = None  # of torch._dynamo.config


def complex_product(x):
    z = torch.complex(x, x + 1)
    return (z * z).real + x


def custom(x):
    return torch.relu(triple(x + 1) * 2)


def generated(x):
    generator = torch.Generator()
    generator.manual_seed(3)
    return x + torch.rand(6, generator=generator)


def branches(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)) + 1


def meta_device(x):
    return torch.empty(4, 6, device="meta") * 2, x + 1


def quantized(x):
    return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize() + 1


def text(x):
    return f"{tuple(x.shape)}".upper(), x * 2


def with_lstm():
    torch.manual_seed(0)
    layer = nn.LSTM(6, 8)
    return lambda x: layer(x * 2)[0] + 1


CASES = {
    "complex numbers": Case(complex_product, op="complex"),
    "Fourier transforms": Case(lambda x: torch.fft.rfft(x).abs() + 1, op="fft"),
    "an op of the user": Case(custom, op="pellucid_tests.triple"),
    "singular values": Case(lambda x: torch.linalg.svdvals(x) + 1, op="svd"),
    "eigenvalues": Case(lambda x: torch.linalg.eigvalsh(x) * 2, lambda: (square(),), op="eigh"),
    "a Cholesky factor": Case(lambda x: torch.linalg.cholesky(x) + 1, lambda: (square(),), op="cholesky"),
    "a linear system": Case(lambda x: torch.linalg.solve(x, x + 1), lambda: (square(),), op="solve"),
    "a generator of random numbers": Case(generated),
    "a conditional in the graph": Case(branches, op="cond"),
    "another device": Case(meta_device, op="empty"),
    "numbers of 8 bits": Case(lambda x: x.to(torch.float8_e4m3fn).float() + 1, op="_to_copy"),
    "a Bessel function": Case(lambda x: torch.special.bessel_j0(x) + 1, op="bessel"),
    "an orthogonal factor": Case(lambda x: torch.linalg.qr(x)[1].abs() + 1, op="qr"),
    "sizes of data in the graph": Case(lambda x: x.nonzero() + 1, op="nonzero", settings=dict(capture_dynamic_output_shape_ops=True)),
    "a number of data in the graph": Case(lambda x: x * x.sum().int().item(), op="_local_scalar_dense",
                                          settings=dict(capture_scalar_outputs=True)),
    "sparse tensors": Case(lambda x: torch.sparse.mm(x.to_sparse(), x.t()) + 1),
    "quantised tensors": Case(quantized),
    "an LSTM": Case(with_lstm(), lambda: (matrix(3, 2, 6),)),
    "text": Case(text),
    "a function with its own backward": Case(Doubled.apply),
}
SEEN = {name: case for name, case in CASES.items() if case.op}


@pytest.fixture
def configured(request):
    """Applies the settings of Dynamo that a case needs."""
    import torch._dynamo

    with torch._dynamo.config.patch(request.param.settings or {}):
        yield request.param


def parametrized(cases):
    return pytest.mark.parametrize("configured", cases.values(), ids=cases, indirect=True)


class Messages(logging.Handler):
    """Collects what the backend says, by warnings and by logging."""

    def __init__(self):
        super().__init__()
        self.logged = []

    def emit(self, record):
        self.logged.append(record.getMessage())

    def __enter__(self):
        logging.getLogger("pellucid.torch").addHandler(self)
        self.warnings = warnings.catch_warnings(record=True)
        self.caught = self.warnings.__enter__()
        warnings.simplefilter("always")
        return self

    def __exit__(self, *error):
        self.warnings.__exit__(*error)
        self.warned = [str(warning.message) for warning in self.caught]
        logging.getLogger("pellucid.torch").removeHandler(self)

    def about(self, op):
        """Returns what was said about an op, by each of the two ways."""
        return [[text for text in texts if op in text] for texts in (self.warned, self.logged)]


def lines_of(function):
    lines, first = inspect.getsourcelines(function)
    return range(first, first + len(lines))


def test_there_are_twenty_cases():
    assert len(CASES) == 20


@parametrized(CASES)
def test_the_program_goes_on_with_the_result_of_eager(configured):
    check_same(configured.function, *configured.inputs(), calls=3)


@needs_pellucid
@parametrized(SEEN)
def test_the_report_has_one_entry_with_op_reason_and_line(configured):
    check_same(configured.function, *configured.inputs(), calls=3)
    seen = report()
    entries = [entry for entry in seen.fallbacks if configured.op in entry.op]
    assert entries, f"no entry for {configured.op}:\n{seen}"
    assert len({(entry.op, entry.line) for entry in entries}) == len(entries), f"more than one entry for a line:\n{seen}"
    for entry in entries:
        assert len(entry.reason) > 10, entry.reason
        assert entry.file.endswith("test_fallbacks.py") and entry.line in lines_of(configured.function), (entry.file, entry.line)
        assert configured.op in str(seen) and f":{entry.line}" in str(seen)


@needs_pellucid
@parametrized(SEEN)
def test_it_is_said_once_and_not_in_each_call(configured):
    forget()
    with Messages() as messages:
        for _ in range(2):  # two compiles of three calls
            torch._dynamo.reset()
            faster = compiled(configured.function)
            for _ in range(3):
                faster(*configured.inputs())
    warned, logged = messages.about(configured.op)
    assert warned, "nothing was said"
    for said in (warned, logged):
        assert len(said) == len(set(said)), said
        assert all(re.search(r"test_fallbacks\.py:\d+", text) for text in said), said


@needs_pellucid
@parametrized(SEEN)
def test_strict_raises_with_op_and_line(configured):
    forget()
    with pytest.raises(Exception) as raised:
        compiled(configured.function, strict=True)(*configured.inputs())
    assert configured.op in str(raised.value) and re.search(r"test_fallbacks\.py:\d+", str(raised.value)), str(raised.value)


@needs_pellucid
def test_strict_accepts_what_pellucid_can_run():
    forget()
    x = matrix()
    faster = compiled(lambda x: F.gelu(x) @ x.t(), strict=True)
    assert torch.allclose(faster(x), F.gelu(x) @ x.t(), atol=1e-5)
    assert not report().fallbacks


@needs_pellucid
@pytest.mark.parametrize("options", [dict(stric=True), dict(random="numpy"), dict(strict="yes")], ids=str)
def test_a_wrong_option_is_an_error_that_names_it(options):
    forget()
    with pytest.raises(Exception, match=next(iter(options))):
        compiled(lambda x: x + 1, **options)(matrix())


def test_an_error_of_the_user_is_raised_as_in_eager():
    forget()

    def wrong(x, flag):
        if flag:
            raise KeyError("mine")
        return x[10]

    faster = compiled(wrong)
    with pytest.raises(KeyError, match="mine"):
        faster(matrix(), True)
    with pytest.raises(Exception, match="out of bounds|out of range"):
        faster(matrix(), False)
    x = matrix(12, 2)
    assert torch.equal(faster(x, False), x[10])


@needs_pellucid
def test_ops_around_an_unsupported_one_still_run_in_pellucid():
    forget()

    def mixed(x, w):
        y = F.gelu(x @ w) @ w
        z = torch.linalg.svdvals(y)
        return F.softmax(F.gelu(y @ w) @ w, -1) + z

    x, w = matrix(16, 16), matrix(16, 16) * 0.1
    check_same(mixed, x, w, tolerance=1e-4)
    graphs = report().graphs
    assert sum(graph.nodes for graph in graphs) > sum(graph.nodes_here for graph in graphs) > 0, str(report())
    assert [entry.op for entry in report().fallbacks if "svd" in entry.op]


@needs_pellucid
def test_a_pytorch_without_the_table_for_tensors_runs_everything_itself_and_says_so_once(monkeypatch):
    forget()
    monkeypatch.delattr(torch.Tensor, "__dlpack_c_exchange_api__")
    functions = (lambda x: F.gelu(x) @ x.t(), lambda x: x.exp() + 1)
    with Messages() as messages:
        for function in functions:
            assert torch.equal(compiled(function)(matrix()), function(matrix()))
    said, _ = messages.about("__dlpack_c_exchange_api__")
    assert len(said) == 1 and torch.__version__ in said[0] and "install PyTorch" in said[0], said
    assert "__dlpack_c_exchange_api__" in str(report())
    with pytest.raises(Exception, match="__dlpack_c_exchange_api__"):
        compiled(functions[0], strict=True)(matrix())
