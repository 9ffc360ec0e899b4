// Padding. For each axis a table maps a position in dst to its element of src.
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/grains.h"
#include "backends/cpu/kernels.h"
#include "base/small_vector.h"
#include "tensor/element.h"

namespace pel::cpu {
namespace {

constexpr std::int64_t kOutside = -1;  // in a table: the constant

using Table = SmallVector<std::int64_t, 16>;

// Modes: 0 constant, 1 reflect, 2 replicate, 3 circular.
std::int64_t source_of(std::int64_t at, std::int64_t size, std::int64_t mode) {
  if (at >= 0 && at < size) return at;
  switch (mode) {
    case 0:
      return kOutside;
    case 1:
      return at < 0 ? -at : 2 * (size - 1) - at;
    case 2:
      return at < 0 ? 0 : size - 1;
    default:
      return at < 0 ? at + size : at - size;
  }
}

template <std::size_t Width>
void fill_row(char* to, const char* from, const char* constant, const Table& inner, std::int64_t first,
              std::int64_t last, std::int64_t from_step) {
  const auto columns = static_cast<std::int64_t>(inner.size());
  const auto edge = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t source = from ? inner[static_cast<std::size_t>(i)] : kOutside;
      std::memcpy(to + i * std::int64_t{Width}, source == kOutside ? constant : from + source * from_step,
                  Width);
    }
  };
  if (!from || from_step != Width) return edge(0, columns);
  edge(0, first);
  if (last > first) {
    std::memcpy(to + first * std::int64_t{Width}, from + inner[static_cast<std::size_t>(first)] * from_step,
                static_cast<std::size_t>(last - first) * Width);
  }
  edge(last, columns);
}

// Operands: dst, row-major; src; scalars: mode, the constant, the padding before each axis.
void run_pad(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  const std::int64_t mode = args.scalars[0].as_int;
  const int rank = dst.rank;
  const auto dtype = static_cast<DType>(dst.dtype);
  const std::int64_t width = size_bytes(dtype);
  alignas(8) char constant[8] = {};
  const PelScalar& number = args.scalars[1];
  store_element(dtype, constant,
                number.kind == PEL_SCALAR_FLOAT ? Scalar(number.as_float) : Scalar(number.as_int));

  std::vector<Table> tables;
  for (int i = 0; i < rank; ++i) {
    Table& table = tables.emplace_back(static_cast<std::size_t>(dst.sizes[i]));
    for (std::int64_t at = 0; at < dst.sizes[i]; ++at)
      table[static_cast<std::size_t>(at)] = source_of(at - args.scalars[2 + i].as_int, src.sizes[i], mode);
  }
  const std::int64_t columns = dst.sizes[rank - 1], before = args.scalars[1 + rank].as_int;
  // The part of a row that is a contiguous run of src.
  const std::int64_t first = std::clamp<std::int64_t>(before, 0, columns);
  const std::int64_t last = std::clamp<std::int64_t>(before + src.sizes[rank - 1], first, columns);
  const auto fill = width == 1   ? fill_row<1>
                    : width == 2 ? fill_row<2>
                    : width == 4 ? fill_row<4>
                                 : fill_row<8>;

  std::int64_t rows = 1;
  for (int i = 0; i + 1 < rank; ++i) rows *= dst.sizes[i];
  parallel_for(rows, Grain::of(kCopyGrainBytes, columns * width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const char* from = static_cast<const char*>(src.data);
      std::int64_t left = row;
      for (int i = rank - 1; i-- > 0;) {
        const std::int64_t at = left % dst.sizes[i];
        left /= dst.sizes[i];
        const std::int64_t source = tables[static_cast<std::size_t>(i)][static_cast<std::size_t>(at)];
        if (source == kOutside) {
          from = nullptr;
          break;
        }
        from += source * src.strides[i] * width;
      }
      fill(static_cast<char*>(dst.data) + row * columns * width, from, constant, tables.back(), first, last,
           src.strides[rank - 1] * width);
    }
  });
}

}  // namespace

KernelLists pad_kernels() {
  static const auto kPad = std::to_array<Kernel>({{"cpu_pad", supports_any, run_pad}});
  static const auto kLists = std::to_array<BackendKernels>({{"constant_pad_nd", kPad}, {"pad", kPad}});
  return kLists;
}

}  // namespace pel::cpu
