# Compiler, linker and warning flags. Targets get them by linking pellucid_flags.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

find_program(PELLUCID_CCACHE ccache)
if(PELLUCID_CCACHE)
  # Without the first setting ccache does not cache files with a precompiled header; with the second a copy of the project in
  # another folder uses what this one compiled. ccache then passes paths that are relative to the build. The third
  # compares headers as they are and not preprocessed: g++ recognises a header inside a precompiled one by its size, which a comment changes.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};CCACHE_DEPEND=1;${PELLUCID_CCACHE}")
endif()
file(RELATIVE_PATH from_build "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")

add_library(pellucid_flags INTERFACE)
target_compile_options(pellucid_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
  $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>  # plain -Wshadow of g++ warns about scoped enumerators
  $<$<BOOL:${PELLUCID_WERROR}>:-Werror>
  $<$<PLATFORM_ID:Linux>:-fno-semantic-interposition;-ftls-model=initial-exec>
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=${from_build}=  # paths in messages are relative to the project
  -ffp-contract=off  # a fused multiply-add rounds once: the same source would compute other bits on other machines
  $<IF:$<CXX_COMPILER_ID:GNU>,-fpch-preprocess,SHELL:-Xclang -fno-pch-timestamp>)  # for ccache, with the headers below

# Third-party headers that most files include, precompiled. A file still includes those it needs.
set(pellucid_headers_of_others <algorithm> <array> <atomic> <cmath> <cstdint> <functional> <limits> <map> <memory> <mutex>
  <optional> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h>)

# Precompiles the headers for a target, once for all targets of a group, which have the same options.
function(pellucid_share_precompiled target group)
  get_property(first GLOBAL PROPERTY pellucid_first_of_${group})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY pellucid_first_of_${group} ${target})
  endif()
endfunction()

if(PELLUCID_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-gline-tables-only")  # enough for the reports of sanitizers
  target_compile_options(pellucid_flags INTERFACE
    -fno-omit-frame-pointer -fsanitize=${PELLUCID_SANITIZE} -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # It reads a signature before each function that is called through a pointer; generated kernels have none.
    target_compile_options(pellucid_flags INTERFACE -fno-sanitize=function)
  endif()
  target_link_options(pellucid_flags INTERFACE -fsanitize=${PELLUCID_SANITIZE})
endif()

# Several files of a target are compiled as one. Names in anonymous namespaces must then differ within a folder. Without
# optimisation reading headers takes most of the time, so more files are joined.
function(pellucid_compile_together target files)
  if(PELLUCID_UNITY)
    if(PELLUCID_SANITIZE)
      set(files 16)
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files}
      UNITY_BUILD_CODE_BEFORE_INCLUDE "// NOLINTNEXTLINE(bugprone-suspicious-include)")
    # g++ treats included files as headers, which other files might include too.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Uses the first linker of the list that this compiler supports; if there is none, the compiler's default. What is packaged is
# always linked by the compiler's default, so that it is the same on every machine.
include(CheckLinkerFlag)
set(PELLUCID_LINKER "default")
set(linkers mold lld)
if(PELLUCID_DOCTOR_ONLY)
  set(linkers "")
endif()
foreach(linker IN LISTS linkers)
  check_linker_flag(CXX -fuse-ld=${linker} PELLUCID_HAS_${linker})
  if(PELLUCID_HAS_${linker})
    add_link_options(-fuse-ld=${linker})
    set(PELLUCID_LINKER ${linker})
    break()
  endif()
endforeach()
