// Convolutions on oneDNN. All its fast implementations take channels-last images; other layouts are
// transposed on the way in and out, a piece at a time. A piece is some images, or some rows of one, chosen by
// the sizes alone. Weights are reordered to oneDNN's layout once per call.
//
// Parts: Split divides a call into pieces; describe_piece and Prepared create the primitives, which a
// thread-local Cache holds; Rows copies rows in and out; Reordered describes the reordered weights and bias;
// run, supports, predict and describe_call form the kernel.
#include "backends/cpu/onednn/convolution.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>
#include <fmt/format.h>

#include "backends/cpu/convolution/convolution.h"
#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/elementwise/rounding.h"
#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/onednn/engine.h"
#include "base/thread_object.h"
#include "base/thread_pool.h"
#include "tensor/make.h"

namespace pel::cpu::onednn {
namespace {

using dnnl::memory;

// Whether the processor multiplies numbers of a 16-bit type. Otherwise oneDNN emulates it, which takes two to
// five times as long as f32.
bool is_native(DType dtype) {
  static const auto kIsa = [] {
    engine();  // bounds the instruction set that oneDNN uses
    return static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  }();
  const auto has = [](dnnl::cpu_isa wanted) {
    const auto bits = static_cast<unsigned>(wanted);
    return (kIsa & bits) == bits;
  };
  if (dtype == kBF16) return has(dnnl::cpu_isa::avx512_core_bf16);
  return dtype != kF16 || has(dnnl::cpu_isa::avx512_core_fp16);
}
// The dtype of oneDNN's operands: f32 instead of a 16-bit type that is not native. Pieces are converted on
// the way in and out, and sums are rounded once in both cases.
DType type_in_engine(const ConvCall& c) { return is_native(c.dtype) ? c.dtype : kF32; }

memory::data_type type_of(DType dtype) { return static_cast<memory::data_type>(type_number(dtype)); }

// Some images and some rows of the result along the first spatial axis, and the input rows that they read,
// with the padding before and after.
struct Piece {
  std::int64_t first_image, images, first_row, rows;
  std::int64_t first_in, in_rows, before, after;
  // Returns whether one primitive serves both pieces.
  bool same_primitive(const Piece& other) const {
    return images == other.images && rows == other.rows && in_rows == other.in_rows &&
           before == other.before && after == other.after;
  }
};

int first_axis(const ConvCall& c) { return kSpatialAxes - c.spatial_rank; }

// Nanoseconds on one core. FLOP per nanosecond are those of large images on a server core of 2023.
constexpr double kCallNs = 4000;
double rate_of(DType dtype) {
  const bool wide = active_isa() == codegen::Isa::Avx512;
  if (dtype == kF32) return wide ? 165 : 80;
  return wide ? (dtype == kBF16 ? 1000 : 165) : 20;
}
double arithmetic_ns(const ConvCall& c) {
  // Depthwise is memory-bound.
  return c.is_depthwise() ? c.flops() / 40 : c.flops() / rate_of(type_in_engine(c));
}

class Split {
 public:
  explicit Split(const ConvCall& c, bool by_rows = true) : c_(c) {
    constexpr double kPieceNs = 60'000;
    constexpr std::int64_t kMaxPieces = 16, kMinRows = 3;
    const double image_ns = arithmetic_ns(c) / static_cast<double>(c.batch);
    images_ =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(kPieceNs / std::max(image_ns, 1.0)), 1, c.batch);
    rows_ = axis().out;
    if (images_ > 1 || !by_rows || c.transposed) return;
    const std::int64_t splits = std::min({kMaxPieces / std::min(kMaxPieces, c.batch),
                                          static_cast<std::int64_t>(image_ns / kPieceNs), rows_ / kMinRows});
    if (splits > 1) rows_ = parts(rows_, splits);
  }
  bool by_rows() const { return rows_ < axis().out; }
  std::int64_t count() const { return parts(c_.batch, images_) * parts(axis().out, rows_); }
  Piece operator[](std::int64_t i) const {
    const ConvAxis& a = axis();
    const std::int64_t slabs = parts(a.out, rows_);
    Piece p{};
    p.first_image = i / slabs * images_;
    p.images = std::min(images_, c_.batch - p.first_image);
    p.first_row = i % slabs * rows_;
    p.rows = std::min(rows_, a.out - p.first_row);
    if (!by_rows()) {
      p.in_rows = a.in;
      p.before = p.after = a.call_padding;
      return p;
    }
    const std::int64_t low = p.first_row * a.stride - a.before,
                       high = (p.first_row + p.rows - 1) * a.stride - a.before + (a.kernel - 1) * a.dilation;
    p.first_in = std::clamp<std::int64_t>(low, 0, a.in - 1);
    p.in_rows = std::clamp<std::int64_t>(high, 0, a.in - 1) - p.first_in + 1;
    p.before = p.first_in - low;
    p.after = high - (p.first_in + p.in_rows - 1);
    return p;
  }

