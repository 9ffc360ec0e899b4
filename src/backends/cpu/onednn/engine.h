// What all of oneDNN's primitives are run with.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "pellucid/dtype.h"

namespace dnnl {
struct engine;
struct primitive;
struct stream;
}  // namespace dnnl
struct dnnl_memory_desc;

namespace pel::cpu::onednn {

// The engine runs on the thread that calls it; the library's own pool is what shares out the work.
class OneOmpThread {
 public:
  OneOmpThread();
  ~OneOmpThread();
  OneOmpThread(const OneOmpThread&) = delete;
  OneOmpThread& operator=(const OneOmpThread&) = delete;

 private:
  int before_;
};

// Bounded by the active instruction set.
const dnnl::engine& engine();

// dnnl::memory::data_type, of f32, bf16 and f16.
int type_number(DType dtype);

// oneDNN 3.2 steps to no other implementation of what stands in its own cache.
class WithoutItsCache {
 public:
  WithoutItsCache();
  ~WithoutItsCache();
  WithoutItsCache(const WithoutItsCache&) = delete;
  WithoutItsCache& operator=(const WithoutItsCache&) = delete;

 private:
  int before_;
};

// All that a primitive is made for, as numbers.
template <class Key>
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t hash = 0;
    for (const std::int64_t word : key.words)
      hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
  }
};

// Memory that grows and stays; 64-byte aligned. Belongs to one thread.
class EngineScratch {
 public:
  char* take(std::size_t bytes) {
    if (memory_.size() < bytes + kLine) memory_.resize(bytes + kLine);
    return memory_.data() + (-reinterpret_cast<std::uintptr_t>(memory_.data()) & (kLine - 1));
  }

 private:
  static constexpr std::size_t kLine = 64;
  std::vector<char> memory_;
};

// A primitive and the memory objects that its operands are set in. Belongs to one thread.
class BoundPrimitive {
 public:
  BoundPrimitive();
  BoundPrimitive(const dnnl::primitive& primitive, const dnnl_memory_desc* scratch);
  BoundPrimitive(BoundPrimitive&&) noexcept;
  BoundPrimitive& operator=(BoundPrimitive&&) noexcept;
  ~BoundPrimitive();
  // Operands are given to run() in the order in which they are added.
  void add(int argument, const dnnl_memory_desc* desc);
  void run(std::initializer_list<char*> operands, dnnl::stream& stream, EngineScratch& scratch);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "brg:avx512_core_amx" is {"brg", "avx512_core_amx"}.
struct ImplementationName {
  explicit ImplementationName(const std::string& text);
  std::string kind, isa;
};

}  // namespace pel::cpu::onednn
