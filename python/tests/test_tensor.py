"""Tensors: attributes, operators, indexing, numbers in and out."""
import operator

import numpy as np
import pytest

import pellucid as pel


def values(*shape):
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def same(ours, theirs):
    np.testing.assert_array_equal(ours.numpy(), theirs)
    assert ours.shape == np.shape(theirs)


def test_attributes():
    x = pel.zeros(2, 3, dtype=pel.float16)
    assert (x.shape, x.strides, x.ndim, x.device, x.itemsize, x.nbytes) == ((2, 3), (3, 1), 2, "cpu", 2, 12)
    assert x.dtype is pel.float16 and repr(x.dtype) == "pellucid.float16" and x.dtype.is_floating_point
    assert (x.size(), x.size(-1), x.stride(0), x.dim(), x.numel()) == ((2, 3), 3, 3, 2, 6)
    assert x.T.shape == x.mT.shape == (3, 2) and not x.T.is_contiguous() and x.is_contiguous()
    assert x.data_ptr() % 2 == 0 and not x.is_read_only


@pytest.mark.parametrize("data, dtype", [(True, pel.bool), (3, pel.int64), (2.5, pel.float32), ([1, 2.0], pel.float32),
                                         ([[1, 2], [3, 4]], pel.int64), ([], pel.float32), ([[], []], pel.float32),
                                         ([True, 2], pel.int64)])
def test_tensor_from_data(data, dtype):
    x = pel.tensor(data)
    assert x.dtype is dtype and x.shape == np.shape(data)
    assert x.tolist() == np.asarray(data, dtype=dtype.name).tolist()


def test_tensor_takes_a_dtype():
    for name in ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"):
        dtype = getattr(pel, name)
        assert pel.tensor([0, 1], dtype=dtype).dtype is pel.tensor([0, 1], dtype=name).dtype is dtype
        assert pel.tensor([0, 1], dtype=dtype).tolist() == [0, 1]
    assert pel.tensor(0.1, dtype=pel.float64).item() == 0.1
    assert pel.tensor(2**62 + 1).item() == 2**62 + 1


def test_tensor_refuses_ragged_lists():
    for data in ([[1], [2, 3]], [1, [2]], [[1], 2]):
        with pytest.raises(ValueError):
            pel.tensor(data)
    with pytest.raises(TypeError):
        pel.tensor(["a"])
    with pytest.raises(TypeError, match="Tensor is not called"):
        pel.Tensor([1])


@pytest.mark.parametrize("name", "add sub mul truediv floordiv mod pow lt le gt ge eq ne".split())
def test_arithmetic_operators(name):
    function = getattr(operator, name)
    a, b = values(2, 3), values(2, 3)[::-1].copy()
    x, y = pel.from_numpy(a), pel.from_numpy(b)
    same(function(x, y), function(a, b))
    same(function(x, 2), function(a, np.float32(2)))
    same(function(x, 2.5), function(a, np.float32(2.5)))
    same(function(2, x), function(np.float32(2), a))


@pytest.mark.parametrize("name", "and_ or_ xor lshift rshift".split())
def test_integer_operators(name):
    function = getattr(operator, name)
    a, b = np.array([12, 10]), np.array([3, 2])
    same(function(pel.from_numpy(a), pel.from_numpy(b)), function(a, b))


def test_unary_operators():
    a = values(2, 3)
    x = pel.from_numpy(a)
    same(-x, -a)
    same(+x, a)
    same(abs(-x), a)
    same(~pel.tensor([1, 2]), ~np.array([1, 2]))


@pytest.mark.parametrize("name", "iadd isub imul itruediv ifloordiv imod ipow".split())
def test_in_place_operators_keep_the_object(name):
    a = values(2, 3)
    x = pel.tensor(a.tolist())
    assert getattr(operator, name)(x, 2) is x
    same(x, getattr(operator, name)(a, 2))


def test_matmul_operator():
    a, b = values(2, 3), values(3, 4)
    same(pel.from_numpy(a) @ pel.from_numpy(b), a @ b)


def test_numpy_numbers_are_numbers():
    x = pel.ones(2)
    assert (x + np.float32(1)).tolist() == (x + np.int64(1)).tolist() == (x + np.float64(1)).tolist() == [2, 2]
    assert (x + np.float64(1)).dtype is pel.float32
    assert pel.zeros(np.int64(3)).shape == (3,)


def test_python_numbers_do_not_widen():
    assert (pel.ones(2, dtype=pel.float16) * 2.5).dtype is pel.float16
    assert (pel.ones(2, dtype=pel.int32) + 1).dtype is pel.int32
    assert (pel.ones(2, dtype=pel.int32) + 1.5).dtype is pel.float32
    assert pel.result_type(pel.ones(2, dtype=pel.int8), 2.0) is pel.float32


