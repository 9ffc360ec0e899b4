// Modules: parameters with names, and the functions that use them.
//
//   struct Net : nn::Module {
//     nn::Linear up{4, 8}, down{8, 1};
//     Net() { add("up", up), add("down", down); }
//     Tensor operator()(const Tensor& x) const { return down(relu(up(x))); }
//   };
//
// A module is neither copied nor moved: it refers to its members by address. Modules with PyTorch's names
// have PyTorch's initial distributions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pellucid/extend/keys.h"
#include "pellucid/generator.h"
#include "pellucid/named_tensor.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/random.h"  // Training
#include "pellucid/profile.h"
#include "pellucid/tensor.h"

namespace pel::dist {
class Group;
}

namespace pel::nn {

class PEL_API Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // In the order in which they were added; those of submodules after a module's own.
  std::vector<NamedTensor> named_parameters() const;
  std::vector<NamedTensor> named_buffers() const;  // state that is not trained
  std::vector<Tensor> parameters() const;
  std::int64_t parameter_count() const;  // in elements
  // Copies values into the parameters and buffers of these paths. An error if one is missing or unknown.
  void load(ArrayView<NamedTensor> values, Site site = Site::current());
  // The same without a copy: the tensors themselves become the parameters and buffers. They may have any
  // dtype and require no gradient.
  void adopt(ArrayView<NamedTensor> values, Site site = Site::current());

  void train(Training training = Training::Yes);
  void eval() { train(Training::No); }
  Training training() const { return training_; }
  void zero_grad();
  void to(DType dtype);      // floating parameters and buffers become new tensors
  const char* path() const;  // from the outermost module: "blocks.0.attention"; "model" for the outermost

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
  mutable std::atomic<const char*> path_ = nullptr;  // computed at the first use
  Training training_ = Training::Yes;
};

// The forward call of a module: a span of a Profile, and a name in captured graphs and the call log. For the
// first line of a call operator.
class PEL_API ModuleRange : public Range {
 public:
  ModuleRange(const Module& module, const Site& site)
      : Range(ProfileEvent::Kind::Module, is_profiling() ? module.path() : "", site),
        is_named_(detail::keeps_call_stack()) {
    if (is_named_) [[unlikely]]
      push_name(module);
  }
  ~ModuleRange() {
    if (is_named_) [[unlikely]]
      pop_name();
  }

 private:
  static void push_name(const Module& module);
  static void pop_name();
  bool is_named_;
};

// Modules of one type, named by index.
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

// Features that the ranks of a group have computed, side by side along the last axis. By default a tensor is
// whole already.
class PEL_API ColumnGather {
 public:
  ColumnGather() = default;
  ColumnGather(const dist::Group& group, std::vector<std::int64_t> widths);  // of each rank
  Tensor operator()(const Tensor& own, Site site = Site::current()) const {
    return widths_.size() < 2 ? own : gathered(own, site);
  }

 private:
  Tensor gathered(const Tensor& own, Site site) const;
  std::string group_;
  std::vector<std::int64_t> widths_;
};

class PEL_API Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, Bias has_bias = Bias::Yes);
  Tensor operator()(const Tensor& x, Site site = Site::current()) const;
  // Each rank computes its part of the output features, and all gather them. shard_output() leaves out the
  // gathering, and returns it, for elementwise ops before it. For inference.
  void shard(const dist::Group& group);
  ColumnGather shard_output(const dist::Group& group);
  Tensor weight, bias;  // [out, in], [out]; an undefined bias is none

 private:
  ColumnGather gather_;
};

struct ConvOptions {
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  Bias bias = Bias::Yes;
};
// What Conv1d, Conv2d and Conv3d share. `kernel_size` has one number for each spatial axis, or one for all.
class PEL_API ConvNd : public Module {
 public:
  Tensor operator()(const Tensor& x, Site site = Site::current()) const;
  Tensor weight, bias;  // [out, in / groups, kernel…], [out]; an undefined bias is none

 protected:
  ConvNd(std::size_t spatial_axes, std::int64_t in, std::int64_t out, Ints kernel_size,
         const ConvOptions& options);

 private:
  ConvOptions options_;
};
struct PEL_API Conv1d : ConvNd {
  Conv1d(std::int64_t in, std::int64_t out, Ints kernel_size, const ConvOptions& options = {})
      : ConvNd(1, in, out, kernel_size, options) {}
};
struct PEL_API Conv2d : ConvNd {
  Conv2d(std::int64_t in, std::int64_t out, Ints kernel_size, const ConvOptions& options = {})
      : ConvNd(2, in, out, kernel_size, options) {}
};
struct PEL_API Conv3d : ConvNd {
  Conv3d(std::int64_t in, std::int64_t out, Ints kernel_size, const ConvOptions& options = {})
      : ConvNd(3, in, out, kernel_size, options) {}
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

class PEL_API RMSNorm : public Module {
 public:
  explicit RMSNorm(std::int64_t width, double eps = 1e-6);
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
class PEL_API GatedMLP : public Module {
 public:
  GatedMLP(std::int64_t width, std::int64_t hidden, Gate gate_kind, Bias bias = Bias::No);
  Tensor operator()(const Tensor& x, Site site = Site::current()) const;
  void shard(const dist::Group& group);
  Linear gate, up, down;

