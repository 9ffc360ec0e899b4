// What every command of the program shares. A command is one file in commands/, and one line in main.cc.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "pellucid/machine.h"

#include "base/terminal.h"

namespace pel::tool {

inline constexpr int kFine = 0;
inline constexpr int kDoesNotHold = 1;  // what was asked for was measured, and is not so
inline constexpr int kWrongUsage = 2;
inline constexpr int kCannotRead = 3;
inline constexpr int kNotThere = 4;
inline constexpr int kReadInPart = 5;

// As the manual page has them.
struct ExitCode {
  int code;
  const char* meaning;
};
inline constexpr ExitCode kExitCodes[] = {
    {kFine, "Fine."},
    {kDoesNotHold, "What was asked for was measured, and does not hold."},
    {kWrongUsage, "The command, an option or a value is wrong; stderr says what would be right."},
    {kCannotRead, "A file is missing or broken, or cannot be written."},
    {kNotThere, "This build or machine lacks what the command needs."},
    {kReadInPart, "The report is there, but a part of what it is about could not be read."},
};

struct Context {
  bool wants_json = false;
  Terminal terminal;  // as stdout is
  int exit_code = kFine;

  // Results go to stdout; progress and advice to stderr.
  static void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }
  // For commands whose output is `what`, and never JSON.
  void refuse_json(const char* what) const {
    if (wants_json) throw CLI::ValidationError(std::string("it prints ") + what + ": leave out --json");
  }
};

// An error on stderr, without what a terminal would obey: names of files may be anything.
void complain(const std::string& program, std::string_view what);

// A line on stderr that is drawn over; nothing where stderr is no terminal.
void show_progress(const std::string& what, double done);

// The roofs of this machine, measured where nobody has.
Machine known_or_measured();

void add_ops(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_machine(CLI::App& app, Context& context);
void add_roofline(CLI::App& app, Context& context);
void add_anatomy(CLI::App& app, Context& context);
void add_budget(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_name(CLI::App& app, Context& context);
void add_tour(CLI::App& app, Context& context);
void add_completion(CLI::App& app, Context& context);
void add_man(CLI::App& app, Context& context);

// What `pellucid doctor` and pellucid-doctor take.
void add_doctor_options(CLI::App& command, Context& context);

}  // namespace pel::tool
