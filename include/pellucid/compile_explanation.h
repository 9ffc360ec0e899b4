// The result of compiling a function, with reasons: text and a page for people, fields and JSON for programs.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/api.h"

namespace pel {

class Profile;

// Locations are for people: "model.cc:12 linear > matmul > mm" is an mm that the linear of the user's line 12
// calls. They are empty if no line is known.
struct CompileExplanation {
  // What a graph is specialised on. Calls that break it are compiled again.
  struct Guard {
    std::string condition;  // "s1 == 512"
    std::string words;      // "axis 1 of input 0 must be 512"
    std::string source;     // the call that needs it: "weight of linear at model.cc:12"
  };
  struct Axis {
    std::string size;                 // "s1"
    std::vector<std::size_t> guards;  // that mention it; if there are none, it may have any size
  };
  struct Input {
    std::string type;  // "f32[s0, s1]"
    std::vector<Axis> axes;
    std::string forecast;  // which changes compile again, and which do not
  };
  struct Symbol {
    std::string name, words;  // "s0", "axis 0 of input 0"
    std::int64_t value = 0;   // that the bytes below are for
  };
  struct Value {
    std::string name, type;  // "%4", "f32[s0, 1408]"
    std::string formula;     // of its bytes: "5632*s0"
    std::int64_t bytes = 0;
  };
  struct Call {
    std::string text;  // "%4 = gelu(%3, 'tanh')"
    std::string location;
  };
  // On how many threads a kernel runs, from the time that its parallel loops take on one. Known after a call
  // at these sizes with this thread_count().
  struct Threads {
    int count = 0;           // if the workers park; 0: not known
    int count_if_awake = 0;  // if they still spin, after another loop
    double work_ns = 0;      // 0: not known
    int loops = 0, pieces = 0;
    std::string reason;  // "340 µs of work in 8 pieces"
  };
  // A tensor that a kernel reads or writes. The bytes of all are those of the kernel.
  struct Operand {
    // What wrote it before the kernel reads it, or whose memory the kernel writes to: Kernel is memory of the
    // function's own.
    enum class From : std::uint8_t { Kernel, Input, Constant, Number };
    std::string name, type;  // "%4", "f32[s0, 1408]"; no name: memory that is used inside of one call
    std::uint64_t bytes = 0;
    From from = From::Kernel;
    std::size_t number = 0;  // of the kernel, the input or the constant
    std::size_t output = 0;  // of a kernel: which of its `writes`
    struct Part {
      std::size_t kernel = 0, output = 0;
    };
    std::vector<Part> parts;  // of other kernels, before that one, if each wrote a part
  };
  // One kernel launch, with the name that the profiler shows.
  struct Kernel {
    std::string name;
    std::vector<Call> calls;  // the calls that it computes, or the call that it is a part of
    std::uint64_t bytes_read = 0, bytes_written = 0;
    std::vector<Value> saved;  // values that fusion keeps out of memory
    std::vector<Operand> reads, writes;
    std::string reason;  // why this kernel was chosen
    Threads threads;
    double predicted_ns = 0;        // 0: not known
    std::uint64_t measured_ns = 0;  // the median of Graph::measured_calls; 0: not measured
  };
  // The right operand of a matmul that is an input or a constant.
  struct PackedWeight {
    std::string name, type;       // "%2", "f32[512, 1408]"
    std::int64_t bytes = 0;       // of its packed form; 0 if it has none
    std::int64_t since_call = 0;  // the call of the function that packed it, counted from 1
    std::string reason;           // why it has none
  };
  struct Decision {
    std::string pass, what, reason, location;
  };
  struct Graph {
    std::vector<Input> inputs;
    std::vector<Symbol> symbols;
    std::vector<Guard> guards;
    std::vector<Kernel> kernels;
    std::vector<Decision> decisions;
    std::vector<PackedWeight> packed_weights;
    std::vector<Decision> not_fused;  // values between two calls that go through memory
    std::vector<Operand> results;     // with the kernel that writes each
    int measured_calls = 0;           // whose times are known
    std::string not_measured;         // why there are none, after add_times
    int thread_count = 0;             // 0: the threads of kernels are not known
    std::int64_t arena_bytes = 0, result_bytes = 0;
    std::int64_t peak_bytes = 0;         // what a call adds to MemoryStats::data_bytes, at its peak
    std::int64_t peak_bytes_of_all = 0;  // the same with small tensors, which MemoryStats leaves out
  };
  std::vector<Graph> graphs;

  // Adds the times that kernels took in a profile: the median of the calls that launched the kernels of a
  // graph, with their names and bytes in their order. Stops the profile.
  PEL_API void add_times(Profile& profile);

  PEL_API std::string text() const;  // in 100 columns, unless a name is longer
  PEL_API std::string json() const;  // "schema": "pellucid.compile/1"
  // Returns one self-contained page: the graph drawn, each kernel with its calls and reasons, and tables.
  PEL_API std::string html(std::string_view title = "Compiled function") const;
};
PEL_API std::ostream& operator<<(std::ostream& out, const CompileExplanation& explanation);

}  // namespace pel
