// A language model: logits of the last of 512 tokens (prefill), and of one token after them (decode).
#include "model.h"

int main(int argc, char** argv) {
  return bench::serve(argc, argv, bench::llm_cases<bench::LlmApi<const pel::nn::Llama&>>());
}
