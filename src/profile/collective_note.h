// What a trace says of a kernel that takes part in a collective, besides its operands.
#pragma once

#include <cstdint>

namespace pel::profile {

struct CollectiveNote {
  const char* name = "";  // and the name of the group: both live as long as the process
  const char* group = "";
  std::uint64_t number = 0;  // of the call in the group
  std::uint64_t ranks = 0;   // of the group
};

// Called by the kernel under way; its record gets the note.
void note_collective(const CollectiveNote& note);

}  // namespace pel::profile
