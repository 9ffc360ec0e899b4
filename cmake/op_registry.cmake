# The table of ops is the list of files src/ops/FAMILY/NAME.cc: each must define pel::ops::define_NAME(), or linking fails.
# Files in src/ops/shared/ hold code that several ops use; they are compiled, but define no op.

file(GLOB op_names RELATIVE "${PROJECT_SOURCE_DIR}/src/ops" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/ops/*/*.cc")
list(FILTER op_names EXCLUDE REGEX "^shared/")
list(TRANSFORM op_names REPLACE "^.*/(.*)\\.cc$" "\\1")
list(SORT op_names)
list(LENGTH op_names PELLUCID_OP_COUNT)

set(name_lines "")
set(declare_lines "")
set(define_lines "")
foreach(name IN LISTS op_names)
  string(APPEND name_lines "    \"${name}\",\n")
  string(APPEND declare_lines "OpDef define_${name}();\n")
  string(APPEND define_lines "    ops::define_${name},\n")
endforeach()

# file(CONFIGURE) does not touch an unchanged file, so nothing is rebuilt.
set(PELLUCID_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
file(CONFIGURE OUTPUT "${PELLUCID_GENERATED_DIR}/op_names.h" @ONLY CONTENT [[
// Generated from the file names in src/ops/.
#pragma once

#include <array>
#include <string_view>

namespace pel {
inline constexpr std::array<std::string_view, @PELLUCID_OP_COUNT@> kOpNames = {
@name_lines@};
}  // namespace pel
]])
file(CONFIGURE OUTPUT "${PELLUCID_GENERATED_DIR}/op_table.cc" @ONLY CONTENT [[
// Generated from the file names in src/ops/, in the order of kOpNames.
#include "dispatch/op_table.h"
#include "pellucid/extend/op.h"

namespace pel::ops {
@declare_lines@}  // namespace pel::ops

namespace pel {
extern const DefineFn kOpDefines[];
const DefineFn kOpDefines[] = {
@define_lines@};
}  // namespace pel
]])
