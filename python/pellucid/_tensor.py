"""Methods and attributes of Tensor that are not ops, and functions that make tensors from Python data."""
from pellucid import _core
from pellucid._core import Tensor


def tensor(data, *, dtype=None, device=None, requires_grad=False):
    """Returns a new tensor with the numbers of nested lists: bool, int64, or float32 if there is a float among them.

    Tensors and arrays, other libraries' too, are copied.
    """
    if hasattr(data, "__dlpack__") and not isinstance(data, Tensor):
        data = _core.from_dlpack(data)
    result = _core._tensor_from_data(data, dtype, device)
    if requires_grad:
        _core._requires_grad_(result, True)
    return result


def dim(self):
    """Returns the number of axes."""
    return self.ndim


def size(self, dim=None):
    """Returns the sizes of all axes, or of one."""
    return self.shape if dim is None else _core._size(self, dim)


def stride(self, dim=None):
    """Returns the strides of all axes in elements, or of one."""
    return self.strides if dim is None else _core._stride(self, dim)


def numel(self):
    """Returns the number of elements."""
    return _core._numel(self)


def is_contiguous(self):
    """Returns whether the elements are in row-major order without gaps."""
    return _core._is_contiguous(self)


def data_ptr(self):
    """Returns the address of the first element."""
    return _core._data_ptr(self)


def tolist(self):
    """Returns the elements as nested lists of Python numbers."""
    return _core._to_list(self)


def numpy(self):
    """Returns a NumPy array over the same memory. It is read-only if the tensor is."""
    import numpy as np
    return np.asarray(self)


def array_interface(self):
    """NumPy's description of the memory."""
    return _core._array_interface(self)


def to_dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """Returns a DLPack capsule over the same memory, versioned if max_version is at least (1, 0)."""
    return _core._to_dlpack(self, stream, max_version, dl_device, copy)


def dlpack_device(self):
    """Returns DLPack's type and number of the device."""
    return (1, 0)


def requires_grad_(self, requires_grad=True):
    """Has calls on this tensor recorded for backward. Returns self."""
    _core._requires_grad_(self, requires_grad)
    return self


def retain_grad(self):
    """Keeps the gradient of a tensor that is not a leaf."""
    _core._retain_grad(self)


def backward(self, gradient=None, *, retain_graph=False, create_graph=False):
    """Adds the gradients of this tensor with respect to each leaf to the leaf's grad."""
    _core._backward([self], [] if gradient is None else [gradient], retain_graph, create_graph)


def add_methods():
    for function in (dim, size, stride, numel, is_contiguous, data_ptr, tolist, numpy, requires_grad_, retain_grad, backward):
        function.__qualname__ = "Tensor." + function.__name__
        setattr(Tensor, function.__name__, function)
    Tensor.__dlpack__ = to_dlpack
    Tensor.__dlpack_device__ = dlpack_device
    Tensor.__array_interface__ = property(array_interface)
