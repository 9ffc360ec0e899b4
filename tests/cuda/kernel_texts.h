// All kernels of backends/grid as CUDA texts.
#pragma once

#include <array>
#include <deque>

#include "cuda/recorder.h"
#include "device/op_calls.h"
#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"
#include "dispatch/rows.h"

namespace pel::test {

// Operands of 4 axes at addresses of the device that nothing reads.
class FakeOperands {
 public:
  enum class Layout { Dense, Strided };
  // `repeats`: steps of 0 along the axes of `mask`.
  void add(DType dtype, Layout layout, std::uint64_t mask = 0) {
    const std::size_t k = operands.size();
    auto& strides = strides_.emplace_back();
    // Strided operands differ in the order of their axes, so that no two of them join.
    constexpr std::int64_t kOrders[3][4] = {{105, 35, 7, 1}, {1, 3, 15, 75}, {35, 210, 1, 5}};
    for (std::size_t i = 0; i < 4; ++i)
      strides[i] = (mask >> i & 1) != 0
                       ? 0
                       : kOrders[layout == Layout::Dense ? 0 : k % 3][i] * (layout == Layout::Dense ? 1 : 2);
    add_at(reinterpret_cast<void*>(kAddressBit | ((k + 1) << 20)), dtype, strides.data());
  }
  void add_number(DType dtype) { add_at(&number_, dtype, kNone); }
  KernelArgs args(int outputs, ArrayView<PelScalar> scalars, const void* context) const {
    KernelArgs args{};
    args.output_count = static_cast<std::uint16_t>(outputs);
    args.input_count = static_cast<std::uint16_t>(operands.size() - static_cast<std::size_t>(outputs));
    args.operands = operands.data();
    args.scalars = scalars.data();
    args.scalar_count = static_cast<std::uint32_t>(scalars.size());
    args.context = context;
    return args;
  }
  std::vector<Operand> operands;

 private:
  void add_at(void* data, DType dtype, const std::int64_t* strides) {
    operands.push_back({data, kSizes, strides, 4, static_cast<std::uint8_t>(dtype), 0, {}});
  }
  static constexpr std::int64_t kSizes[4] = {2, 3, 5, 7}, kNone[4] = {};
  std::deque<std::array<std::int64_t, 4>> strides_;
  std::int64_t number_ = 1;
};

inline void record_loops(Recorder& recorder, const Op& op) {
  const Pointwise& info = *op.pointwise();
  for (const Kernel& kernel : op.kernels(DeviceType::Cuda)) {
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (!kernel.computes.contains(dtype)) continue;
      const scalar::ScalarExpr body = make_expr(info, kernel.formula, dtype);
      const std::vector<PelScalar> numbers(body.params.size() + 1, PelScalar{1, 1, PEL_SCALAR_FLOAT, {}});
      using Layout = FakeOperands::Layout;
      for (int form = 0; form < 4; ++form) {  // dense, strided, and both with a number as the last input
        const bool has_number = form >= 2;
        if (has_number && body.inputs.size() < 2) break;
        const Layout layout = form % 2 == 0 ? Layout::Dense : Layout::Strided;
        FakeOperands operands;
        for (const auto r : body.results) operands.add(body.nodes[static_cast<std::size_t>(r)].type, layout);
        for (std::size_t i = 0; i + (has_number ? 1 : 0) < body.inputs.size(); ++i)
          operands.add(body.inputs[i], layout);
        if (has_number) operands.add_number(body.inputs.back());
        recorder.run({}, kernel, operands.args(1, {numbers.data(), body.params.size()}, kernel.context));
      }
    }
  }
}

inline void record_rows(Recorder& recorder, const Op& op) {
  for (const Kernel& kernel : op.kernels(DeviceType::Cuda)) {
    const RowProgram& program = op.rows()->programs[kernel.formula];
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (!kernel.computes.contains(dtype)) continue;
      for (const std::uint64_t mask : {8u, 5u}) {  // the last axis; the first and the third
        std::vector<PelScalar> numbers(static_cast<std::size_t>(1 + program.param_count));
        numbers[0].as_int = static_cast<std::int64_t>(mask);
        FakeOperands operands;
        for (std::size_t o = 0; o < program.outputs.size(); ++o)
          operands.add(program.stored_output(o, dtype), FakeOperands::Layout::Dense,
                       program.outputs[o].kind == RowOutput::Kind::Row ? 0 : mask);
        for (int i = 0; i < program.input_count; ++i)
          operands.add(program.stored_input(i, dtype), FakeOperands::Layout::Dense);
        recorder.run({}, kernel,
                     operands.args(static_cast<int>(program.outputs.size()), {numbers.data(), numbers.size()},
                                   kernel.context));
      }
    }
  }
}

inline void record_copies(Recorder& recorder) {
  const Kernel& kernel = find_op("copy_")->kernels(DeviceType::Cuda)[0];
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      for (const auto layout : {FakeOperands::Layout::Dense, FakeOperands::Layout::Strided}) {
        FakeOperands operands;
        operands.add(static_cast<DType>(to), layout);
        operands.add(static_cast<DType>(from), layout);
        recorder.run({}, kernel, operands.args(1, {}, kernel.context));
      }
    }
  }
}

// Calls of an op with its floating and integer tensors in each dtype. Those that an op refuses build nothing.
inline void record_samples(const Op& op) {
  const NoGrad no_grad;
  for (const std::vector<Value>& call : calls_of(op)) {
    for (int d = -1; d < kDTypeCount; ++d) {
      std::vector<Value> on_device = arguments_on(kCuda, op, call);
      each_tensor(on_device, [&](Tensor& t) {
        if (d >= 0 && is_floating(t.dtype()) && !t.header()->is_number)
          t = t.to(kCpu).to(static_cast<DType>(d)).to(kCuda);
      });
      for (Value& value : on_device)
        if (d >= 0 && std::holds_alternative<DType>(value)) value = static_cast<DType>(d);
      try {
        manual_seed(5);
        static_cast<void>(call_boxed(op, on_device));
        synchronize(kCuda);
      } catch (const Error&) {  // the dtype is refused, or a result of zeros is
      }
    }
  }
}

// Makes a recorder the device kCuda of this process.
inline Recorder& recorder() {
  static Recorder& instance = [&]() -> Recorder& {
    static_cast<void>(devices());  // the process's own are registered before
    auto made = std::make_unique<Recorder>();
    Recorder& device = *made;
    if (find_op("add")->kernels(DeviceType::Cuda).empty())
      grid::register_kernels(DeviceType::Cuda, {device.facts().has_f64, device.facts().is_cpu});
    add_device(kCuda, std::move(made));
    return device;
  }();
  return instance;
}

// Every elementwise loop and row reduction of the registry in each dtype and layout, conversions between all
// dtypes, and what the samples of the other ops need in each dtype.
inline std::vector<KernelText> all_kernel_texts() {
  Recorder& device = recorder();
  record_copies(device);
  for (const Op* op : all_ops()) {
    if (!op->record().is_builtin) continue;
    const bool has_list = !is_further_form(op->name()) && !op->kernels(DeviceType::Cuda).empty();
    if (has_list && op->pointwise() != nullptr) {
      record_loops(device, *op);
    } else if (has_list && op->rows() != nullptr) {
      record_rows(device, *op);
    } else {
      record_samples(*op);
    }
  }
  return device.texts();
}

}  // namespace pel::test