 private:
  const ConvAxis& axis() const { return c_.axes[first_axis(c_)]; }
  static std::int64_t parts(std::int64_t size, std::int64_t step) { return (size + step - 1) / step; }
  const ConvCall& c_;
  std::int64_t images_, rows_;
};

struct Key {
  std::array<std::int64_t, 32> words{};
  bool operator==(const Key&) const = default;
};
Key key_of(const ConvCall& c) {
  Key key;
  std::size_t next = 0;
  for (const std::int64_t word :
       {static_cast<std::int64_t>(c.dtype), static_cast<std::int64_t>(c.transposed), c.batch, c.groups,
        c.in_channels, c.out_channels, static_cast<std::int64_t>(c.bias != nullptr),
        static_cast<std::int64_t>(c.spatial_rank), c.weight.batch, c.weight.channel, c.weight_in})
    key.words[next++] = word;
  for (int i = 0; i < kSpatialAxes; ++i) {
    const ConvAxis& a = c.axes[i];
    for (const std::int64_t word :
         {a.in, a.out, a.kernel, a.call_stride, a.call_padding, a.dilation, c.weight.axis[i]})
      key.words[next++] = word;
  }
  return key;
}

// Describes [images, channels, rows, …], channels last.
memory::desc image_desc(const ConvCall& c, std::int64_t images, std::int64_t channels, std::int64_t rows,
                        bool is_input) {
  memory::dims sizes = {images, channels};
  for (int i = first_axis(c); i < kSpatialAxes; ++i)
    sizes.push_back(i == first_axis(c) ? rows : is_input ? c.axes[i].in : c.axes[i].out);
  const memory::format_tag tag = c.spatial_rank == 1   ? memory::format_tag::nwc
                                 : c.spatial_rank == 2 ? memory::format_tag::nhwc
                                                       : memory::format_tag::ndhwc;
  return {sizes, type_of(type_in_engine(c)), tag};
}

memory::dims weight_sizes(const ConvCall& c) {
  memory::dims sizes = {c.out_channels, c.in_channels};
  if (c.groups > 1) sizes.insert(sizes.begin(), c.groups);
  for (int i = first_axis(c); i < kSpatialAxes; ++i) sizes.push_back(c.axes[i].kernel);
  return sizes;
}
// Describes the weights in place. Those of a transposed convolution were flipped for our own kernels
// (convolution.h).
memory::desc weights_in_place(const ConvCall& c) {
  memory::dims strides = {c.weight.channel, c.weight_in};
  if (c.groups > 1) strides.insert(strides.begin(), c.weight.batch);
  for (int i = first_axis(c); i < kSpatialAxes; ++i)
    strides.push_back(c.transposed ? -c.weight.axis[i] : c.weight.axis[i]);
  const memory::dims sizes = weight_sizes(c);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) strides[i] = 1;  // the stride of a size-1 axis is arbitrary
  }
  return {sizes, type_of(c.dtype), strides};
}
char* weights_begin(const ConvCall& c) {
  std::int64_t at = 0;
  for (int i = 0; c.transposed && i < kSpatialAxes; ++i) at += (c.axes[i].kernel - 1) * c.weight.axis[i];
  return c.weight.data + at * size_bytes(c.dtype);
}

