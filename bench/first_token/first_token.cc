// From the start of a process to the first token of a language model, by a saved plan: the process links the
// runtime library alone. This program writes the plan and the weights, and starts run_plan of tests/saved.
#include <fstream>

#include "process.h"

namespace {

void write_numbers(const std::string& path, const std::vector<std::int64_t>& numbers) {
  std::ofstream file(path);
  for (const std::int64_t number : numbers) file << number << ' ';
}

}  // namespace

int main(int argc, char** argv) {
  const auto file = [&](const char* name) { return bench::model_file(argv[0], name); };
  std::filesystem::create_directories(bench::build_folder(argv[0]) / "first_token");
  pel::manual_seed(1);
  {
    const pel::NoGrad no_grad;
    const pel::nn::Llama model(bench::kModel);
    const auto step = pel::compile(pel::test::decode_step(model));
    pel::test::generate_tokens([&](const std::vector<pel::Tensor>& in) { return step(in); }, bench::kPrompt,
                               1, bench::kCaches);
    pel::io::save_safetensors(file("weights.safetensors"), model.named_parameters());
    step.save(file("decode.pel"), {.weights = {file("weights.safetensors")}});
  }
  const auto& [layers, kv_heads, width, capacity] = bench::kCaches;
  write_numbers(file("sizes"), {layers, kv_heads, width, capacity});
  write_numbers(file("prompt"), bench::kPrompt);
  const std::string program = std::filesystem::absolute(argv[0]).replace_filename("run_plan").string();
  const bench::Case cases[] = {bench::timed_process(
      "smollm2_f32", {program, "decode", file("decode.pel"), file("sizes"), file("prompt"), "1"})};
  return bench::serve(argc, argv, cases);
}
