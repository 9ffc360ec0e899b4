// What compile made of a function, and why: for people as text, for programs as fields and JSON.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "pellucid/api.h"

namespace pel {

// Places are as people read them, "model.cc:12"; empty where none is known.
struct CompileExplanation {
  // What a graph is specialised on. Calls that break it are compiled again.
  struct Guard {
    std::string condition;  // "s1 == 512"
    std::string words;      // "the size of axis 1 of input 0 is 512"
    std::string place;      // who asked
  };
  // What may change from call to call.
  struct Axis {
    std::string size;                 // "s1"
    std::vector<std::size_t> guards;  // that name it; none: it may have any size
  };
  struct Input {
    std::string type;  // "f32[s0, s1]"
    std::vector<Axis> axes;
    std::string forecast;  // which changes compile again, and which do not
  };
  struct Symbol {
    std::string name, words;  // "s0", "the size of axis 0 of input 0"
    std::int64_t value = 0;   // that bytes are given for
  };
  struct Value {
    std::string name, type;  // "%4", "f32[s0, 1408]"
    std::string formula;     // of its bytes: "5632*s0"
    std::int64_t bytes = 0;
  };
  struct Call {
    std::string text;  // "%4 = gelu(%3, 'tanh')"
    std::string place;
  };
  // One launch, as the profiler has it.
  struct Kernel {
    std::string name;
    std::vector<Call> calls;  // what it computes, or is part of
    std::uint64_t bytes_read = 0, bytes_written = 0;
    std::vector<Value> saved;  // by fusion: not written to memory, and not read from there
    std::string reason;        // why this one
  };
  struct Decision {
    std::string pass, what, reason, place;
  };
  struct Graph {
    std::vector<Input> inputs;
    std::vector<Symbol> symbols;
    std::vector<Guard> guards;
    std::vector<Kernel> kernels;
    std::vector<Decision> decisions;
    std::vector<Decision> not_fused;  // values between two calls that stay in memory
    std::int64_t arena_bytes = 0, result_bytes = 0;
    std::int64_t peak_bytes = 0;  // what a call adds to MemoryStats::data_bytes
  };
  std::vector<Graph> graphs;

  PEL_API std::string text() const;  // at most 100 columns, where names are not longer
  PEL_API std::string json() const;  // "schema": "pellucid.compile/1"
};
PEL_API std::ostream& operator<<(std::ostream& out, const CompileExplanation& explanation);

}  // namespace pel
