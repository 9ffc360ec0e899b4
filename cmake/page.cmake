# Files of an HTML page become string literals in a generated source, each shorter than the 65,536 bytes that every compiler accepts:
#
#   pellucid_embed_page(SOURCE HEADER NAMESPACE PREFIX FOLDER FILE...)
#
# defines PREFIXhtml(), PREFIXcss() and PREFIXscripts(), which HEADER declares, from the files of each kind in FOLDER.
function(pellucid_embed_page source header namespace prefix folder)
  set(definitions "")
  foreach(kind html css js)
    set(${kind} "")
  endforeach()
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${file}")
    file(READ "${folder}/${file}" text)
    string(REGEX MATCH "[a-z]+$" kind ${file})
    string(APPEND ${kind} "R\"page_text(${text})page_text\"")
    if(kind STREQUAL "js")
      string(APPEND js ",\n")
    endif()
  endforeach()
  foreach(kind html css)
    if(NOT "${${kind}}" STREQUAL "")
      string(APPEND definitions "std::string_view ${prefix}${kind}() { return ${${kind}}; }\n")
    endif()
  endforeach()
  string(APPEND definitions "std::span<const std::string_view> ${prefix}scripts() {
  static constexpr std::string_view kScripts[] = {${js}};
  return kScripts;
}
")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
#include "@header@"

namespace @namespace@ {
@definitions@}  // namespace @namespace@
]])
endfunction()

# What all pages share, as objects: the doctor takes them, and so does the library (as in errors.cmake).
set(shared_page_source "${PROJECT_BINARY_DIR}/generated/shared_page.cc")
pellucid_embed_page("${shared_page_source}" base/page/page.h pel shared_page_ "${PROJECT_SOURCE_DIR}/src/base/page"
  shared.css format.js tables.js frame.js)
add_library(pellucid_page OBJECT "${PROJECT_SOURCE_DIR}/src/base/page/page.cc" "${shared_page_source}")
target_include_directories(pellucid_page PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(pellucid_page PRIVATE pellucid_flags)
