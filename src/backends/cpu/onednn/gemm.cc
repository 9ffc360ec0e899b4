// GEMM on oneDNN. Parts: Key and Prepared describe and create a primitive, a thread-local Cache holds them;
// predicted and preferred estimate the time; supports refuses calls; Split divides a call into pieces, and
// run_piece runs one; full_name, describe_call and variants name the implementations.
#include "backends/cpu/onednn/gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <unordered_map>

#include <dnnl.hpp>
#include <fmt/format.h>

#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/onednn/engine.h"
#include "base/check.h"
#include "base/thread_object.h"
#include "base/thread_pool.h"

namespace pel::cpu::onednn {
namespace {

using dnnl::memory;

memory::data_type type_of(DType dtype) { return static_cast<memory::data_type>(type_number(dtype)); }

// Part of a call: some matrices of the batch, some rows and some columns of the result.
struct Piece {
  std::int64_t first_batch, batch, first_row, rows, first_column, columns;
};

// How the added tensor is combined with the result.
enum class Adds : std::uint8_t { Nothing, Row, Matrix, Scaled };
Adds how_adds(const GemmCall& c) {
  if (!c.adds) return Adds::Nothing;
  if (c.beta.as_float != 1) return Adds::Scaled;  // copied into the result; the GEMM accumulates onto it
  return c.added.row == 0 && c.added.batch == 0 ? Adds::Row : Adds::Matrix;
}

// The parameters of a primitive.
struct Key {
  std::array<std::int64_t, 20> words;
  bool operator==(const Key&) const = default;
};
std::int64_t bits_of(double value) {
  std::int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

Key key_of(const GemmCall& c, const Piece& p, std::size_t implementation) {
  return {{static_cast<std::int64_t>(c.dtype),
           static_cast<std::int64_t>(implementation),
           p.batch,
           p.rows,
           p.columns,
           c.k,
           c.out.batch,
           c.out.row,
           c.out.column,
           c.a.batch,
           c.a.row,
           c.a.column,
           c.b.batch,
           c.b.row,
           c.b.column,
           static_cast<std::int64_t>(how_adds(c)),
           c.added.batch,
           c.added.row,
           bits_of(c.alpha.as_float),
           bits_of(c.beta.as_float)}};
}

struct Sizes {
  std::int64_t batch, rows, columns;
};
memory::desc describe(const Matrix& x, Sizes size, DType dtype) {
  // An axis of size 1 may have any stride; oneDNN requires a consistent one.
  std::int64_t row = x.row, column = x.column;
  if (size.columns == 1 && row != 1) column = 1;
  if (size.rows == 1) row = column == 1 ? std::max(size.columns, row) : 1;
  if (size.batch == 1) return {{size.rows, size.columns}, type_of(dtype), memory::dims{row, column}};
  const bool repeats = x.batch == 0;
  return {{repeats ? 1 : size.batch, size.rows, size.columns},
          type_of(dtype),
          memory::dims{repeats ? std::max(row * size.rows, column * size.columns) : x.batch, row, column}};
}

dnnl::primitive_attr attributes(const GemmCall& c, const Piece& p, Adds adds) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops after;
  if (c.alpha.as_float != 1)
    after.append_eltwise(dnnl::algorithm::eltwise_linear, static_cast<float>(c.alpha.as_float), 0);
  if (adds == Adds::Matrix || (adds == Adds::Row && c.alpha.as_float != 1)) {
    const Sizes size{adds == Adds::Row ? 1 : p.batch, adds == Adds::Row ? 1 : p.rows, p.columns};
    memory::desc added = describe(c.added, size, c.dtype);
    if (adds == Adds::Row && p.batch > 1)
      added = {{1, 1, p.columns}, type_of(c.dtype), memory::dims{p.columns, p.columns, 1}};
    after.append_binary(dnnl::algorithm::binary_add, added);
  }
  if (adds == Adds::Scaled) after.append_sum(static_cast<float>(c.beta.as_float));
  attr.set_post_ops(after);
  return attr;
}

dnnl::matmul::primitive_desc make_description(const GemmCall& c, const Piece& p, std::size_t implementation) {
  const Adds adds = how_adds(c);
  const memory::desc a = describe(c.a, {p.batch, p.rows, c.k}, c.dtype),
                     b = describe(c.b, {p.batch, c.k, p.columns}, c.dtype),
                     out = describe(c.out, {p.batch, p.rows, p.columns}, c.dtype);
  const dnnl::primitive_attr attr = attributes(c, p, adds);
  constexpr bool kMayFail = true;
  dnnl::matmul::primitive_desc description;
  if (adds == Adds::Row && c.alpha.as_float == 1) {
    const memory::dims sizes = p.batch == 1 ? memory::dims{1, p.columns} : memory::dims{1, 1, p.columns};
    const memory::dims strides =
        p.batch == 1 ? memory::dims{p.columns, 1} : memory::dims{p.columns, p.columns, 1};
    description = {engine(), a, b, {sizes, type_of(c.dtype), strides}, out, attr, kMayFail};
  } else {
    description = {engine(), a, b, out, attr, kMayFail};
  }
  for (std::size_t i = 0; description.get(true) != nullptr && i < implementation; ++i) {
    if (!description.next_impl()) return {};
  }
  return description;
}

class Prepared {
 public:
  Prepared(const GemmCall& c, const Piece& p, std::size_t implementation) {
    std::optional<WithoutItsCache> without;
    if (implementation > 0) without.emplace();
    const auto description = make_description(c, p, implementation);
    PEL_CHECK(description.get(true) != nullptr, NoKernelError,
              "oneDNN has no implementation for this matmul");
    name_ = description.impl_info_str();
    bound_ = BoundPrimitive(dnnl::matmul(description), description.scratchpad_desc().get());
    bound_.add(DNNL_ARG_SRC, description.src_desc().get());
    bound_.add(DNNL_ARG_WEIGHTS, description.weights_desc().get());
    bound_.add(DNNL_ARG_DST, description.dst_desc().get());
    const Adds adds = how_adds(c);
    if (adds == Adds::Row && c.alpha.as_float == 1) {
      bound_.add(DNNL_ARG_BIAS, description.bias_desc().get());
    } else if (adds == Adds::Row || adds == Adds::Matrix) {
      const int index = c.alpha.as_float != 1 ? 1 : 0;
      const dnnl::post_ops after = description.get_primitive_attr().get_post_ops();
      dnnl::algorithm algorithm{};
      memory::desc added;
      after.get_params_binary(index, algorithm, added);
      bound_.add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1, added.get());
    }
  }

