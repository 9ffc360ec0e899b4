# The libraries that the doctor needs, built from the sources that fetch_sources.py put into PELLUCID_SOURCES_DIR: fmt, simdjson,
# CLI11, ISA-L's inflate and zstd's decompression. They are others' code: their warnings are not ours.

set(PELLUCID_NASM_FORMAT "" CACHE STRING
  "Format that nasm writes, to use ISA-L's assembly for x86-64: elf64 or win64; empty means C")

foreach(package IN ITEMS fmtlib simdjson cli11 libisal libzstd)
  if(NOT EXISTS "${PELLUCID_SOURCES_DIR}/${package}/.unpacked")
    message(FATAL_ERROR "${PELLUCID_SOURCES_DIR} has no sources of ${package}: run packaging/doctor/fetch_sources.py")
  endif()
endforeach()

enable_language(C)
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads)
if(NOT Threads_FOUND)  # WebAssembly: base/has_threads.h
  add_library(Threads::Threads INTERFACE IMPORTED)
endif()

# Paths of the machine do not go into the program. What no one calls is left out.
add_compile_options(-ffile-prefix-map=${PELLUCID_SOURCES_DIR}/= -ffunction-sections -fdata-sections)
if(APPLE)
  add_link_options(-Wl,-dead_strip)
else()
  add_link_options(-Wl,--gc-sections)
endif()

set(fmt "${PELLUCID_SOURCES_DIR}/fmtlib")
add_library(pellucid_fmt STATIC "${fmt}/src/format.cc")
target_include_directories(pellucid_fmt SYSTEM PUBLIC "${fmt}/include")
add_library(fmt::fmt ALIAS pellucid_fmt)

set(simdjson "${PELLUCID_SOURCES_DIR}/simdjson/singleheader")
add_library(pellucid_simdjson STATIC "${simdjson}/simdjson.cpp")
target_include_directories(pellucid_simdjson SYSTEM PUBLIC "${simdjson}")
add_library(simdjson::simdjson ALIAS pellucid_simdjson)

add_library(pellucid_cli11 INTERFACE)
target_include_directories(pellucid_cli11 SYSTEM INTERFACE "${PELLUCID_SOURCES_DIR}/cli11/include")
add_library(CLI11::CLI11 ALIAS pellucid_cli11)

set(zstd "${PELLUCID_SOURCES_DIR}/libzstd/lib")
file(GLOB zstd_sources "${zstd}/common/*.c" "${zstd}/decompress/*.c")
add_library(pellucid_zstd STATIC ${zstd_sources})
target_compile_definitions(pellucid_zstd PRIVATE ZSTD_DISABLE_ASM ZSTDLIB_VISIBLE= ZSTD_LEGACY_SUPPORT=0)
set(ZSTD_LIBRARY pellucid_zstd)
set(ZSTD_INCLUDE_DIR "${zstd}")

# Its headers are installed as isa-l/NAME.h.
set(isal "${PELLUCID_SOURCES_DIR}/libisal")
file(COPY "${isal}/include/" DESTINATION "${PROJECT_BINARY_DIR}/include/isa-l")
add_library(pellucid_isal STATIC "${isal}/igzip/igzip_inflate.c" "${isal}/igzip/hufftables_c.c"
  "${isal}/igzip/adler32_base.c" "${isal}/crc/crc_base.c" "${CMAKE_CURRENT_LIST_DIR}/isal_inflate_alone.c")
target_include_directories(pellucid_isal PRIVATE "${isal}/include" "${isal}/igzip")
set(ISAL_LIBRARY pellucid_isal)
set(ISAL_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")
if(PELLUCID_NASM_FORMAT)
  find_program(PELLUCID_NASM nasm REQUIRED)
  set(assembly_folders -I "${isal}/include/" -I "${isal}/igzip/" -I "${isal}/crc/")
  foreach(file IN ITEMS "${isal}/igzip/igzip_decode_block_stateless_01.asm" "${isal}/igzip/igzip_decode_block_stateless_04.asm"
      "${isal}/igzip/rfc1951_lookup.asm"
      "${isal}/crc/crc32_gzip_refl_by8.asm" "${isal}/crc/crc32_gzip_refl_by8_02.asm"
      "${CMAKE_CURRENT_LIST_DIR}/isal_choice.asm")
    get_filename_component(name "${file}" NAME_WE)
    set(object "${PROJECT_BINARY_DIR}/${name}.o")
    add_custom_command(OUTPUT "${object}"
      COMMAND "${PELLUCID_NASM}" -f ${PELLUCID_NASM_FORMAT} ${assembly_folders} "${file}" -o "${object}"
      DEPENDS "${file}" VERBATIM)
    target_sources(pellucid_isal PRIVATE "${object}")
    set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  endforeach()
else()
  target_sources(pellucid_isal PRIVATE "${CMAKE_CURRENT_LIST_DIR}/isal_without_assembly.c")
endif()

foreach(library IN ITEMS fmt simdjson zstd isal)
  target_compile_options(pellucid_${library} PRIVATE -w)
endforeach()
