// The engine for ranks of one machine: memory that their processes share.
//
// Each rank has two slots for bytes, used in turn, and a counter of the calls that it has come to. It fills a
// slot, counts, and waits until all counters are as high: one wait a call. Slots of the last call may still
// be read then, which is why there are two.
#pragma once

#include <memory>

#include "distributed/engine.h"

namespace pel::dist {

// Waits until all ranks of the group have come. `job` names the group on this machine. Throws LostRanks if
// some do not come before the timeout, and a CommunicationError if two processes are the same rank.
std::unique_ptr<Engine> make_shared_memory_engine(std::string_view job, int rank, int size,
                                                  double timeout_seconds);

}  // namespace pel::dist