struct Description {
  dnnl::primitive_desc_base description;
  dnnl::primitive primitive;
};

// Returns none if oneDNN has no implementation. `weights` may have format `any`.
std::optional<Description> describe_piece(const ConvCall& c, const Piece& p, const memory::desc& weights) {
  memory::dims strides, dilates, before, after;
  for (int i = first_axis(c); i < kSpatialAxes; ++i) {
    const ConvAxis& a = c.axes[i];
    strides.push_back(a.call_stride);
    dilates.push_back(a.dilation - 1);
    before.push_back(i == first_axis(c) ? p.before : a.call_padding);
    std::int64_t padding_after = i == first_axis(c) ? p.after : a.call_padding;
    if (c.transposed)
      padding_after = (a.in - 1) * a.call_stride + (a.kernel - 1) * a.dilation + 1 - a.out - a.call_padding;
    after.push_back(padding_after);
  }
  const memory::desc src = image_desc(c, p.images, c.groups * c.in_channels, p.in_rows, true),
                     dst = image_desc(c, p.images, c.groups * c.out_channels, p.rows, false);
  memory::desc bias;
  if (c.bias != nullptr)
    bias = {{c.groups * c.out_channels}, type_of(type_in_engine(c)), memory::format_tag::a};
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  constexpr bool kMayFail = true;
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  if (c.transposed) {
    const dnnl::deconvolution_forward::primitive_desc description(
        engine(), kKind, dnnl::algorithm::deconvolution_direct, src, weights, bias, dst, strides, dilates,
        before, after, attr, kMayFail);
    if (description.get(true) == nullptr) return std::nullopt;
    return Description{description, dnnl::deconvolution_forward(description)};
  }
  const dnnl::convolution_forward::primitive_desc description(
      engine(), kKind, dnnl::algorithm::convolution_direct, src, weights, bias, dst, strides, dilates, before,
      after, attr, kMayFail);
  if (description.get(true) == nullptr) return std::nullopt;
  return Description{description, dnnl::convolution_forward(description)};
}

// oneDNN 3.2 crashes in preparing bf16 for a window entirely in the padding, or omits the bias.
bool every_window_covers_input(const ConvCall& c) {
  for (const ConvAxis& a : c.axes) {
    for (std::int64_t o = 0; o < a.out; ++o) {
      bool covers = false;
      for (std::int64_t k = 0; k < a.kernel && !covers; ++k) {
        const std::int64_t at = o * a.stride + k * a.dilation - a.before;
        covers = at >= 0 && at % a.input_dilation == 0 && at / a.input_dilation < a.in;
      }
      if (!covers) return false;
    }
  }
  return true;
}

// The primitives of a call, one per kind of piece. Belongs to one thread.
class Prepared {
 public:
  explicit Prepared(const ConvCall& c) {
    if (!every_window_covers_input(c)) return;
    if (!prepare(c, Split(c))) prepare(c, Split(c, false));
  }
  bool is_usable() const { return !kinds_.empty() && !name_.starts_with("ref"); }
  bool by_rows() const { return by_rows_; }
  const std::string& name() const { return name_; }
  std::size_t weight_bytes() const { return weights_.get_size(); }
  bool reorders() const { return reorders_; }

  void reorder(char* from, char* to, dnnl::stream& stream, Scratch& scratch) {
    reorder_.run({from, to}, stream, scratch);
  }
  void run(const Piece& p, char* src, char* weights, char* dst, char* bias, dnnl::stream& stream,
           Scratch& scratch) {
    for (Kind& kind : kinds_) {
      if (kind.piece.same_primitive(p)) return kind.bound.run({src, weights, dst, bias}, stream, scratch);
    }
  }

 private:
  struct Kind {
    Piece piece;
    BoundPrimitive bound;
  };

