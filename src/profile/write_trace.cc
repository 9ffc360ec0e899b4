// Writes a profile as Chrome JSON with the categories, arguments and flows of Kineto, PyTorch's profiler.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "pellucid/profile.h"

#include "base/check.h"

namespace pel {
namespace {

// Text into a file, a megabyte at a time.
class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    PEL_CHECK(file_ != nullptr, FileError, "{} cannot be written", path);
  }
  ~Writer() {
    if (file_ != nullptr) std::fclose(file_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void text(std::string_view s) {
    if (s.size() > kBytes - used_) flush();
    if (s.size() > kBytes) {
      write(s.data(), s.size());
      return;
    }
    std::memcpy(buffer_.get() + used_, s.data(), s.size());
    used_ += s.size();
  }
  template <class Int>
  void number(Int value) {
    if (kBytes - used_ < 32) flush();
    used_ = static_cast<std::size_t>(std::to_chars(buffer_.get() + used_, buffer_.get() + kBytes, value).ptr -
                                     buffer_.get());
  }
  // Microseconds with three digits after the point.
  void time(std::uint64_t ns) {
    number(ns / 1000);
    const auto rest = static_cast<unsigned>(ns % 1000);
    const char digits[4] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                            static_cast<char>('0' + rest % 10)};
    text({digits, 4});
  }
  // Without the quotes around it.
  void escaped(std::string_view s) {
    constexpr char kHex[] = "0123456789abcdef";
    std::size_t begin = 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      const auto c = static_cast<unsigned char>(s[i]);
      if (c >= 0x20 && c != '"' && c != '\\') [[likely]]
        continue;
      text(s.substr(begin, i - begin));
      begin = i + 1;
      if (c >= 0x20) {
        const char pair[2] = {'\\', s[i]};
        text({pair, 2});
      } else {
        const char code[6] = {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
        text({code, 6});
      }
    }
    text(s.substr(begin));
  }
  void close() {
    flush();
    std::FILE* file = std::exchange(file_, nullptr);
    PEL_CHECK(std::fclose(file) == 0, FileError, "{} cannot be written to its end: is the disk full?", path_);
  }

 private:
  static constexpr std::size_t kBytes = 1 << 20;
  void flush() {
    write(buffer_.get(), used_);
    used_ = 0;
  }
  void write(const char* data, std::size_t count) {
    PEL_CHECK(std::fwrite(data, 1, count, file_) == count, FileError,
              "{} cannot be written to its end: is the disk full?", path_);
  }
  std::string path_;
  std::FILE* file_;
  std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(kBytes);
  std::size_t used_ = 0;
};

// As PyTorch names them.
std::string_view torch_name(DType dtype) {
  switch (dtype) {
    case kF32:
      return "float";
    case kF64:
      return "double";
    case kF16:
      return "c10::Half";
    case kBF16:
      return "c10::BFloat16";
    case kI8:
      return "signed char";
    case kI16:
      return "short int";
    case kI32:
      return "int";
    case kI64:
      return "long int";
    case kU8:
      return "unsigned char";
    case kBool:
      return "bool";
    default:
      return name(dtype);
  }
}

constexpr std::uint64_t kFirstStream = 7;  // PyTorch's own traces have their kernels on stream 7

class TraceWriter {
 public:
  TraceWriter(Writer& out, int process) : out_(out), process_(process) {}

