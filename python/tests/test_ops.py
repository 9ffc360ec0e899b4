"""What holds for every op of the registry."""
import inspect
import pickle
import pydoc

import pytest

import pellucid as pel
from pellucid import _core
from pellucid._methods import METHODS
from samples import sample_call

OPS = sorted(_core.ops.items())


@pytest.mark.parametrize("name, op", OPS, ids=[name for name, _ in OPS])
def test_is_called_by_its_record(name, op):
    args, keywords = sample_call(name, op)
    result = op(*args, **keywords)
    assert len(op.results) == 1 or len(result) == len(op.results)
    if name.endswith("_"):
        assert result is args[0]


@pytest.mark.parametrize("name, op", OPS, ids=[name for name, _ in OPS])
def test_takes_every_argument_by_keyword(name, op):
    args, keywords = sample_call(name, op)
    positional = [argument[0] for argument in op.arguments]
    result = op(**dict(zip(positional, args)), **keywords)
    assert type(result) in (pel.Tensor, tuple, int, float, bool)


@pytest.mark.parametrize("name, op", OPS, ids=[name for name, _ in OPS])
def test_is_documented(name, op):
    text = pydoc.plain(pydoc.render_doc(op))
    assert op.__name__ in text and op.schema in text
    assert len(inspect.signature(op).parameters) == len(op.arguments) + op.has_out


@pytest.mark.parametrize("name, op", OPS, ids=[name for name, _ in OPS])
def test_refuses_what_the_schema_does_not_have(name, op):
    args, keywords = sample_call(name, op)
    with pytest.raises(TypeError, match="there is no argument unknown"):
        op(*args, **keywords, unknown=1)
    required = [argument for argument in op.arguments if not argument[2]]
    if required:
        with pytest.raises(TypeError, match=f"the argument {required[0][0].rstrip('_')}_? is missing"):
            op()


def test_hot_ops_and_records_compute_the_same():
    x, y = pel.randn(3, 4), pel.randn(3, 4)
    square = pel.randn(4, 4)
    for name, op in OPS:
        if not op.is_hot:
            continue
        types = [argument[1] for argument in op.arguments if not argument[2]]
        if types == ["Tensor", "int"]:
            args = [x.clone(), 1]
        elif name in ("mm", "matmul"):
            args = [x, square]
        elif name == "mv":
            args = [square, x[0]]
        elif name == "dot":
            args = [x[0], y[0]]
        elif name == "bmm":
            args = [x.reshape(1, 3, 4), square.reshape(1, 4, 4)]
        else:
            args = [x.clone(), y][:len(types)]
        by_keyword = {argument[0]: value.clone() if isinstance(value, pel.Tensor) else value
                      for argument, value in zip(op.arguments, args)}
        slow, fast = op(**by_keyword), op(*args)
        assert fast.dtype is slow.dtype and fast.shape == slow.shape, name
        both_nan = pel.logical_and(fast.ne(fast), slow.ne(slow)) if fast.dtype.is_floating_point else fast.eq(slow)
        assert pel.logical_or(fast.eq(slow), both_nan).all(), name


def test_there_are_about_forty_hot_ops():
    assert 40 <= sum(op.is_hot for _, op in OPS) <= 60


def test_every_public_op_is_a_function_of_the_package():
    for name, op in OPS:
        if not op.is_internal and not name.endswith(("_", ".out")):
            assert getattr(pel, name) is op
        assert getattr(pel.ops, name.replace(".", "_")) is op


def test_methods_are_ops():
    for name in METHODS:
        assert getattr(pel.Tensor, name) is _core.ops[name]
    assert pel.ones(2).add(1).tolist() == [2, 2]
    bound = pel.ones(2).add
    assert bound(2).tolist() == [3, 3]
    assert "self" not in inspect.signature(bound).parameters


def test_methods_are_those_of_pytorch():
    torch = pytest.importorskip("torch", reason="the list is PyTorch's")
    ours = {name for name, op in OPS if op.arguments and op.arguments[0][1] == "Tensor" and op.arguments[0][0] in ("self", "input")
            and hasattr(torch.Tensor, name)}
    assert ours - {"index"} == METHODS  # x.index(...) is not documented there; x[...] calls it


def test_out_is_a_keyword():
    x, z = pel.ones(3), pel.zeros(3)
    assert pel.add(x, x, out=z) is z
    assert pel.add(x, other=x, alpha=2, out=z) is z
    assert z.tolist() == [3, 3, 3]
    assert pel.add(x, x, out=None).tolist() == [2, 2, 2]


def test_integer_lists_may_be_spread():
    x = pel.zeros(2, 3)
    assert x.shape == pel.zeros((2, 3)).shape == pel.zeros(size=[2, 3]).shape == (2, 3)
    assert x.view(3, 2).shape == x.view((3, 2)).shape == (3, 2)
    assert x.permute(1, 0).shape == (3, 2)
    assert x.sum(0).shape == (3,) and x.sum((0, 1)).shape == ()
    assert pel.zeros(4).shape == (4,) and pel.zeros(()).shape == ()


def test_enums_have_the_spelling_of_pytorch():
    x = pel.tensor([1.0, 2.0])
    assert pel.mse_loss(x, x, reduction="none").shape == (2,)
    assert pel.div(x, 2, rounding_mode="floor").tolist() == [0, 1]
    with pytest.raises(ValueError, match='reduction is "none", "mean".*not "avg"'):
        pel.mse_loss(x, x, reduction="avg")


def test_results_that_are_the_argument_are_the_same_object():
    x = pel.ones(2, 2)
    assert x.contiguous() is x
    assert x.to(pel.float32) is x


def test_ops_can_be_pickled_and_found():
    assert pickle.loads(pickle.dumps(pel.add)) is pel.add
    assert pickle.loads(pickle.dumps(pel.float32)) is pel.float32
    assert pel.find_op("add") is pel.add and pel.find_op("nothing") is None


def test_input_is_pytorchs_name_of_the_first_argument():
    assert pel.neg(input=pel.ones(1)).item() == -1
