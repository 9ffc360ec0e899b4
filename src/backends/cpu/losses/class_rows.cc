#include "backends/cpu/losses/class_rows.h"

#include <algorithm>
#include <type_traits>

#include "pellucid/threads.h"

#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/generated/kernel_set.h"
#include "backends/cpu/generated/prebuilt_code.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/isa.h"
#include "base/check.h"
#include "base/small_vector.h"
#include "dispatch/pointwise.h"
#include "tensor/convert.h"
#include "tensor/make.h"

namespace pel::cpu {
namespace {

// Calls f(std::type_identity<T>(), V()) for the C++ type of a floating dtype and its value type.
template <class F>
void with_floating(DType dtype, F&& f) {
  if (dtype == kF32) return f(std::type_identity<float>(), float());
  if (dtype == kF64) return f(std::type_identity<double>(), double());
  if (dtype == kF16) return f(std::type_identity<Float16>(), float());
  PEL_ASSERT(dtype == kBF16, "the dtype is floating");
  f(std::type_identity<BFloat16>(), float());
}

constexpr std::int64_t kGrainRows = 256;  // each reads a cache line of its own

}  // namespace

KernelScratch::KernelScratch(const KernelArgs& args, std::int64_t bytes)
    : next_(static_cast<char*>(args.scratch)) {
  if (next_ != nullptr || bytes == 0) return;
  allocated_ = make_dense({bytes}, kU8, kCpu);
  next_ = static_cast<char*>(allocated_->raw_data());
}

std::int64_t Targets::operator[](std::int64_t row) const {
  const std::int64_t index =
      dtype == kI32 ? load_as<std::int32_t>(data + row * 4) : load_as<std::int64_t>(data + row * 8);
  if (index == ignore_index) return kIgnored;
  PEL_CHECK(index >= 0 && index < classes, IndexError, "target {} of row {} is not one of {} classes", index,
            first_row + row, classes);
  return index;
}

ClassRows::ClassRows(const Operand& logits, std::int64_t axis) : logits_(logits), axis_(axis) {
  for (int i = logits.rank; i-- > 0;) {
    value_strides_[i] = i == axis ? 0 : count_;
    if (i != axis) count_ *= logits.sizes[i];
  }
}

char* ClassRows::at(const Operand& tensor, std::int64_t row, std::int64_t index) const {
  std::int64_t offset = index * tensor.strides[axis_];
  for (int i = logits_.rank; i-- > 0;) {
    if (i == axis_) continue;
    offset += row % logits_.sizes[i] * tensor.strides[i];
    row /= logits_.sizes[i];
  }
  return static_cast<char*>(tensor.data) + offset * size_bytes(static_cast<DType>(tensor.dtype));
}

Operand ClassRows::values(char* data) const {
  Operand o = logits_;
  o.data = data;
  o.strides = value_strides_;
  o.dtype = static_cast<std::uint8_t>(value_type(dtype()));
  o.is_row_major = 0;
  return o;
}

void ClassRows::to_values(Stream& stream, const Op& op, std::string_view program,
                          ArrayView<char*> results) const {
  SmallVector<Operand, 4> operands;
  for (char* const result : results) operands.push_back(values(result));
  operands.push_back(logits_);
  run(stream, op, program, operands, static_cast<std::uint16_t>(results.size()));
}

void ClassRows::to_rows(Stream& stream, const Op& op, std::string_view program, const Operand& result,
                        ArrayView<char*> values_of_rows) const {
  SmallVector<Operand, 6> operands{result, logits_};
  for (char* const each : values_of_rows) operands.push_back(values(each));
  run(stream, op, program, operands, 1);
}

void ClassRows::run(Stream& stream, const Op& op, std::string_view program, ArrayView<Operand> operands,
                    std::uint16_t results) const {
  if (count_ == 0 || classes() == 0) return;
  const std::int64_t reduced = std::int64_t{1} << axis_;
  const PelScalar axes{static_cast<double>(reduced), reduced, PEL_SCALAR_INT, {}};
  KernelArgs args{};
  args.version = PEL_KERNEL_ARGS_VERSION;
  args.output_count = results;
  args.input_count = static_cast<std::uint16_t>(operands.size() - results);
  args.operands = operands.data();
  args.scalars = &axes;
  args.scalar_count = 1;
  for (const Kernel& kernel : op.kernels(DeviceType::Cpu)) {
    if (op.rows()->programs[kernel.formula].suffix != program || !kernel.computes.contains(dtype())) continue;
    args.context = kernel.context;
    return kernel.run(stream, args);
  }
  PEL_ASSERT(false, "a row op has a kernel for each program and floating dtype");
}

void write_losses(const ClassRows& rows, const Targets& targets, const char* largest, const char* log_sums,
                  char* losses) {
  with_floating(rows.dtype(), [&]<class T, class V>(std::type_identity<T>, V) {
    constexpr std::int64_t kWidth = sizeof(V);
    parallel_for(rows.count(), kGrainRows, [&](std::int64_t begin, std::int64_t end) {
      const DefaultFloatMode mode;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t target = targets[i];
        V loss = 0;
        if (target != Targets::kIgnored) {
          const V below = convert<V>(load_as<T>(rows.logit(i, target))) - load_as<V>(largest + i * kWidth);
          loss = load_as<V>(log_sums + i * kWidth) - below;
        }
        store_as(losses + i * kWidth, loss);
      }
    });
  });
}

