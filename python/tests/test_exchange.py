"""NumPy and DLPack, both ways: no copies, read-only stays read-only, memory is freed once."""
import ctypes
import gc
import threading
import weakref

import numpy as np
import pytest

import pellucid as pel

DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_both_ways_without_a_copy(name):
    array = np.array([[0, 1, 2], [3, 0, 1]]).astype(name)
    x = pel.from_numpy(array)
    assert x.dtype is getattr(pel, name) and x.data_ptr() == array.ctypes.data and x.tolist() == array.tolist()
    back = x.numpy()
    assert back.ctypes.data == array.ctypes.data and back.dtype == array.dtype
    back[0, 0] = 1
    assert x[0, 0].item() == 1 and array[0, 0] == 1


def test_numpy_strides():
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (array.T, array[::2, 1::3], array[1], array[:, 0], np.broadcast_to(array[0], (3, 6))):
        x = pel.from_numpy(view)
        np.testing.assert_array_equal(x.numpy(), view)
        assert x.data_ptr() == view.ctypes.data
    np.testing.assert_array_equal(pel.from_numpy(array).t()[1:].numpy(), array.T[1:])
    with pytest.raises(ValueError, match="ascontiguousarray"):
        pel.from_numpy(array[::-1])


def test_numpy_empty_and_scalar_arrays():
    assert pel.from_numpy(np.zeros((0, 3), np.float32)).numpy().shape == (0, 3)
    assert pel.from_numpy(np.array(2.0)).item() == 2
    assert pel.zeros(0).numpy().shape == (0,)
    assert np.from_dlpack(pel.zeros(2, 0)).shape == (2, 0)


def test_read_only_is_kept():
    array = np.arange(3.0)
    array.flags.writeable = False
    for x in (pel.from_numpy(array), pel.from_dlpack(array)):
        assert x.is_read_only
        with pytest.raises(pel.Error) as raised:
            x.add_(1)
        assert raised.value.code == "E06"
        assert not x.numpy().flags.writeable
        assert not np.from_dlpack(x).flags.writeable
        assert pel.from_dlpack(x.__dlpack__(max_version=(1, 0))).is_read_only
        with pytest.raises(BufferError, match="read-only"):
            x.__dlpack__()
        assert not pel.from_dlpack(x.__dlpack__(copy=True)).is_read_only
    assert np.from_dlpack(pel.ones(2)).flags.writeable


def test_dlpack_of_numpy():
    array = np.arange(6.0).reshape(2, 3)
    x = pel.from_dlpack(array)
    assert x.data_ptr() == array.ctypes.data and x.tolist() == array.tolist()
    back = np.from_dlpack(x)
    assert back.ctypes.data == array.ctypes.data


def test_dlpack_capsules():
    x = pel.arange(0, 6).reshape(2, 3)
    assert x.__dlpack_device__() == (1, 0)
    assert 'capsule object "dltensor"' in repr(x.__dlpack__())
    assert 'capsule object "dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 3)))
    for capsule in (x.__dlpack__(), x.__dlpack__(max_version=(1, 1))):
        y = pel.from_dlpack(capsule)
        assert y.data_ptr() == x.data_ptr()
        with pytest.raises(BufferError, match="used before"):
            pel.from_dlpack(capsule)
    copied = pel.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=True))
    assert copied.data_ptr() != x.data_ptr() and copied.tolist() == x.tolist()
    with pytest.raises(BufferError):
        x.__dlpack__(stream=1)
    with pytest.raises(TypeError, match="__dlpack__"):
        pel.from_dlpack(3)


def test_gradients_are_not_exported():
    x = pel.ones(2).requires_grad_()
    with pytest.raises(BufferError, match="detach"):
        x.__dlpack__()
    with pytest.raises(ValueError, match="detach"):
        x.numpy()
    assert x.detach().numpy().tolist() == [1, 1]


def test_a_numpy_array_lives_as_long_as_its_tensors():
    class Array(np.ndarray):
        pass

    array = np.zeros(4, np.float32).view(Array)
    reference = weakref.ref(array)
    x = pel.from_numpy(array)
    view = x[1:]
    del array, x
    gc.collect()
    assert reference() is not None
    view.fill_(3)
    del view
    gc.collect()
    assert reference() is None


def test_a_tensor_lives_as_long_as_its_arrays():
    start = pel.memory_stats()["data_bytes"]
    arrays = [pel.zeros(1 << 20).numpy(), np.from_dlpack(pel.zeros(1 << 20))]
    assert pel.memory_stats()["data_bytes"] - start == 2 * (4 << 20)
    arrays[0][:] = 1
    arrays.pop()
    gc.collect()
    assert pel.memory_stats()["data_bytes"] - start == 4 << 20
    arrays.clear()
    gc.collect()
    assert pel.memory_stats()["data_bytes"] == start


def test_unused_capsules_free_their_tensor():
    start = pel.memory_stats()["data_bytes"]
    for keywords in ({}, {"max_version": (1, 0)}):
        capsule = pel.zeros(1 << 20).__dlpack__(**keywords)
        assert pel.memory_stats()["data_bytes"] - start == 4 << 20
        del capsule
        assert pel.memory_stats()["data_bytes"] == start


# ---- A producer in ctypes that counts its deleter's calls

