#include "compile/capture.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include <fmt/format.h>

#include "pellucid/autograd.h"

#include "autograd/leaf_watch.h"
#include "base/call_stack.h"
#include "base/check.h"
#include "base/source_location.h"
#include "compile/effects.h"
#include "dispatch/op_table.h"
#include "dispatch/registry.h"
#include "tensor/dim_context.h"
#include "tensor/element.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

// The history of an input that is the result of calls outside the function.
class OutsideNode final : public autograd::Node {
 public:
  OutsideNode(const Tensor& result, std::uint32_t input)
      : Node(Site{}, autograd::next_sequence()), input_(input) {
    add_result(result);
  }
  std::string_view name() const override { return "input"; }
  std::vector<Tensor> run(std::vector<Tensor>) override {
    throw CaptureError(
        fmt::format("a gradient flows out of the captured function through input {}, which is the result of "
                    "earlier calls; move those calls into the function, or pass x.detach().requires_grad_()",
                    input_));
  }

 private:
  std::uint32_t input_;
};

// The argument of a call that has a size, or is that size: "weight". Empty if none has it, or several do.
std::string argument_with(const CallFrame& frame, std::int64_t size) {
  const auto has = [&](Dims dims) {
    return std::ranges::any_of(dims, [&](Dim dim) { return !dim.is_symbolic() && dim.value() == size; });
  };
  std::string found;
  for (std::size_t i = 0; i < frame.call->args.size(); ++i) {
    const Value& arg = frame.call->args[i];
    const Tensor* const t = std::get_if<Tensor>(&arg);
    const Dim* const number = std::get_if<Dim>(&arg);
    const auto* const list = std::get_if<std::vector<Dim>>(&arg);
    const bool is_it = (t != nullptr && t->defined() && has(t->sizes())) ||
                       (number != nullptr && has({*number})) || (list != nullptr && has(*list));
    if (!is_it) continue;
    if (!found.empty()) return "";
    found = frame.op->record().schema.args[i].name;
  }
  return found;
}

// "weight of linear at model.cc:12": the outermost op that is under way, and the argument that has the size.
std::string guard_source(const SizeGuard& guard) {
  const UserCall call = innermost_user_call(guard.site);
  const CallFrame* named = nullptr;
  for (const CallFrame& frame : call_stack())
    if (frame.kind == CallFrame::Kind::Call && (named == nullptr || named->op == nullptr)) named = &frame;
  std::string text = short_location(call.site);
  if (named != nullptr) {
    std::string argument;
    if (named->op != nullptr && guard.left.is_symbolic() != guard.right.is_symbolic())
      argument = argument_with(*named, (guard.left.is_symbolic() ? guard.right : guard.left).value());
    text = fmt::format("{}{}{} at {}", argument, argument.empty() ? "" : " of ", named->name, text);
  }
  return call.within.empty() ? text : text + ", " + call.within;
}

class Recorder final : public autograd::LeafWatch {
 public:
  Recorder() {
    graph_.sizes = std::make_shared<SymbolicSizes>();
    graph_.sizes->source_of = guard_source;
  }

  SymbolicSizes& sizes() { return *graph_.sizes; }

  // Returns a tensor like `given` with a symbol for each size and no data. A gradient has its leaf's sizes.
  Tensor add_input(const Tensor& given, std::optional<Dims> leaf_sizes = std::nullopt) {
    const NewDataScope without_data(NewData::None);
    const auto number = static_cast<std::uint32_t>(given_.size());
    InputClass kind{given.dtype(), given.device(), layout_of(given), std::nullopt, gradient_kind(given)};
    for (std::uint32_t j = 0; j < number && !kind.same_as; ++j) {
      if (given.is_same(given_[j])) kind.same_as = j;
      PEL_CHECK(kind.same_as || !given.shares_storage(given_[j]), CaptureError,
                "inputs {} and {} share memory; clone one of them", j, number);
    }
    given_.push_back(given);
    Tensor fake = kind.same_as ? fakes_[*kind.same_as] : make_input(given, kind, number, leaf_sizes);
    graph_.inputs.push_back(kind.same_as ? find(fake) : add(fake, GraphValue::Origin::Input));
    if (!kind.same_as && kind.gradient == InputGradient::Leaf) {
      const autograd::NodePtr leaf(new autograd::LeafNode(fake));
      input_leaves_.emplace(leaf.get(), number);
      autograd::set_edge(fake, {leaf, 0});
    }
    if (!kind.same_as && kind.gradient == InputGradient::Inner)
      autograd::set_edge(fake, {autograd::NodePtr(new OutsideNode(fake, number)), 0});
    fakes_.push_back(fake);
    guards_.inputs.push_back(std::move(kind));
    return fake;
  }

