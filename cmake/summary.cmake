get_property(PELLUCID_FLEET GLOBAL PROPERTY PELLUCID_FLEET)
set(peers "none (./dev setup --peers installs them)")
if(PELLUCID_TORCH_DIR)
  set(peers "${PELLUCID_PEERS_DIR}")
endif()

message(STATUS "Pellucid ${PROJECT_VERSION}
   build type              ${CMAKE_BUILD_TYPE}
   compiler                ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION}
   linker                  ${PELLUCID_LINKER}
   ccache                  ${PELLUCID_CCACHE}
   ops                     ${PELLUCID_OP_COUNT}
   LLVM                    ${LLVM_PACKAGE_VERSION}, at run time: ${PELLUCID_JIT}
   Parquet tables          ${PELLUCID_FLEET}
   SQLite databases        ${PELLUCID_DOCTOR_SQLITE}
   warnings as errors      ${PELLUCID_WERROR}
   sanitizers              ${PELLUCID_SANITIZE}
   concurrency tests only  ${PELLUCID_CONCURRENCY_TESTS_ONLY}
   peers                   ${peers}")