class Borrowed(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("sizes", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    pass


Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                    ("deleter", Deleter), ("flags", ctypes.c_uint64), ("tensor", Borrowed)]


class Producer:
    """Exports four floats, the first two skipped by byte_offset."""

    def __init__(self, **fields):
        self.deleted = 0
        self.data = (ctypes.c_float * 6)(9, 9, 1, 2, 3, 4)
        self.sizes, self.strides = (ctypes.c_int64 * 2)(2, 2), (ctypes.c_int64 * 2)(2, 1)
        self.deleter = Deleter(self.count)
        self.managed = Managed(1, 0, None, self.deleter, 0,
                               Borrowed(ctypes.addressof(self.data), 1, 0, 2, 2, 32, 1, self.sizes, self.strides, 8))
        for name, value in fields.items():
            setattr(self.managed if hasattr(self.managed, name) else self.managed.tensor, name, value)

    def count(self, _):
        self.deleted += 1

    def __dlpack__(self, *, max_version=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor_versioned", None)


def test_the_deleter_is_called_once_after_the_last_view():
    producer = Producer()
    x = pel.from_dlpack(producer)
    assert x.tolist() == [[1, 2], [3, 4]]
    views = [x[0], x.t(), x.reshape(4)]
    del x
    assert producer.deleted == 0
    views.clear()
    assert producer.deleted == 1


def test_the_deleter_is_called_once_on_another_thread():
    producer = Producer()
    holder = [pel.from_dlpack(producer)]
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()
    assert producer.deleted == 1


@pytest.mark.parametrize("fields, error", [({"major": 2}, BufferError), ({"device_type": 2}, pel.Error),
                                           ({"code": 5}, TypeError), ({"lanes": 2}, TypeError)])
def test_a_refused_tensor_is_freed_once(fields, error):
    producer = Producer(**fields)
    with pytest.raises(error):
        pel.from_dlpack(producer)
    assert producer.deleted == 1


def test_negative_strides_are_refused_and_freed():
    producer = Producer()
    producer.strides[1] = -1
    with pytest.raises(ValueError, match="negative"):
        pel.from_dlpack(producer)
    assert producer.deleted == 1


def test_row_major_without_strides():
    producer = Producer(strides=None)
    assert pel.from_dlpack(producer).tolist() == [[1, 2], [3, 4]]


# ---- torch

@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="a peer of this exchange")


def test_torch_both_ways_without_a_copy(torch):
    theirs = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).t()
    ours = pel.from_dlpack(theirs)
    assert ours.data_ptr() == theirs.data_ptr() and ours.strides == theirs.stride() and ours.dtype is pel.bfloat16
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr() and back.stride() == theirs.stride()
    back.add_(1)
    assert ours.tolist() == theirs.tolist()


def test_torchs_table_is_used_and_torch_can_use_ours(torch):
    assert hasattr(torch.Tensor, "__dlpack_c_exchange_api__") and hasattr(pel.Tensor, "__dlpack_c_exchange_api__")

    class WithTableAlone(torch.Tensor):
        def __dlpack__(self, *args, **keywords):
            raise AssertionError("the table is faster")

    assert pel.from_dlpack(torch.ones(3).as_subclass(WithTableAlone)).tolist() == [1, 1, 1]


def test_our_table_works(torch):
    """Calls every function of the table as a C consumer would."""
    from ctypes import CFUNCTYPE, POINTER, byref, c_int, c_uint32, c_void_p, py_object
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c_void_p, [py_object, ctypes.c_char_p]
    address = get(pel.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    version = (c_uint32 * 2).from_address(address)
    assert tuple(version) == (1, 3)
    functions = (c_void_p * 5).from_address(address + 16)
    x = pel.arange(0, 6).reshape(2, 3)
    managed = POINTER(Managed)()
    assert CFUNCTYPE(c_int, py_object, POINTER(POINTER(Managed)))(functions[1])(x, byref(managed)) == 0
    assert managed.contents.tensor.data == x.data_ptr() and managed.contents.tensor.sizes[1] == 3
    made = py_object()
    to_object = ctypes.PYFUNCTYPE(c_int, POINTER(Managed), POINTER(py_object))(functions[2])
    assert to_object(managed, byref(made)) == 0
    assert made.value.data_ptr() == x.data_ptr()
    borrowed = Borrowed()
    assert CFUNCTYPE(c_int, py_object, POINTER(Borrowed))(functions[3])(x, byref(borrowed)) == 0
    assert borrowed.data == x.data_ptr() and borrowed.bits == 64


def test_tensor_copies_what_others_have(torch):
    for theirs in (torch.ones(2), np.ones(2, np.float32)):
        ours = pel.tensor(theirs)
        ours += 1
        assert ours.tolist() == [2, 2] and theirs.tolist() == [1, 1]


def test_mixing_with_other_libraries_says_how_to_convert(torch):
    ours = pel.ones(2)
    for theirs in (torch.ones(2), np.ones(2, np.float32)):
        for call in (lambda: ours + theirs, lambda: theirs + ours, lambda: ours.add(theirs), lambda: pel.matmul(theirs, ours),
                     lambda: pel.cat([theirs]), lambda: ours.__setitem__(0, theirs), lambda: ours == theirs):
            with pytest.raises(TypeError, match=r"convert it with pellucid.from_dlpack"):
                call()