  // Numbers of a call as symbols. A stride is ordered among the others by its example.
  std::vector<Dim> add_numbers(const std::vector<CallNumber>& numbers) {
    constexpr std::int64_t kMaxGeneric = std::int64_t{1} << 40;
    std::vector<Dim> symbols;
    for (std::uint32_t i = 0; i < numbers.size(); ++i) {
      std::int64_t generic = SymbolicSizes::kGenericSize;
      if (numbers[i].kind == CallNumber::Kind::Stride) {
        for (const CallNumber& other : numbers)
          if (other.kind == CallNumber::Kind::Stride && other.example < numbers[i].example &&
              generic < kMaxGeneric)
            generic *= SymbolicSizes::kGenericSize;
      }
      symbols.push_back(graph_.sizes->symbol(numbers[i].example, generic,
                                             numbers[i].kind == CallNumber::Kind::Any
                                                 ? SymbolicSizes::Sign::Any
                                                 : SymbolicSizes::Sign::NeverNegative));
      graph_.symbols.push_back({SymbolSource::What::Number, i, 0, numbers[i].name});
    }
    return symbols;
  }
  Tensor add_described(const DescribedInput& input) {
    PEL_CHECK(input.strides.empty() || input.strides.size() == input.sizes.size(), ValueError,
              "input {} is described with {} sizes and {} strides", fakes_.size(), input.sizes.size(),
              input.strides.size());
    PEL_CHECK(!is_asynchronous(input.device), CaptureError,
              "input {} is described on {}, and calls pass addresses of the host: describe it on the CPU",
              fakes_.size(), to_string(input.device));
    const NewDataScope without_data(NewData::None);
    const Tensor fake = input.strides.empty()
                            ? make_dense(input.sizes, input.dtype, input.device)
                            : make_strided(input.sizes, input.strides, input.dtype, input.device);
    graph_.inputs.push_back(add(fake, GraphValue::Origin::Input));
    fakes_.push_back(fake);
    InputClass& kind = guards_.inputs.emplace_back();
    kind.dtype = input.dtype;
    kind.device = input.device;
    kind.is_described = true;
    return fake;
  }

  void record(const Op& op, BoxedCall& call) {
    if (is_inside_) return call.redispatch(op);  // calls of a recorded op are part of its node
    if (goes_through_parts(op, call)) return call.redispatch(op);
    PEL_CHECK(op.kind() != OpKind::Sync, CaptureError,
              "the op reads data back to the host, and a captured function has no data; call it outside the "
              "function");
    GraphNode node;
    node.op = &op;
    node.site = innermost_user_call(call.site);
    const std::vector<Tensor> held = written_held(op, call);
    for (Value& arg : call.args) node.args.push_back(argument(arg));
    if (draws_random(node)) name_stream(op, call.args);  // leaves the generator to the first run
    is_inside_ = true;
    try {
      call.redispatch(op);
    } catch (...) {
      is_inside_ = false;
      throw;
    }
    is_inside_ = false;
    for (Value& result : call.results) node.results.push_back(this->result(result));
    const Site node_site = node.site;
    graph_.nodes.push_back(std::move(node));
    // A gradient for which one of them is saved detects the write.
    for (const Tensor& t : held) {
      bump_version(t);
      if (t.header()->storage->is_watched.load(std::memory_order_relaxed))
        detail::note_write(t, op, node_site);
    }
  }

  // contiguous and reshape, which return a view or a copy.
  void record_parts(const Op& op, BoxedCall& call) {
    call.redispatch(op);
    const auto memory = [&](const Value& value) {
      return memories_.find(std::get<Tensor>(value).header()->storage);
    };
    const auto from = memory(call.args[0]), to = memory(call.results[0]);
    if (from != to && from != memories_.end() && to != memories_.end())
      copies_.push_back({from->second.number, to->second.number, graph_.nodes.size()});
  }

