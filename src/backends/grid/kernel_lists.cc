// The lists of elementwise ops and row reductions, from their records, and those of hand-written text.
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "backends/grid/grid_call.h"
#include "backends/grid/kernels.h"
#include "backends/grid/loops.h"
#include "backends/grid/rows.h"
#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"

namespace pel::grid {
namespace {

// The loop of one formula and dtype; its expression is made by the first call.
struct OpLoop {
  const Op* op;
  std::size_t formula;
  DType compute;
  std::string name;
  std::unique_ptr<Loop> loop;
};

void run_op_loop(Stream&, const KernelArgs& args) {
  auto& of = *static_cast<OpLoop*>(const_cast<void*>(args.context));
  if (of.loop == nullptr)
    of.loop = std::make_unique<Loop>(of.name, make_expr(*of.op->pointwise(), of.formula, of.compute));
  run_loop(*of.loop, args.operands, {args.scalars, args.scalar_count});
}

// Never destroyed, and never moved: kernels point into it.
struct Lists {
  std::deque<OpLoop> loops;
  std::deque<RowLoop> rows;
  std::deque<std::vector<Kernel>> lists;
};

constexpr DType kOrder[] = {kF32, kBF16, kF16, kF64, kI64, kI32, kBool, kU8, kI8, kI16};

std::string kernel_name(const Op& op, const std::string& suffix, DType compute) {
  return fmt::format("{}{}{}_{}_text", op.name(), suffix.empty() ? "" : "_", suffix, name(compute));
}

std::atomic<bool> all_have_f64{true}, any_is_cpu{false};

}  // namespace

Abilities abilities() {
  if (const AsyncDevice* const device = launch_target().device; device != nullptr)
    return {device->facts().has_f64, device->facts().is_cpu};
  return {all_have_f64.load(std::memory_order_relaxed), any_is_cpu.load(std::memory_order_relaxed)};
}

const codegen::Dialect& dialect() {
  return launch_target().device->facts().kernels == DeviceType::Cuda ? codegen::cuda_dialect()
                                                                     : codegen::opencl_dialect();
}

void register_kernels(DeviceType device, const Abilities& of_device) {
  if (!of_device.has_f64) all_have_f64.store(false);
  if (of_device.is_cpu) any_is_cpu.store(true);
  static std::mutex registering;
  const std::lock_guard lock(registering);
  static auto* const all = new Lists;  // kernels refer to it until the process ends
  std::vector<BackendKernels> lists;
  for (const Op& op : builtin_ops) {
    if ((op.pointwise() == nullptr && op.rows() == nullptr) || is_further_form(op.name())) continue;
    std::vector<Kernel>& list = all->lists.emplace_back();
    const auto each = [&](DTypeSet computes, const auto& add) {
      for (const DType dtype : kOrder)
        if (computes.contains(dtype) && (dtype != kF64 || of_device.has_f64)) add(dtype);
    };
    if (const Pointwise* info = op.pointwise()) {
      for (std::size_t f = 0; f < info->formulas.size(); ++f) {
        each(info->computes, [&](DType dtype) {
          OpLoop& loop = all->loops.emplace_back(
              OpLoop{&op, f, dtype, kernel_name(op, info->formulas[f].suffix, dtype), nullptr});
          list.push_back({loop.name.c_str(), supports_rank, run_op_loop, DTypeSet{dtype},
                          static_cast<std::uint8_t>(f), &loop});
        });
      }
    }
    for (std::size_t p = 0; op.rows() != nullptr && p < op.rows()->programs.size(); ++p) {
      const RowProgram& program = op.rows()->programs[p];
      each(program.computes, [&](DType dtype) {
        if (program.value_type(dtype) == kF64 && !of_device.has_f64) return;
        RowLoop& loop =
            all->rows.emplace_back(RowLoop{.name = "pel_" + kernel_name(op, program.suffix, dtype),
                                           .shown = {},
                                           .program = &program,
                                           .compute = dtype});
        list.push_back({loop.name.c_str() + 4, supports_memory, run_rows, DTypeSet{dtype},
                        static_cast<std::uint8_t>(p), &loop});
      });
    }
    lists.push_back({op.name(), list});
  }
  Registry::register_backend(device, lists);
  for (const KernelLists each : {attention_kernels(), copy_kernels(), gemm_kernels(), generator_kernels(),
                                 map_kernels(), optimizer_kernels(), random_kernels()})
    Registry::register_backend(device, each);
}

}  // namespace pel::grid
