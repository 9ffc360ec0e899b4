// pellucid: the path from op to kernel, shown on this machine.
#include "command.h"
#include "doctor/tool/doctor_command.h"

int main(int argc, char** argv) {
  using namespace pel::tool;
  Context context;
  CLI::App app("A tensor runtime you can see through: the path from op to kernel, shown on this machine.",
               "pellucid");
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  prepare(app, context);
  add_ops(app, context);
  add_explain(app, context);
  add_machine(app, context);
  add_devices(app, context);
  add_cache(app, context);
  add_roofline(app, context);
  add_anatomy(app, context);
  add_budget(app, context);
  add_doctor(app, context);
  add_fleet(app, context);
  add_name(app, context);
  add_tour(app, context);
  add_completion(app, context);
  add_man(app, context);
  for (CLI::App* command : app.get_subcommands({})) command->group("Commands");
  return run_program(app, context, argc, argv);
}
