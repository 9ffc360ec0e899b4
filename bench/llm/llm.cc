// A language model: logits of the last of 512 tokens, and of one token behind them.
#include "model.h"

int main(int argc, char** argv) {
  return bench::serve(argc, argv, bench::llm_cases<bench::LlmApi<const pel::nn::Llama&>>());
}
