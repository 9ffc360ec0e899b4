// The same as llm.cc, with compiled graphs.
#include "model.h"

int main(int argc, char** argv) {
  return bench::serve(argc, argv, bench::llm_cases<bench::LlmApi<pel::nn::CompiledLlama>>());
}