  void header(Profile& profile) {
    out_.text(
        "{\"schemaVersion\": 1,\n\"deviceProperties\": [],\n\"record_shapes\": 1,\n\"pellucid_dropped\": ");
    out_.number(profile.dropped());
    out_.text(",\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": ");
    out_.number(profile.began_unix_ns());
    out_.text(",\n\"traceEvents\": [\n");
    name_row("process_name", process_, 0, "pellucid");
    name_row("process_labels", process_, 0, "CPU");
    name_row("process_name", 0, 0, "pellucid kernels");
    name_row("process_labels", 0, 0, "CPU kernels");
  }
  void footer() {
    for (const Thread& thread : threads_) {
      name_row("thread_name", process_, row_of(thread.number),
               fmt::format("{} {}", thread.is_worker ? "worker" : "thread", thread.number));
      if (thread.stream != 0)
        name_row("thread_name", 0, thread.stream, fmt::format("stream {}", thread.stream));
    }
    out_.text("\n],\n\"traceName\": \"pellucid\"\n}\n");
  }

  void event(const ProfileEvent& e) {
    using Kind = ProfileEvent::Kind;
    enter_thread(e);
    switch (e.kind) {
      case Kind::Kernel:
        return kernel(e);
      case Kind::Memory:
        return memory(e);
      case Kind::Piece:
        return piece(e);
      case Kind::Op:
        begin_span("cpu_op", "", e);
        break;
      case Kind::Backward:
        begin_span("cpu_op", "backward: ", e);
        break;
      case Kind::Module:
        begin_span("user_annotation", "nn.Module: ", e);
        break;
      case Kind::Layer:
        begin_span("user_annotation", "layer: ", e);
        break;
      case Kind::Compile:
        begin_span("user_annotation", "compile: ", e);
        break;
      case Kind::Range:
        begin_span("user_annotation", "", e);
        break;
    }
    out_.text("\"External id\": ");
    out_.number(span_id(e));
    if (e.sequence != 0) {
      out_.text(", \"Sequence number\": ");
      out_.number(e.sequence);
      out_.text(", \"Fwd thread id\": ");
      out_.number(e.kind == Kind::Backward ? e.thread : 0);
    }
    if (e.is_sync) out_.text(", \"Sync\": 1");
    shapes("Input", e.shapes);
    site(e.site);
    out_.text("}}");
    if (e.sequence != 0) flow(e.kind == Kind::Backward ? 'f' : 's', "fwdbwd", e.sequence << 12 | e.thread, e);
  }

 private:
  void separate() {
    if (!is_first_) out_.text(",\n");
    is_first_ = false;
  }
  void name_row(std::string_view what, int process, std::uint64_t row, std::string_view label) {
    separate();
    out_.text("{\"ph\": \"M\", \"name\": \"");
    out_.text(what);
    out_.text("\", \"pid\": ");
    out_.number(process);
    out_.text(", \"tid\": ");
    out_.number(row);
    out_.text(", \"ts\": 0.000, \"args\": {\"");
    out_.text(what == "process_labels" ? "labels" : "name");
    out_.text("\": \"");
    out_.text(label);
    out_.text("\"}}");
  }
  struct Thread {
    std::uint32_t number;
    std::uint64_t stream = 0;  // 0: it has launched no kernel yet
    bool is_worker = true;     // it has only run pieces for other threads
  };
  void enter_thread(const ProfileEvent& e) {
    if (threads_.empty() || threads_[thread_].number != e.thread) [[unlikely]] {
      const auto found = std::ranges::find(threads_, e.thread, &Thread::number);
      thread_ = static_cast<std::size_t>(found - threads_.begin());
      if (found == threads_.end()) threads_.push_back({e.thread});
    }
    if (e.kind != ProfileEvent::Kind::Piece || e.caller_thread == e.thread)
      threads_[thread_].is_worker = false;
  }
  // Each thread has a stream of its own: kernels of two threads overlap, those of a stream do not.
  std::uint64_t stream() {
    std::uint64_t& stream = threads_[thread_].stream;
    if (stream == 0) stream = next_stream_++;
    return stream;
  }
  std::uint64_t row_of(std::uint32_t thread) const { return static_cast<std::uint64_t>(process_) + thread; }
  static std::uint64_t external_id(const ProfileEvent& e) { return std::uint64_t{e.thread} << 40 | e.id; }
  // A span that is not an op has no number of its own: it gets one that no op has.
  std::uint64_t span_id(const ProfileEvent& e) {
    return e.id != 0 ? external_id(e) : std::uint64_t{e.thread} << 40 | std::uint64_t{1} << 39 | ++spans_;
  }

  void place(int process, std::uint64_t row, const ProfileEvent& e) {
    out_.text("\", \"pid\": ");
    out_.number(process);
    out_.text(", \"tid\": ");
    out_.number(row);
    out_.text(", \"ts\": ");
    out_.time(e.begin_ns);
  }
  void duration(const ProfileEvent& e) {
    out_.text(", \"dur\": ");
    out_.time(e.end_ns - e.begin_ns);
    out_.text(", \"args\": {");
  }
  void begin_span(std::string_view category, std::string_view prefix, const ProfileEvent& e) {
    separate();
    out_.text("{\"ph\": \"X\", \"cat\": \"");
    out_.text(category);
    out_.text("\", \"name\": \"");
    out_.text(prefix);
    out_.escaped(e.name);
    place(process_, row_of(e.thread), e);
    duration(e);
  }
  void flow(char phase, std::string_view category, std::uint64_t id, const ProfileEvent& e,
            bool on_stream = false) {
    separate();
    out_.text("{\"ph\": \"");
    out_.text({&phase, 1});
    out_.text("\", \"id\": ");
    out_.number(id);
    out_.text(", \"cat\": \"");
    out_.text(category);
    out_.text("\", \"name\": \"");
    out_.text(category);
    place(on_stream ? 0 : process_, on_stream ? stream() : row_of(e.thread), e);
    out_.text(phase == 'f' ? ", \"bp\": \"e\"}" : "}");
  }
  void list(ArrayView<std::int64_t> numbers) {
    out_.text("[");
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (i != 0) out_.text(", ");
      out_.number(numbers[i]);
    }
    out_.text("]");
  }
  void shapes(std::string_view what, ArrayView<ProfileEvent::Shape> operands) {
    if (operands.empty()) return;
    const auto each = [&](std::string_view part, auto&& write) {
      out_.text(", \"");
      out_.text(what);
      out_.text(part);
      out_.text("\": [");
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (i != 0) out_.text(", ");
        write(operands[i]);
      }
      out_.text("]");
    };
    each(" Dims", [&](const ProfileEvent::Shape& s) { list(s.sizes); });
    each(" Strides", [&](const ProfileEvent::Shape& s) { list(s.strides); });
    each(" type", [&](const ProfileEvent::Shape& s) {
      out_.text("\"");
      out_.text(torch_name(s.dtype));
      out_.text("\"");
    });
  }
  void site(const Site& location) {
    if (location.line() == 0) return;
    out_.text(", \"Call site\": \"");
    out_.escaped(location.file_name());
    out_.text(":");
    out_.number(location.line());
    out_.text("\"");
  }

