// pellucid explain: why a kernel is chosen.
#include "inspect/explain.h"

#include <fmt/format.h>

#include "command.h"

namespace pel::tool {
namespace {

// No machine of today multiplies larger matrices: a typing error gets an error message instead of a crash.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 20;

std::string size_fault(const std::string& text) {
  char* end = nullptr;
  const long long size = std::strtoll(text.c_str(), &end, 10);
  if (!text.empty() && *end == '\0' && size >= 1 && size <= kMaxSize) return "";
  return fmt::format("'{}' is not a size: pass an integer from 1 to {}", text, kMaxSize);
}

DType dtype_named(const std::string& text) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name(static_cast<DType>(i)) == text) return static_cast<DType>(i);
  return DType::F32;  // IsMember accepts no other
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kDTypeCount; ++i) names.emplace_back(name(static_cast<DType>(i)));
  return names;
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("explain", "Explain why a kernel is chosen and why the others are not");
  command->require_subcommand(1);
  CLI::App* matmul = command->add_subcommand("matmul", "The matmul of an M×K and a K×N matrix");
  matmul->group("What");
  struct Arguments {
    inspect::MatmulCall call;
    std::string dtype = "f32";
    bool measure = false;
  };
  auto args = std::make_shared<Arguments>();
  const CLI::Validator is_size(size_fault, "", "size");
  const auto add_size = [&](const char* name, std::int64_t& to, const char* help) {
    return matmul->add_option(name, to, help)->check(is_size)->type_name("");
  };
  add_size("M", args->call.m, "Rows of the result")->required();
  add_size("N", args->call.n, "Columns of the result")->required();
  add_size("K", args->call.k, "Columns of the first matrix, rows of the second")->required();
  matmul->add_option("--dtype", args->dtype, "The dtype of all operands; f32 by default")
      ->check(CLI::IsMember(dtype_names()))
      ->type_name("DTYPE");
  add_size("--batch", args->call.batch, "Number of matrix pairs to multiply")->type_name("COUNT");
  matmul->add_flag("--transposed-a", args->call.is_a_transposed, "The first matrix is stored K×M");
  matmul->add_flag("--transposed-b", args->call.is_b_transposed,
                   "The second matrix is stored N×K, like the weight of linear");
  matmul->add_flag("--bias", args->call.has_bias, "Add a row to the result");
  matmul->add_flag("--measure", args->measure, "Run every candidate, unless it would take seconds");
  matmul->callback([&context, args] {
    args->call.dtype = dtype_named(args->dtype);
    const inspect::MatmulExplanation e =
        inspect::explain(args->call, args->measure ? Measure::Yes : Measure::No);
    context.print(context.wants_json ? e.json() : e.text(context.terminal));
  });
}

}  // namespace pel::tool
