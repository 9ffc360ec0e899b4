#include "inspect/ops.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_writer.h"
#include "base/wrapped.h"

namespace pel::inspect {
namespace {

constexpr std::string_view kForms[] = {"_", ".out"};

bool is_form(std::string_view name) {
  return std::any_of(std::begin(kForms), std::end(kForms), [&](std::string_view ending) {
    return name.ends_with(ending) && find_op(name.substr(0, name.size() - ending.size())) != nullptr;
  });
}

std::string origin_of(const Op& op) {
  const KernelList kernels = op.kernels(DeviceType::Cpu);
  if (kernels.empty()) return op.kind() == OpKind::Kernel ? "of other ops" : "none";
  if (op.pointwise() != nullptr || op.rows() != nullptr) return "generated";
  return kernels[0].predict != nullptr ? "tile, engine" : "by hand";
}

std::string readable(DTypeSet set) {
  if (set == kAllDTypes) return "all";
  if (set == (kFloating | kIntegral)) return "all but bool";
  if (set == (kIntegral | DTypeSet{kBool})) return "integers, bool";
  return set == kFloating ? "floating" : set == kIntegral ? "integers" : to_string(set);
}

// If the kernels of a list support all dtypes, the op decides.
DTypeSet dtypes_of(const Op& op) {
  DTypeSet set;
  for (const Kernel& kernel : op.kernels(DeviceType::Cpu)) set = set | kernel.computes;
  return set == DTypeSet{} || set == kAllDTypes ? op.dtypes() : set;
}

std::string gradient_of(const Op& op) {
  if (op.gradient() != nullptr) return op.gradient()->is_zero ? "none" : "rule";
  if (op.kind() == OpKind::Composite) return "parts";
  const std::string schema = op.schema();
  const bool takes_tensors = schema.substr(0, schema.find("->")).find("Tensor") != std::string::npos;
  return takes_tensors && op.is_recorded() ? "" : "none";
}

// "add_f32_avx512" becomes "add_*_avx512": the name that the kernels of one family share.
std::string without_dtype(const Kernel& kernel) {
  const std::string mark = "_" + to_string(kernel.computes) + "_";
  std::string text = kernel.name;
  if (const std::size_t at = text.find(mark); at != std::string::npos)
    text.replace(at + 1, mark.size() - 2, "*");
  return text;
}

std::vector<KernelFamily> families_of(const Op& op) {
  std::vector<KernelFamily> families;
  DTypeSet set;
  std::string last;
  for (const Kernel& kernel : op.kernels(DeviceType::Cpu)) {
    const std::string shared = without_dtype(kernel);
    const bool goes_on = !families.empty() && shared == last && shared != kernel.name;
    if (!goes_on) {
      families.push_back({kernel.name, {}, "", kernel.is_relaxed});
      set = {};
    } else {
      families.back().name = shared;
    }
    last = shared;
    const DTypeSet own = kernel.computes == kAllDTypes ? op.dtypes() : kernel.computes;
    set = set | own;
    families.back().members.push_back({kernel.name, readable(own)});
    families.back().dtypes = readable(set);
  }
  return families;
}

std::string gradient_or_dash(const OpFacts& op) { return op.gradient.empty() ? "—" : op.gradient; }

std::string short_forms(const OpFacts& op) {
  std::vector<std::string> endings;
  for (const std::string& form : op.forms) endings.push_back(form.substr(op.name.size()));
  return fmt::format("{}", fmt::join(endings, " "));
}

std::string gradient_sentence(const OpFacts& op) {
  if (op.gradient.empty()) return "unknown; backward throws an error";
  if (op.gradient == "rule") return "a rule in the op's record";
  if (op.gradient == "parts") return "the gradients of the ops it calls";
  return "none: not differentiable";
}

void write_fields(JsonWriter& json, const OpFacts& op) {
  json.field("name", op.name).field("op_schema", op.schema).field("kind", op.kind);
  json.key("forms").begin_array();
  for (const std::string& form : op.forms) json.value(form);
  json.end_array();
  json.field("origin", op.origin).field("dtypes", op.dtypes);
  json.field("gradient", op.gradient.empty() ? "unknown" : op.gradient);
}

}  // namespace

OpFacts facts_of(const Op& op) {
  OpFacts facts;
  facts.name = op.name();
  facts.schema = op.schema();
  facts.kind = name(op.kind());
  if (!is_form(facts.name)) {
    for (const std::string_view ending : kForms)
      if (find_op(facts.name + std::string(ending)) != nullptr)
        facts.forms.push_back(facts.name + std::string(ending));
  }
  facts.origin = origin_of(op);
  facts.dtypes = readable(dtypes_of(op));
  facts.gradient = gradient_of(op);
  if (op.cast_rule() == CastRule::Lower) facts.autocast = "f32 to the lower dtype";
  if (op.cast_rule() == CastRule::Wide) facts.autocast = "f16 and bf16 to f32";
  facts.kernels = families_of(op);
  const KernelList kernels = op.kernels(DeviceType::Cpu);
  facts.is_chosen_by_time = !kernels.empty() && kernels[0].predict != nullptr;
  return facts;
}

std::string OpFacts::text(const Terminal& terminal) const {
  std::string text;
  const auto line = [&](std::string_view what, std::string_view value) {
    text += fmt::format("  {} {}\n", terminal.dim(pad_right(what, 10)), value);
  };
  for (const std::string& part : wrapped(schema, terminal.columns, 4)) text += terminal.bold(part) + "\n";
  text += "\n";
  line("kind", kind);
  if (!forms.empty()) line("forms", fmt::format("{}", fmt::join(forms, ", ")));
  line("dtypes", dtypes);
  line("gradient", gradient_sentence(*this));
  if (!autocast.empty()) line("autocast", autocast);
  if (kernels.empty()) {
    line("kernels", origin != "none"      ? "none of its own: its body launches kernels of other ops"
                    : kind == "composite" ? "none of its own: it calls other ops"
                                          : "none: it launches no kernel");
    return text;
  }
  line("kernels", fmt::format("{}; {}", origin,
                              is_chosen_by_time ? "the supported one with the shortest predicted time runs"
                                                : "the first that supports the call runs"));
  text += "\n";
  int width = 0;
  for (const KernelFamily& family : kernels) width = std::max(width, columns_of(family.name));
  for (const KernelFamily& family : kernels) {
    text += fmt::format("    {}  {}{}\n", terminal.cyan(pad_right(family.name, width)), family.dtypes,
                        family.is_relaxed ? terminal.dim("  only under Determinism::Relaxed") : "");
  }
  if (is_chosen_by_time && name.find("mm") != std::string::npos)
    text += terminal.dim("\n  pellucid explain matmul M N K shows the choice for your sizes\n");
  return text;
}

std::string OpFacts::json() const {
  JsonWriter json("pellucid.ops/1");
  json.key("ops").begin_array().begin_object();
  write_fields(json, *this);
  json.field("autocast", autocast).field("chosen_by", is_chosen_by_time ? "predicted time" : "order");
  json.key("kernels").begin_array();
  for (const KernelFamily& family : kernels) {
    for (const KernelFamily::Member& kernel : family.members) {
      json.begin_object().field("name", kernel.name).field("dtypes", kernel.dtypes);
      json.field("is_relaxed", family.is_relaxed).end_object();
    }
  }
  return json.finish();
}

OpList list_ops(std::string_view pattern) {
  OpList list{std::string(pattern), {}};
  for (const Op* op : all_ops()) {
    if (is_form(op->name()) || op->name().find(pattern) == std::string_view::npos) continue;
    list.ops.push_back(facts_of(*op));
  }
  return list;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const Op* op : all_ops()) names.emplace_back(op->name());
  return names;
}