  Tensor& gradient(autograd::LeafNode& leaf) override {
    const auto [entry, is_new] = entry_of(leaf);
    if (is_new) begin(*entry, leaf);
    return entry->current;
  }
  void set_gradient(autograd::LeafNode& leaf, const Tensor& grad) override {
    entry_of(leaf).first->current = grad;
  }
  void add_leaf(const Tensor&, autograd::LeafNode& leaf) override {
    entry_of(leaf).first->is_outside = false;
  }
  bool is_own(const Tensor& tensor) const override {
    const detail::StorageHeader* const storage = tensor.header()->storage;
    const auto refs = [](const Tensor& t) { return t.header()->refs.load(std::memory_order_relaxed); };
    std::uint32_t mine = 1, views = storage->refs.load(std::memory_order_relaxed);
    if (const auto found = memories_.find(storage); found != memories_.end()) {
      for (const auto& [view, id] : found->second.views) {
        if (view.is_same(tensor)) {
          ++mine;
        } else if (refs(view) == 1) {
          --views;  // only the recorder refers to it
        }
      }
    }
    return refs(tensor) == mine && views == 1;
  }
  void check_is_inside(const Tensor& tensor, std::string_view what) const override {
    const auto found = ids_.find(tensor.header());
    const bool is_inside =
        found != ids_.end() ? graph_[found->second].origin == GraphValue::Origin::Node : !tensor.has_data();
    PEL_CHECK(
        is_inside, CaptureError,
        "the captured function {} {}, which it did not create: that would happen once, not at each call; "
        "do it before the call",
        what, describe(tensor));
  }

  std::optional<Captured> finish(const std::vector<Tensor>& outputs) {
    for (std::size_t i = 0; i < fakes_.size(); ++i) {
      PEL_CHECK(
          gradient_kind(fakes_[i]) == guards_.inputs[i].gradient, CaptureError,
          "a value with a gradient is written into input {}: the gradient would be lost when the function "
          "returns; write the result of detach(), or write inside NoGrad",
          i);
    }
    for (const Tensor& output : outputs) {
      PEL_CHECK(output.defined(), CaptureError, "an output is undefined");
      const bool is_given = output.has_data() || std::ranges::any_of(fakes_, [&](const Tensor& fake) {
                              return fake.is_same(output);
                            });
      PEL_CHECK(
          is_given || !has_open_gradient(output), CaptureError,
          "output {} requires a gradient, which cannot flow back into a captured function; call backward "
          "inside it, return the result of detach(), or call it under NoGrad",
          describe(output));
      Tensor given = output;
      graph_.outputs.push_back(known(given));
    }
    Captured captured;
    for (Leaf& leaf : leaves_) {
      if (!leaf.is_outside) continue;
      const bool was_read = leaf.facts.at_begin != LeafGradient::AtBegin::Unread;
      if (leaf.current.defined() && !(was_read && leaf.first.defined() && leaf.current.is_same(leaf.first))) {
        PEL_CHECK(
            !leaf.current.requires_grad(), CaptureError,
            "the gradient {} of a leaf requires a gradient itself, which cannot flow back into a captured "
            "function; use grad(), or backward without create_graph",
            describe(leaf.current));
        leaf.facts.at_end = LeafGradient::AtEnd::Set;
        graph_.outputs.push_back(known(leaf.current));
      } else if (!leaf.current.defined() && (!was_read || leaf.first.defined())) {
        leaf.facts.at_end = LeafGradient::AtEnd::Cleared;
      }
      captured.gradients.list.push_back(leaf.facts);
    }
    if (is_grad_enabled() || !leaves_.empty()) {
      for (const Tensor& t : graph_.constants) {
        const bool is_leaf = t.requires_grad() && t.is_leaf();
        captured.gradients.held.emplace_back(
            t, is_leaf ? autograd::current_history(t)->edge.node.get() : nullptr);
      }
    }
    if (!graph_.sizes->asks_for_views && tells_copies_from_views()) return std::nullopt;
    graph_.sizes->source_of = nullptr;
    captured.graph = std::move(graph_);
    captured.guards = std::move(guards_);
    return captured;
  }

