# Tables for SQL. The writer of Parquet is a module that is loaded at run time. Without Arrow it is not built, and the
# program reports that when it is used. pellucid-doctor links a stub that always reports it.

set(PELLUCID_FLEET "none (./dev setup installs Arrow)")
file(GLOB arrow_folder "${PELLUCID_FLEET_DIR}/lib/python3*/site-packages/pyarrow")
if(PELLUCID_SANITIZE)  # container checks fail if a part of the program is compiled without them
  set(PELLUCID_FLEET "none (Arrow is built without sanitizers)")
elseif(EXISTS "${arrow_folder}/libparquet.so.2600")
  set(PELLUCID_FLEET "${arrow_folder}")
endif()

file(GLOB fleet_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/fleet/*.cc")
list(FILTER fleet_sources EXCLUDE REGEX "/without\\.cc$")
add_library(pellucid_fleet STATIC ${fleet_sources})
pellucid_compile_together(pellucid_fleet 8)
target_link_libraries(pellucid_fleet PRIVATE pellucid_flags PUBLIC pellucid_doctor ${CMAKE_DL_LIBS})

add_library(pellucid_no_fleet STATIC "${PROJECT_SOURCE_DIR}/src/fleet/without.cc")
target_link_libraries(pellucid_no_fleet PRIVATE pellucid_flags PUBLIC pellucid_doctor)

if(IS_DIRECTORY "${PELLUCID_FLEET}")
  foreach(library IN ITEMS arrow parquet)
    add_library(fleet_${library} SHARED IMPORTED)
    set_target_properties(fleet_${library} PROPERTIES IMPORTED_LOCATION "${arrow_folder}/lib${library}.so.2600")
  endforeach()
  add_library(pellucid_parquet MODULE "${PROJECT_SOURCE_DIR}/src/fleet/arrow/open_parquet.cc")
  target_include_directories(pellucid_parquet PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_include_directories(pellucid_parquet SYSTEM PRIVATE "${arrow_folder}/include")
  target_link_libraries(pellucid_parquet PRIVATE pellucid_flags fleet_arrow fleet_parquet)
  add_dependencies(pellucid_fleet pellucid_parquet)
endif()
