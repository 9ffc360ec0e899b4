// Runs PTX on the host, as NVRTC writes it for kernels from text: one thread of a block after the other, in
// an order that a seed decides, each up to the next barrier.
//
// Refused when a module is loaded: instructions that are approximate, flush denormals or are not rounded
// (ptx_rules.h), and all that this interpreter does not know. An access to memory that is not allocated is a
// MemoryFault.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace pel::test::ptx {

struct PtxError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct MemoryFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Dim3 = std::array<unsigned, 3>;

// Whether `size` bytes at an address are allocated.
using IsAllocated = std::function<bool(std::uint64_t address, std::size_t size)>;

struct Function;
class Module {
 public:
  explicit Module(const std::string& text);  // throws PtxError
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const Function* find(const std::string& name) const;  // null: there is none

 private:
  friend class Parser;
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

// Bytes of each parameter, in their order.
std::vector<std::size_t> parameter_sizes(const Function& function);
// `parameters`: as cuLaunchKernel takes them.
void run(const Function& function, const Dim3& grid, const Dim3& block, const void* const* parameters,
         const IsAllocated& is_allocated, std::uint64_t seed);
// Instructions of all threads so far in this process.
std::uint64_t executed_instructions();

}  // namespace pel::test::ptx
