# The files of src/base that the doctor needs are objects of their own: the doctor takes these alone, the library takes the
# whole folder. A program that links both has each symbol once, because both have the same objects.

add_library(pellucid_errors OBJECT "${PROJECT_SOURCE_DIR}/src/base/error.cc" "${PROJECT_SOURCE_DIR}/src/base/expectation.cc")
target_compile_definitions(pellucid_errors PRIVATE PELLUCID_BUILDING)
target_include_directories(pellucid_errors PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(pellucid_errors PRIVATE pellucid_flags fmt::fmt)
