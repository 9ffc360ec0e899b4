#include "backends/cpu/onednn/engine.h"

#include <algorithm>

#include <dnnl.hpp>

#include "backends/cpu/isa.h"
#include "base/check.h"

extern "C" {  // of the OpenMP library that oneDNN uses
int omp_get_max_threads();
void omp_set_num_threads(int count);
}

namespace pel::cpu::onednn {

OneOmpThread::OneOmpThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}
OneOmpThread::~OneOmpThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

namespace {
struct Engine {
  Engine() {
    if (active_isa() == codegen::Isa::Avx2) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
    engine = dnnl::engine(dnnl::engine::kind::cpu, 0);
  }
  dnnl::engine engine;
};
}  // namespace

const dnnl::engine& engine() {
  static const Engine* const instance = new Engine;  // outlives every thread
  return instance->engine;
}

int type_number(DType dtype) {
  using Type = dnnl::memory::data_type;
  return static_cast<int>(dtype == kF32 ? Type::f32 : dtype == kBF16 ? Type::bf16 : Type::f16);
}

WithoutItsCache::WithoutItsCache() : before_(dnnl::get_primitive_cache_capacity()) {
  dnnl::set_primitive_cache_capacity(0);
}
WithoutItsCache::~WithoutItsCache() { dnnl::set_primitive_cache_capacity(before_); }

struct BoundPrimitive::State {
  dnnl::primitive primitive;
  std::size_t scratch_bytes = 0;
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

BoundPrimitive::BoundPrimitive() = default;
BoundPrimitive::BoundPrimitive(const dnnl::primitive& primitive, const dnnl_memory_desc* scratch)
    : state_(std::make_unique<State>()) {
  state_->primitive = primitive;
  state_->scratch_bytes = dnnl_memory_desc_get_size(scratch);
  add(DNNL_ARG_SCRATCHPAD, scratch);
}
BoundPrimitive::BoundPrimitive(BoundPrimitive&&) noexcept = default;
BoundPrimitive& BoundPrimitive::operator=(BoundPrimitive&&) noexcept = default;
BoundPrimitive::~BoundPrimitive() = default;

void BoundPrimitive::add(int argument, const dnnl_memory_desc* desc) {
  dnnl_memory_desc_t copy = nullptr;
  const dnnl_status_t status = dnnl_memory_desc_clone(&copy, desc);
  PEL_ASSERT(status == dnnl_success, "oneDNN failed to copy a memory description");
  state_->memories.emplace_back(dnnl::memory::desc(copy), engine(), nullptr);
  state_->arguments.push_back({argument, state_->memories.back().get()});
}

void BoundPrimitive::run(std::initializer_list<char*> operands, dnnl::stream& stream, Scratch& scratch) {
  State& s = *state_;
  s.memories[0].set_data_handle(scratch.take(static_cast<std::int64_t>(s.scratch_bytes)));
  const auto* operand = operands.begin();
  for (std::size_t i = 1; i < s.memories.size(); ++i) s.memories[i].set_data_handle(*operand++);
  const dnnl_status_t status = dnnl_primitive_execute(
      s.primitive.get(), stream.get(), static_cast<int>(s.arguments.size()), s.arguments.data());
  PEL_ASSERT(status == dnnl_success, "oneDNN failed to execute a primitive");
}

ImplementationName::ImplementationName(const std::string& text) {
  const std::size_t colon = text.find(':');
  kind = text.substr(0, colon);
  if (colon != std::string::npos) isa = text.substr(colon + 1);
  std::replace(isa.begin(), isa.end(), ':', '_');
}

}  // namespace pel::cpu::onednn