  void piece(const ProfileEvent& e) {
    begin_span("piece", "", e);
    out_.text("\"caller\": ");
    out_.number(row_of(e.caller_thread));
    out_.text(", \"first\": ");
    out_.number(e.first_element);
    out_.text(", \"end\": ");
    out_.number(e.end_element);
    site(e.site);
    out_.text("}}");
  }

  // Written twice: on the thread, which waits for it, and on the stream, joined by a correlation. HTA
  // recognises only launches with the names of CUDA.
  void kernel(const ProfileEvent& e) {
    const std::uint64_t correlation = ++correlation_;
    separate();
    out_.text("{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel");
    place(process_, row_of(e.thread), e);
    duration(e);
    out_.text("\"External id\": ");
    out_.number(external_id(e));
    out_.text(", \"correlation\": ");
    out_.number(correlation);
    out_.text("}}");
    flow('s', "ac2g", correlation, e);
    separate();
    out_.text("{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"");
    out_.escaped(e.name);
    place(0, stream(), e);
    duration(e);
    out_.text("\"External id\": ");
    out_.number(external_id(e));
    out_.text(", \"correlation\": ");
    out_.number(correlation);
    out_.text(", \"device\": 0, \"context\": 1, \"stream\": ");
    out_.number(stream());
    out_.text(", \"bytes read\": ");
    out_.number(e.bytes_read);
    out_.text(", \"bytes written\": ");
    out_.number(e.bytes_written);
    out_.text(", \"flops\": ");
    out_.number(e.flops);
    const std::size_t outputs = std::min<std::size_t>(e.output_count, e.shapes.size());
    shapes("Output", {e.shapes.data(), outputs});
    shapes("Input", {e.shapes.data() + outputs, e.shapes.size() - outputs});
    if (!e.refusals.empty()) {
      out_.text(", \"refused\": {");
      for (std::size_t i = 0; i < e.refusals.size(); ++i) {
        out_.text(i == 0 ? "\"" : ", \"");
        out_.escaped(e.refusals[i].kernel);
        out_.text("\": \"");
        out_.escaped(e.refusals[i].reason);
        out_.text("\"");
      }
      out_.text("}");
    }
    site(e.site);
    out_.text("}}");
    flow('f', "ac2g", correlation, e, true);
  }

  void memory(const ProfileEvent& e) {
    separate();
    out_.text("{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]");
    place(process_, row_of(e.thread), e);
    out_.text(", \"args\": {\"Bytes\": ");
    out_.number(e.bytes);
    out_.text(", \"Device Type\": 0, \"Device Id\": -1, \"Total Allocated\": ");
    out_.number(e.bytes_in_use);
    out_.text("}}");
  }

  Writer& out_;
  int process_;
  bool is_first_ = true;
  std::uint64_t correlation_ = 0, spans_ = 0;
  std::vector<Thread> threads_;  // in the order in which they were met
  std::size_t thread_ = 0;       // the present one, in threads_
  std::uint64_t next_stream_ = kFirstStream;
};

}  // namespace

void Profile::write_trace(const std::string& path, Site site) {
  try {
    Writer out(path);
    TraceWriter trace(out, getpid());
    trace.header(*this);
    each([&](const ProfileEvent& e) { trace.event(e); });
    trace.footer();
    out.close();
  } catch (Error& error) {
    error.leave_call("write_trace", site);
    throw;
  }
}

}  // namespace pel
