// The Autograd key: records a node for each call whose arguments require a gradient.
#include "dispatch/record.h"

#include "pellucid/extend/op.h"
#include "pellucid/ops.h"

#include "autograd/leaf_watch.h"
#include "autograd/node.h"
#include "autograd/register.h"
#include "autograd/saved.h"
#include "base/call_stack.h"
#include "base/check.h"
#include "base/small_vector.h"
#include "dispatch/arguments.h"
#include "dispatch/registry.h"
#include "dispatch/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace autograd {

// The node of an op's call: the values that its rules save, and which edges belong to which argument.
class OpNode final : public Node {
 public:
  OpNode(const Op& op, const Site& site) : Node(site, next_sequence()), op_(op) {}

  std::string_view name() const override { return op_.name(); }
  std::vector<Tensor> run(std::vector<Tensor> grads) override;
  void release_saved() override {
    saved_.clear();
    Node::release_saved();
  }

  const Op& op() const { return op_; }
  const Schema& schema() const { return op_.record().schema; }
  const std::vector<VjpRule>& rules() const { return op_.record().vjp_rules; }
  // First edge of an argument, and how many it has.
  std::size_t first_edge(std::size_t arg) const { return first_edges_[arg]; }
  std::size_t edge_count(std::size_t arg) const { return first_edges_[arg + 1] - first_edges_[arg]; }
  // Of the argument at an edge; null if it requires no gradient and is not in a list.
  const ResultInfo* argument_info(std::size_t edge) const;

  bool add_edges(ArrayView<detail::ArgRef> args);
  void save_arguments(ArrayView<detail::ArgRef> args);
  void save_results(ArrayView<TensorRef> results);

 private:
  struct Saved {
    int of;  // the argument, or ~ the result
    SavedValue value;
  };
  bool is_wanted(const VjpRule& rule) const;
  bool is_written(const Tensor& t, ArrayView<detail::ArgRef> args) const;
  bool has(int of) const;
  const Op& op_;
  SmallVector<std::uint16_t, 12> first_edges_;
  std::vector<Saved> saved_;
  std::vector<std::pair<std::size_t, ResultInfo>>
      constants_;  // in lists, by their edges: offsets depend on them
};

}  // namespace autograd

struct Vjp::Source {
  const autograd::OpNode& node;
  const VjpRule& rule;
};

namespace autograd {

bool OpNode::add_edges(ArrayView<detail::ArgRef> args) {
  bool any = false;
  edges().reserve(args.size());
  first_edges_.push_back(0);
  for (const detail::ArgRef& arg : args) {
    for (const Tensor& t : arg.tensors) {
      const History* history = t.defined() ? current_history(t) : nullptr;
      if (!history && t.defined() && arg.tensors.size() > 1)
        constants_.emplace_back(edges().size(), info_of(t));
      edges().push_back(history ? history->edge : Edge{});
      any = any || history;
    }
    first_edges_.push_back(static_cast<std::uint16_t>(edges().size()));
  }
  return any;
}

namespace {
// The rules of a call that makes views read layouts: neither the memory nor its version is saved.
Value layout_alone(Value value) {
  if (auto* t = std::get_if<Tensor>(&value); t != nullptr && t->defined()) {
    const Tensor meta = make_strided(t->sizes(), t->strides(), t->dtype(), kMeta);
    return make_view(meta, t->sizes(), t->strides(), t->storage_offset());
  }
  return value;
}
}  // namespace

bool OpNode::is_written(const Tensor& t, ArrayView<detail::ArgRef> args) const {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!schema().args[i].alias.is_written) continue;
    for (const Tensor& written : args[i].tensors) {
      if (written.is_same(t)) return true;
    }
  }
  return false;
}

const ResultInfo* OpNode::argument_info(std::size_t edge) const {
  const Edge& to = edges()[edge];
  if (to.node) return &to.node->info(to.output);
  for (const auto& [at, info] : constants_) {
    if (at == edge) return &info;
  }
  return nullptr;
}

bool OpNode::is_wanted(const VjpRule& rule) const {
  if (!rule.run) return false;
  for (const int arg : rule.of) {
    const auto at = static_cast<std::size_t>(arg);
    for (std::size_t e = first_edge(at); e < first_edges_[at + 1]; ++e) {
      if (edges()[e].node) return true;
    }
  }
  return false;
}

bool OpNode::has(int of) const {
  for (const Saved& each : saved_) {
    if (each.of == of) return true;
  }
  return false;
}

