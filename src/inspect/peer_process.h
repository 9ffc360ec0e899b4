// Another program that times its own calls, asked over pipes: how a peer's cost is taken in turns with ours.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pel::inspect {

class PeerProcess {
 public:
  // Null where it cannot be started, or does not answer.
  static std::unique_ptr<PeerProcess> start(const std::vector<std::string>& command);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  std::string ask(const std::string& request);              // one line for one line; empty: it has ended
  double run(const std::string& name, std::int64_t calls);  // ns per call; not a number where it refuses

 private:
  PeerProcess(int process, int to, int from) : process_(process), to_(to), from_(from) {}
  int process_, to_, from_;
};

// PELLUCID_PEER, or peer_anatomy beside this program; empty: there is none.
std::string find_torch_peer();

}  // namespace pel::inspect
