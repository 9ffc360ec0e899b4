// Threads, seeds, memory, devices, and what the methods of Tensor in _tensor.py need.
#include <pellucid/device.h>
#include <pellucid/generator.h>
#include <pellucid/memory.h>
#include <pellucid/ops.h>
#include <pellucid/threads.h>

#include "core/arguments.h"
#include "core/call_scope.h"
#include "core/errors.h"
#include "core/module_parts.h"
#include "core/tensor_caster.h"

namespace pel::python {

void add_runtime(nb::module_& m) {
  m.def("manual_seed", manual_seed, nb::arg("seed"), "Reseeds the generator of random ops.");
  m.def("get_num_threads", thread_count, "Returns the number of threads that a kernel may use.");
  m.def(
      "set_num_threads", [](int count) { set_thread_count(count, user_site()); }, nb::arg("count"),
      "Sets the number of threads that a kernel may use.");
  m.def("empty_cache", [] { empty_cache(); }, "Returns free memory to the system.");
  m.def(
      "set_memory_limit", [](std::int64_t bytes) { set_memory_limit(bytes); }, nb::arg("bytes"),
      "Allocations that would use more than these bytes for data raise MemoryError. 0 removes the limit.");
  m.def(
      "memory_stats",
      [] {
        const MemoryStats stats = memory_stats();
        nb::dict result;
        result["small_blocks"] = stats.small_blocks;
        result["data_bytes"] = stats.data_bytes;
        result["peak_data_bytes"] = stats.peak_data_bytes;
        result["cached_bytes"] = stats.cached_bytes;
        result["large_allocations"] = stats.large_allocations;
        result["large_reused"] = stats.large_reused;
        result["limit_bytes"] = stats.limit_bytes;
        result["cache_limit_bytes"] = stats.cache_limit_bytes;
        return result;
      },
      "Returns the memory in use, by the names of the C++ struct MemoryStats.");
  m.def(
      "synchronize",
      [](nb::handle device) {
        const Device waited_for = to_device(device.ptr());
        const Site site = user_site();
        const nb::gil_scoped_release unlocked;
        synchronize(waited_for, site);
      },
      nb::arg("device"),
      "Waits until all kernels that were queued before have ended, and raises the error of the first that "
      "failed.");
  m.def(
      "device_stats",
      [](nb::handle device) {
        const DeviceStats stats = device_stats(to_device(device.ptr()));
        nb::dict result;
        result["launches"] = stats.launches;
        result["copies_in"] = stats.copies_in;
        result["copied_in_bytes"] = stats.copied_in_bytes;
        result["copies_out"] = stats.copies_out;
        result["copied_out_bytes"] = stats.copied_out_bytes;
        result["stream_waits"] = stats.stream_waits;
        result["waits"] = stats.waits;
        result["waited_ns"] = stats.waited_ns;
        result["late_errors"] = stats.late_errors;
        return result;
      },
      nb::arg("device"),
      "Returns what an asynchronous device has done, by the names of the C++ struct DeviceStats.");
  m.def(
      "_tensor_from_data",
      [](nb::handle data, nb::handle dtype, nb::handle device) {
        return tensor_from_data(data.ptr(), dtype.ptr(), device.ptr());
      },
      nb::arg("data").none(), nb::arg("dtype").none(), nb::arg("device").none());
  m.def("_to_list", [](const Tensor& self) { return nb::steal(to_list(self)); });
  m.def("_size", [](const Tensor& self, std::int64_t axis) {
    return nb::steal(new_dim(self.size(axis, user_site())));
  });
  m.def("_stride", [](const Tensor& self, std::int64_t axis) {
    return nb::steal(new_dim(self.stride(axis, user_site())));
  });
  m.def("_numel", [](const Tensor& self) { return nb::steal(new_dim(self.numel())); });
  m.def("_is_contiguous", [](const Tensor& self) { return self.is_contiguous(); });
  m.def("_data_ptr", [](const Tensor& self) { return reinterpret_cast<std::uintptr_t>(self.raw_data()); });
  m.def("_shares_storage",
        [](const Tensor& self, const Tensor& other) { return self.shares_storage(other); });
  m.def(
      "result_type",
      [](nb::handle a, nb::handle b) {
        const auto operand = [](nb::handle object) {
          return is_tensor(object.ptr()) ? PromotionOperand(tensor_of(object.ptr()))
                                         : PromotionOperand(to_scalar(object.ptr()));
        };
        return nb::borrow(dtype_object(result_type({operand(a), operand(b)})));
      },
      nb::arg("a"), nb::arg("b"), "Returns the dtype that an op over two tensors or numbers computes in.");
}

}  // namespace pel::python