std::string OpList::text(const Terminal& terminal) const {
  constexpr int kName = 35, kForm = 7, kKind = 10, kOrigin = 14, kDTypes = 21;
  const auto row = [](std::string_view op, std::string_view form, std::string_view kind,
                      std::string_view origin, std::string_view dtypes, std::string_view gradient) {
    return fmt::format("{} {} {} {} {} {}", pad_right(op, kName), pad_right(form, kForm),
                       pad_right(kind, kKind), pad_right(origin, kOrigin), pad_right(dtypes, kDTypes),
                       gradient);
  };
  std::string text = terminal.bold(row("op", "forms", "kind", "kernels", "dtypes", "gradient")) + "\n";
  for (const OpFacts& op : ops)
    text += row(op.name, short_forms(op), op.kind, op.origin, op.dtypes, gradient_or_dash(op)) + "\n";
  text += terminal.dim(fmt::format("{} op{}; pellucid ops NAME shows the whole record of one", ops.size(),
                                   ops.size() == 1 ? "" : "s")) +
          "\n";
  return text;
}

std::string OpList::json() const {
  JsonWriter json("pellucid.ops/1");
  json.key("ops").begin_array();
  for (const OpFacts& op : ops) {
    json.begin_object();
    write_fields(json, op);
    json.end_object();
  }
  return json.finish();
}

}  // namespace pel::inspect
