// pellucid-doctor: what is wrong with a run, from its trace. The command `pellucid doctor` as a program of
// its own, which needs neither kernels nor LLVM nor oneDNN.
#include "doctor/tool/doctor_command.h"

#if defined(_WIN32)
// cmd.exe leaves * in names to programs. MinGW's start-up code expands it if this is not 0.
extern "C" int _dowildcard;
int _dowildcard = -1;
#endif

int main(int argc, char** argv) {
  using namespace pel::tool;
  Context context;
  CLI::App app("Diagnoses what bounds a run, from traces of PyTorch's profiler or Pellucid's.",
               "pellucid-doctor");
  prepare(app, context);
  add_doctor_options(app, context);
  return run_program(app, context, argc, argv);
}
