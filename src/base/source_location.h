// The source location of a call, for display.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "pellucid/api.h"

namespace pel {

// "model.cc:12", without the folders.
inline std::string short_location(const Site& site) {
  const std::string_view path = site.file_name();
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), site.line());  // npos + 1 is 0
}

}  // namespace pel
