// Views: results that share memory with their argument. No kernel runs. Names and semantics are PyTorch's.
// Negative axes count from the end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pellucid/tensor.h"

namespace pel {

PEL_API Tensor alias(const Tensor& self, Site site = Site::current());  // the same data, as another Tensor
// The same data without history: no gradient flows through it. A write to one is visible in the other.
PEL_API Tensor detach(const Tensor& self, Site site = Site::current());
PEL_API Tensor t(const Tensor& self, Site site = Site::current());  // rank 2 or less
PEL_API Tensor transpose(const Tensor& self, std::int64_t axis0, std::int64_t axis1,
                         Site site = Site::current());
PEL_API Tensor permute(const Tensor& self, Axes axes, Site site = Site::current());
PEL_API Tensor movedim(const Tensor& self, Axes source, Axes destination, Site site = Site::current());
// One size may be -1: it is computed. An error if the layout would need a copy; reshape copies then.
PEL_API Tensor view(const Tensor& self, Dims size, Site site = Site::current());
// -1 keeps the size of an axis. An expanded or new axis has stride 0.
PEL_API Tensor expand(const Tensor& self, Dims size, Site site = Site::current());
PEL_API Tensor squeeze(const Tensor& self, Site site = Site::current());
PEL_API Tensor squeeze(const Tensor& self, Axes axes, Site site = Site::current());
PEL_API Tensor unsqueeze(const Tensor& self, std::int64_t axis, Site site = Site::current());
PEL_API Tensor select(const Tensor& self, std::int64_t axis, Dim index, Site site = Site::current());
// Bounds are clamped, as in Python; the step is positive.
PEL_API Tensor slice(const Tensor& self, std::int64_t axis = 0, std::optional<Dim> start = std::nullopt,
                     std::optional<Dim> end = std::nullopt, Dim step = 1, Site site = Site::current());
PEL_API Tensor narrow(const Tensor& self, std::int64_t axis, Dim start, Dim length,
                      Site site = Site::current());
// Pieces of `split_size`; the last may be smaller.
PEL_API std::vector<Tensor> split(const Tensor& self, Dim split_size, std::int64_t axis = 0,
                                  Site site = Site::current());
// Pieces of these sizes, which make up the axis.
PEL_API std::vector<Tensor> split_with_sizes(const Tensor& self, Dims split_sizes, std::int64_t axis = 0,
                                             Site site = Site::current());
// At most `chunks` pieces of equal size; the last may be smaller.
PEL_API std::vector<Tensor> chunk(const Tensor& self, std::int64_t chunks, std::int64_t axis = 0,
                                  Site site = Site::current());
PEL_API std::vector<Tensor> unbind(const Tensor& self, std::int64_t axis = 0, Site site = Site::current());
PEL_API Tensor unflatten(const Tensor& self, std::int64_t axis, Dims sizes, Site site = Site::current());
PEL_API Tensor diagonal(const Tensor& self, std::int64_t offset = 0, std::int64_t axis1 = 0,
                        std::int64_t axis2 = 1, Site site = Site::current());
// Any sizes, strides and offset that stay inside the storage.
PEL_API Tensor as_strided(const Tensor& self, Dims size, Dims stride,
                          std::optional<Dim> storage_offset = std::nullopt, Site site = Site::current());

// Views if the layout allows it, else copies.
PEL_API Tensor reshape(const Tensor& self, Dims shape, Site site = Site::current());
PEL_API Tensor flatten(const Tensor& self, std::int64_t start_axis = 0, std::int64_t end_axis = -1,
                       Site site = Site::current());

}  // namespace pel
