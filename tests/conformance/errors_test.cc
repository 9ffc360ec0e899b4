// Calls that every op refuses, and what it says: derived from the op's record and schema.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "conformance/cases.h"

namespace pel::conformance {
namespace {

// Arguments by the op's schema, from an output where it takes one and then the inputs in the order of its
// formula. Numbers without a default are 1.
std::vector<Value> make_args(const Op& op, std::vector<Tensor> tensors) {
  const auto first_input = tensors.begin() + (op.name().ends_with(".out") ? 1 : 0);
  if (op.pointwise()->swaps_inputs) std::iter_swap(first_input, first_input + 1);
  std::vector<Value> args;
  std::size_t next = 0;
  for (const SchemaArg& arg : op.record().schema.args) {
    const bool may_be_none = arg.type.base == ArgType::Base::Scalar && arg.type.is_optional;
    if (arg.type.base == ArgType::Base::Tensor) {
      args.emplace_back(tensors[next++]);
    } else if (arg.default_value && !may_be_none) {
      args.push_back(*arg.default_value);
    } else {
      args.emplace_back(Scalar(1));
    }
  }
  return args;
}

struct ErrorCase {
  std::string name;  // add/errors/sizes/f32
  const Op* op;
  std::vector<Value> args;
  std::string message;  // without the op and the source location
  ErrorCode code;
};

class ErrorCases {
 public:
  explicit ErrorCases(const Op& op) : plain_(op), facts_(*op.pointwise()) {
    in_place_ = find_op(std::string(op.name()) + "_");
    out_ = find_op(std::string(op.name()) + ".out");
    add_undefined();
    add_devices();
    add_sizes();
    add_dtypes();
    add_overlaps();
    add_zero_divisors();
  }
  std::vector<ErrorCase> take() { return std::move(cases_); }

 private:
  void add(const Op* op, const std::string& what, const std::vector<Tensor>& tensors, ErrorCode code,
           std::string message) {
    if (op == nullptr) return;
    cases_.push_back({fmt::format("{}{}{}", op->name(), kErrors, what), op, make_args(*op, tensors),
                      std::move(message), code});
  }

  bool is_condition(int input) const { return facts_.takes_condition && input == 0; }
  DType usual() const { return facts_.computes.contains(kF32) ? kF32 : kI32; }
  DType given(int input, DType dtype) const { return is_condition(input) ? kBool : dtype; }
  DType result_of(DType dtype) const { return facts_.result_dtype(facts_.compute_dtype(dtype)); }
  static Tensor ones(Dims sizes, DType dtype = kF32) {
    return pel::ones(sizes, {dtype, test::test_device()});
  }
  std::vector<Tensor> inputs(DType dtype, Dims sizes = {3}) const {
    std::vector<Tensor> tensors;
    for (int i = 0; i < facts_.input_count; ++i) tensors.push_back(ones(sizes, given(i, dtype)));
    return tensors;
  }
  static std::vector<Tensor> with_out(const Tensor& out, std::vector<Tensor> tensors) {
    tensors.insert(tensors.begin(), out);
    return tensors;
  }
  Tensor result(DType dtype, Dims sizes = {3}) const { return ones(sizes, result_of(dtype)); }
  std::size_t written_in_place() const { return facts_.takes_condition ? 1 : 0; }

  void add_undefined() {
    for (const Op* op : {&plain_, in_place_, out_}) {
      if (op == nullptr) continue;
      std::vector<Tensor> tensors = inputs(usual());
      if (op == out_) tensors = with_out(result(usual()), tensors);
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        std::vector<Tensor> bad = tensors;
        bad[i] = Tensor();
        const std::vector<Value> args = make_args(*op, bad);
        const auto place = std::ranges::find_if(args, [](const Value& arg) {
          return std::holds_alternative<Tensor>(arg) && !std::get<Tensor>(arg).defined();
        });
        const std::string& name =
            op->record().schema.args[static_cast<std::size_t>(place - args.begin())].name;
        add(op, "undefined/" + name, bad, ErrorCode::Value, "argument " + name + " is an undefined tensor");
      }
    }
  }

  void add_devices() {
    const std::string here = to_string(test::test_device());
    std::vector<Tensor> tensors = inputs(usual());
    if (facts_.input_count > 1) {
      tensors.back() = empty({3}, {tensors.back().dtype(), kMeta});
      add(&plain_, "devices", tensors, ErrorCode::Device,
          "operands are on different devices: " + here + " and meta; move them to one device first");
    }
    add(out_, "devices", with_out(empty({3}, {result_of(usual()), kMeta}), inputs(usual())),
        ErrorCode::Device,
        "operands are on different devices: meta and " + here + "; move them to one device first");
  }

  void add_sizes() {
    if (facts_.input_count > 1) {
      std::vector<Tensor> tensors = inputs(usual(), {2, 3});
      tensors.back() = ones({2, 4}, tensors.back().dtype());
      add(&plain_, "sizes", tensors, ErrorCode::Shape,
          "sizes [2, 3] and [2, 4] do not broadcast: 3 against 4 at axis -1");
      tensors = inputs(usual());
      tensors[written_in_place()] = ones({1}, usual());
      if (in_place_ != nullptr && can_cast(result_of(usual()), usual()))
        add(in_place_, "sizes", tensors, ErrorCode::Shape,
            fmt::format("the result has sizes [3], which cannot be written into {}[1]", name(usual())));
    }
    add(out_, "sizes", with_out(result(usual(), {4}), inputs(usual())), ErrorCode::Shape,
        fmt::format("the result has sizes [3], which cannot be written into {}[4]",
                    name(result_of(usual()))));
  }