 private:
  struct Leaf {
    LeafGradient facts;
    autograd::NodePtr node;
    bool is_outside = true;  // an input or captured by reference, not created by the function
    Tensor first, current;
  };
  // A copy by an op that returns a view if strides allow it: storages, and the first node after it.
  struct LayoutCopy {
    std::uint32_t from, to;
    std::size_t made_before;
  };
  struct Memory {
    std::uint32_t number;
    std::vector<std::pair<Tensor, ValueId>> views;  // held, so that no header's address is reused
  };

  Tensor make_input(const Tensor& given, const InputClass& kind, std::uint32_t number,
                    const std::optional<Dims>& leaf_sizes) {
    std::vector<Dim> sizes, strides(kind.layout.order.size());
    for (std::uint32_t axis = 0; axis < strides.size(); ++axis) {
      if (leaf_sizes) {
        sizes.push_back((*leaf_sizes)[axis]);
        continue;
      }
      sizes.push_back(graph_.sizes->symbol(given.sizes()[axis].value()));
      graph_.symbols.push_back({SymbolSource::What::Size, number, axis});
    }
    Dim next = 1;
    std::int64_t generic = SymbolicSizes::kGenericSize;
    const auto& repeated = kind.layout.repeated;
    for (auto axis = kind.layout.order.rbegin(); axis != kind.layout.order.rend(); ++axis) {
      if (kind.layout.is_dense) {
        strides[*axis] = next;
        next *= sizes[*axis];
      } else if (std::find(repeated.begin(), repeated.end(), *axis) == repeated.end()) {
        strides[*axis] = graph_.sizes->symbol(given.strides()[*axis].value(), generic);
        graph_.symbols.push_back({SymbolSource::What::Stride, number, *axis});
        generic *= SymbolicSizes::kGenericSize;
      }
    }
    return make_strided(sizes, strides, kind.dtype, kind.device);
  }

  std::pair<Leaf*, bool> entry_of(autograd::LeafNode& leaf) {
    const auto [found, is_new] = leaf_numbers_.emplace(&leaf, leaves_.size());
    if (!is_new) return {&leaves_[found->second], false};
    Leaf& made = leaves_.emplace_back();
    made.node = leaf.edge_to(0).node;
    const auto input = input_leaves_.find(&leaf);
    if (input != input_leaves_.end()) {
      made.facts.input = input->second;
    } else {
      made.facts.leaf = made.node;
    }
    return {&made, true};
  }
  void begin(Leaf& entry, autograd::LeafNode& leaf) {
    const Tensor given = entry.facts.in(given_).grad;
    entry.facts.at_begin = given.defined() ? LeafGradient::AtBegin::Read : LeafGradient::AtBegin::Undefined;
    if (!given.defined()) return;
    PEL_CHECK(
        !given.requires_grad(), CaptureError,
        "the gradient {} that a leaf has when the function is called requires a gradient itself; clear or "
        "detach it",
        describe(given));
    const Dims real_sizes = entry.facts.in(given_).info(0).sizes;
    PEL_CHECK(to_string(given.sizes()) == to_string(real_sizes), CaptureError,
              "the gradient {} does not have the sizes {} of its leaf", describe(given),
              to_string(real_sizes));
    entry.first = entry.current = add_input(given, Dims(leaf.info(0).sizes));
  }