INDICES = [0, -1, slice(None), slice(1, None), slice(None, -1), slice(0, 3, 2), None, Ellipsis, (0, 1), (slice(None), 1),
           (Ellipsis, 0), (Ellipsis, None), (None, 0, slice(1, 2)), (0, Ellipsis, slice(1, None)), (slice(None), None, 1), ()]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_views_by_index(index):
    a = values(3, 4, 5)
    x = pel.from_numpy(a)
    same(x[index], a[index])
    assert x[index].data_ptr() == a[index].ctypes.data


PICKS = [[0, 2], [[0, 1], [2, 0]], ([0, 1], [1, 2]), (slice(None), [0, 3]), ([0, 1], slice(None), [0, 1]), (0, [0, 1]),
         (Ellipsis, [4, 0]), ([True, False, True],), (None, [1, 2]), ([0], slice(1, 3), None)]


@pytest.mark.parametrize("index", PICKS, ids=str)
def test_picks_by_index(index):
    a = values(3, 4, 5)
    x = pel.from_numpy(a)
    same(x[index], a[index])
    items = tuple(pel.tensor(item) if isinstance(item, list) else item for item in (index if isinstance(index, tuple) else (index,)))
    same(x[items], a[index])


def test_masks():
    a = values(3, 4)
    x = pel.from_numpy(a)
    same(x[x > 5], a[a > 5])
    same(x[pel.tensor([True, False, True])], a[[True, False, True]])
    same(x[x > 100], a[a > 100])


@pytest.mark.parametrize("index", INDICES + PICKS, ids=str)
def test_assignment_by_index(index):
    if index is None or index == (Ellipsis, None) or isinstance(index, tuple) and index and index[0] is None:
        index = (0,)
    a = values(3, 4, 5)
    x = pel.tensor(a.tolist())
    a[index] = -1
    x[index] = -1
    same(x, a)
    replacement = np.full_like(a[index], 7)
    a[index] = replacement
    x[index] = pel.tensor(replacement.tolist(), dtype=pel.float32) if replacement.ndim else pel.tensor(float(replacement))
    same(x, a)


def test_assignment_by_mask():
    x = pel.tensor([1.0, 2.0, 3.0])
    x[x > 1] = 0
    assert x.tolist() == [1, 0, 0]
    x += 1
    assert x.tolist() == [2, 1, 1]


def test_wrong_indices():
    x = pel.zeros(2, 3)
    with pytest.raises(IndexError):
        x[2]
    with pytest.raises(IndexError):
        x[0, 0, 0]
    with pytest.raises(IndexError):
        x[pel.tensor([5])]
    with pytest.raises(TypeError, match="An index is an integer"):
        x["a"]
    with pytest.raises(TypeError):
        x[1.5]
    with pytest.raises(TypeError, match="cannot be deleted"):
        del x[0]


def test_length_and_iteration():
    x = pel.tensor([[1, 2], [3, 4], [5, 6]])
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    first, *_ = x
    first[0] = 9
    assert x[0, 0].item() == 9
    with pytest.raises(TypeError):
        len(pel.tensor(1))
    with pytest.raises(TypeError):
        iter(pel.tensor(1))


def test_numbers_out():
    assert pel.tensor(3).item() == 3 and type(pel.tensor(3).item()) is int
    assert type(pel.tensor(True).item()) is bool and type(pel.tensor(1.0).item()) is float
    assert bool(pel.tensor(1)) and not pel.tensor([0.0]) and int(pel.tensor(2.9)) == 2 and float(pel.tensor(2)) == 2.0
    assert [10, 20, 30][pel.tensor(1)] == 20
    with pytest.raises(ValueError, match="needs exactly one element"):
        bool(pel.ones(2))
    with pytest.raises(TypeError):
        [1][pel.tensor(0.0)]
    assert pel.tensor([1.5], dtype=pel.bfloat16).tolist() == [1.5]


def test_repr_is_that_of_cpp():
    text = repr(pel.tensor([[1.0, 2.0], [3.0, 4.5]]))
    assert "4.5" in text and "[" in text
    assert repr(pel.ones(3)) == str(pel.ones(3))


def test_tensors_are_hashable_and_have_weak_references():
    import weakref
    x = pel.ones(1)
    assert {x: 1}[x] == 1 and hash(x) != hash(pel.ones(1))
    reference = weakref.ref(x)
    assert reference() is x
    del x
    assert reference() is None


def test_comparison_with_other_types():
    x = pel.ones(1)
    assert (x == "a") is False and (x != None) is True  # noqa: E711
    with pytest.raises(TypeError):
        x < "a"
    with pytest.raises(TypeError):
        x + "a"


def test_views_share_memory_and_keep_it():
    x = pel.zeros(4)
    view = x[1:3]
    del x
    view.fill_(2)
    assert view.tolist() == [2, 2]


def test_random_numbers_repeat_with_their_seed():
    pel.manual_seed(7)
    first = pel.randn(4).tolist()
    pel.manual_seed(7)
    assert pel.randn(4).tolist() == first
