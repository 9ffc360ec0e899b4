#include "compile/capture.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "pellucid/autograd.h"

#include "base/check.h"
#include "compile/effects.h"
#include "dispatch/registry.h"
#include "tensor/dim_context.h"
#include "tensor/element.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

class Recorder {
 public:
  Recorder() { graph_.sizes = std::make_shared<SymbolicSizes>(); }

  SymbolicSizes& sizes() { return *graph_.sizes; }

  // A tensor like `given`, with a symbol for each size and no data. Called where Capture is on.
  Tensor add_input(const Tensor& given, const InputClass& kind, std::uint32_t number) {
    std::vector<Dim> sizes, strides(kind.layout.order.size());
    for (std::uint32_t axis = 0; axis < strides.size(); ++axis) {
      sizes.push_back(graph_.sizes->symbol(given.sizes()[axis].value()));
      graph_.symbols.push_back({SymbolSource::What::Size, number, axis});
    }
    Dim next = 1;
    std::int64_t place = SymbolicSizes::kGenericSize;
    const auto& repeated = kind.layout.repeated;
    for (auto axis = kind.layout.order.rbegin(); axis != kind.layout.order.rend(); ++axis) {
      if (kind.layout.is_dense) {
        strides[*axis] = next;
        next *= sizes[*axis];
      } else if (std::find(repeated.begin(), repeated.end(), *axis) == repeated.end()) {
        strides[*axis] = graph_.sizes->symbol(given.strides()[*axis].value(), place);
        graph_.symbols.push_back({SymbolSource::What::Stride, number, *axis});
        place *= SymbolicSizes::kGenericSize;
      }
    }
    Tensor fake = make_strided(sizes, strides, kind.dtype, kind.device);
    graph_.inputs.push_back(add(fake, GraphValue::Origin::Input));
    return fake;
  }
  void repeat_input(const Tensor& fake) { graph_.inputs.push_back(find(fake)); }

  void record(const Op& op, BoxedCall& call) {
    if (is_inside_) return call.redispatch(op);  // what a recorded op calls is part of it
    PEL_CHECK(
        op.kind() != OpKind::Sync, CaptureError,
        "it reads data back to the host, and a captured function has none; move it out of the function");
    GraphNode node;
    node.op = &op;
    node.site = call.site;
    for (Value& arg : call.args) node.args.push_back(argument(arg));
    if (draws_random(node)) name_stream(op, call.args);  // the first run draws what the function would have
    is_inside_ = true;
    try {
      call.redispatch(op);
    } catch (...) {
      is_inside_ = false;
      throw;
    }
    is_inside_ = false;
    for (Value& result : call.results) node.results.push_back(this->result(result));
    graph_.nodes.push_back(std::move(node));
  }

  Graph finish(const std::vector<Tensor>& outputs) {
    for (const Tensor& output : outputs) {
      PEL_CHECK(output.defined(), CaptureError, "an output is undefined");
      Tensor given = output;
      graph_.outputs.push_back(known(given));
    }
    return std::move(graph_);
  }

 private:
  // The value of a tensor; one that was not made here is a constant, and its stand-in takes its place.
  ValueId known(Tensor& tensor) {
    if (const auto found = ids_.find(tensor.header()); found != ids_.end()) return found->second;
    PEL_CHECK(tensor.has_data(), CaptureError, "{} is of another capture", describe(tensor));
    PEL_CHECK(!(is_grad_enabled() && tensor.requires_grad()), CaptureError,
              "{} requires a gradient, which a captured function has none of yet; call it under NoGrad",
              describe(tensor));
    graph_.constants.push_back(tensor);
    const Tensor real = tensor;
    tensor = make_strided(real.sizes(), real.strides(), real.dtype(), real.device());
    const ValueId id = add(tensor, GraphValue::Origin::Constant);
    ids_.emplace(real.header(), id);
    stand_ins_.emplace(id.number, tensor);
    graph_.constant_values.push_back(id);
    return id;
  }
  ValueId take(Tensor& tensor) {
    const ValueId id = known(tensor);
    if (const auto found = stand_ins_.find(id.number); found != stand_ins_.end()) tensor = found->second;
    return id;
  }
  ValueId find(const Tensor& tensor) const { return ids_.at(tensor.header()); }