  static bool has_open_gradient(const Tensor& output) {
    if (!output.requires_grad() || output.is_leaf()) return false;
    return !autograd::current_history(output)->edge.node->is_released();
  }
  // Whether a copy that is a view at other sizes could be told from a view by the results.
  bool tells_copies_from_views() const {
    const std::vector<bool> is_written = written_storages(graph_);
    return std::ranges::any_of(copies_, [&](const LayoutCopy& copy) {
      return (is_written[copy.from] && is_changed_under(copy.from, copy.to, copy.made_before)) ||
             (is_written[copy.to] && is_changed_under(copy.to, copy.from, copy.made_before));
    });
  }
  // Whether `written` is written to from node `first` on, and `other` is read after that.
  bool is_changed_under(std::uint32_t written, std::uint32_t other, std::size_t first) const {
    const auto is_of = [&](std::uint32_t storage) {
      return [this, storage](ValueId id) { return graph_[id].storage == storage; };
    };
    bool is_changed = false, is_seen = false;
    for (std::size_t i = first; i < graph_.nodes.size(); ++i) {
      for (const GraphArg& arg : graph_.nodes[i].args)
        for_values(arg, [&](ValueId id) { is_seen = is_seen || (is_changed && is_of(other)(id)); });
      is_changed = is_changed || std::ranges::any_of(written_values(graph_.nodes[i]), is_of(written));
    }
    const bool is_callers = std::ranges::any_of(graph_.values, [&](const GraphValue& value) {
      return value.storage == other && value.origin != GraphValue::Origin::Node;
    });
    return is_seen || (is_changed && (is_callers || std::ranges::any_of(graph_.outputs, is_of(other))));
  }
  // The gradient of a composite op that is one node of a graph comes from the ops that it calls.
  static bool goes_through_parts(const Op& op, const BoxedCall& call) {
    return op.kind() == OpKind::Composite && is_grad_enabled() &&
           std::ranges::any_of(call.args, [](const Value& arg) {
             const Tensor* t = std::get_if<Tensor>(&arg);
             return t != nullptr && t->defined() && t->requires_grad();
           });
  }
  static std::vector<Tensor> written_held(const Op& op, const BoxedCall& call) {
    std::vector<Tensor> held;
    const auto& schema = op.record().schema.args;
    const auto look = [&](const Tensor& t) {
      if (t.defined() && t.has_data()) held.push_back(t);
    };
    for (std::size_t i = 0; i < call.args.size(); ++i) {
      if (!schema[i].alias.is_written) continue;
      if (const Tensor* t = std::get_if<Tensor>(&call.args[i])) look(*t);
      if (const auto* list = std::get_if<std::vector<Tensor>>(&call.args[i]))
        for (const Tensor& t : *list) look(t);
    }
    return held;
  }

  // A known tensor that is a view of the same elements of the same memory.
  const std::pair<Tensor, ValueId>* find_view(const Tensor& t) const {
    const auto found = memories_.find(t.header()->storage);
    if (found == memories_.end()) return nullptr;
    for (const auto& view : found->second.views) {
      const Tensor& other = view.first;
      if (other.dtype() == t.dtype() && identical(other.sizes(), t.sizes()) &&
          identical(other.strides(), t.strides()) &&
          Dim::identical(other.storage_offset(), t.storage_offset()))
        return &view;
    }
    return nullptr;
  }
  // Returns the value of a tensor. A tensor that was not created here becomes a constant, and `tensor` its
  // fake.
  ValueId known(Tensor& tensor) {
    if (const auto found = ids_.find(tensor.header()); found != ids_.end()) return found->second;
    if (const auto* view = find_view(tensor)) {
      const ValueId id = view->second;
      ids_.emplace(tensor.header(), id);
      memories_.at(tensor.header()->storage).views.emplace_back(tensor, id);
      return id;
    }
    PEL_CHECK(tensor.has_data(), CaptureError, "{} belongs to another capture", describe(tensor));
    graph_.constants.push_back(tensor);
    const Tensor real = tensor;
    Memory& memory = memory_of(real);
    tensor = make_strided(real.sizes(), real.strides(), real.dtype(), real.device());
    memories_.emplace(tensor.header()->storage, Memory{memory.number, {}});
    const ValueId id = add(tensor, GraphValue::Origin::Constant);
    ids_.emplace(real.header(), id);
    memories_.at(real.header()->storage).views.emplace_back(real, id);
    fake_constants_.emplace(id.number, tensor);
    graph_.constant_values.push_back(id);
    return id;
  }
  ValueId take(Tensor& tensor) {
    const ValueId id = known(tensor);
    if (const auto found = fake_constants_.find(id.number); found != fake_constants_.end())
      tensor = found->second;
    return id;
  }
  ValueId find(const Tensor& tensor) const { return ids_.at(tensor.header()); }

