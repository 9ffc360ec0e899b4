// A kernel's name in at most 40 columns.
#pragma once

#include "doctor/names/kernel_name.h"

namespace pel::doctor::names {

inline constexpr std::size_t kTitleColumns = 40;

std::string title_of(const KernelName& name);

}  // namespace pel::doctor::names
