// An analysis answers one question about a trace. Each is one file here, and one line in analyses.cc.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "doctor/diagnosis/finding.h"
#include "doctor/model/device_time.h"
#include "doctor/model/kernel_catalog.h"
#include "doctor/model/model.h"

namespace pel::doctor {

struct Verdicts;
class Shared;

struct Examined {
  const Model& model;
  const KernelCatalog& kernels;
  const DeviceTime& time;
  const Verdicts* verdicts = nullptr;  // what judge() says, once it was asked
  const StopFlag* stop = nullptr;      // of the options it was read with
  const Shared* shared = nullptr;      // of a diagnosis: what its analyses have in common
};

struct Analysis {
  std::string_view key;
  std::optional<Finding> (*run)(const Examined&);  // nothing: there is nothing to say
};
std::span<const Analysis> all_analyses();  // in the order of the report

std::optional<Finding> analyse_device_time(const Examined& examined);
std::optional<Finding> analyse_host_ops(const Examined& examined);
std::optional<Finding> analyse_kernels(const Examined& examined);
std::optional<Finding> analyse_dispatch(const Examined& examined);
std::optional<Finding> analyse_syncs(const Examined& examined);
std::optional<Finding> analyse_occupancy(const Examined& examined);
std::optional<Finding> analyse_matmuls(const Examined& examined);
std::optional<Finding> analyse_copies(const Examined& examined);
std::optional<Finding> analyse_recompiles(const Examined& examined);
std::optional<Finding> analyse_utilisation(const Examined& examined);
std::optional<Finding> analyse_phases(const Examined& examined);
std::optional<Finding> analyse_modules(const Examined& examined);
std::optional<Finding> analyse_memory(const Examined& examined);
std::optional<Finding> analyse_pipeline(const Examined& examined);
std::optional<Finding> analyse_chains(const Examined& examined);
std::optional<Finding> analyse_what_if(const Examined& examined);

}  // namespace pel::doctor