  // A plan runs on one device.
  void check_device(const Tensor& tensor) {
    if (tensor.device() == kMeta) return;
    if (!device_) device_ = tensor.device();
    PEL_CHECK(tensor.device() == *device_, CaptureError,
              "expected all tensors of the function on {}, found {} on {}; move it there before the call, or "
              "call the function without compile",
              to_string(*device_), describe(tensor), to_string(tensor.device()));
  }
  ValueId add(const Tensor& tensor, GraphValue::Origin origin) {
    check_device(tensor);
    const ValueId id{static_cast<std::uint32_t>(graph_.values.size())};
    Memory& memory = memory_of(tensor);
    graph_.values.push_back({origin, tensor.dtype(), tensor.device(), tensor.sizes().vec(),
                             tensor.strides().vec(), tensor.is_contiguous(), memory.number});
    ids_.emplace(tensor.header(), id);
    memory.views.emplace_back(tensor, id);
    return id;
  }
  Memory& memory_of(const Tensor& tensor) {
    const auto [found, is_new] = memories_.emplace(tensor.header()->storage, Memory{memory_count_, {}});
    memory_count_ += is_new;
    return found->second;
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
            throw InternalError("a tensor is not a plain argument");
          }
        },
        value);
  }

  Graph graph_;
  Guards guards_;
  std::vector<Tensor> given_, fakes_;  // inputs, then gradients: the caller's, and those without data
  bool is_inside_ = false;
  std::unordered_map<const detail::TensorHeader*, ValueId> ids_;
  std::unordered_map<std::uint32_t, Tensor> fake_constants_;  // of constants
  std::unordered_map<const detail::StorageHeader*, Memory> memories_;
  std::uint32_t memory_count_ = 0;
  std::optional<Device> device_;  // of all tensors with data
  std::vector<LayoutCopy> copies_;
  std::deque<Leaf> leaves_;
  std::unordered_map<const autograd::Node*, std::size_t> leaf_numbers_;
  std::unordered_map<const autograd::Node*, std::uint32_t> input_leaves_;
};

constinit thread_local Recorder* recorder = nullptr;

void handle(const Op& op, BoxedCall& call) {
  PEL_ASSERT(recorder != nullptr, "only a capture turns its key on");
  recorder->record(op, call);
}
void handle_layout(const Op& op, BoxedCall& call) { recorder->record_parts(op, call); }

struct RecorderScope {
  explicit RecorderScope(Recorder& current) {
    PEL_CHECK(recorder == nullptr, CaptureError, "this thread is already capturing a function");
    recorder = &current;
    autograd::thread_leaf_watch() = &current;
  }
  ~RecorderScope() {
    recorder = nullptr;
    autograd::thread_leaf_watch() = nullptr;
  }
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;
};

}  // namespace

bool is_capturing() { return recorder != nullptr; }

void register_capture() {
  Registry::set_fallback(Key::Capture, handle);
  Registry::set_handler(op<"contiguous">(), Key::Capture, handle_layout);
  Registry::set_handler(op<"reshape">(), Key::Capture, handle_layout);
}

// Runs `f` under a recorder. Returns none if the result depends on which copies are views, and
// `asks_for_views` is false.
template <class F>
static std::optional<Captured> capture_once(F&& f, bool asks_for_views) {
  Recorder current;
  current.sizes().asks_for_views = asks_for_views;
  const RecorderScope scope(current);
  const DimContextScope dims(current.sizes());
  const KeyScope on(Key::Capture, Key::Profile);  // a profile records runs, not captures
  const NewDataScope without_data(NewData::None);
  const autograd::SeparateCasts casts;
  std::optional<Captured> captured = current.finish(f(current));
  if (captured) verify(captured->graph);
  return captured;
}

template <class F>
static Captured captured_by(F&& f) {
  wire_runtime();
  std::optional<Captured> captured = capture_once(f, false);
  if (!captured) captured = capture_once(f, true);
  return std::move(*captured);
}

Captured capture(const TensorFunction& f, ArrayView<Tensor> inputs) {
  return captured_by([&](Recorder& current) {
    std::vector<Tensor> fakes;
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      PEL_CHECK(inputs[i].defined() && inputs[i].has_data(), CaptureError, "input {} has no data", i);
      fakes.push_back(current.add_input(inputs[i]));
    }
    return f(fakes);
  });
}

Captured capture(const std::vector<CallNumber>& numbers, const CompiledAhead::Describe& describe,
                 const CompiledAhead::Body& body) {
  return captured_by([&](Recorder& current) {
    const std::vector<Dim> symbols = current.add_numbers(numbers);
    std::vector<Tensor> fakes;
    for (const DescribedInput& input : describe(symbols)) fakes.push_back(current.add_described(input));
    return body(fakes, symbols);
  });
}

}  // namespace pel::compiler