  bool prepare(const ConvCall& c, const Split& split) {
    kinds_.clear();
    by_rows_ = split.by_rows();
    // A piece from the middle, like most others.
    if (!add(c, split[split.count() / 2],
             {weight_sizes(c), type_of(type_in_engine(c)), memory::format_tag::any}))
      return false;
    for (std::int64_t i = 0; i < split.count(); ++i) {
      const Piece p = split[i];
      const bool known =
          std::any_of(kinds_.begin(), kinds_.end(), [&](const Kind& k) { return k.piece.same_primitive(p); });
      if (!known && !add(c, p, weights_)) return false;
    }
    const memory::desc in_place = weights_in_place(c);
    reorders_ = in_place != weights_;
    if (reorders_) {
      dnnl::primitive_attr attr;
      attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      const dnnl::reorder::primitive_desc description(engine(), in_place, engine(), weights_, attr, true);
      if (description.get(true) == nullptr) {
        kinds_.clear();
        return false;
      }
      reorder_ = BoundPrimitive(dnnl::reorder(description), description.scratchpad_desc().get());
      reorder_.add(DNNL_ARG_FROM, in_place.get());
      reorder_.add(DNNL_ARG_TO, weights_.get());
    }
    return true;
  }
  bool add(const ConvCall& c, const Piece& p, const memory::desc& weights) {
    const std::optional<Description> described = describe_piece(c, p, weights);
    if (!described) {
      kinds_.clear();
      return false;
    }
    const dnnl::primitive_desc_base& description = described->description;
    if (kinds_.empty()) {
      name_ = description.impl_info_str();
      weights_ = description.query_md(dnnl::query::weights_md, 0);
    } else if (name_ != description.impl_info_str()) {  // no fast implementation supports this weight format
      kinds_.clear();
      return false;
    }
    Kind kind{p,
              BoundPrimitive(described->primitive, description.query_md(dnnl::query::scratchpad_md).get())};
    kind.bound.add(DNNL_ARG_SRC, description.query_md(dnnl::query::src_md, 0).get());
    kind.bound.add(DNNL_ARG_WEIGHTS, weights_.get());
    kind.bound.add(DNNL_ARG_DST, description.query_md(dnnl::query::dst_md, 0).get());
    if (c.bias != nullptr)
      kind.bound.add(DNNL_ARG_BIAS, description.query_md(dnnl::query::weights_md, 1).get());
    kinds_.push_back(std::move(kind));
    return true;
  }

  std::string name_;
  std::vector<Kind> kinds_;
  memory::desc weights_;
  bool by_rows_ = false, reorders_ = false;
  BoundPrimitive reorder_;
};

// The state of one thread.
class Cache {
 public:
  static Cache& of_thread() { return thread_object<Cache>(); }
  Prepared& get(const ConvCall& c) {
    return prepared_.get(key_of(c), [&] {
      const OneOmpThread one;
      return std::make_unique<Prepared>(c);
    });
  }

  dnnl::stream stream{engine()};
  Scratch scratch, in, out, wide_in, wide_out;

 private:
  PreparedCache<Key, Prepared> prepared_;
};

// Copies rows of an image to or from a dense channels-last block.
class Rows {
 public:
  Rows(const ConvCall& c, bool is_input)
      : c_(c), image_(is_input ? c.src : c.dst), size_(size_bytes(c.dtype)) {
    channels_ = c.groups * (is_input ? c.in_channels : c.out_channels);
    for (int i = 0; i < kSpatialAxes; ++i) sizes_[i] = is_input ? c.axes[i].in : c.axes[i].out;
    std::int64_t next = channels_;
    is_dense_ = image_.channel == 1 || channels_ == 1;
    for (int i = kSpatialAxes; i-- > 0; next *= sizes_[i])
      is_dense_ = is_dense_ && (sizes_[i] == 1 || image_.axis[i] == next);
    image_elements_ = next;
    is_dense_ = is_dense_ && (c.batch == 1 || image_.batch == next);
  }
  bool is_dense() const { return is_dense_; }
  std::int64_t row_elements() const { return image_elements_ / sizes_[first_axis(c_)]; }
  char* at(std::int64_t image, std::int64_t row) const {
    return image_.data + (image * image_.batch + row * image_.axis[first_axis(c_)]) * size_;
  }
  std::size_t bytes(std::int64_t images, std::int64_t rows) const {
    return static_cast<std::size_t>(images * rows * row_elements() * size_);
  }

