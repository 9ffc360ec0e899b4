// A padded copy of an image, its columns sorted by their remainder modulo the stride. The elements that one
// tap of the window reads at the positions of a row are then contiguous.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/convolution/convolution.h"
#include "backends/cpu/elementwise/rounding.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/lanes.h"
#include "tensor/make.h"

namespace pel::cpu {

inline constexpr std::int64_t kChunk = 32;  // bytes per copy; may overrun the end of a run

PEL_LANES_INLINE void copy_chunk(char* to, const char* from) { store(to, load<I32x8>(from)); }
static_assert(sizeof(I32x8) == kChunk);

// Copies exactly one run.
PEL_LANES inline void copy_exactly(char* to, const char* from, std::int64_t count) {
  if (count < kChunk) {
    if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t at = 0; at + kChunk <= count; at += kChunk) copy_chunk(to + at, from + at);
  copy_chunk(to + count - kChunk, from + count - kChunk);
}

// Scratch memory from the library's allocator, not initialised.
class ScratchBuffer {
 public:
  explicit ScratchBuffer(std::int64_t bytes)
      : memory_(make_dense({bytes + 2 * kChunk}, kU8, kCpu)), data_(static_cast<char*>(memory_.raw_data())) {}
  char* data() const { return data_; }

 private:
  Tensor memory_;
  char* data_;
};

// The channels of one group: for each channel and position of the outer axes a row of `stride` parts; part p
// holds the elements p, p + stride, …. Positions that no window covers are not written.
class PaddedImage {
 public:
  explicit PaddedImage(const ConvCall& c) : c_(c), size_(size_bytes(c.dtype)) {
    part_ = ceil_div(c.axes[2].extent(), c.axes[2].stride);
    row_ = part_ * c.axes[2].stride;
    plane_ = row_ * c.axes[1].extent();
    channel_ = plane_ * c.axes[0].extent();
    find_parts();
    for (std::int64_t d = 0; d < c.axes[0].extent(); ++d) {
      for (std::int64_t h = 0; h < c.axes[1].extent(); ++h) {
        if (!is_covered(c.axes[0], d) || !is_covered(c.axes[1], h)) continue;
        const std::int64_t src_d = source(c.axes[0], d), src_h = source(c.axes[1], h);
        const bool outside = src_d < 0 || src_h < 0;
        rows_.push_back({(d * plane_ + h * row_) * size_,
                         outside ? -1 : (src_d * c.src.axis[0] + src_h * c.src.axis[1]) * size_});
      }
    }
  }

  std::int64_t image_elements() const { return channel_ * c_.in_channels; }
  std::int64_t bytes(std::int64_t images) const { return images * image_elements() * size_; }

  // Offsets in elements from the start of an image: of a position of the result, and of a tap.
  std::int64_t offset(std::int64_t d, std::int64_t h, std::int64_t w) const {
    return d * c_.axes[0].stride * plane_ + h * c_.axes[1].stride * row_ + w;
  }
  std::vector<std::int64_t> tap_offsets() const {
    std::vector<std::int64_t> offsets;
    offsets.reserve(static_cast<std::size_t>(c_.depth()));
    const ConvAxis& last = c_.axes[2];
    for (std::int64_t c = 0; c < c_.in_channels; ++c) {
      for (std::int64_t d = 0; d < c_.axes[0].kernel; ++d) {
        for (std::int64_t h = 0; h < c_.axes[1].kernel; ++h) {
          for (std::int64_t w = 0; w < last.kernel; ++w) {
            const std::int64_t at = w * last.dilation;
            offsets.push_back(c * channel_ + d * c_.axes[0].dilation * plane_ +
                              h * c_.axes[1].dilation * row_ + at % last.stride * part_ + at / last.stride);
          }
        }
      }
    }
    return offsets;
  }

