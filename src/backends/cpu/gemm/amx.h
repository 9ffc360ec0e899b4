// AMX: whether this process may use it, and the tile registers of a thread.
#pragma once

#include <cstdint>

namespace pel::cpu {

// Why AMX with bf16 is not used; null where it is. The first call asks the kernel for permission, which
// stands if the process has asked before.
const char* amx_refusal();

// Rows of f32 to rows of bf16, to nearest even; steps are in bytes. Denormals become zeros: sums of AMX have
// none.
void round_amx_sums(char* to, std::int64_t to_step, const char* sums, std::int64_t sums_step,
                    std::int64_t rows, std::int64_t columns);

// The eight tile registers, each of sixteen rows of 64 bytes, while in scope. A call may leave them in any
// state: by the ABI they are the caller's to save.
class AmxRegisters {
 public:
  AmxRegisters();
  ~AmxRegisters();
  AmxRegisters(const AmxRegisters&) = delete;
  AmxRegisters& operator=(const AmxRegisters&) = delete;
};

}  // namespace pel::cpu
