#include "backends/cpu/reduce.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "backends/cpu/float_mode.h"
#include "backends/cpu/tile.h"
#include "base/small_vector.h"
#include "base/thread_pool.h"

namespace pel::cpu {
namespace {

constexpr std::int64_t kBlock = 1024;
// Outputs whose elements share cache lines are folded together, a line's worth at a time.
constexpr std::int64_t kGroup = 16;

struct Axis {
  std::int64_t size, step, out_step;  // steps in bytes
};
using Axes = SmallVector<Axis, 8>;

std::int64_t count_of(const Axes& axes) {
  std::int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.size;
  return count;
}

// Offset of element `index` of the sequence over `axes`, the first axis fastest.
std::int64_t offset_of(const Axes& axes, std::int64_t index) {
  std::int64_t offset = 0;
  for (const Axis& axis : axes) {
    offset += index % axis.size * axis.step;
    index /= axis.size;
  }
  return offset;
}

class FoldRun {
 public:
  FoldRun(const FoldCode& code, const KernelArgs& args)
      : code_(code),
        width_(size_bytes(code.elements.inputs[0])),
        value_width_(size_bytes(code.elements.output)) {
    const Operand &out = output(args, 0), &in = input(args, 0);
    to_ = static_cast<char*>(out.data);
    out_dtype_ = static_cast<DType>(out.dtype);
    from_ = static_cast<char*>(in.data);
    for (int i = in.rank; i-- > 0;) {
      if (in.sizes[i] == 1) continue;
      const Axis axis = {in.sizes[i], in.strides[i] * width_, out.strides[i] * size_bytes(out_dtype_)};
      Axes& axes = out.sizes[i] == 1 ? reduced_ : kept_;
      // An axis that continues the one inside it is one with it, where neither operand can tell.
      if (!axes.empty() && axis.step == axes.back().size * axes.back().step &&
          (&axes == &reduced_ || axis.out_step == axes.back().size * axes.back().out_step)) {
        axes.back().size *= axis.size;
      } else {
        axes.push_back(axis);
      }
    }
    // Kept axes in the order of memory: neighbours share lines.
    std::sort(kept_.begin(), kept_.end(),
              [](const Axis& a, const Axis& b) { return std::abs(a.step) < std::abs(b.step); });
    length_ = count_of(reduced_);
    outputs_ = count_of(kept_);
    blocks_ = std::max<std::int64_t>(1, (length_ + kBlock - 1) / kBlock);
  }

  void run() {
    const bool across = length_ > 0 && !kept_.empty() && !reduced_.empty() &&
                        std::abs(kept_[0].step) < std::abs(reduced_[0].step);
    const std::int64_t group = across ? std::min(kGroup, kept_[0].size) : 1;
    const std::int64_t inner = kept_.empty() ? 1 : kept_[0].size;
    const std::int64_t groups_inside = (inner + group - 1) / group;
    const std::int64_t groups = outputs_ / inner * groups_inside;
    values_.resize(static_cast<std::size_t>(outputs_ * blocks_ * value_width_));
    const std::int64_t grain = std::max<std::int64_t>(
        1, code_.elements.grain / std::max<std::int64_t>(1, group * std::min(length_, kBlock)));
    parallel_for(groups * blocks_, grain, [&](std::int64_t begin, std::int64_t end) {
      const DefaultFloatMode mode;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t number = i / blocks_;
        const std::int64_t first = number / groups_inside * inner + number % groups_inside * group;
        fold_block(first, std::min(group, inner - first % inner), i % blocks_);
      }
    });
    combine_blocks();
    for (std::int64_t o = 0; o < outputs_; ++o) {
      std::int64_t index = o, place = 0;
      for (const Axis& axis : kept_) {
        place += index % axis.size * axis.out_step;
        index /= axis.size;
      }
      convert_one(to_ + place, out_dtype_, value(o, 0), code_.elements.output);
    }
  }

 private:
  char* value(std::int64_t output, std::int64_t block) {
    return values_.data() + (output * blocks_ + block) * value_width_;
  }

  // Block `block` of `count` neighbouring outputs.
  void fold_block(std::int64_t first, std::int64_t count, std::int64_t block) {
    const std::int64_t begin = block * kBlock, length = std::min(kBlock, length_ - begin);
    if (length == 0) {  // of an empty axis
      std::memcpy(value(first, block), &code_.initial_bits, static_cast<std::size_t>(value_width_));
      return;
    }
    char* base = from_ + offset_of(kept_, first);
    const std::int64_t to_next = kept_.empty() ? 0 : kept_[0].step;
    alignas(64) char packed[kGroup * kBlock * 8];
    const bool dense =
        count == 1 && (length_ == 1 ||
                       (reduced_[0].step == width_ && begin % reduced_[0].size + length <= reduced_[0].size));
    if (dense) {
      fold(code_.elements, value(first, block), base + offset_of(reduced_, begin), length);
      return;
    }
    for (std::int64_t done = 0; done < length;) {
      const std::int64_t at = begin + done;
      const std::int64_t run = std::min(reduced_[0].size - at % reduced_[0].size, length - done);
      copy_tile({packed + done * width_, kBlock * width_, width_},
                {base + offset_of(reduced_, at), to_next, reduced_[0].step}, count, run, width_);
      done += run;
    }
    for (std::int64_t o = 0; o < count; ++o)
      fold(code_.elements, value(first + o, block), packed + o * kBlock * width_, length);
  }

  static void fold(const LoopCode& code, char* to, char* from, std::int64_t count) {
    void* data[2] = {to, from};
    constexpr std::int64_t kDense[2] = {1, 1};
    code.function(count, data, kDense, nullptr);
  }

  void combine_blocks() {
    for (std::int64_t left = blocks_; left > 1;) {
      const std::int64_t next = (left + kBlock - 1) / kBlock;
      for (std::int64_t o = 0; o < outputs_; ++o) {
        for (std::int64_t b = 0; b < next; ++b) {
          // Into a place of its own first: the loop may read what it would overwrite.
          char folded[8];
          fold(code_.values, folded, value(o, b * kBlock), std::min(kBlock, left - b * kBlock));
          std::copy_n(folded, value_width_, value(o, b));
        }
      }
      left = next;
    }
  }

  const FoldCode& code_;
  std::int64_t width_, value_width_;
  DType out_dtype_{};
  char *to_ = nullptr, *from_ = nullptr;
  Axes reduced_, kept_;
  std::int64_t length_ = 1, outputs_ = 1, blocks_ = 1;
  std::vector<char> values_;
};

}  // namespace

void run_fold(Stream&, const KernelArgs& args) {
  const DefaultFloatMode mode;
  FoldRun(*static_cast<const FoldCode*>(args.context), args).run();
}

}  // namespace pel::cpu