  ValueId add(const Tensor& tensor, GraphValue::Origin origin) {
    const ValueId id{static_cast<std::uint32_t>(graph_.values.size())};
    const auto storage = storages_.emplace(tensor.header()->storage, storages_.size()).first->second;
    graph_.values.push_back({origin, tensor.dtype(), tensor.device(), tensor.sizes().vec(),
                             tensor.strides().vec(), tensor.is_contiguous(),
                             static_cast<std::uint32_t>(storage)});
    ids_.emplace(tensor.header(), id);
    kept_.push_back(tensor);
    return id;
  }

  GraphArg argument(Value& arg) {
    if (Tensor* t = std::get_if<Tensor>(&arg)) {
      if (!t->defined()) return {};
      if (t->header()->is_number)
        return t->has_data() ? load_element(t->dtype(), t->raw_data()) : Scalar(graph_.sizes->number(*t));
      return take(*t);
    }
    if (auto* list = std::get_if<std::vector<Tensor>>(&arg)) {
      std::vector<ValueId> ids;
      for (Tensor& t : *list) ids.push_back(take(t));
      return ids;
    }
    return plain(arg);
  }
  GraphArg result(Value& result) {
    const auto one = [&](const Tensor& t) {
      const auto found = ids_.find(t.header());
      return found != ids_.end() ? found->second : add(t, GraphValue::Origin::Node);
    };
    if (const Tensor* t = std::get_if<Tensor>(&result)) return t->defined() ? GraphArg(one(*t)) : GraphArg();
    if (const auto* list = std::get_if<std::vector<Tensor>>(&result)) {
      std::vector<ValueId> ids;
      for (const Tensor& t : *list) ids.push_back(one(t));
      return ids;
    }
    return plain(result);
  }
  static GraphArg plain(const Value& value) {
    return std::visit(
        [](const auto& v) -> GraphArg {
          if constexpr (std::is_constructible_v<GraphArg, decltype(v)>) {
            return GraphArg(v);
          } else {
            throw InternalError("a tensor is no plain argument");
          }
        },
        value);
  }

  Graph graph_;
  bool is_inside_ = false;
  std::unordered_map<const detail::TensorHeader*, ValueId> ids_;
  std::unordered_map<std::uint32_t, Tensor> stand_ins_;  // of constants
  std::unordered_map<const detail::StorageHeader*, std::size_t> storages_;
  std::vector<Tensor> kept_;  // so that no header's address is given twice
};

constinit thread_local Recorder* recorder = nullptr;

void handle(const Op& op, BoxedCall& call) {
  PEL_ASSERT(recorder != nullptr, "only a capture turns its key on");
  recorder->record(op, call);
}

struct RecorderScope {
  explicit RecorderScope(Recorder& current) {
    PEL_CHECK(recorder == nullptr, CaptureError, "a capture is under way on this thread already");
    recorder = &current;
  }
  ~RecorderScope() { recorder = nullptr; }
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;
};

}  // namespace

bool is_capturing() { return recorder != nullptr; }

void register_capture() { Registry::set_fallback(Key::Capture, handle); }

Captured capture(const TensorFunction& f, ArrayView<Tensor> inputs) {
  wire_runtime();
  Recorder current;
  const RecorderScope scope(current);
  const DimContextScope dims(current.sizes());
  const KeyScope on(Key::Capture, Key::Profile);  // what is recorded of a call is its run
  const NewDataScope without_data(NewData::None);
  Captured captured;
  std::vector<Tensor> fakes;
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    const Tensor& given = inputs[i];
    PEL_CHECK(given.defined() && given.has_data(), CaptureError, "input {} has no data", i);
    PEL_CHECK(!(is_grad_enabled() && given.requires_grad()), CaptureError,
              "input {} requires a gradient, which a captured function has none of yet; call it under NoGrad",
              i);
    InputClass kind{given.dtype(), given.device(), layout_of(given), std::nullopt};
    for (std::uint32_t j = 0; j < i && !kind.same_as; ++j) {
      if (given.is_same(inputs[j])) kind.same_as = j;
      PEL_CHECK(kind.same_as || !given.shares_storage(inputs[j]), CaptureError,
                "inputs {} and {} are views of one memory; clone one of them", j, i);
    }
    if (kind.same_as) {
      fakes.push_back(fakes[*kind.same_as]);
      current.repeat_input(fakes.back());
    } else {
      fakes.push_back(current.add_input(given, kind, i));
    }
    captured.guards.inputs.push_back(std::move(kind));
  }
  captured.graph = current.finish(f(fakes));
  verify(captured.graph);
  return captured;
}

}  // namespace pel::compiler