 private:
  Gate kind_;
  ColumnGather gather_;
};
struct PEL_API GEGLU : GatedMLP {
  GEGLU(std::int64_t width, std::int64_t hidden, Bias bias = Bias::No)
      : GatedMLP(width, hidden, Gate::Gelu, bias) {}
};
struct PEL_API SwiGLU : GatedMLP {
  SwiGLU(std::int64_t width, std::int64_t hidden, Bias bias = Bias::No)
      : GatedMLP(width, hidden, Gate::Silu, bias) {}
};

// Memory for the keys and values of one layer: [batch, heads, capacity, width].
struct KVSlots {
  Tensor keys, values;
};

// Keys and values of earlier tokens, for one layer: [batch, heads, tokens, width]. Each sequence of the batch
// has its own length.
class PEL_API KVCache {
 public:
  explicit KVCache(std::int64_t capacity) : capacity_(capacity) {}
  std::int64_t length() const;                                           // of the longest sequence
  const std::vector<std::int64_t>& lengths() const { return lengths_; }  // empty before the first tokens
  void clear() { lengths_.clear(); }
  void truncate(std::int64_t length);  // drops what comes after
  // Appends to each sequence and returns all keys and values so far. If sequences differ, only the first
  // counts[i] new tokens of sequence i are appended.
  std::pair<Tensor, Tensor> append(const Tensor& keys, const Tensor& values,
                                   ArrayView<std::int64_t> counts = {}, Site site = Site::current());
  // The same in two parts, for a function that writes to the slots itself: reserve makes space for keys and
  // values of `sizes`, advance counts them as written.
  const KVSlots& reserve(Dims sizes, const TensorOptions& options, ArrayView<std::int64_t> counts = {},
                         Site site = Site::current());
  void advance(std::int64_t tokens, ArrayView<std::int64_t> counts = {});

 private:
  std::int64_t capacity_;
  std::vector<std::int64_t> lengths_;
  KVSlots slots_;
};

// The positions of the tokens of one call in their sequences. The same for all layers, so computed once for a
// model.
struct Positions {
  Tensor cos, sin;  // of the rotary embedding; undefined without one
  std::optional<Tensor>
      seen;      // bool [batch, 1, tokens, keys]: set if sequences of the batch differ in length
  Tensor index;  // i64 [batch, 1, tokens]; undefined if the host knows them
};

// Optional inputs of attention.
struct AttentionContext {
  std::optional<Tensor> mask{};  // broadcasts to [batch, heads, tokens, keys]: false hides a key
  KVCache* cache = nullptr;
  ArrayView<std::int64_t> counts{};      // of valid tokens in each sequence; empty: all are
  const Positions* positions = nullptr;  // null: computed here
  // Instead of a cache, for a compiled function: new keys and values are written to the slots
  // positions->index, or to the first ones, and those under positions->seen are read.
  const KVSlots* slots = nullptr;
};

struct AttentionConfig {
  std::int64_t width = 0, heads = 1;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  Bias bias = Bias::Yes;
  bool causal = false;
  double rotary_base = 0;  // 0: no rotary embedding
  double dropout = 0;      // of the output
};
// One projection to queries, keys and values; then attention over heads; then the output projection.
class PEL_API MultiheadAttention : public Module {
 public:
  explicit MultiheadAttention(const AttentionConfig& config);
  // [batch, tokens, width].
  Tensor operator()(const Tensor& x, const AttentionContext& context = {}, Site site = Site::current()) const;
  // For the tokens of `x`, after those in the cache.
  Positions positions_of(const Tensor& x, const KVCache* cache) const;
  // The same if positions are data: i64 [batch, 1, tokens], with the positions of all keys.
  Positions positions_at(const Tensor& position, const Tensor& x, const Tensor& keys) const;
  // Each rank computes some of the heads, and their part of the caches.
  void shard(const dist::Group& group);
  std::int64_t kv_heads() const { return kv_heads_; }  // of this rank
  Linear qkv, out;

 private:
  void rotate(Positions& positions, const Tensor& position, DType dtype) const;
  AttentionConfig config_;
  std::int64_t head_width_, heads_, kv_heads_;  // the heads are those of this rank
  ColumnGather gather_;
  Dropout dropout_;
};

// x + attention(norm(x)), then x + mlp(norm(x)).
template <class Norm, class MLP>
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
  MLP mlp;
};

}  // namespace pel::nn
