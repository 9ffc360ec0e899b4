// A prescription: what to change, where, and what it would gain. Each remedy that may be prescribed is one
// file here, and one line in remedies.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/replay/replay.h"

namespace pel::doctor {

class Patient;

// What it takes to follow it. Of two that gain about the same, the easier one stands first.
enum class Effort : std::uint8_t {
  Setting,  // an argument, or a line of settings
  Line,     // the line that is named
  Rewrite,  // the model, or what it is trained with
};

// How the gain was predicted.
enum class Basis : std::uint8_t {
  Replay,    // the trace replayed with this change
  Idle,      // idle time of the device, because the trace cannot be replayed
  HostTime,  // time of the host alone, because there is no device
  Waits,     // of ranks for one another in collectives
};
std::string_view text_of(Basis basis);

// A piece of a thread of the host which would take `kept` of its time: 0 is nothing.
struct HostCut {
  std::int64_t begin_ns, end_ns;
  double kept;
};

struct Prescription {
  std::string key;         // "remove_sync"
  std::string action;      // "Read the loss less often than every step: .item() waits for the device"
  std::string how;         // in terms of PyTorch: what to write instead
  std::string where;       // the line of the program, or the ops; empty: everywhere
  std::string needs{};     // what must hold; empty: nothing that the trace does not show
  std::int64_t count = 0;  // how often it occurs in the trace
  Effort effort = Effort::Line;
  std::int64_t bound_ns = 0;  // about what it may gain, from sums alone: below some share it is not replayed
  Change change{};            // with a device
  std::vector<HostCut> cuts{};  // without one: of the thread that Patient::host_row names
  int batches = 1;  // the changed run does the work of so many: what counts is its time by this number

  // What prescribe() computes.
  std::int64_t saved_ns = 0;
  Basis basis = Basis::Replay;
};

struct Remedy {
  std::string_view key;
  // Adds what it would prescribe. Those that stand first claim kernels that others then leave alone.
  void (*propose)(Patient& patient, std::vector<Prescription>& prescriptions);
};
std::span<const Remedy> all_remedies();

void propose_flash_attention(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_tuned_kernels(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_fused_optimizer(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_no_gradients_to_zero(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_compile(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_fewer_syncs(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_pinned_memory(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_loading_ahead(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_no_pauses(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_cuda_graph(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_narrow_matmuls(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_channels_last(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_padded_sizes(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_larger_batch(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_overlapped_collectives(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_larger_buckets(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_dynamic_shapes(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_no_graph_breaks(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_steady_memory(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_lighter_profile(Patient& patient, std::vector<Prescription>& prescriptions);
void propose_vectorised_loop(Patient& patient, std::vector<Prescription>& prescriptions);

}  // namespace pel::doctor