  template <bool kToBlock>
  void copy(char* block, std::int64_t first_image, std::int64_t images, std::int64_t first_row,
            std::int64_t rows) const {
    const int axis = first_axis(c_);
    std::int64_t sizes[kSpatialAxes] = {sizes_[0], sizes_[1], sizes_[2]};
    sizes[axis] = rows;
    const std::int64_t step = flat_step(image_, sizes);
    // All positions at once if their strides permit it, else row by row.
    const std::int64_t run = step != 0 ? sizes[0] * sizes[1] * sizes[2] : sizes[2];
    for (std::int64_t n = 0; n < images; ++n) {
      char* const begin = at(first_image + n, first_row);
      for (std::int64_t done = 0; done < sizes[0] * sizes[1] * sizes[2]; done += run) {
        const std::int64_t h = done / sizes[2] % sizes[1], d = done / sizes[2] / sizes[1];
        char* const position = begin + (step != 0 ? 0 : d * image_.axis[0] + h * image_.axis[1]) * size_;
        const Tile outside{position, (step != 0 ? step : image_.axis[2]) * size_, image_.channel * size_};
        const Tile inside{block, channels_ * size_, size_};
        if constexpr (kToBlock) {
          copy_tile(inside, outside, run, channels_, size_);
        } else {
          copy_tile(outside, inside, run, channels_, size_);
        }
        block += run * channels_ * size_;
      }
    }
  }

 private:
  const ConvCall& c_;
  Image image_;
  std::int64_t size_, channels_, image_elements_;
  std::int64_t sizes_[kSpatialAxes];
  bool is_dense_;
};

void run_piece(const ConvCall& c, const Piece& p, const Rows& src, const Rows& dst, char* weights,
               char* bias) {
  Cache& cache = Cache::of_thread();
  Prepared& prepared = cache.get(c);
  char *from = src.at(p.first_image, p.first_in), *to = dst.at(p.first_image, p.first_row);
  if (!src.is_dense()) {
    from = cache.in.take(src.bytes(p.images, p.in_rows));
    src.copy<true>(from, p.first_image, p.images, p.first_in, p.in_rows);
  }
  if (!dst.is_dense()) to = cache.out.take(dst.bytes(p.images, p.rows));
  const DType type = type_in_engine(c);
  const std::int64_t read = p.images * p.in_rows * src.row_elements(),
                     written = p.images * p.rows * dst.row_elements();
  char* sums = to;
  if (type != c.dtype) {
    char* const wide = cache.wide_in.take(static_cast<std::size_t>(read * size_bytes(type)));
    cast_elements(wide, type, std::exchange(from, wide), c.dtype, read);
    sums = cache.wide_out.take(static_cast<std::size_t>(written * size_bytes(type)));
  }
  {
    const OneOmpThread one;
    prepared.run(p, from, weights, sums, bias, cache.stream, cache.scratch);
  }
  if (sums != to) cast_elements(to, c.dtype, sums, type, written);
  if (!dst.is_dense()) dst.copy<false>(to, p.first_image, p.images, p.first_row, p.rows);
}

// Operands that oneDNN needs in another layout: weights in its own format, then a dense bias.
struct Reordered {
  Reordered(const ConvCall& c, const Prepared& prepared) {
    const std::int64_t channels = c.groups * c.out_channels;
    if (prepared.reorders()) weight_bytes = round_up(static_cast<std::int64_t>(prepared.weight_bytes()), 64);
    const DType type = type_in_engine(c);
    if (c.bias != nullptr && ((c.bias_step != 1 && channels > 1) || type != c.dtype))
      bias_bytes = channels * size_bytes(type);
  }
  std::int64_t bytes() const { return weight_bytes + bias_bytes; }
  std::int64_t weight_bytes = 0, bias_bytes = 0;  // 0: used in place
};
std::uint64_t scratch_of_convolution(const KernelArgs& args) {
  const ConvCall c(args);
  return static_cast<std::uint64_t>(Reordered(c, Cache::of_thread().get(c)).bytes());
}

