// Modules: parameters with names, and the functions that use them.
//
//   struct Net : nn::Module {
//     nn::Linear up{4, 8}, down{8, 1};
//     Net() { add("up", up), add("down", down); }
//     Tensor operator()(const Tensor& x) const { return down(relu(up(x))); }
//   };
//
// A module is neither copied nor moved: it knows its members by their address. Initial values have the
// distributions of PyTorch's modules of the same names.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pellucid/generator.h"
#include "pellucid/named_tensor.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/random.h"  // Training
#include "pellucid/profile.h"
#include "pellucid/tensor.h"

namespace pel::nn {

class PEL_API Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // In the order in which they were added, those of inner modules after a module's own.
  std::vector<NamedTensor> named_parameters() const;
  std::vector<NamedTensor> named_buffers() const;  // part of the state, but not trained
  std::vector<Tensor> parameters() const;
  std::int64_t parameter_count() const;  // in elements
  // Copies values into the parameters and buffers of these paths. All must be there, and no other.
  void load(ArrayView<NamedTensor> values, Site site = Site::current());
  // The same without a copy: the given tensors themselves take the places, of any dtype, and require no
  // gradient.
  void adopt(ArrayView<NamedTensor> values, Site site = Site::current());

  void train(Training training = Training::Yes);
  void eval() { train(Training::No); }
  Training training() const { return training_; }
  void zero_grad();
  void to(DType dtype);      // floating parameters and buffers, by new tensors in their place
  const char* path() const;  // from the outermost module, "blocks.0.attention"; of that one itself, "model"

 protected:
  void add(std::string name, Module& inner);
  void add_parameter(std::string name, Tensor& member, Tensor value);  // requires a gradient from now on
  void add_buffer(std::string name, Tensor& member, Tensor value);

 private:
  struct Slot {
    std::string name;
    Tensor* tensor;
    bool is_parameter;
  };
  struct Inner {
    std::string name;
    Module* module;
  };
  void walk(const std::string& path, const std::function<void(const std::string&, const Slot&)>& f) const;
  std::vector<NamedTensor> named(bool parameters) const;
  using Take = std::function<void(const Slot& slot, const Tensor& value)>;
  void take_all(ArrayView<NamedTensor> values, const Take& take);
  std::vector<Slot> slots_;
  void forget_path();
  std::vector<Inner> inner_;
  const Module* outer_ = nullptr;
  mutable std::atomic<const char*> path_ = nullptr;  // known when first asked for
  Training training_ = Training::Yes;
};

// What a module computes, as a span of a Profile. For the first line of a call operator.
class ModuleRange : public Range {
 public:
  ModuleRange(const Module& module, const Site& site)
      : Range(ProfileEvent::Kind::Module, is_profiling() ? module.path() : "", site) {}
};

// Modules of one kind in a row, named by number.
template <class M>
class ModuleList : public Module {
 public:
  template <class... Args>
  M& emplace(Args&&... args) {
    items_.push_back(std::make_unique<M>(std::forward<Args>(args)...));
    add(std::to_string(items_.size() - 1), *items_.back());
    return *items_.back();
  }
  std::size_t size() const { return items_.size(); }
  M& operator[](std::size_t i) const { return *items_[i]; }

 private:
  std::vector<std::unique_ptr<M>> items_;
};

enum class Bias : bool { No, Yes };

class PEL_API Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, Bias has_bias = Bias::Yes);
  Tensor operator()(const Tensor& x, Site site = Site::current()) const;
  Tensor weight, bias;  // [out, in], [out]; an undefined bias is none
};

struct ConvOptions {
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  Bias bias = Bias::Yes;
};
// One to three spatial axes, by the number of kernel sizes.
class PEL_API Conv : public Module {
 public:
  Conv(std::int64_t in, std::int64_t out, Dims kernel, const ConvOptions& options = {});
  Tensor operator()(const Tensor& x, Site site = Site::current()) const;
  Tensor weight, bias;

 private:
  ConvOptions options_;
};

class PEL_API Embedding : public Module {
 public:
  Embedding(std::int64_t count, std::int64_t width);
  Tensor operator()(const Tensor& indices, Site site = Site::current()) const;
  Tensor weight;
};

class PEL_API LayerNorm : public Module {
 public:
  explicit LayerNorm(std::int64_t width, double eps = 1e-5);
  Tensor operator()(const Tensor& x, Site site = Site::current()) const;
  Tensor weight, bias;

 private:
  double eps_;
};

class PEL_API RmsNorm : public Module {
 public:
  explicit RmsNorm(std::int64_t width, double eps = 1e-6);
  Tensor operator()(const Tensor& x, Site site = Site::current()) const;
  Tensor weight;

 private:
  double eps_;
};

class PEL_API Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5) : p_(p) {}
  Tensor operator()(const Tensor& x, Site site = Site::current()) const;

 private:
  double p_;
};

