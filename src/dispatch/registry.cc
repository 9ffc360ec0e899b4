#include "dispatch/registry.h"

#include <deque>
#include <memory>
#include <mutex>

#include "base/check.h"
#include "base/environment.h"
#include "dispatch/op_table.h"
#include "dispatch/record.h"

namespace pel {

constinit std::array<Op, kFormCount * kOpNames.size()> builtin_ops{};

namespace detail {
constinit thread_local ThreadKeys thread_keys;
constinit std::atomic<std::uint16_t> process_keys{kNotWired};
}  // namespace detail

namespace {

// Never destroyed, like the ops: calls may come from destructors of static objects.
struct UserOps {
  std::mutex mutex;
  std::deque<Op> ops;
};
UserOps& user_ops() {
  static UserOps* const instance = new UserOps;
  return *instance;
}

constinit std::array<std::atomic<Handler>, kKeyCount> fallbacks{};

Op* find_in(auto& ops, std::string_view name) {
  for (Op& op : ops) {
    if (op.name() == name) return &op;
  }
  return nullptr;
}

void check_types(const Schema& schema, const std::vector<ArgType>& body) {
  PEL_CHECK(schema.args.size() == body.size(), RegistryError,
            "{}: the schema has {} arguments, the body takes {}", schema.op_name, schema.args.size(),
            body.size());
  for (std::size_t i = 0; i < body.size(); ++i) {
    PEL_CHECK(schema.args[i].type == body[i], RegistryError,
              "{}: argument {} is {} in the schema and {} in the body", schema.op_name, schema.args[i].name,
              to_string(schema.args[i].type), to_string(body[i]));
  }
}

}  // namespace

void Registry::fill(Op& op, OpDef def, bool is_builtin) {
  auto record = std::make_unique<OpRecord>();
  record->schema = parse_schema(def.schema);
  record->is_builtin = is_builtin;
  record->own_kernels = std::move(def.kernel_lists);
  record->pointwise = std::move(def.pointwise);
  record->rows = std::move(def.rows);
  record->gradient = std::move(def.gradient);
  record->sample_calls = std::move(def.sample_calls);
  record->composition = std::move(def.composition);
  record->wait_reason = std::move(def.wait_reason);
  if (record->gradient) record->vjp_rules = record->gradient->resolve(record->schema);
  check_types(record->schema, def.arg_types);
  op.name_ = record->schema.op_name.c_str();
  op.body_ = def.body;
  op.kind_ = def.kind;
  op.dtypes_ = def.dtype_set;
  op.repeats_writes_ = def.repeats_writes;
  op.cast_rule_ = def.cast_rule;
  op.is_one_call_ = def.is_one_call;
  op.communicates_ = def.has_communication;
  for (int device = 0; device < kDeviceTypeCount; ++device) op.kernels_[device] = record->own_kernels[device];
  op.pointwise_ = record->pointwise.get();
  op.rows_ = record->rows.get();
  op.gradient_ = record->gradient.get();
  const bool has_gradient = record->gradient && !record->gradient->is_zero;
  op.is_recorded_ =
      record->gradient ? has_gradient : def.kind == OpKind::Kernel || def.kind == OpKind::Metadata;
  op.record_ = record.release();  // lives as long as the process
}

void Registry::register_builtins() {
  for (std::size_t i = 0; i < kOpNames.size(); ++i) {
    OpDef def = kOpDefines[i]();
    std::vector<OpDef> defs = std::move(def.forms);
    defs.insert(defs.begin(), std::move(def));
    for (OpDef& form : defs) {
      const std::size_t at = find_op_index(parse_schema(form.schema).op_name);
      PEL_ASSERT(at / kFormCount == i, "an op's file has the op's name");
      fill(builtin_ops[at], std::move(form), true);
    }
  }
}

const Op& Registry::register_user(OpDef def) {
  const std::string name = parse_schema(def.schema).op_name;
  PEL_CHECK(name.find("::") != std::string::npos, RegistryError,
            "{}: an op from outside the library needs a namespace, as in my::{}", name, name);
  UserOps& user = user_ops();
  std::lock_guard lock(user.mutex);
  PEL_CHECK(find_in(user.ops, name) == nullptr, RegistryError, "{}: an op of this name is registered already",
            name);
  Op& op = user.ops.emplace_back();
  try {
    fill(op, std::move(def), false);
  } catch (...) {
    user.ops.pop_back();
    throw;
  }
  return op;
}

void Registry::register_backend(DeviceType device, ArrayView<BackendKernels> lists) {
  for (const BackendKernels& list : lists) {
    const std::size_t at = find_op_index(list.op);
    PEL_ASSERT(at % kFormCount == 0 && at < builtin_ops.size(), "a kernel list names an op that exists");
    for (std::size_t form = at; form < at + kFormCount; ++form)
      builtin_ops[form].kernels_[static_cast<int>(device)] = list.kernels;
  }
}

void Registry::set_handler(const Op& op, Key key, Handler handler) {
  const_cast<Op&>(op).handlers_[static_cast<int>(key)].store(handler, std::memory_order_release);
}
void Registry::set_fallback(Key key, Handler handler) {
  fallbacks[static_cast<int>(key)].store(handler, std::memory_order_release);
}
Handler Registry::fallback(Key key) {
  return fallbacks[static_cast<int>(key)].load(std::memory_order_acquire);
}

void wire_runtime() {
  // std::call_once would read a thread_local of libstdc++ by the model of our own, which fails in a library
  // that is loaded at run time.
  [[maybe_unused]] static const bool is_wired = [] {
    register_everything();
    const auto logged = log_wants("dispatch") ? detail::kLogged : std::uint16_t{0};
    // Bit by bit: a Profile may have begun before.
    detail::process_keys.fetch_or(logged, std::memory_order_release);
    detail::process_keys.fetch_and(static_cast<std::uint16_t>(~detail::kNotWired), std::memory_order_release);
    return true;
  }();
}

const Op& register_op(OpDef def) {
  wire_runtime();
  return Registry::register_user(std::move(def));
}

const Op* find_op(std::string_view name) {
  wire_runtime();
  if (const Op* builtin = find_in(builtin_ops, name)) return builtin;
  UserOps& user = user_ops();
  std::lock_guard lock(user.mutex);
  return find_in(user.ops, name);
}

std::vector<const Op*> all_ops() {
  wire_runtime();
  std::vector<const Op*> ops;
  for (const Op& op : builtin_ops) {
    if (op.is_registered()) ops.push_back(&op);
  }
  UserOps& user = user_ops();
  std::lock_guard lock(user.mutex);
  for (const Op& op : user.ops) ops.push_back(&op);
  return ops;
}

const Schema& Op::signature() const { return record_->schema; }
const Composition* Op::composition() const { return record_->composition.get(); }
std::string Op::schema() const { return record_ ? to_string(record_->schema) : "?"; }

std::string_view name(Key key) {
  constexpr std::string_view kNames[kKeyCount] = {"Backend",  "Capture",  "Batch",
                                                  "Autograd", "Autocast", "Profile"};
  return kNames[static_cast<int>(key)];
}

std::string_view name(OpKind kind) {
  constexpr std::string_view kNames[] = {"metadata", "kernel", "composite", "sync"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace pel
