// Instead of a peer: the time that a trace may take at 400 MB per second.
#include <filesystem>

#include "../support/server.h"
#include "traces.h"

int main(int argc, char** argv) {
  bench::Case pace("plain_256MB", [] {});
  pace.measure = [](std::int64_t) {
    return static_cast<double>(std::filesystem::file_size(bench::trace_path("large.json"))) / 400e6 * 1e9;
  };
  return bench::serve(argc, argv, {&pace, 1});
}
