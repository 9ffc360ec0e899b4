// pellucid explain: why a kernel is chosen, what a tuned op saves, and what a saved plan does.
#include "inspect/explain.h"

#include <fmt/format.h>

#include "pellucid/load_compiled.h"

#include "command.h"
#include "inspect/tuned.h"

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

// A subcommand for each op that is a composition of others.
void add_tuned(CLI::App& explain, Context& context, const CLI::Validator& is_size) {
  for (const Op* op : inspect::tuned_ops()) {
    CLI::App* command = explain.add_subcommand(
        std::string(op->name()), "This op, which is one kernel, and the ops that it is made of");
    command->group("Tuned");
    struct Arguments {
      inspect::TunedCall call;
      std::string dtype = "f32";
      bool three_ways = false;
    };
    auto args = std::make_shared<Arguments>();
    args->call.op = op;
    command->add_option("--rows", args->call.rows, "Rows of the arguments; 512 by default")
        ->check(is_size)
        ->type_name("");
    command->add_option("--columns", args->call.columns, "Columns of the arguments; 3072 by default")
        ->check(is_size)
        ->type_name("");
    command->add_option("--dtype", args->dtype, "The dtype of the arguments; f32 by default")
        ->check(CLI::IsMember({"f32", "bf16", "f16"}))
        ->type_name("DTYPE");
    command->add_flag("--three-ways", args->three_ways,
                      "Measure these ops eager and compiled, and the one kernel, side by side");
    command->callback([&context, args] {
      args->call.dtype = dtype_named(args->dtype);
      if (args->three_ways) {
        const Comparison comparison = inspect::compare_ways(args->call);
        const std::string text = comparison.text();
        const std::size_t head = text.find('\n');
        context.print(context.wants_json ? comparison.json()
                                         : context.terminal.bold(text.substr(0, head)) + text.substr(head));
      } else {
        const CompileExplanation explanation = inspect::explain_compiled(args->call);
        context.print(context.wants_json ? explanation.json() : explanation.text());
      }
    });
  }
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("explain", "Explain why a kernel is chosen, or what a saved plan does");
  command->require_subcommand(0, 1);
  struct Plan {
    std::string file, weights;
  };
  auto plan = std::make_shared<Plan>();
  command
      ->add_option("FILE", plan->file, "A compiled function that was saved: its graphs, guards and kernels")
      ->check(CLI::ExistingFile)
      ->type_name("");
  command->add_option("--weights", plan->weights, "The folder of the weights that the file refers to")
      ->type_name("FOLDER");
  command->callback([&context, command, plan] {
    if (!command->get_subcommands().empty()) return;
    if (plan->file.empty()) throw CLI::RequiredError("FILE or matmul");
    const LoadedFunction loaded =
        load_compiled(plan->file, {.weights_folder = plan->weights, .checks_weights = false});
    const CompileExplanation explanation = loaded.explain();
    context.print(context.wants_json ? explanation.json() : explanation.text());
  });
  CLI::App* matmul = command->add_subcommand("matmul", "The matmul of an M×K and a K×N matrix");
  matmul->group("What");
  struct Arguments {
    inspect::MatmulCall call;
    std::string dtype = "f32";
    bool measure = false;
  };
  auto args = std::make_shared<Arguments>();
  const CLI::Validator is_size(size_fault, "", "size");
  add_tuned(*command, context, is_size);
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
