// Collectives: calls that all ranks of a group make together, in the same order and with the same dtypes and
// sizes (pellucid/distributed.h). They return new tensors. In a group of one they copy.
//
// Sums follow one fixed tree over the ranks, so every rank gets the same bits, each time and with any engine.
// f16 and bf16 are added in f32 and rounded once. Ranks that call different things, a rank that died and one
// that does not come are a CommunicationError on all ranks.
#pragma once

#include <cstdint>
#include <string_view>

#include "pellucid/tensor.h"

namespace pel {

// The sum over all ranks. Its gradient is all_reduce.
PEL_API Tensor all_reduce(const Tensor& self, std::string_view group = "world", Site site = Site::current());
// The tensors of all ranks, one after another along axis 0; its gradient is reduce_scatter, and the other way
// round. reduce_scatter cuts axis 0 into one part for each rank; a rank gets the sum of its parts.
PEL_API Tensor all_gather(const Tensor& self, std::string_view group = "world", Site site = Site::current());
PEL_API Tensor reduce_scatter(const Tensor& self, std::string_view group = "world",
                              Site site = Site::current());
// The tensor of rank `src`. The gradient is the sum over all ranks there, and zero on the others.
PEL_API Tensor broadcast(const Tensor& self, std::int64_t src = 0, std::string_view group = "world",
                         Site site = Site::current());
// Axis 0 is cut into one part for each rank: part r goes to rank r, and comes from there. Its own gradient.
PEL_API Tensor all_to_all(const Tensor& self, std::string_view group = "world", Site site = Site::current());

// Between two ranks, without gradients. send returns how many elements it sent; it
// may return before the other side has called recv, which has the sizes and the dtype of `like`.
PEL_API Tensor send(const Tensor& self, std::int64_t dst, std::string_view group = "world",
                    Site site = Site::current());
PEL_API Tensor recv(const Tensor& like, std::int64_t src, std::string_view group = "world",
                    Site site = Site::current());

}  // namespace pel
