// docs/ops.md: every op of the registry, and which of PyTorch's core ops are among them.
#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "pellucid/extend/op.h"

#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"
#include "dispatch/record.h"
#include "dispatch/rows.h"
#include "support/page.h"

namespace pel {
namespace {

constexpr std::string_view kIntroduction = R"(# Ops

<!-- Written by PELLUCID_WRITE_DOCS=1 ./dev test OpsPage, which without it fails where the page is out of date. -->

Names and semantics are PyTorch's: [pytorch-names.md](pytorch-names.md) lists names that differ, [tensors.md](tensors.md)
results that differ on purpose. Errors in the last place are in [numerics.md](numerics.md). The headers under
`include/pellucid/ops/` say what each op does; ops for the library's own use are in `internal.h`.
)";

constexpr std::string_view kAboutCore = R"(
## The core set of PyTorch

PyTorch 2.15 tags {} names as *core*: what its compiler reduces models to. {} of them are here.
)";

constexpr std::string_view kAboutOps = R"(
## All ops

{} ops. The kernels of *generated* ones come from the formula in the op's file; *tile, engine* ones are chosen for each
call, from generated tiles and an engine; *by hand* means C++ in `src/backends/cpu/`; *composite* ones call other ops;
*metadata* launches nothing; *reads back* waits for the result to know a size or a number. `_` writes into the first
tensor, `.out` into one that is given. Dtypes are those that are computed in: `add` of i32 and f16 computes in f16, and
`exp` of i32 in f32.

*gradient*: *rule* stands in the op's file and is tested against differences; *parts* has that of the ops it calls;
*none* means that results are whole numbers or steps, or made of no tensor. *of X* is a part of X's gradient; with *rule* it
has a gradient itself. A dash: none is known, and backward says so.

*ULP* is the error that the record promises, in units of the last place of f32, then of f64 where that differs; f16 and
bf16 are computed in f32 and rounded once more. *+ fold* stands where elements of a row are added: at most 37 roundings
for every 1024 of them, of the size of the terms. *exact* is the nearest number or the number itself. Ops without a
figure move elements, call ops that have one, or are held against other code in the tests.

| op | forms | kernels | dtypes | gradient | ULP |
|---|---|---|---|---|---|
)";

// Names of the core set that are not here, and why.
const std::map<std::string, std::string, std::less<>> kReasons = {
    {"_fft_c2r", "there is no complex dtype"},
    {"_fft_r2c", "there is no complex dtype"},
};

std::map<std::string, std::string, std::less<>> core_names() {
  std::istringstream file(test::read_file(PELLUCID_SOURCE_DIR "/tests/dispatch/core_aten.txt"));
  std::map<std::string, std::string, std::less<>> names;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, here;
    words >> name >> here;
    names[name] = here.empty() ? name : here;
  }
  return names;
}

std::string_view kernels_of(const Op& op) {
  switch (op.kind()) {
    case OpKind::Metadata:
      return "metadata";
    case OpKind::Composite:
      return "composite";
    case OpKind::Sync:
      return "reads back";
    case OpKind::Kernel:
      break;
  }
  if (op.pointwise() != nullptr || op.rows() != nullptr) return "generated";
  const KernelList kernels = op.kernels(DeviceType::Cpu);
  return !kernels.empty() && kernels[0].predict != nullptr ? "tile, engine" : "by hand";
}

std::string gradient_of(const Op& op) {
  const bool takes_tensors = std::ranges::any_of(
      op.record().schema.args, [](const SchemaArg& arg) { return arg.type.base == ArgType::Base::Tensor; });
  std::string text = op.gradient() != nullptr              ? op.gradient()->is_zero ? "none" : "rule"
                     : op.kind() == OpKind::Composite      ? "parts"
                     : !takes_tensors || !op.is_recorded() ? "none"
                                                           : "—";
  constexpr std::string_view kEnding = "_backward";
  if (op.name().ends_with(kEnding)) {
    const std::string of = fmt::format("of `{}`", op.name().substr(0, op.name().size() - kEnding.size()));
    text = text == "—" ? of : of + ", " + text;
  }
  return text;
}

