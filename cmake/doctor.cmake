# The doctor: a library of its own, because it reads traces of others and needs neither kernels nor LLVM nor oneDNN.

file(GLOB_RECURSE doctor_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/doctor/*.cc")
add_library(pellucid_doctor STATIC ${doctor_sources} $<TARGET_OBJECTS:pellucid_base>)
pellucid_compile_together(pellucid_doctor 8)
target_compile_definitions(pellucid_doctor PRIVATE PELLUCID_BUILDING)
target_include_directories(pellucid_doctor PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_precompile_headers(pellucid_doctor REUSE_FROM pellucid_base)
if(PELLUCID_SANITIZE)  # as the headers were parsed
  target_compile_options(pellucid_doctor PRIVATE -O1)
endif()
target_link_libraries(pellucid_doctor
  PRIVATE pellucid_flags
  PUBLIC fmt::fmt simdjson::simdjson Threads::Threads)
