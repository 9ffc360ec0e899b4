#include "doctor/prescriptions/prescription.h"

namespace pel::doctor {

std::span<const Remedy> all_remedies() {
  static constexpr Remedy kAll[] = {
      {"flash_attention", propose_flash_attention},
      {"tuned_kernel", propose_tuned_kernels},
      {"fused_optimizer", propose_fused_optimizer},
      {"set_to_none", propose_no_gradients_to_zero},
      {"compile", propose_compile},
      {"remove_sync", propose_fewer_syncs},
      {"pin_memory", propose_pinned_memory},
      {"load_ahead", propose_loading_ahead},
      {"host_pauses", propose_no_pauses},
      {"cuda_graph", propose_cuda_graph},
      {"narrow_matmuls", propose_narrow_matmuls},
      {"channels_last", propose_channels_last},
      {"pad_sizes", propose_padded_sizes},
      {"larger_batch", propose_larger_batch},
      {"overlap_collectives", propose_overlapped_collectives},
      {"larger_buckets", propose_larger_buckets},
      {"dynamic_shapes", propose_dynamic_shapes},
      {"graph_breaks", propose_no_graph_breaks},
      {"steady_memory", propose_steady_memory},
      {"lighter_profile", propose_lighter_profile},
      {"vectorise_loop", propose_vectorised_loop},
  };
  return kAll;
}

}  // namespace pel::doctor