void OpNode::save_arguments(ArrayView<detail::ArgRef> args) {
  for (const VjpRule& rule : rules()) {
    if (rule.keeps.empty() || !is_wanted(rule)) continue;
    if (saved_.empty()) saved_.reserve(rule.keeps.size());
    for (const int of : rule.keeps) {
      if (of < 0 || has(of)) continue;
      const detail::ArgRef& arg = args[static_cast<std::size_t>(of)];
      Value value = arg.box(arg.value);
      if (op_.kind() == OpKind::Metadata) value = layout_alone(std::move(value));
      // What the call overwrites is copied first.
      if (const Tensor* t = std::get_if<Tensor>(&value); t != nullptr && is_written(*t, args)) {
        saved_.push_back({of, SavedValue::copy(*t)});
        continue;
      }
      saved_.push_back({of, SavedValue::argument(std::move(value))});
    }
  }
}

void OpNode::save_results(ArrayView<TensorRef> results) {
  for (const VjpRule& rule : rules()) {
    if (rule.keeps.empty() || !is_wanted(rule)) continue;
    for (const int of : rule.keeps) {
      if (of >= 0 || has(of)) continue;
      const auto number = static_cast<std::size_t>(~of);
      saved_.push_back({of, SavedValue::result(*results[number].tensor, static_cast<std::uint32_t>(number))});
    }
  }
}

std::vector<Tensor> OpNode::run(std::vector<Tensor> grads) {
  check_not_released();
  std::optional<detail::DeviceCall> line;  // errors of collectives name the forward call
  if (op_.communicates()) line.emplace(site());
  std::vector<Tensor> result(edges().size());
  std::vector<bool> is_served(edges().size(), false);
  for (const VjpRule& rule : rules()) {
    for (const int arg : rule.of) {
      const auto at = static_cast<std::size_t>(arg);
      for (std::size_t e = first_edge(at); e < first_edges_[at + 1]; ++e) is_served[e] = true;
    }
    if (!is_wanted(rule)) continue;
    std::vector<Value> saved;
    for (const int of : rule.keeps) {
      for (const Saved& each : saved_) {
        if (each.of != of) continue;
        const std::string what = of >= 0 ? schema().args[static_cast<std::size_t>(of)].name : "result";
        saved.push_back(each.value.get(*this, what));
      }
    }
    const Vjp::Source source{*this, rule};
    std::vector<Tensor> found = rule.run(Vjp(source, saved, grads));
    std::size_t next = 0;
    for (const int arg : rule.of) {
      const auto at = static_cast<std::size_t>(arg);
      for (std::size_t e = first_edge(at); e < first_edges_[at + 1]; ++e, ++next) {
        PEL_CHECK(next < found.size(), InternalError, "the gradient of {} returns {} tensors, too few",
                  name(), found.size());
        if (edges()[e].node) result[e] = std::move(found[next]);
      }
      // An optional argument without a value still has its position among the results of the formula.
      if (edge_count(at) == 0 && !schema().args[at].type.is_list) ++next;
    }
  }
  for (std::size_t e = 0; e < result.size(); ++e) {
    PEL_CHECK(is_served[e] || !edges()[e].node, ValueError,
              "{} at {}:{} does not define a gradient for one of its arguments; detach the argument, or use "
              "other ops",
              name(), site().file_name(), site().line());
  }
  return result;
}

namespace {

bool is_out_form(const Schema& schema) { return schema.op_name.ends_with(".out"); }

// The argument that a result is a view of; -1: none.
int viewed_argument(const Schema& schema, std::size_t result) {
  const AliasMark mark = schema.results[std::min(result, schema.results.size() - 1)].alias;
  if (mark.set == '\0' || mark.is_written) return -1;
  for (std::size_t i = 0; i < schema.args.size(); ++i) {
    if (schema.args[i].alias.set == mark.set) return static_cast<int>(i);
  }
  return -1;
}

void handle(const Op& op, BoxedCall& call) {
  if (!op.is_recorded()) return call.redispatch(op);
  const std::vector<detail::ArgRef> refs = arg_refs(call.args);
  detail::Recording recording(op, user_site(call.site), refs);
  {
    const KeyScope below({}, Key::Autograd);
    call.redispatch(op);
  }
  std::vector<TensorRef> results;
  for (const Value& value : call.results) {
    if (const Tensor* t = std::get_if<Tensor>(&value)) {
      results.push_back(*t);
    } else if (const auto* list = std::get_if<std::vector<Tensor>>(&value)) {
      results.insert(results.end(), list->begin(), list->end());
    }
  }
  recording.finish(results);
}

}  // namespace

void register_autograd() { Registry::set_fallback(Key::Autograd, handle); }

}  // namespace autograd

