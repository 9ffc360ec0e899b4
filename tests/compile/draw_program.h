// Draws random programs: ops of the registry with arguments by their schemas. A call that the op refuses at
// the first sizes is drawn again.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compile/random_program.h"
#include "support/random.h"

namespace pel::fuzz {

inline constexpr std::int64_t kMaxElements = 1'000'000, kMaxAxes = 4;

// What can stand in a graph: all that does not read data back to the host.
inline bool can_be_captured(const Op& op) { return op.record().is_builtin && op.kind() != OpKind::Sync; }

// The ops of the registry by what their records say of them.
struct OpFamilies {
  std::vector<const Op*> pointwise, views, others, sampled;

  OpFamilies() {
    for (const Op* op : all_ops()) {
      if (!can_be_captured(*op)) continue;
      const Schema& schema = op->record().schema;
      const bool is_view = std::ranges::any_of(
          schema.results, [](const SchemaArg& r) { return r.alias.set != '\0' && !r.alias.is_written; });
      (op->pointwise() != nullptr ? pointwise : is_view ? views : others).push_back(op);
      if (op->record().sample_calls) sampled.push_back(op);
    }
  }
};
inline const OpFamilies& families() {
  static const OpFamilies all;
  return all;
}
inline const SampleCalls& samples_of(const Op& op) {
  static std::map<const Op*, SampleCalls> all;
  const auto [found, is_new] = all.try_emplace(&op);
  if (is_new) {
    Sampler sampler(3);
    found->second = op.record().sample_calls(sampler);
    const auto plain = [](Tensor& t) {
      if (t.defined()) t.requires_grad_(RequiresGrad::No);
    };
    for (std::vector<Value>& call : found->second) {
      for (Value& arg : call) {
        if (Tensor* t = std::get_if<Tensor>(&arg)) plain(*t);
        if (auto* list = std::get_if<std::vector<Tensor>>(&arg)) std::ranges::for_each(*list, plain);
      }
    }
  }
  return found->second;
}

class Drawing {
 public:
  explicit Drawing(test::Random& random) : random_(random) {}

  Program draw() {
    program_.data_seed = random_.bits32();
    draw_turns();
    const auto inputs = static_cast<int>(random_.between(1, 4));
    for (int i = 0; i < inputs; ++i) draw_input(i);
    run_ = std::make_unique<Run>(make_inputs(program_, 0).tensors);
    other_run_ = std::make_unique<Run>(make_inputs(program_, 1).tensors);
    for (int i = 0; i < inputs; ++i) live_.push_back({~i, 0});
    pointwise_share_ = random_.one_in(2) ? 45 : 75;
    const auto steps =
        static_cast<int>(random_.one_in(10) ? random_.between(10, 40) : random_.between(1, 12));
    for (int s = 0; s < steps; ++s) draw_step();
    draw_outputs();
    draw_gradients();
    return std::move(program_);
  }