  void fill_channel(char* image, std::int64_t n, std::int64_t group, std::int64_t channel) const {
    zero_padding(image + channel * channel_ * size_);
    copy_elements(image + channel * channel_ * size_, n, group, channel);
  }
  // The two steps of a copy: the zeros remain when the next channel is copied to the same memory.
  void zero_padding(char* plane) const {
    for (const Row& row : rows_) {
      if (row.from < 0 || to_step_ != size_) {
        std::memset(plane + row.to, 0, static_cast<std::size_t>(row_ * size_));
        continue;
      }
      for (const Part& part : parts_) {
        char* const to = plane + row.to + part.to;
        std::memset(to, 0, static_cast<std::size_t>(part.zeros_before));
        std::memset(to + part.zeros_before + part.count * size_, 0,
                    static_cast<std::size_t>(part.zeros_after));
      }
    }
  }
  void copy_elements(char* plane, std::int64_t n, std::int64_t group, std::int64_t channel) const {
    const char* const from =
        c_.src.data + (n * c_.src.batch + (group * c_.in_channels + channel) * c_.src.channel) * size_;
    for (const Row& row : rows_) {
      if (row.from < 0) continue;
      for (const Part& part : parts_) {
        char* const to = plane + row.to + part.to + part.zeros_before;
        if (from_step_ == size_ && to_step_ == size_) {
          copy_exactly(to, from + row.from + part.from, part.count * size_);
        } else {
          copy_tile({to, 0, to_step_}, {const_cast<char*>(from) + row.from + part.from, 0, from_step_}, 1,
                    part.count, size_);
        }
      }
    }
  }

 private:
  struct Row {
    std::int64_t to, from;  // bytes; from -1: padding
  };
  // A part of a row, in bytes: zeros, `count` elements of the input, zeros.
  struct Part {
    std::int64_t to, zeros_before, zeros_after, from, count;
  };

  static bool is_covered(const ConvAxis& a, std::int64_t position) {
    for (std::int64_t k = 0; k < a.kernel; ++k) {
      const std::int64_t begin = position - k * a.dilation;
      if (begin >= 0 && begin % a.stride == 0 && begin / a.stride < a.out) return true;
    }
    return false;
  }
  // Returns the element of the input at a position, or -1.
  static std::int64_t source(const ConvAxis& a, std::int64_t position) {
    const std::int64_t at = position - a.before;
    if (at < 0 || at % a.input_dilation != 0 || at / a.input_dilation >= a.in) return -1;
    return at / a.input_dilation;
  }

  void find_parts() {
    const ConvAxis& a = c_.axes[2];
    const std::int64_t step = c_.src.axis[2];
    if (a.input_dilation > 1) {  // the stride is 1; zeros separate the elements
      const std::int64_t first = std::max<std::int64_t>(0, ceil_div(-a.before, a.input_dilation)),
                         end = std::max(first, std::min(a.in, ceil_div(row_ - a.before, a.input_dilation)));
      to_step_ = a.input_dilation * size_;
      from_step_ = step * size_;
      parts_.push_back(
          {(a.before + first * a.input_dilation) * size_, 0, 0, first * step * size_, end - first});
      return;
    }
    to_step_ = size_;
    from_step_ = step * a.stride * size_;
    for (std::int64_t p = 0; p < a.stride; ++p) {
      bool covered = false;
      for (std::int64_t k = 0; k < a.kernel; ++k) covered = covered || k * a.dilation % a.stride == p;
      if (!covered) continue;
      // Positions q stride + p - before from 0 up to the size.
      const auto lower_bound_of = [&](std::int64_t element) {
        return std::min(part_, std::max<std::int64_t>(0, element + a.before - p + a.stride - 1) / a.stride);
      };
      const std::int64_t first = lower_bound_of(0), end = std::max(first, lower_bound_of(a.in));
      parts_.push_back({p * part_ * size_, first * size_, (part_ - end) * size_,
                        (first * a.stride + p - a.before) * step * size_, end - first});
    }
  }

  const ConvCall& c_;
  std::int64_t size_;
  std::int64_t part_, row_, plane_, channel_;  // in elements
  std::int64_t to_step_, from_step_;           // bytes
  std::vector<Row> rows_;
  std::vector<Part> parts_;
};

}  // namespace pel::cpu