  const std::string& name() const { return name_; }

  void run(char* a, char* b, char* out, char* added, dnnl::stream& stream, Scratch& scratch) {
    bound_.run({a, b, out, added}, stream, scratch);
  }

 private:
  std::string name_;
  BoundPrimitive bound_;
};

// The state of one thread.
class Cache {
 public:
  static Cache& of_thread() { return thread_object<Cache>(); }
  Prepared& get(const GemmCall& c, const Piece& p, std::size_t implementation) {
    return prepared_.get(key_of(c, p, implementation),
                         [&] { return std::make_unique<Prepared>(c, p, implementation); });
  }

  dnnl::stream stream{engine()};
  Scratch scratch;

 private:
  PreparedCache<Key, Prepared> prepared_;
};

// Nanoseconds on one core: 1 µs for the call, then the slower of arithmetic and memory. FLOP per nanosecond
// are those of large GEMMs on a server core of 2023, one after the other.
struct Rate {
  std::string_view implementation;
  double flops;
};
constexpr Rate kRates[] = {{"brg:avx512_core_amx", 900},
                           {"brg:avx512_core_bf16", 85},
                           {"brg:avx512_core_fp16", 140},
                           {"brg:avx512_core", 150},
                           {"brg:avx2", 75},
                           {"gemm:jit:f32", 140},
                           {"gemm:jit:bf16", 800},
                           {"ref:any", 0.06}};
constexpr double kCallNs = 1000, kBytesPerNs = 24, kFewRows = 32, kTransposeFactor = 1.7;

double predicted(const GemmCall& c, std::string_view implementation) {
  double flops = 1;
  for (const Rate& rate : kRates) {
    if (implementation.starts_with(rate.implementation)) {
      flops = rate.flops;
      break;
    }
  }
  double ns = std::max(c.flops() / flops, c.bytes() / kBytesPerNs);
  // Transposed weights are copied first, which pays off only for many rows.
  if (c.b.order(c.k, c.n) == 't' && static_cast<double>(c.m) < kFewRows) ns *= kTransposeFactor;
  return kCallNs + ns;
}

std::string_view preferred(const GemmCall& c) {
  const bool wide = active_isa() == codegen::Isa::Avx512;
  if (c.dtype == kF32) return wide ? "brg:avx512_core" : "brg:avx2";
  if (c.dtype == kBF16)
    return wide ? (c.k >= 32 && c.n >= 16 ? "brg:avx512_core_amx" : "brg:avx512_core_bf16") : "ref:any";
  return wide ? "brg:avx512_core_fp16" : "ref:any";
}

double predict(const KernelArgs& args) {
  const GemmCall call(args);
  return predicted(call, preferred(call));
}

// Returns whether one axis has unit stride and no two indices alias one element; a batch may repeat one
// matrix.
bool is_distinct_with_unit_stride(const Matrix& x, Sizes size) {
  if (x.order(size.rows, size.columns) == 'x') return false;
  struct Axis {
    std::int64_t stride, size;
  };
  Axis axes[3] = {{x.batch, x.batch == 0 ? 1 : size.batch}, {x.row, size.rows}, {x.column, size.columns}};
  std::sort(std::begin(axes), std::end(axes),
            [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  std::int64_t span = 1;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (axis.stride < span) return false;
    span = axis.stride * axis.size;
  }
  return true;
}

// f16 and bf16 need instructions that not every processor has.
bool has_type(DType dtype) {
  static const auto kHas = [] {
    std::array<bool, kDTypeCount> all{};
    for (const DType type : {kF32, kBF16, kF16}) {
      const memory::desc square({16, 16}, type_of(type), memory::dims{16, 1});
      const dnnl::matmul::primitive_desc description(engine(), square, square, square, dnnl::primitive_attr(),
                                                     true);
      all[static_cast<std::size_t>(type)] = description.get(true) != nullptr;
    }
    return all;
  }();
  return kHas[static_cast<std::size_t>(dtype)];
}

Support supports(const KernelArgs& args) {
  const GemmCall c(args);
  if (c.dtype != kF32 && c.dtype != kBF16 && c.dtype != kF16)
    return Support::no("oneDNN matmul supports only f32, bf16 and f16");
  if (!has_type(c.dtype)) return Support::no("oneDNN matmul does not support this dtype on this processor");
  if (c.k == 0) return Support::no("the inner size k is 0");
  if (!is_distinct_with_unit_stride(c.a, {c.batch, c.m, c.k}))
    return Support::no("the first operand has no unit stride, or has overlapping elements");
  if (!is_distinct_with_unit_stride(c.b, {c.batch, c.k, c.n}))
    return Support::no("the second operand has no unit stride, or has overlapping elements");
  if (c.batch > 1 && c.a.batch == 0 && c.b.batch == 0) return Support::no("both operands repeat one matrix");
  if (c.out.order(c.m, c.n) != 'n') return Support::no("the result is not row-major");
  switch (how_adds(c)) {
    case Adds::Nothing:
    case Adds::Scaled:
      break;
    case Adds::Row:
      if (c.added.column != 1 && c.n > 1)
        return Support::no("the added tensor is a row with one element or a strided row");
      break;
    case Adds::Matrix:
      if (c.added.order(c.m, c.n) != 'n' || !is_distinct_with_unit_stride(c.added, {c.batch, c.m, c.n}))
        return Support::no("the added tensor is not row-major");
      break;
  }
  return Support::yes();
}

// Divides a call into pieces: by its sizes alone, not by the number of threads.
//
// Measured relative to the undivided call on one thread: f32 in blocks of 768 columns takes 0.5 to 0.7 of the
// time if there are many columns, because of how their rows map to the caches; blocks of 256 rows and more
// cost nothing; fewer rows, or blocks of columns in bf16, take up to 1.7.
class Split {
 public:
  explicit Split(const GemmCall& c) : c_(c), step_{c.batch, c.m, c.n} {
    constexpr double kMinPieceNs = 100'000;
    constexpr std::int64_t kManyRows = 512, kMinRows = 256, kManyColumns = 1536, kColumns = 768,
                           kMaxPieces = 8;
    if (predicted(c, preferred(c)) < kMinPieceNs) return;
    const auto part = [](std::int64_t size, std::int64_t pieces, std::int64_t unit) {
      return ((size + pieces - 1) / pieces + unit - 1) / unit * unit;
    };
    if (c.batch > 1) {
      step_.batch = part(c.batch, kMaxPieces, 1);
      return;
    }
    if (c.m >= kManyRows) step_.rows = std::max(kMinRows, part(c.m, kMaxPieces, 64));
    if (c.dtype == kF32 && c.n >= kManyColumns) {
      step_.columns = kColumns;
    } else if (c.m < kManyRows) {
      step_.columns = part(c.n, 2, 64);
    }
  }
  std::int64_t count() const {
    return parts(c_.batch, step_.batch) * parts(c_.m, step_.rows) * parts(c_.n, step_.columns);
  }
  // Columns are the outer index, so that consecutive pieces share them.
  Piece operator[](std::int64_t i) const {
    const auto range = [&i](std::int64_t size, std::int64_t step) {
      const std::int64_t count = parts(size, step), first = i % count * step;
      i /= count;
      return std::pair(first, std::min(step, size - first));
    };
    const auto [row, rows] = range(c_.m, step_.rows);
    const auto [column, columns] = range(c_.n, step_.columns);
    const auto [batch, batches] = range(c_.batch, step_.batch);
    return {batch, batches, row, rows, column, columns};
  }

 private:
  static std::int64_t parts(std::int64_t size, std::int64_t step) { return (size + step - 1) / step; }
  const GemmCall& c_;
  Sizes step_;
};

void run_piece(const GemmCall& c, const Piece& p, std::size_t implementation) {
  const std::int64_t width = size_bytes(c.dtype);
  const auto at = [&](const Matrix& x, std::int64_t row, std::int64_t column) {
    return x.data + (p.first_batch * x.batch + row * x.row + column * x.column) * width;
  };
  char* const out = at(c.out, p.first_row, p.first_column);
  if (how_adds(c) == Adds::Scaled) {
    for (std::int64_t b = 0; b < p.batch; ++b)
      copy_tile({out + b * c.out.batch * width, c.out.row * width, c.out.column * width},
                {at(c.added, p.first_row, p.first_column) + b * c.added.batch * width, c.added.row * width,
                 c.added.column * width},
                p.rows, p.columns, width);
  }
  Cache& cache = Cache::of_thread();
  const OneOmpThread one;
  cache.get(c, p, implementation)
      .run(at(c.a, p.first_row, 0), at(c.b, 0, p.first_column), out,
           c.adds ? at(c.added, p.first_row, p.first_column) : nullptr, cache.stream, cache.scratch);
}

void run_with(const GemmCall& call, std::size_t implementation) {
  const Split split(call);
  parallel_for(split.count(), Grain::whole(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) run_piece(call, split[i], implementation);
  });
}

void run(Stream&, const KernelArgs& args) { run_with(GemmCall(args), 0); }

// "brg:avx512_core_amx" becomes "onednn_avx512_core_amx_bf16_tn_brg_bias".
std::string full_name(const GemmCall& c, const std::string& implementation) {
  const ImplementationName parts(implementation);
  return fmt::format("onednn_{}_{}_{}_{}{}", parts.isa, name(c.dtype), c.layout(), parts.kind, c.epilogue());
}

std::string describe_call(const KernelArgs& args) {
  const GemmCall call(args);
  return full_name(call, Cache::of_thread().get(call, Split(call)[0], 0).name());
}

// Returns every implementation that oneDNN has for the call.
std::vector<KernelVariant> variants(const KernelArgs& args) {
  const GemmCall call(args);
  std::vector<KernelVariant> all;
  const OneOmpThread one;
  const WithoutItsCache without;
  const Split split(call);
  for (std::size_t i = 0;; ++i) {
    const auto description = make_description(call, split[0], i);
    if (description.get(true) == nullptr) return all;
    const std::string implementation = description.impl_info_str();
    all.push_back(
        {full_name(call, implementation), predicted(call, implementation), [call, i] { run_with(call, i); }});
  }
}

}  // namespace

std::optional<Kernel> gemm_kernel() {
  Kernel kernel{"onednn_gemm", supports, run};
  kernel.is_relaxed = true;
  kernel.predict = predict;
  kernel.describe = describe_call;
  kernel.variants = variants;
  return kernel;
}

}  // namespace pel::cpu::onednn
