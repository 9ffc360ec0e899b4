// The same without a saved plan: the process builds the model, reads its weights, and compiles it.
// first_token writes the weights.
#include <cstring>

#include "process.h"

namespace {

int write_first_token(const char* program) {
  const pel::NoGrad no_grad;
  const pel::nn::SkipInit skip_init;
  pel::nn::Llama model(bench::kModel);
  model.load(pel::io::SafetensorsFile(bench::model_file(program, "weights.safetensors")).all());
  const auto step = pel::compile(pel::test::decode_step(model));
  const auto text = pel::test::generate_tokens([&](const std::vector<pel::Tensor>& in) { return step(in); },
                                               bench::kPrompt, 1, bench::kCaches);
  std::cout << text[0] << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--token") == 0) return write_first_token(argv[0]);
  const bench::Case cases[] = {
      bench::timed_process("smollm2_f32", {std::filesystem::absolute(argv[0]).string(), "--token"})};
  return bench::serve(argc, argv, cases);
}
