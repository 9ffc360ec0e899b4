// Shared by all commands of the program. A command is one file in commands/, and one line in main.cc.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "pellucid/machine.h"

#include "base/terminal.h"

namespace pel::tool {

inline constexpr int kFine = 0;
inline constexpr int kDoesNotHold = 1;  // an expectation was measured and does not hold
inline constexpr int kWrongUsage = 2;
inline constexpr int kCannotRead = 3;
inline constexpr int kNotThere = 4;
inline constexpr int kReadInPart = 5;

// The text in the manual page.
struct ExitCode {
  int code;
  const char* meaning;
};
inline constexpr ExitCode kExitCodes[] = {
    {kFine, "Fine."},
    {kDoesNotHold, "An expectation was measured and does not hold."},
    {kWrongUsage, "The command, an option or a value is wrong; stderr says what is expected."},
    {kCannotRead, "A file is missing or invalid, or cannot be written."},
    {kNotThere, "This build or this machine lacks something that the command needs."},
    {kReadInPart, "The report was written, but a part of the input could not be read."},
};

struct Context {
  bool wants_json = false;
  Terminal terminal;  // describes stdout
  int exit_code = kFine;

  // Results go to stdout; progress and advice to stderr.
  static void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }
  // Throws for commands whose output is `what`, which never is JSON.
  void refuse_json(const char* what) const {
    if (wants_json)
      throw CLI::ValidationError(std::string("the command prints ") + what + ", not JSON: remove --json");
  }
};

// Prints an error to stderr, without terminal control sequences: file names may contain anything.
void complain(const std::string& program, std::string_view what);

// Draws a progress line on stderr that is overwritten later; nothing if stderr is not a terminal.
void show_progress(const std::string& what, double done);

// Returns the roofs of this machine; measures them the first time.
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

// Adds the options of `pellucid doctor` and pellucid-doctor.
void add_doctor_options(CLI::App& command, Context& context);

}  // namespace pel::tool