 private:
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(list.size()) - 1))];
  }
  DType any_dtype() {
    constexpr DType kUsual[] = {kF32, kF32, kF32, kBF16, kF16, kF64, kI32, kI64, kBool};
    if (random_.one_in(8)) return static_cast<DType>(random_.between(0, kDTypeCount - 1));
    return kUsual[random_.between(0, std::ssize(kUsual) - 1)];
  }

  // Extents differ from each other at the first turn, so that no two of them agree by chance. Then others,
  // with 1 and with 0, and the first again.
  void draw_turns() {
    Extents first{};
    const std::int64_t most = random_.one_in(4) ? 40 : 9;
    for (bool differ = false; !differ;) {
      for (std::int64_t& e : first) e = random_.between(2, most);
      differ = first[0] != first[1] && first[1] != first[2] && first[0] != first[2];
    }
    const auto sizes = [&](std::int64_t least, std::int64_t largest) {
      Extents drawn{};
      for (std::int64_t& e : drawn) e = random_.between(least, largest);
      return drawn;
    };
    program_.turns = {first, sizes(2, random_.one_in(4) ? 40 : 12), sizes(1, 5), sizes(0, 3), first};
    if (random_.one_in(3)) program_.turns[1][2] += 64;
  }

  void draw_input(int number) {
    Input input;
    if (number > 0 && random_.one_in(12)) {
      const auto earlier = static_cast<int>(random_.between(0, number - 1));
      input = program_.inputs[static_cast<std::size_t>(earlier)];
      if (input.same_as < 0) input.same_as = earlier;
      program_.inputs.push_back(input);
      return;
    }
    const auto rank = random_.one_in(20) ? 0 : random_.between(1, 3);
    for (std::int64_t axis = kExtents - rank; axis < kExtents; ++axis)
      input.extents.push_back(random_.one_in(6) ? -1 : static_cast<int>(axis));
    input.dtype = any_dtype();
    if (random_.one_in(2)) input.layout = static_cast<InputLayoutKind>(random_.between(0, 3));
    if (random_.one_in(4)) input.low = 0, input.high = random_.one_in(2) ? 1 : 2;
    input.has_extremes = random_.one_in(3);
    program_.inputs.push_back(input);
  }

  Ref any_ref() {
    if (random_.one_in(2)) {  // one of the last
      const auto count = static_cast<std::int64_t>(live_.size());
      return live_[static_cast<std::size_t>(
          random_.between(std::max<std::int64_t>(0, count - 3), count - 1))];
    }
    return one_of(live_);
  }
  Ref ref_where(const std::function<bool(const Tensor&)>& fits) {
    Ref ref = any_ref();
    for (int i = 0; i < 8 && !fits((*run_)[ref]); ++i) ref = any_ref();
    return ref;
  }
  SizeExpr size_expr() {
    SizeExpr size;
    const Ref of = any_ref();
    const std::int64_t rank = (*run_)[of].dim();
    if (rank > 0 && random_.between(0, 2) != 0)
      size.factors.push_back({of, static_cast<int>(random_.between(0, rank - 1))});
    size.plus = size.factors.empty() ? random_.between(-2, 3) : -random_.between(0, 3) / 2;
    return size;
  }
  Scalar scalar() {
    static const std::vector<Scalar> kNumbers = {0,   1,    2,    -1,       3,     0.5,  -0.0,
                                                 1.5, -2.5, 1e30, INFINITY, 1e-40, true, 100};
    return one_of(kNumbers);
  }

  // The ops that functions mostly consist of, besides elementwise ones.
  static constexpr std::string_view kOften[] = {
      "matmul", "mm",    "linear", "sum",         "mean",  "amax",   "softmax", "rms_norm", "layer_norm",
      "cat",    "stack", "slice",  "log_softmax", "addmm", "expand", "select",  "where",    "copy_"};

  void draw_step() {
    for (int attempt = 0; attempt < 30; ++attempt) {
      const std::int64_t kind = random_.between(0, 99);
      Step step;
      const OpFamilies& ops = families();
      if (kind < 8) {
        step.op = find_op(random_.one_in(2) ? "to" : "to_copy");
        step.args = {any_ref(), any_dtype()};
      } else if (kind < 11) {
        step = sample_step(*one_of(ops.sampled));
      } else if (kind < 15) {
        step = schema_step(*find_op(kOften[random_.between(0, std::ssize(kOften) - 1)]));
      } else {
        const std::int64_t other = random_.between(0, 99);
        step = schema_step(*one_of(other < pointwise_share_        ? ops.pointwise
                                   : other < pointwise_share_ + 10 ? ops.views
                                                                   : ops.others));
      }
      try {
        if (run_->elements_of(step) > kMaxElements || other_run_->elements_of(step) > kMaxElements) continue;
        const std::vector<Tensor>& made = run_->call(step);
        const bool fits = std::ranges::all_of(made, [](const Tensor& t) { return t.dim() <= kMaxAxes; });
        if (!fits || !other_run_->tries(step)) {
          run_->drop_last();
          continue;
        }
        const int number = static_cast<int>(program_.steps.size());
        for (int r = 0; r < static_cast<int>(made.size()); ++r) live_.push_back({number, r});
        program_.steps.push_back(std::move(step));
        return;
      } catch (const Error&) {
      }
    }
  }

  Step sample_step(const Op& op) {
    Step step{&op, {}};
    const auto hold = [&](const Tensor& t) {
      const bool mixes = is_floating(t.dtype()) && random_.one_in(2);
      return Held{t, mixes ? std::optional(any_ref()) : std::nullopt};
    };
    const auto constant = [](Dim d) { return SizeExpr{{}, d.value()}; };
    for (const Value& arg : one_of(samples_of(op))) {
      step.args.push_back(std::visit(
          [&](const auto& given) -> Arg {
            using T = std::decay_t<decltype(given)>;
            if constexpr (std::is_same_v<T, Tensor>) {
              if (!given.defined()) return {};
              if (given.header()->is_number) return NumberOperand{given.item()};
              return hold(given);
            } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
              std::vector<Held> list;
              for (const Tensor& t : given) list.push_back(hold(t));
              return list;
            } else if constexpr (std::is_same_v<T, Dim>) {
              return constant(given);
            } else if constexpr (std::is_same_v<T, std::vector<Dim>>) {
              std::vector<SizeExpr> list;
              for (const Dim d : given) list.push_back(constant(d));
              return list;
            } else if constexpr (std::is_same_v<T, Device>) {
              return {};
            } else {
              return given;
            }
          },
          arg));
    }
    return step;
  }

  Step schema_step(const Op& op) {
    Step step{&op, {}};
    first_.reset();
    int tensors = 0;
    for (const SchemaArg& arg : op.record().schema.args) {
      const bool is_tensor = arg.type.base == ArgType::Base::Tensor;
      step.args.push_back(argument(op, arg, tensors));
      if (is_tensor && !first_)
        if (const Ref* ref = std::get_if<Ref>(&step.args.back())) first_ = *ref;
      tensors += is_tensor;
    }
    return step;
  }

  Arg default_of(const SchemaArg& arg) {
    return std::visit(
        [](const auto& given) -> Arg {
          using T = std::decay_t<decltype(given)>;
          if constexpr (std::is_same_v<T, Dim>) {
            return SizeExpr{{}, given.value()};
          } else if constexpr (std::is_same_v<T, std::vector<Dim>>) {
            std::vector<SizeExpr> list;
            for (const Dim d : given) list.push_back({{}, d.value()});
            return list;
          } else if constexpr (std::is_constructible_v<Arg, T> && !std::is_same_v<T, Tensor> &&
                               !std::is_same_v<T, std::vector<Tensor>> && !std::is_same_v<T, Device>) {
            return given;
          } else {
            return {};
          }
        },
        *arg.default_value);
  }

  Arg argument(const Op& op, const SchemaArg& arg, int tensor) {
    using Base = ArgType::Base;
    if (arg.type.base != Base::Tensor && arg.default_value && random_.one_in(2)) return default_of(arg);
    if (arg.type.is_optional && random_.one_in(arg.type.base == Base::Tensor ? 3 : 2)) return {};
    if (arg.name == "seed" || arg.name == "offset") return {};  // the generator's, as manual_seed set it
    switch (arg.type.base) {
      case Base::Tensor:
        return arg.type.is_list ? tensor_list() : tensor_argument(op, arg, tensor);
      case Base::Int:
        return arg.type.is_list ? Arg(int_list(arg)) : Arg(SizeExpr{{}, int_argument(arg)});
      case Base::Dim:
        return arg.type.is_list ? Arg(sizes(arg)) : Arg(size_expr());
      case Base::Float: {
        constexpr double kNumbers[] = {0.5, 0.1, 0.0, 1.0, 2.0, 1e-5};
        return kNumbers[random_.between(0, std::ssize(kNumbers) - 1)];
      }
      case Base::Bool:
        return random_.one_in(2);
      case Base::Scalar:
        return random_.one_in(4) ? Arg(size_expr()) : Arg(scalar());
      case Base::DType:
        return any_dtype();
      case Base::String:
        return text(arg.name);
      case Base::Device:
      case Base::None:
        break;
    }
    return {};
  }

  Arg tensor_argument(const Op& op, const SchemaArg& arg, int tensor) {
    const Pointwise* facts = op.pointwise();
    if (facts != nullptr && !arg.alias.is_written) {
      if (facts->takes_condition && tensor == (facts->swaps_inputs ? 1 : 0))
        return ref_where([](const Tensor& t) { return t.dtype() == kBool; });
      if (tensor > 0 && random_.one_in(5))
        return NumberOperand{random_.one_in(3) ? std::variant<Scalar, SizeExpr>(size_expr()) : scalar()};
    }
    if (facts != nullptr && !arg.alias.is_written && random_.one_in(2)) {  // of a dtype that it computes
      return ref_where([&](const Tensor& t) { return facts->computes.contains(t.dtype()); });
    }
    if (first_ && facts == nullptr && random_.one_in(3)) {  // with rows as long as the first's, or as many
      const Tensor& with = (*run_)[*first_];
      return ref_where([&](const Tensor& t) {
        return t.dtype() == with.dtype() && t.dim() > 0 && with.dim() > 0 &&
               (t.size(-1).value() == with.size(-1).value() || t.size(0).value() == with.size(-1).value());
      });
    }
    if (first_ && random_.one_in(2)) {  // of the sizes or the dtype of the first
      const Tensor& like = (*run_)[*first_];
      return ref_where([&](const Tensor& t) {
        return t.dtype() == like.dtype() && pel::to_string(t.sizes()) == pel::to_string(like.sizes());
      });
    }
    return any_ref();
  }
  Arg tensor_list() {
    std::vector<Ref> list = {any_ref()};
    const Tensor& like = (*run_)[list[0]];
    for (std::int64_t more = random_.between(0, 2); more > 0; --more)
      list.push_back(ref_where([&](const Tensor& t) {
        return t.dim() == like.dim() && (like.dim() == 0 || t.size(0).value() == like.size(0).value());
      }));
    first_ = list[0];
    return list;
  }

  std::int64_t rank_of_first() const { return first_ ? (*run_)[*first_].dim() : 1; }
  static bool is_axis(const SchemaArg& arg) { return arg.name.find("dim") != std::string::npos; }
  std::int64_t any_axis() {
    const std::int64_t rank = std::max<std::int64_t>(1, rank_of_first());
    return random_.between(-rank, rank - 1);
  }
  std::int64_t int_argument(const SchemaArg& arg) {
    return is_axis(arg) ? any_axis() : random_.between(-1, 3);
  }
  std::vector<SizeExpr> int_list(const SchemaArg& arg) {
    std::vector<SizeExpr> list;
    const bool is_order = arg.name == "dims" && random_.between(0, 2) != 0;
    if (is_order || is_axis(arg)) {
      for (std::int64_t axis = 0; axis < rank_of_first(); ++axis)
        if (is_order || random_.one_in(2)) list.push_back({{}, axis});
      for (std::size_t i = list.size(); is_order && i > 1; --i)
        std::swap(list[i - 1], list[static_cast<std::size_t>(random_.between(0, std::ssize(list) - 1)) % i]);
    } else {
      for (std::int64_t count = random_.between(1, 2); count > 0; --count)
        list.push_back({{}, random_.between(0, 3)});
    }
    return list;
  }
  // Sizes of a tensor, with axes put together, taken apart or in front; or numbers.
  std::vector<SizeExpr> sizes(const SchemaArg& arg) {
    std::vector<SizeExpr> list;
    const Ref of = first_ && (arg.name == "normalized_shape" || random_.one_in(2)) ? *first_ : any_ref();
    const auto rank = static_cast<int>((*run_)[of].dim());
    if (arg.name == "normalized_shape") {
      for (int axis = static_cast<int>(random_.between(0, std::max(0, rank - 1))); axis < rank; ++axis)
        list.push_back({{{of, axis}}, 0});
      return list;
    }
    const bool is_size =
        arg.name.find("size") != std::string::npos || arg.name.find("shape") != std::string::npos;
    const std::int64_t kind = is_size ? random_.between(0, 5) : 0;
    if (kind == 0) {
      for (std::int64_t count = random_.between(1, 3); count > 0; --count)
        list.push_back({{}, random_.between(0, 4)});
      return list;
    }
    for (int axis = 0; axis < rank; ++axis) {
      if (kind == 1 && axis > 0) {
        list.back().factors.push_back({of, axis});
      } else {
        list.push_back({{{of, axis}}, 0});
      }
    }
    if (kind == 2) list.insert(list.begin(), SizeExpr{{}, random_.between(1, 3)});
    if (kind == 3 && !list.empty()) one_changed(list) = SizeExpr{{}, -1};
    if (kind == 4) list.insert(list.begin() + random_.between(0, std::ssize(list)), SizeExpr{{}, 1});
    return list;
  }
  SizeExpr& one_changed(std::vector<SizeExpr>& list) {
    return list[static_cast<std::size_t>(random_.between(0, std::ssize(list) - 1))];
  }

  Arg text(std::string_view name) {
    static const std::map<std::string_view, std::vector<std::string>> kTexts = {
        {"reduction", {"mean", "sum", "none"}},
        {"approximate", {"none", "tanh"}},
        {"rounding_mode", {"floor", "trunc"}},
        {"indexing", {"ij", "xy"}},
        {"mode", {"constant", "reflect", "replicate", "circular"}},
        {"reduce", {"sum", "prod", "mean", "amax", "amin"}},
        {"equation", {"ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij,ij->i", "i,j->ij"}}};
    const auto found = kTexts.find(name);
    return found == kTexts.end() ? Arg() : Arg(one_of(found->second));
  }

  // Mostly what was made last; now and then an input, a tensor twice, or all.
  void draw_outputs() {
    if (random_.one_in(4)) {
      program_.outputs = live_;
      return;
    }
    program_.outputs.push_back(live_.back());
    for (std::int64_t more = random_.between(0, 3); more > 0; --more) program_.outputs.push_back(any_ref());
  }

  // Some have none: what is kept is written to, or an input is, which has a gradient from then on.
  void draw_gradients() {
    const bool wants = random_.one_in(3);
    program_.accumulates = random_.one_in(3);
    program_.has_gradients = true;
    try {
      const Inputs inputs = make_inputs(program_, 0);
      if (wants) fuzz::run(program_, inputs.tensors);
      program_.has_gradients =
          std::ranges::all_of(inputs.tensors, [](const Tensor& t) { return t.is_leaf(); });
    } catch (const Error&) {
      program_.has_gradients = false;
    }
    program_.has_gradients = program_.has_gradients && wants;
  }

  test::Random& random_;
  Program program_;
  std::unique_ptr<Run> run_, other_run_;  // at the first two sizes
  std::vector<Ref> live_;
  std::int64_t pointwise_share_ = 50;
  std::optional<Ref> first_;  // tensor argument of the call that is being drawn
};

}  // namespace pel::fuzz
