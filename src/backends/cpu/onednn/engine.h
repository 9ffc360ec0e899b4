// The engine, stream and caches that all oneDNN primitives use.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <unordered_map>

#include "pellucid/dtype.h"

#include "backends/cpu/scratch.h"

namespace dnnl {
struct engine;
struct primitive;
struct stream;
}  // namespace dnnl
struct dnnl_memory_desc;

namespace pel::cpu::onednn {

// oneDNN runs on the calling thread; the library's own thread pool distributes the work.
class OneOmpThread {
 public:
  OneOmpThread();
  ~OneOmpThread();
  OneOmpThread(const OneOmpThread&) = delete;
  OneOmpThread& operator=(const OneOmpThread&) = delete;

 private:
  int before_;
};

// Limited to the active instruction set.
const dnnl::engine& engine();

// dnnl::memory::data_type, of f32, bf16 and f16.
int type_number(DType dtype);

// oneDNN 3.2 cannot iterate over implementations of a primitive that is in its own cache.
class WithoutItsCache {
 public:
  WithoutItsCache();
  ~WithoutItsCache();
  WithoutItsCache(const WithoutItsCache&) = delete;
  WithoutItsCache& operator=(const WithoutItsCache&) = delete;

 private:
  int before_;
};

// A primitive's parameters, as integers.
template <class Key>
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t hash = 0;
    for (const std::int64_t word : key.words)
      hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
  }
};

// A thread's cache of prepared primitives. Bounded: cleared when it is full.
template <class Key, class Prepared>
class PreparedCache {
 public:
  template <class Make>
  Prepared& get(const Key& key, Make&& make) {
    if (last_ != nullptr && key == last_key_) return *last_;
    auto found = prepared_.find(key);
    if (found == prepared_.end()) {
      if (prepared_.size() == kMaxEntries) prepared_.clear();
      found = prepared_.emplace(key, make()).first;
    }
    last_key_ = key;
    last_ = found->second.get();
    return *last_;
  }

 private:
  static constexpr std::size_t kMaxEntries = 256;
  std::unordered_map<Key, std::unique_ptr<Prepared>, KeyHash<Key>> prepared_;
  Key last_key_{};
  Prepared* last_ = nullptr;
};

// A primitive and the memory objects of its operands. Belongs to one thread.
class BoundPrimitive {
 public:
  BoundPrimitive();
  BoundPrimitive(const dnnl::primitive& primitive, const dnnl_memory_desc* scratch);
  BoundPrimitive(BoundPrimitive&&) noexcept;
  BoundPrimitive& operator=(BoundPrimitive&&) noexcept;
  ~BoundPrimitive();
  // run() takes operands in the order in which they were added.
  void add(int argument, const dnnl_memory_desc* desc);
  void run(std::initializer_list<char*> operands, dnnl::stream& stream, Scratch& scratch);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Splits "brg:avx512_core_amx" into {"brg", "avx512_core_amx"}.
struct ImplementationName {
  explicit ImplementationName(const std::string& text);
  std::string kind, isa;
};

}  // namespace pel::cpu::onednn