std::string ulp_of(const Op& op) {
  const auto figure = [](double ulp) { return ulp <= 0.5 ? std::string("exact") : fmt::format("{}", ulp); };
  if (op.pointwise() != nullptr) {
    if (!op.pointwise()->computes.contains(kF32)) return "exact";
    double f32 = 0, f64 = 0;
    for (const Formula& formula : op.pointwise()->formulas) {
      f32 = std::max(f32, formula.max_ulp);
      f64 = std::max(f64, formula.max_ulp_f64);
    }
    return f32 == f64 ? figure(f32) : figure(f32) + ", " + figure(f64);
  }
  if (op.rows() == nullptr) return "—";
  double most = 0;
  bool adds = false;
  for (const RowProgram& program : op.rows()->programs) {
    most = std::max(most, program.max_ulp);
    for (const RowFold& fold : program.folds)
      adds = adds || fold.kind == FoldKind::Sum || fold.kind == FoldKind::Product;
  }
  return figure(most) + (most > 0 && adds ? " + fold" : "");
}

std::string dtypes_of(const Op& op) {
  DTypeSet set = op.dtypes();
  if (op.pointwise() != nullptr) set = op.pointwise()->computes;
  if (op.rows() != nullptr) {
    set = {};
    for (const RowProgram& program : op.rows()->programs) set = set | program.computes;
  }
  if (set == kAllDTypes) return "all";
  if (set == (kFloating | kIntegral)) return "all but bool";
  if (set == (kIntegral | DTypeSet{kBool})) return "integers, bool";
  return set == kFloating ? "floating" : set == kIntegral ? "integers" : to_string(set);
}

std::string core_section(const std::map<std::string, const Op*, std::less<>>& ops) {
  std::vector<std::string> here, elsewhere, missing, refused;
  const auto names = core_names();
  for (const auto& [name, ours] : names) {
    if (name == ours && ops.contains(name)) {
      here.push_back("`" + name + "`");
    } else if (name != ours && (ops.contains(ours) || ours.starts_with("Tensor::"))) {
      elsewhere.push_back(fmt::format("`{}` is `{}`", name, ours));
    } else if (const auto reason = kReasons.find(name); reason != kReasons.end()) {
      refused.push_back(fmt::format("`{}`: {}", name, reason->second));
    } else {
      missing.push_back("`" + name + "`");
    }
  }
  for (const auto& [name, reason] : kReasons)
    EXPECT_TRUE(names.contains(name) && !ops.contains(name)) << name << " needs no reason";
  return fmt::format(kAboutCore, names.size(), here.size() + elsewhere.size()) +
         fmt::format("\nUnder the same name: {}.\n\nUnder another name: {}.\n\nNot here: {}.\n",
                     fmt::join(here, " "), fmt::join(elsewhere, ", "), fmt::join(refused, "; ")) +
         (missing.empty() ? "" : fmt::format("\nNot yet: {}.\n", fmt::join(missing, " ")));
}

TEST(OpsPage, SaysWhatTheRegistryHolds) {
  std::map<std::string, const Op*, std::less<>> ops;
  for (const Op* op : all_ops()) {
    if (op->record().is_builtin) ops[std::string(op->name())] = op;
  }
  std::string rows;
  int count = 0;
  for (const auto& [name, op] : ops) {
    const bool is_form = (name.ends_with("_") && ops.contains(name.substr(0, name.size() - 1))) ||
                         (name.ends_with(".out") && ops.contains(name.substr(0, name.size() - 4)));
    if (is_form) continue;
    std::string forms;
    if (ops.contains(name + "_")) forms += "`_` ";
    if (ops.contains(name + ".out")) forms += "`.out`";
    if (forms.ends_with(' ')) forms.pop_back();
    rows += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", op->schema(), forms, kernels_of(*op),
                        dtypes_of(*op), gradient_of(*op), ulp_of(*op));
    ++count;
  }
  test::expect_page("ops.md",
                    std::string(kIntroduction) + core_section(ops) + fmt::format(kAboutOps, count) + rows,
                    "OpsPage");
}

}  // namespace
}  // namespace pel
