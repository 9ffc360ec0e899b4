// Writes the trace of a small training run, and next to it what the profile counted: write_sample OUT.json
// [STEPS] Steps are named as PyTorch's profiler names them. With more than three steps, layers and memory are
// left out.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "pellucid/pellucid.h"
#include "pellucid/threads.h"

namespace {

using namespace pel;
using Kind = ProfileEvent::Kind;

void write_counts(Profile& profile, const std::string& path) {
  std::map<std::string, std::uint64_t> counts = {
      {"cpu_op", 0}, {"user_annotation", 0}, {"kernel", 0}, {"memory", 0}, {"copy", 0}, {"wait", 0}};
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> kernels;
  profile.each([&](const ProfileEvent& e) {
    const bool is_op = e.kind == Kind::Op || e.kind == Kind::Backward;
    const bool is_kernel = e.kind == Kind::Kernel, is_copy = e.kind == Kind::Copy;
    if (e.kind == Kind::Piece || e.kind == Kind::Launch) return;
    ++counts[is_op                    ? "cpu_op"
             : is_kernel              ? "kernel"
             : is_copy                ? "copy"
             : e.kind == Kind::Sync   ? "wait"
             : e.kind == Kind::Memory ? "memory"
                                      : "user_annotation"];
    if (!is_kernel && !is_copy) return;
    auto& [count, ns] = kernels[e.name];
    ++count;
    ns += e.end_ns - e.begin_ns;
  });
  std::ofstream out(path);
  out << "{\n";
  for (const auto& [name, count] : counts) out << fmt::format("\"{}\": {},\n", name, count);
  out << "\"kernels\": {";
  const char* separator = "\n";
  for (const auto& [name, sums] : kernels) {
    out << fmt::format("{}  \"{}\": {{\"count\": {}, \"ns\": {}}}", separator, name, sums.first, sums.second);
    separator = ",\n";
  }
  out << "\n}\n}\n";
}

// Copies in both directions, kernels, and two kinds of waits.
void on_queue(const Tensor& x) {
  const Range range("queue");
  const Tensor there = x.to(kQueue);
  static_cast<void>(sum(relu(matmul(there, there.t()))).item());
  {
    const StreamScope other(Stream(kQueue, 1));
    there.t().contiguous();
  }
  synchronize(kQueue);
}

int run(const std::string& path, int rounds) {
  const nn::GEGLU mlp(32, 64);
  const nn::LayerNorm norm(32);
  const Tensor x = ones({8, 32});
  ProfileOptions options;
  options.layers = options.memory = rounds == 1;
  options.max_bytes = std::int64_t{2} << 30;
  Profile profile(options);
  for (int step = 0; step < 3; ++step) {
    const Range range(interned(fmt::format("ProfilerStep#{}", step)));
    for (int round = 0; round < rounds; ++round) {
      const Tensor loss = mean(mlp(norm(x)));
      loss.backward();
      const Range read_back("read \"back\"\n\\ µ");
      static_cast<void>(loss.item());
      x.t().contiguous();  // a kernel that others of its list refuse
    }
    std::thread([&] { relu(x); }).join();
    on_queue(x);
    if (rounds != 1) continue;
    const Range on_two("two threads");
    set_thread_count(2);
    relu(zeros({1 << 20}));
    set_thread_count(1);
  }
  profile.write_trace(path);
  write_counts(profile, path.substr(0, path.rfind(".json")) + ".counts.json");
  fmt::print("{} events, {} dropped\n", profile.event_count(), profile.dropped());
  return profile.dropped() == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    fmt::print(stderr, "write_sample OUT.json [ROUNDS]\n");
    return 2;
  }
  return run(arguments[1], count > 2 ? std::atoi(arguments[2]) : 1);
}
