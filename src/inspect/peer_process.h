// Another program that times its own calls, driven over pipes, so that a peer is timed interleaved with this
// library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pel::inspect {

class PeerProcess {
 public:
  // Returns null if it cannot be started or does not answer.
  static std::unique_ptr<PeerProcess> start(const std::vector<std::string>& command);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  std::string ask(const std::string& request);              // one line per request; empty: it has exited
  double run(const std::string& name, std::int64_t calls);  // ns per call; NaN if it refuses

 private:
  PeerProcess(int process, int to, int from) : process_(process), to_(to), from_(from) {}
  int process_, to_, from_;
};

// Returns PELLUCID_PEER, or peer_anatomy in the folder of this program; empty: not found.
std::string find_torch_peer();

}  // namespace pel::inspect
