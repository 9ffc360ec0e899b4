// One call of a group: announced, noted among the last ones, and its failures put in words.
#pragma once

#include <cstddef>

#include "pellucid/extend/kernel_args.h"

#include "base/function_ref.h"
#include "distributed/group.h"

namespace pel::dist {

class Call {
 public:
  // Of a call that all ranks make: segments of it, with the bytes in outgoing() before. Throws a
  // CommunicationError if ranks differ.
  std::byte* outgoing() { return engine_.outgoing(); }
  std::size_t segment_bytes() const { return engine_.segment_bytes(); }
  ArrayView<Part> all_gather(std::size_t bytes) { return checked(engine_.all_gather(next(), bytes)); }
  ArrayView<Part> all_to_all(std::size_t part_bytes) {
    return checked(engine_.all_to_all(next(), part_bytes));
  }

  // Of a send or a recv: pieces of it.
  std::size_t piece_bytes() const { return engine_.piece_bytes(); }
  std::byte* outgoing_piece() { return engine_.outgoing_to(past_.peer); }
  void post() { engine_.post(past_.peer, next()); }
  const std::byte* incoming();
  void taken() { engine_.taken(past_.peer); }

 private:
  friend void run_call(Group::State&, Collective, const Operand&, int, FunctionRef<void(Call&)>);
  Call(Group::State& group, PastCall& past);
  const Announcement& next();
  ArrayView<Part> checked(ArrayView<Part> parts);
  [[noreturn]] void throw_mismatch();

  Group::State& group_;
  Engine& engine_;
  PastCall& past_;
  Announcement mine_;
};

// Notes a call in a group of one, which has nobody to wait for.
void note_alone(Group::State& group, Collective op, const Operand& operand, int peer);

// Runs one call of a group of several ranks. `peer` is the other rank of a send or recv, the source of a
// broadcast, else -1. An error is told to all ranks, and the last calls are printed.
void run_call(Group::State& group, Collective op, const Operand& operand, int peer,
              FunctionRef<void(Call& call)> body);

}  // namespace pel::dist