namespace detail {

using autograd::OpNode;

Recording::Recording(const Op& op, const Site& site, ArrayView<ArgRef> args)
    : op_(op), args_(args), node_(nullptr) {
  auto node = std::make_unique<OpNode>(op, site);
  if (!node->add_edges(args)) return;
  const Schema& schema = op.record().schema;
  PEL_CHECK(
      !op.communicates() || autograd::thread_save_hook() == nullptr, ValueError,
      "a region under checkpoint() runs again in backward, and other ranks would have to make this call "
      "again at the same moment; make it outside of the region");
  PEL_CHECK(!autograd::is_out_form(schema), ValueError,
            "an argument requires a gradient, but results written to `out` cannot have one; use the op "
            "without `out`, or "
            "NoGrad");
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!schema.args[i].alias.is_written) continue;
    for (const Tensor& t : args[i].tensors) {
      PEL_CHECK(
          autograd::thread_leaf_watch() == nullptr || !t.has_data(), CaptureError,
          "a value with a gradient is written into {}, which belongs to the captured function: the gradient "
          "would be lost; write the result of detach(), or write inside NoGrad",
          describe(t));
      const autograd::History* history = autograd::current_history(t);
      const Tensor base = history && history->base.defined() ? history->base : t;
      const autograd::History* root = autograd::history_of(base);
      PEL_CHECK(!root || !root->edge.node || !root->edge.node->is_leaf(), ValueError,
                "{} is a leaf that requires a gradient: a write to it would not be part of its gradient; "
                "write inside NoGrad, or to a clone",
                describe(t));
    }
  }
  node->save_arguments(args);
  note_sequence(node->sequence());
  node_ = node.release();
}

Recording::~Recording() { autograd::NodePtr dropped(static_cast<OpNode*>(node_)); }

void Recording::finish(ArrayView<TensorRef> results) {
  if (node_ == nullptr || results.empty()) return;
  autograd::NodePtr node(static_cast<OpNode*>(std::exchange(node_, nullptr)));
  const Schema& schema = op_.record().schema;
  for (const TensorRef& result : results) node->add_result(*result.tensor);
  static_cast<OpNode&>(*node).save_results(results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Tensor& result = *results[i].tensor;
    if (!result.defined() || !is_floating(result.dtype())) continue;
    const std::size_t at = std::min(i, schema.results.size() - 1);
    if (schema.results[at].alias.is_written) {
      autograd::rewrite_history(result, node);
      continue;
    }
    const int viewed = autograd::viewed_argument(schema, i);
    if (viewed >= 0) {
      const ArrayView<Tensor> of = args_[static_cast<std::size_t>(viewed)].tensors;
      autograd::set_view_edge(result, of[std::min(i, of.size() - 1)],  // of a list, one each
                              node->edge_to(static_cast<std::uint32_t>(i)));
    } else {
      autograd::set_edge(result, node->edge_to(static_cast<std::uint32_t>(i)));
    }
  }
}

}  // namespace detail

const Tensor& Vjp::grad(std::size_t result) const {
  Tensor& grad = grads_[result];
  if (!grad.defined()) {
    const autograd::ResultInfo& info = source_->node.info(result);
    grad = zeros(info.sizes, {info.dtype, info.device});
  }
  return grad;
}

const Value& Vjp::value(std::string_view name) const {
  const Schema& schema = source_->node.schema();
  int of = find_argument(schema, name);
  if (of < 0) of = ~find_result(schema, name);
  for (std::size_t i = 0; i < source_->rule.keeps.size(); ++i) {
    if (source_->rule.keeps[i] == of) return kept_[i];
  }
  throw InternalError(
      fmt::format("the gradient of {} reads {}, which it does not save", schema.op_name, name));
}

const Tensor& Vjp::operator[](std::string_view name) const {
  return detail::get<Tensor>(value(name), detail::Boxing<Tensor>::type);
}

namespace {
const autograd::ResultInfo& info_at(const autograd::OpNode& node, std::string_view name, std::size_t at) {
  const int arg = find_argument(node.schema(), name);
  PEL_ASSERT(arg >= 0, "a gradient asks for an argument of its op");
  const autograd::ResultInfo* info = node.argument_info(node.first_edge(static_cast<std::size_t>(arg)) + at);
  PEL_CHECK(info, InternalError, "the sizes of {} are not known: its gradient is not computed", name);
  return *info;
}
}  // namespace

Dims Vjp::sizes(std::string_view name, std::size_t at) const {
  return info_at(source_->node, name, at).sizes;
}
Dims Vjp::strides(std::string_view name, std::size_t at) const {
  return info_at(source_->node, name, at).strides;
}
DType Vjp::dtype(std::string_view name, std::size_t at) const {
  return info_at(source_->node, name, at).dtype;
}
Device Vjp::device(std::string_view name, std::size_t at) const {
  return info_at(source_->node, name, at).device;
}

std::size_t Vjp::count(std::string_view name) const {
  const int arg = find_argument(source_->node.schema(), name);
  return source_->node.edge_count(static_cast<std::size_t>(arg));
}

bool Vjp::wants(std::string_view name, std::size_t at) const {
  const int arg = find_argument(source_->node.schema(), name);
  PEL_ASSERT(arg >= 0, "a gradient asks for an argument of its op");
  const auto index = static_cast<std::size_t>(arg);
  return at < source_->node.edge_count(index) &&
         source_->node.edges()[source_->node.first_edge(index) + at].node;
}

}  // namespace pel
