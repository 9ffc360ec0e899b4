// AMX: whether this process may use it, and the tile registers of a thread.
#pragma once

#include <cstdint>

namespace pel::cpu {

// Returns why AMX with bf16 is not used; null if it is used. The first call requests permission from the
// operating system; repeated requests of a process are harmless.
const char* amx_refusal();

// Rounds rows of f32 to rows of bf16, to nearest even; steps are in bytes. Denormals become zeros: sums of
// AMX have none.
void round_amx_sums(char* to, std::int64_t to_step, const char* sums, std::int64_t sums_step,
                    std::int64_t rows, std::int64_t columns);

// Configures the eight tile registers, each of sixteen rows of 64 bytes, while in scope. A function called
// meanwhile may clobber them: the ABI makes them caller-saved.
class AmxRegisters {
 public:
  AmxRegisters();
  ~AmxRegisters();
  AmxRegisters(const AmxRegisters&) = delete;
  AmxRegisters& operator=(const AmxRegisters&) = delete;
};

}  // namespace pel::cpu
