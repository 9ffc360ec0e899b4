// A command-line program, from its options to its exit code. pellucid and pellucid-doctor share it.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/terminal.h"

namespace pel::tool {

inline constexpr int kFine = 0;
inline constexpr int kDoesNotHold = 1;  // an expectation was measured and does not hold
inline constexpr int kWrongUsage = 2;
inline constexpr int kCannotRead = 3;
inline constexpr int kNotAvailable = 4;
inline constexpr int kReadInPart = 5;

// As the manual page lists them.
struct ExitCode {
  int code;
  const char* meaning;
};
inline constexpr ExitCode kExitCodes[] = {
    {kFine, "Fine."},
    {kDoesNotHold, "An expectation was measured and does not hold."},
    {kWrongUsage, "The command, an option or a value is wrong; stderr says what is expected."},
    {kCannotRead, "A file is missing or invalid, or cannot be written."},
    {kNotAvailable, "This build or this machine lacks something that the command needs."},
    {kReadInPart, "The report was written, but a part of the input could not be read."},
};

struct Context {
  bool wants_json = false;
  Terminal terminal;  // describes stdout
  int exit_code = kFine;

  // Results go to stdout; progress and advice go to stderr.
  static void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }
  // For commands whose output is `what`, and never JSON.
  void refuse_json(const char* what) const {
    if (wants_json)
      throw CLI::ValidationError(std::string("the command prints ") + what + ", not JSON: remove --json");
  }
};

// Prints an error on stderr, without escape sequences: file names may contain anything.
void complain(const std::string& program, std::string_view what);

// Writes a report. A FileError: the file cannot be written.
void write_file(const std::string& path, const std::string& text);

// Draws one line on stderr over the previous one. Does nothing if stderr is not a terminal.
void show_progress(const std::string& what, double done);

// Adds the options that every program has: --version and --json.
void prepare(CLI::App& app, Context& context);

// Parses the arguments, runs the command and reports errors on stderr. Returns the exit code.
int run_program(CLI::App& app, const Context& context, int argc, char** argv);

}  // namespace pel::tool
