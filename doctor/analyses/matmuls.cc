// Matmuls that do not use tensor cores, or whose sizes do not fit them.
#include <fmt/format.h>

#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/op_cost.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

struct MatmulSum {
  std::int64_t count = 0;
  SaturatingSum ns;
  EventId example = kNoEvent;
};
struct MatmulKind {
  NameId name;
  std::string sizes, type, problem;
  auto operator<=>(const MatmulKind&) const = default;
};

}  // namespace

std::optional<Finding> analyse_matmuls(const Examined& examined) {
  const Model& model = examined.model;
  if (model.is_synchronous()) return std::nullopt;  // a CPU's units are others
  const EventTable& events = model.events();
  std::map<MatmulKind, MatmulSum> kinds;
  std::int64_t matmuls = 0, without = 0, unfit = 0;
  SaturatingSum matmuls_ns, without_ns, misaligned_ns;
  for (const Activity& activity : model.activities()) {
    if (events.category(activity.event) != Category::Kernel) continue;
    const KernelName& kernel = examined.kernels.of(activity.event);
    if (*kernel.family != KernelFamily::Gemm && *kernel.family != KernelFamily::Convolution) continue;
    const std::int64_t ns = activity.end_ns - activity.begin_ns;
    ++matmuls;
    matmuls_ns += ns;
    const auto sizes = *kernel.family == KernelFamily::Gemm ? matmul_of(model, model.op_of_activity(activity))
                                                            : std::nullopt;
    std::string problem;
    if (kernel.tensor_cores && !*kernel.tensor_cores) {
      problem = kernel.tensor_cores.certainty == Certainty::Guessed ? "no tensor cores (guessed)"
                                                                    : "no tensor cores";
      ++without;
      without_ns += ns;
    }
    if (const auto misalignment = sizes ? misalignment_of(*sizes) : std::nullopt) {
      problem += fmt::format("{}{}: not a multiple of {}", problem.empty() ? "" : "; ", misalignment->axes,
                             misalignment->multiple);
      ++unfit;
      misaligned_ns += ns;
    }
    if (problem.empty()) continue;
    const std::string shape = !sizes ? std::string()
                              : sizes->batch == 1
                                  ? fmt::format("{}x{}x{}", sizes->m, sizes->n, sizes->k)
                                  : fmt::format("{} of {}x{}x{}", sizes->batch, sizes->m, sizes->n, sizes->k);
    const std::string type(sizes ? dtype_of_type(sizes->type) : kernel.a ? std::string_view(*kernel.a) : "");
    MatmulSum& sum = kinds[{events.name_id(activity.event), shape, type, problem}];
    ++sum.count;
    sum.ns += ns;
    sum.example = activity.event;
  }
  if (kinds.empty()) return std::nullopt;
  Finding finding{.key = "matmuls", .title = "Matmuls that could be faster"};
  finding.facts = {
      {"matmuls", "matmuls and convolutions", matmuls, Unit::Count},
      {"without_tensor_cores", "without tensor cores", without, Unit::Count},
      {"without_tensor_cores_share", "of their time", percent_of(without_ns, matmuls_ns), Unit::Percent},
      {"misaligned", "with misaligned sizes", unfit, Unit::Count},
      {"misaligned_share", "of their time", percent_of(misaligned_ns, matmuls_ns), Unit::Percent},
  };
  if (without_ns > 0)
    finding.sentences.emplace_back(
        "float32 matmuls use tensor cores only with TF32: call torch.set_float32_matmul_precision('high'), "
        "or "
        "run them in bf16.");
  if (misaligned_ns > 0)
    finding.sentences.emplace_back(
        "Sizes that are multiples of 8 (16-bit) or 16 (8-bit) use the widest loads: pad the vocabulary and "
        "the "
        "heads.");
  Table table{.key = "kinds",
              .title = "by time",
              .columns = {{"time_ns", "time", Unit::Nanoseconds},
                          {"count", "runs", Unit::Count},
                          {"sizes", "m x n x k"},
                          {"type", "type"},
                          {"problem", "why"},
                          {"title", "kernel", Unit::None, true},
                          {"name", ""}},
              .rows = {}};
  for (const auto& [kind, sum] : by_largest(kinds, [](const MatmulSum& s) { return s.ns; }))
    table.rows.push_back({sum->ns, sum->count, kind->sizes.empty() ? Value() : Value(kind->sizes), kind->type,
                          kind->problem, examined.kernels.of(sum->example).title,
                          std::string(events.names[kind->name])});
  finding.tables.push_back(std::move(table));
  return finding;
}

}  // namespace pel::doctor
