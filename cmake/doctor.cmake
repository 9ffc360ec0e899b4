# The doctor is a separate library, because it analyses traces and needs neither kernels nor LLVM nor oneDNN.

find_path(ISAL_INCLUDE_DIR isa-l/igzip_lib.h REQUIRED)
find_library(ISAL_LIBRARY isal REQUIRED)
find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
find_library(ZSTD_LIBRARY zstd REQUIRED)

file(GLOB_RECURSE doctor_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/doctor/*.cc")

# The files of the report's page become string literals, each below the 65,536 bytes that every compiler supports.
set(page_folder "${PROJECT_SOURCE_DIR}/src/doctor/report/page")
set(page_files page.html page.css format.js tables.js diff_view.js what_if.js what_if_view.js timeline_data.js
  timeline_details.js timeline_picture.js timeline.js page.js)
foreach(file IN LISTS page_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page_folder}/${file}")
  file(READ "${page_folder}/${file}" text)
  string(REGEX MATCH "[a-z]+$" kind ${file})
  string(APPEND page_${kind} "R\"page_text(${text})page_text\"")
  if(kind STREQUAL "js")
    string(APPEND page_${kind} ",\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/doctor_page.cc" @ONLY CONTENT [[
#include "doctor/report/page/page.h"

namespace pel::doctor {
std::string_view page_html() { return @page_html@; }
std::string_view page_css() { return @page_css@; }
std::span<const std::string_view> page_scripts() {
  static constexpr std::string_view kScripts[] = {@page_js@};
  return kScripts;
}
}  // namespace pel::doctor
]])

add_library(pellucid_doctor STATIC ${doctor_sources} "${PROJECT_BINARY_DIR}/generated/doctor_page.cc"
  $<TARGET_OBJECTS:pellucid_base>)
pellucid_compile_together(pellucid_doctor 8)
target_compile_definitions(pellucid_doctor PRIVATE PELLUCID_BUILDING)
target_include_directories(pellucid_doctor PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_include_directories(pellucid_doctor SYSTEM PRIVATE "${ISAL_INCLUDE_DIR}" "${ZSTD_INCLUDE_DIR}")
target_precompile_headers(pellucid_doctor REUSE_FROM pellucid_base)
if(PELLUCID_SANITIZE)  # the same flags as for the precompiled headers
  target_compile_options(pellucid_doctor PRIVATE -O1)
endif()
target_link_libraries(pellucid_doctor
  PRIVATE pellucid_flags
  PUBLIC fmt::fmt simdjson::simdjson Threads::Threads "${ISAL_LIBRARY}" "${ZSTD_LIBRARY}")