  void add_dtypes() {
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      const std::string suffix(name(dtype));
      if (facts_.refuses.contains(dtype)) {
        std::vector<Tensor> tensors = inputs(usual());
        tensors.back() = ones({3}, dtype);
        add(&plain_, "dtype/" + suffix, tensors, ErrorCode::DType,
            fmt::format("the op does not take {}[3]; {}", suffix, facts_.advice));
        continue;
      }
      if (!facts_.computes.contains(facts_.compute_dtype(dtype))) {
        add(&plain_, "dtype/" + suffix, inputs(dtype), ErrorCode::DType,
            fmt::format("the op computes in {}; its operands promote to {}", to_string(facts_.computes),
                        name(dtype)));
        continue;
      }
      const DType gives = result_of(dtype);
      if (!can_cast(gives, dtype))
        add(in_place_, "dtype/" + suffix, inputs(dtype), ErrorCode::DType,
            fmt::format("the result is {}, which cannot be written into {}[3]", name(gives), suffix));
      for (const DType out : {kI32, kBool}) {
        if (!can_cast(gives, out))
          add(out_, fmt::format("dtype/{}_into_{}", suffix, name(out)),
              with_out(ones({3}, out), inputs(dtype)), ErrorCode::DType,
              fmt::format("the result is {}, which cannot be written into {}[3]", name(gives), name(out)));
      }
    }
    if (facts_.takes_condition) {
      std::vector<Tensor> tensors = inputs(usual());
      tensors[0] = ones({3});
      add(&plain_, "condition", tensors, ErrorCode::DType, "the condition is bool, not f32[3]");
    }
  }
  void add_overlaps() {
    const DType gives = result_of(usual());
    const Tensor repeated = ones({1}, gives).expand({3});
    add(out_, "repeated", with_out(repeated, inputs(usual())), ErrorCode::Alias,
        fmt::format(
            "the output {}[3] with strides [0] holds one element at several indices; write to a clone",
            name(gives)));
    if (in_place_ != nullptr && can_cast(gives, usual())) {
      std::vector<Tensor> tensors = inputs(usual());
      tensors[written_in_place()] = ones({1}, usual()).expand({3});
      add(in_place_, "repeated", tensors, ErrorCode::Alias,
          fmt::format(
              "the output {}[3] with strides [0] holds one element at several indices; write to a clone",
              name(usual())));
    }
    for (int i = 0; i < facts_.input_count; ++i) {
      const Tensor base = ones({4}, given(i, usual()));
      if (base.dtype() != gives) continue;
      std::vector<Tensor> tensors = inputs(usual());
      tensors[static_cast<std::size_t>(i)] = base.slice(0, 1, 4);
      add(out_, fmt::format("overlap/{}", i), with_out(base.slice(0, 0, 3), tensors), ErrorCode::Alias,
          fmt::format(
              "the output {0}[3] partly overlaps another operand, {0}[3], in memory; clone one of them",
              name(gives)));
    }
  }

  void add_zero_divisors() {
    if (!facts_.divides) return;
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (is_floating(dtype) || dtype == kBool || !facts_.computes.contains(dtype)) continue;
      for (const std::int64_t size : {std::int64_t{3}, std::int64_t{1009}}) {
        std::vector<Tensor> tensors = inputs(dtype, {size});
        zero_(tensors.back().slice(0, size - 1, size));
        for (const Op* op : {&plain_, in_place_})
          add(op, fmt::format("zero/{}/{}", name(dtype), size), tensors, ErrorCode::Value,
              "integer division by zero");
      }
    }
  }

  const Op& plain_;
  const Pointwise& facts_;
  const Op* in_place_;
  const Op* out_;
  std::vector<ErrorCase> cases_;
};

// Messages name a device other than the CPU after each tensor on it.
std::string without_device(std::string message) {
  const std::string suffix = "@" + to_string(test::test_device());
  for (std::size_t at = message.find(suffix); at != std::string::npos; at = message.find(suffix))
    message.erase(at, suffix.size());
  return message;
}

// What is wrong with how a call was refused, or nothing.
std::string check(const ErrorCase& c) {
  try {
    call_boxed(*c.op, c.args);
    synchronize(test::test_device());  // kernels of a queue find their errors later
  } catch (const Error& error) {
    if (error.code() == c.code && without_device(error.message()) == c.message && error.op() == c.op->name())
      return "";
    return fmt::format("it says    {}\n  and not    {}: {}: {}", error.what(), error_code_name(c.code),
                       c.op->name(), c.message);
  }
  return "it is computed, and not refused with: " + c.message;
}

TEST(Conformance, EveryOpRefusesWhatItMustAndSaysWhy) {
  int ran = 0;
  for (const Op* op : pointwise_ops()) {
    for (const ErrorCase& c : ErrorCases(*op).take()) {
      if (!is_chosen(c.name)) continue;
      ++ran;
      if (const std::string why = check(c); !why.empty())
        ADD_FAILURE() << c.name << "\n  " << why << "\n  repro: " << repro(c.name);
    }
  }
  std::printf("%d calls refused\n", ran);
  if (only_case().empty() || only_case().find(kErrors) != std::string::npos) {
    EXPECT_GE(ran, 1) << "no case has this name";
  }
}

}  // namespace
}  // namespace pel::conformance