void write_mean(const Targets& targets, std::int64_t count, char* losses, const Operand& mean,
                const Operand& counted) {
  constexpr std::int64_t kBlock = 1024;
  const auto dtype = static_cast<DType>(mean.dtype);
  const PrebuiltKernel* fold = find_prebuilt(fold_name(FoldKind::Sum, value_type(dtype)), *active_isa());
  with_floating(dtype, [&]<class T, class V>(std::type_identity<T>, V) {
    constexpr std::int64_t kWidth = sizeof(V);
    const DefaultFloatMode mode;
    V total = 0;
    std::int64_t left = count;
    do {  // the sums of blocks are the next sequence
      const std::int64_t blocks = (left + kBlock - 1) / kBlock;
      for (std::int64_t b = 0; b < blocks; ++b) {
        void* data[] = {&total, losses + b * kBlock * kWidth};
        const std::int64_t strides[] = {1, 1};
        fold->function(std::min(kBlock, left - b * kBlock), data, strides, nullptr);
        store_as(losses + b * kWidth, total);
      }
      left = blocks;
    } while (left > 1);
    std::int64_t rows = 0;
    for (std::int64_t i = 0; i < count; ++i) rows += targets[i] == Targets::kIgnored ? 0 : 1;
    store_as(counted.data, static_cast<V>(rows));
    store_as(mean.data, convert<T>(total / static_cast<V>(rows)));
  });
}

void write_gradients(const Targets& targets, std::int64_t count, const Operand& grad, const Operand& counted,
                     char* gradients) {
  with_floating(static_cast<DType>(grad.dtype), [&]<class T, class V>(std::type_identity<T>, V) {
    const DefaultFloatMode mode;
    const V each = convert<V>(load_as<T>(grad.data)) / load_as<V>(counted.data);
    for (std::int64_t i = 0; i < count; ++i)
      store_as(gradients + i * std::int64_t{sizeof(V)}, targets[i] == Targets::kIgnored ? V(0) : each);
  });
}

void subtract_at_targets(const ClassRows& rows, const Targets& targets, const char* gradients,
                         std::int64_t first_class, const Operand& result) {
  with_floating(rows.dtype(), [&]<class T, class V>(std::type_identity<T>, V) {
    parallel_for(rows.count(), kGrainRows, [&](std::int64_t begin, std::int64_t end) {
      const DefaultFloatMode mode;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t target = targets[i], index = target - first_class;
        if (target == Targets::kIgnored || index < 0 || index >= rows.classes()) continue;
        char* const to = rows.at(result, i, index);
        const V grad = convert<V>(convert<T>(-load_as<V>(gradients + i * std::int64_t{sizeof(V)})));
        store_as(to, convert<T>(convert<V>(load_as<T>(to)) + grad));
      }
    });
  });
}

}  // namespace pel::cpu
