// What both of our sides share: the model, its files, and how a process is timed.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <pellucid/pellucid.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tests/saved/decode_step.h"
#include "../../tests/saved/generate_tokens.h"
#include "../support/server.h"

namespace bench {

// SmolLM2-135M's sizes; peer_first_token.py repeats them.
inline const pel::nn::LlamaConfig kModel{.vocabulary = 49152,
                                         .context = 512,
                                         .layers = 30,
                                         .heads = 9,
                                         .kv_heads = 3,
                                         .width = 576,
                                         .hidden = 1536,
                                         .rotary_base = 100000,
                                         .norm_eps = 1e-5};
inline const pel::test::CacheSizes kCaches{kModel.layers, kModel.kv_heads, kModel.width / kModel.heads, 256};
inline const std::vector<std::int64_t> kPrompt{1};

// build/, of the program build/PRESET/bin/NAME.
inline std::filesystem::path build_folder(const char* program) {
  return std::filesystem::absolute(program).parent_path().parent_path().parent_path();
}
inline std::string model_file(const char* program, const char* name) {
  return (build_folder(program) / "first_token" / name).string();
}

// Starts the program and returns the nanoseconds until it has written something: the first token.
inline double nanoseconds_to_output(std::vector<std::string> words) {
  std::vector<char*> args;
  for (std::string& word : words) args.push_back(word.data());
  args.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int failed = posix_spawn(&child, args[0], &actions, nullptr, args.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char first = 0;
  const bool has_output = failed == 0 && read(ends[0], &first, 1) == 1;
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  close(ends[0]);
  int status = 1;
  if (failed == 0) waitpid(child, &status, 0);
  if (!has_output || status != 0) throw std::runtime_error(words[0] + " wrote no token");
  return took.count();
}

inline Case timed_process(const char* name, std::vector<std::string> words) {
  Case timed(name, [] {});
  timed.measure = [words = std::move(words)](std::int64_t iters) {
    double sum = 0;
    for (std::int64_t i = 0; i < iters; ++i) sum += nanoseconds_to_output(words);
    return sum / static_cast<double>(iters);
  };
  return timed;
}

}  // namespace bench