// down(gelu(gate(x)) up(x)) and down(silu(gate(x)) up(x)).
enum class Gate : std::uint8_t { Gelu, Silu };
class PEL_API GatedMlp : public Module {
 public:
  GatedMlp(std::int64_t width, std::int64_t hidden, Gate gate_kind, Bias bias = Bias::No);
  Tensor operator()(const Tensor& x, Site site = Site::current()) const;
  Linear gate, up, down;

 private:
  Gate kind_;
};
struct PEL_API GegluMlp : GatedMlp {
  GegluMlp(std::int64_t width, std::int64_t hidden, Bias bias = Bias::No)
      : GatedMlp(width, hidden, Gate::Gelu, bias) {}
};
struct PEL_API SwigluMlp : GatedMlp {
  SwigluMlp(std::int64_t width, std::int64_t hidden, Bias bias = Bias::No)
      : GatedMlp(width, hidden, Gate::Silu, bias) {}
};

// Memory for keys and values of one layer: [batch, heads, room, width].
struct KvSlots {
  Tensor keys, values;
};

// Keys and values of tokens that were seen before, for one layer: [batch, heads, tokens, width]. Each
// sequence of the batch has its own number of them.
class PEL_API KvCache {
 public:
  explicit KvCache(std::int64_t capacity) : capacity_(capacity) {}
  std::int64_t length() const;                                           // of the longest sequence
  const std::vector<std::int64_t>& lengths() const { return lengths_; }  // empty before the first tokens
  void clear() { lengths_.clear(); }
  void truncate(std::int64_t length);  // forgets what stands behind
  // Takes up new ones behind those of each sequence and gives all so far. Where sequences differ, the first
  // counts[i] of the new tokens of sequence i count, and what stands behind them is overwritten by the next.
  std::pair<Tensor, Tensor> append(const Tensor& keys, const Tensor& values,
                                   ArrayView<std::int64_t> counts = {}, Site site = Site::current());
  // The same in two parts, for a function that writes new ones to their slots itself: room for keys and
  // values of `sizes`, and that they are there.
  const KvSlots& reserve(Dims sizes, const TensorOptions& options, ArrayView<std::int64_t> counts = {},
                         Site site = Site::current());
  void advance(std::int64_t tokens, ArrayView<std::int64_t> counts = {});

 private:
  std::int64_t capacity_;
  std::vector<std::int64_t> lengths_;
  KvSlots slots_;
};

// Where the tokens of one call stand in their sequences. The same for all layers, so a model asks for it
// once.
struct Positions {
  Tensor cos, sin;             // of the rotary embedding; undefined without one
  std::optional<Tensor> seen;  // bool [batch, 1, tokens, keys]: where sequences of the batch differ in length
  Tensor index;                // i64 [batch, 1, tokens]; undefined where all are known to the host
};

// What attention may be given beside its input.
struct AttentionContext {
  std::optional<Tensor> mask{};  // broadcasts to [batch, heads, tokens, keys]: false hides a key
  KvCache* cache = nullptr;
  ArrayView<std::int64_t> counts{};      // of the tokens that count, by sequence; empty: all do
  const Positions* positions = nullptr;  // null: asked for here
  // In the place of a cache, for a compiled function: new keys and values are written to the slots that
  // positions->index names, or to the first ones, and those that positions->seen is for are read.
  const KvSlots* slots = nullptr;
};

struct AttentionConfig {
  std::int64_t width = 0, heads = 1;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  Bias bias = Bias::Yes;
  bool causal = false;
  double rotary_base = 0;  // 0: no rotary embedding
  double dropout = 0;      // of the output
};
// Queries, keys and values by one product; then attention over heads; then the output's projection.
class PEL_API MultiheadAttention : public Module {
 public:
  explicit MultiheadAttention(const AttentionConfig& config);
  // [batch, tokens, width].
  Tensor operator()(const Tensor& x, const AttentionContext& context = {}, Site site = Site::current()) const;
  // For tokens as many as those of `x`, behind those in the cache.
  Positions positions_of(const Tensor& x, const KvCache* cache) const;
  // The same where the positions are data: i64 [batch, 1, tokens], among so many keys.
  Positions positions_at(const Tensor& position, const Tensor& x, const Tensor& keys) const;
  Linear qkv, out;

 private:
  void rotate(Positions& positions, const Tensor& position, DType dtype) const;
  AttentionConfig config_;
  std::int64_t head_width_;
  Dropout dropout_;
};

// x + attention(norm(x)), then x + mlp(norm(x)).
template <class Norm, class Mlp>
class TransformerBlock : public Module {
 public:
  TransformerBlock(const AttentionConfig& config, std::int64_t hidden)
      : norm1(config.width), attention(config), norm2(config.width), mlp(config.width, hidden) {
    add("norm1", norm1), add("attention", attention), add("norm2", norm2), add("mlp", mlp);
  }
  Tensor operator()(const Tensor& x, const AttentionContext& context = {}) const {
    const Tensor attended = x + attention(norm1(x), context);
    return attended + mlp(norm2(attended));
  }
  Norm norm1;
  MultiheadAttention attention;
  Norm norm2;
  Mlp mlp;
};

}  // namespace pel::nn
