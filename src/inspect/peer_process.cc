#include "inspect/peer_process.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX does not declare it

namespace pel::inspect {

std::unique_ptr<PeerProcess> PeerProcess::start(const std::vector<std::string>& command) {
  std::array<int, 2> to{}, from{};
  // Close-on-exec, except for the ends that the peer uses: otherwise it would never see the end of its input.
  if (pipe2(to.data(), O_CLOEXEC) != 0) return nullptr;
  if (pipe2(from.data(), O_CLOEXEC) != 0) {
    close(to[0]);
    close(to[1]);
    return nullptr;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t process = 0;
  const int failed = posix_spawn(&process, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  if (failed != 0) {
    close(to[1]);
    close(from[0]);
    return nullptr;
  }
  // A peer that exits early shows as an empty answer, not as a signal that ends this program.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  std::unique_ptr<PeerProcess> peer(new PeerProcess(process, to[1], from[0]));
  if (peer->ask("list").empty()) return nullptr;
  return peer;
}

PeerProcess::~PeerProcess() {
  close(to_);  // it exits at the end of its input
  close(from_);
  waitpid(process_, nullptr, 0);
}

std::string PeerProcess::ask(const std::string& request) {
  const std::string line = request + '\n';
  if (write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return {};
  std::string answer;
  for (char c = 0; c != '\n';) {
    const ssize_t got = read(from_, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    if (c != '\n') answer += c;
  }
  return answer;
}

double PeerProcess::run(const std::string& name, std::int64_t calls) {
  const std::string answer = ask("run " + name + " " + std::to_string(calls));
  double ns = NAN;
  std::from_chars(answer.data(), answer.data() + answer.size(), ns);
  return ns;
}

std::string find_torch_peer() {
  std::error_code none;
  if (const char* path = std::getenv("PELLUCID_PEER"); path != nullptr && *path != '\0')
    return std::filesystem::exists(path, none) ? path : std::string();
  const std::filesystem::path sibling =
      std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / "peer_anatomy";
  return std::filesystem::exists(sibling, none) ? sibling.string() : std::string();
}

}  // namespace pel::inspect