void run(Stream&, const KernelArgs& args) {
  const ConvCall c(args);
  Cache& cache = Cache::of_thread();
  Prepared& prepared = cache.get(c);
  const Reordered needs(c, prepared);
  char *weights = weights_begin(c), *bias = const_cast<char*>(c.bias),
       *scratch = static_cast<char*>(args.scratch);
  Tensor allocated;
  if (scratch == nullptr && needs.bytes() != 0) {
    allocated = make_dense({needs.bytes()}, kU8, kCpu);
    scratch = static_cast<char*>(allocated.raw_data());
  }
  if (needs.weight_bytes != 0) {
    char* const from = std::exchange(weights, scratch);
    const OneOmpThread one;
    prepared.reorder(from, weights, cache.stream, cache.scratch);
  }
  if (needs.bias_bytes != 0) {
    const std::int64_t channels = c.groups * c.out_channels, size = size_bytes(c.dtype);
    const DType type = type_in_engine(c);
    char* const from = std::exchange(bias, scratch + needs.weight_bytes);
    std::vector<char> dense;
    char* to = bias;
    if (type != c.dtype) {
      dense.resize(static_cast<std::size_t>(channels * size));
      to = dense.data();
    }
    copy_tile({to, 0, size}, {from, 0, c.bias_step * size}, 1, channels, size);
    if (type != c.dtype) cast_elements(bias, type, to, c.dtype, channels);
  }
  const Rows src(c, true), dst(c, false);
  const Split split(c, prepared.by_rows());
  parallel_for(split.count(), Grain::whole(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) run_piece(c, split[i], src, dst, weights, bias);
  });
}

// Returns whether no two indices of the weights alias one element.
bool weights_are_distinct(const ConvCall& c) {
  for (int i = 0; i < kSpatialAxes; ++i) {
    if (c.axes[i].kernel > 1 && c.weight.axis[i] == 0) return false;
  }
  return (c.weight.channel > 0 || c.out_channels == 1) && (c.weight_in > 0 || c.in_channels == 1) &&
         (c.weight.batch > 0 || c.groups == 1);
}

Support supports(const KernelArgs& args) {
  const ConvCall c(args);
  if (c.dtype != kF32 && c.dtype != kBF16 && c.dtype != kF16)
    return Support::no("oneDNN convolutions support only f32, bf16 and f16");
  if (c.depth() == 0) return Support::no("the convolution is empty");
  if (!weights_are_distinct(c)) return Support::no("the weights have overlapping elements");
  if (!Cache::of_thread().get(c).is_usable())
    return Support::no("oneDNN has no fast implementation for this dtype and window on this processor");
  return Support::yes();
}

double predict(const KernelArgs& args) {
  const ConvCall c(args);
  constexpr double kBytesPerNs = 16, kWeightBytesPerNs = 8, kTransposedBytesPerNs = 6;
  const double weight_bytes =
      static_cast<double>(c.groups * c.out_channels * c.depth() * size_bytes(c.dtype));
  double ns = kCallNs + arithmetic_ns(c) + c.bytes() / kBytesPerNs + weight_bytes / kWeightBytesPerNs;
  if (!c.channels_last()) ns += (c.bytes() - weight_bytes) / kTransposedBytesPerNs;
  return ns;
}

// "brgconv:avx512_core_amx" becomes "onednn_avx512_core_amx_bf16_nhwc_conv_3x3_bias_brgconv".
std::string describe_call(const KernelArgs& args) {
  const ConvCall c(args);
  const ImplementationName parts(Cache::of_thread().get(c).name());
  return fmt::format("onednn_{}_{}_{}_conv_{}_{}{}", parts.isa, name(c.dtype), c.layout(), c.shape(),
                     parts.kind, is_native(c.dtype) ? "" : "_in_f32");
}

}  // namespace

std::optional<Kernel> convolution_kernel() {
  Kernel kernel{"onednn_convolution", supports, run};
  kernel.predict = predict;
  kernel.describe = describe_call;
  kernel.scratch_bytes = scratch_of_convolution;
  return kernel;
}

}  // namespace pel::cpu::onednn
