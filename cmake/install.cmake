# cmake --install and cpack: the library with its headers, the programs, and what finds them.
#
#   component  Debian package    contents
#   library    libpellucid0      libpellucid.so.0, which is the target pellucid_package
#   devel      libpellucid-dev   headers, the link to the library, files for find_package and pkg-config
#   programs   pellucid          pellucid and pellucid-doctor, with their manual pages
#   runtime    libpellucid-runtime0  libpellucid-runtime.so.0, for saved plans (runtime.cmake)
#
# The ABI follows the soname, libpellucid.so.MAJOR. Before 1.0 a minor version may change it: packages depend on the
# version they were built with. tests/installed/exported_symbols.py compares the exported symbols with packaging/abi/.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The library as it is shipped.
set_target_properties(pellucid_package PROPERTIES
  OUTPUT_NAME pellucid EXPORT_NAME pellucid
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/package/lib"
  INSTALL_RPATH "$ORIGIN")
target_sources(pellucid_package PRIVATE $<TARGET_OBJECTS:pellucid_without_onednn>)
target_compile_features(pellucid_package PUBLIC cxx_std_20)
target_include_directories(pellucid_package PUBLIC
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(pellucid_package PRIVATE
  $<BUILD_INTERFACE:pellucid_flags> fmt::fmt simdjson::simdjson Threads::Threads)
if(NOT PELLUCID_SANITIZE)
  target_link_options(pellucid_package PRIVATE -Wl,--no-undefined -Wl,-Bsymbolic-functions)
endif()

# Appends the LLVM archives that `archive` calls, once each.
function(pellucid_add_llvm_archive archive list)
  if(NOT archive MATCHES "^LLVM" OR archive IN_LIST ${list})
    return()
  endif()
  list(APPEND ${list} ${archive})
  get_target_property(called ${archive} INTERFACE_LINK_LIBRARIES)
  foreach(each IN LISTS called)
    pellucid_add_llvm_archive("${each}" ${list})
  endforeach()
  set(${list} "${${list}}" PARENT_SCOPE)
endfunction()

# Archives are linked by their file, so that nothing of them is exported and no other library is needed at run time.
function(pellucid_link_archives)
  find_library(PELLUCID_UTF8PROC_ARCHIVE libutf8proc.a REQUIRED)
  set(files "${PELLUCID_UTF8PROC_ARCHIVE}")
  if(PELLUCID_JIT)
    foreach(archive IN ITEMS LLVMObject LLVMPasses LLVMX86CodeGen LLVMX86AsmParser)
      pellucid_add_llvm_archive(${archive} archives)
    endforeach()
    foreach(archive IN LISTS archives)
      list(APPEND files "$<TARGET_FILE:${archive}>")
    endforeach()
    foreach(name IN ITEMS z zstd tinfo)  # called by LLVM's support library
      find_library(PELLUCID_${name}_ARCHIVE lib${name}.a REQUIRED)
      list(APPEND files "${PELLUCID_${name}_ARCHIVE}")
    endforeach()
  endif()
  if(PELLUCID_SODIUM)
    list(APPEND files "${SODIUM_ARCHIVE}")
  endif()
  target_link_libraries(pellucid_package PRIVATE -Wl,--start-group ${files} -Wl,--end-group)
  target_link_options(pellucid_package PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections)
endfunction()
pellucid_link_archives()

# find_package(pellucid 0.2 REQUIRED), with the components library (the default), runtime, tool and doctor.
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/pellucid")
install(TARGETS pellucid_package EXPORT pellucid_library
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT devel)
install(TARGETS pellucid_runtime_library EXPORT pellucid_runtime
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime)
install(EXPORT pellucid_runtime NAMESPACE Pellucid:: DESTINATION "${package_folder}" COMPONENT runtime)
install(EXPORT pellucid_library NAMESPACE Pellucid:: DESTINATION "${package_folder}" COMPONENT devel)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/pellucid" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT devel
  FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/pellucid-config.cmake.in"
  "${PROJECT_BINARY_DIR}/generated/pellucid-config.cmake" INSTALL_DESTINATION "${package_folder}"
  PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/pellucid-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/pellucid-config.cmake"
  "${PROJECT_BINARY_DIR}/generated/pellucid-config-version.cmake" DESTINATION "${package_folder}" COMPONENT devel)

# pkg-config. The prefix is relative to the file, so that an installed tree can be moved.
file(RELATIVE_PATH prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/pellucid.pc.in" "${PROJECT_BINARY_DIR}/generated/pellucid.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/generated/pellucid.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT devel)

foreach(component IN ITEMS library devel programs runtime)
  string(REPLACE "library" "libpellucid${PROJECT_VERSION_MAJOR}" package "${component}")
  string(REPLACE "devel" "libpellucid-dev" package "${package}")
  string(REPLACE "programs" "pellucid" package "${package}")
  string(REPLACE "runtime" "libpellucid-runtime${PROJECT_VERSION_MAJOR}" package "${package}")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}"
    COMPONENT ${component} RENAME copyright)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
endforeach()

# cpack -G DEB
set(CPACK_PACKAGE_NAME pellucid)
set(CPACK_PACKAGE_VENDOR Pellucid)
set(CPACK_PACKAGE_CONTACT "The developers of Pellucid <pellucid@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "A C++ tensor runtime that explains itself")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library devel programs runtime)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/package/lib")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVEL_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_DEVEL_PACKAGE_DEPENDS "libpellucid${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})")
include(CPack)
