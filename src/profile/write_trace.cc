// Writes a profile as Chrome JSON with the categories, arguments and flows of Kineto, PyTorch's profiler.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "pellucid/profile.h"

#include "base/check.h"
#include "profile/rank_identity.h"

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

// As PyTorch names them in the arguments of collectives.
std::string_view torch_scalar_type(DType dtype) {
  switch (dtype) {
    case kF32:
      return "Float";
    case kF64:
      return "Double";
    case kF16:
      return "Half";
    case kBF16:
      return "BFloat16";
    case kI8:
      return "Char";
    case kI16:
      return "Short";
    case kI32:
      return "Int";
    case kI64:
      return "Long";
    case kU8:
      return "Byte";
    default:
      return "Bool";
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
    if (const profile::RankIdentity known = profile::rank_identity(); known.world != 0)
      out_.text(fmt::format(
          ",\n\"distributedInfo\": {{\"backend\": \"pellucid\", \"rank\": {}, \"world_size\": {}}}",
          known.rank, known.world));
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
    for (const DeviceRows& device : devices_) {
      name_row("process_name", device.process, 0, fmt::format("{} kernels", to_string(device.device)));
      name_row("process_labels", device.process, 0, to_string(device.device));
      for (const auto& [stream, row] : device.streams)
        name_row("thread_name", device.process, row, fmt::format("stream {}", stream));
    }
    out_.text("\n],\n\"traceName\": \"pellucid\"\n}\n");
  }

  void event(const ProfileEvent& e) {
    using Kind = ProfileEvent::Kind;
    const bool is_on_device = is_asynchronous(e.device) && (e.kind == Kind::Kernel || e.kind == Kind::Copy);
    if (!is_on_device) enter_thread(e);
    switch (e.kind) {
      case Kind::Kernel:
        return is_on_device ? queued_kernel(e) : kernel(e);
      case Kind::Launch:
        return launch(e);
      case Kind::Copy:
        return copy(e);
      case Kind::Sync:
        return wait(e);
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
  // Streams of all devices have different rows: HTA tells streams apart by their numbers alone.
  struct DeviceRows {
    Device device;
    int process;
    std::vector<std::pair<int, std::uint64_t>> streams;  // and their rows
  };
  struct Lane {
    int process;
    std::uint64_t row;
  };
  Lane lane_of(const ProfileEvent& e) {
    auto at = std::ranges::find(devices_, e.device, &DeviceRows::device);
    if (at == devices_.end()) {
      int process = static_cast<int>(devices_.size()) + 1;
      if (process >= process_) ++process;
      at = devices_.insert(at, {e.device, process, {}});
    }
    const auto known = std::ranges::find(at->streams, e.stream, &std::pair<int, std::uint64_t>::first);
    if (known != at->streams.end()) return {at->process, known->second};
    at->streams.emplace_back(e.stream, next_stream_);
    return {at->process, next_stream_++};
  }
  // The numbers of launches on the CPU and on devices do not meet.
  static std::uint64_t correlation_of(const ProfileEvent& e) { return 2 * e.correlation; }
  std::uint64_t new_correlation() { return 2 * ++correlation_ + 1; }

  static std::uint64_t external_id(const ProfileEvent& e, std::uint32_t thread) {
    return std::uint64_t{thread} << 40 | e.id;
  }
  static std::uint64_t external_id(const ProfileEvent& e) { return external_id(e, e.thread); }
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
  void flow(char phase, std::string_view category, std::uint64_t id, const ProfileEvent& e) {
    flow(phase, category, id, e, {process_, row_of(e.thread)});
  }
  void flow(char phase, std::string_view category, std::uint64_t id, const ProfileEvent& e, Lane lane) {
    separate();
    out_.text("{\"ph\": \"");
    out_.text({&phase, 1});
    out_.text("\", \"id\": ");
    out_.number(id);
    out_.text(", \"cat\": \"");
    out_.text(category);
    out_.text("\", \"name\": \"");
    out_.text(category);
    place(lane.process, lane.row, e);
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
    const std::uint64_t correlation = new_correlation();
    call("cudaLaunchKernel", e);
    out_.text("\"External id\": ");
    out_.number(external_id(e));
    out_.text(", \"correlation\": ");
    out_.number(correlation);
    out_.text("}}");
    flow('s', "ac2g", correlation, e);
    const Lane lane{0, stream()};
    activity("kernel", e, lane, external_id(e), correlation);
    about_kernel(e);
    flow('f', "ac2g", correlation, e, lane);
  }
  void queued_kernel(const ProfileEvent& e) {
    const Lane lane = lane_of(e);
    activity("kernel", e, lane, external_id(e, e.caller_thread), correlation_or_new(e));
    about_kernel(e);
    if (e.correlation != 0) flow('f', "ac2g", correlation_of(e), e, lane);
  }
  void copy(const ProfileEvent& e) {
    const Lane lane = lane_of(e);
    activity("gpu_memcpy", e, lane, external_id(e, e.caller_thread), correlation_or_new(e));
    out_.text(", \"bytes\": ");
    out_.number(e.bytes);
    out_.text(", \"memory bandwidth (GB/s)\": ");
    const auto ns = static_cast<double>(std::max<std::uint64_t>(e.end_ns - e.begin_ns, 1));
    out_.text(fmt::format("{:.3f}", static_cast<double>(e.bytes) / ns));
    site(e.site);
    out_.text("}}");
    if (e.correlation != 0) flow('f', "ac2g", correlation_of(e), e, lane);
  }
  // Of what was queued before the profile began, there is no launch.
  std::uint64_t correlation_or_new(const ProfileEvent& e) {
    return e.correlation != 0 ? correlation_of(e) : new_correlation();
  }

  void call(std::string_view name, const ProfileEvent& e) {
    separate();
    out_.text("{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"");
    out_.text(name);
    place(process_, row_of(e.thread), e);
    duration(e);
  }
  void launch(const ProfileEvent& e) {
    call(std::string_view(e.name).starts_with("copy") ? "cudaMemcpyAsync" : "cudaLaunchKernel", e);
    out_.text("\"External id\": ");
    out_.number(external_id(e));
    out_.text(", \"correlation\": ");
    out_.number(correlation_of(e));
    out_.text(", \"Queued\": ");
    out_.number(e.queued);
    refusals(e);
    out_.text("}}");
    flow('s', "ac2g", correlation_of(e), e);
  }
  void wait(const ProfileEvent& e) {
    call(e.stream < 0 ? "cudaDeviceSynchronize" : "cudaStreamSynchronize", e);
    if (e.id != 0) {
      out_.text("\"External id\": ");
      out_.number(external_id(e));
      out_.text(", ");
    }
    out_.text("\"Reason\": \"");
    out_.escaped(e.name);
    out_.text("\", \"Queued\": ");
    out_.number(e.queued);
    site(e.site);
    out_.text("}}");
  }

  void activity(std::string_view category, const ProfileEvent& e, Lane lane, std::uint64_t external,
                std::uint64_t correlation) {
    separate();
    out_.text("{\"ph\": \"X\", \"cat\": \"");
    out_.text(category);
    out_.text("\", \"name\": \"");
    out_.escaped(e.name);
    place(lane.process, lane.row, e);
    duration(e);
    out_.text("\"External id\": ");
    out_.number(external);
    out_.text(", \"correlation\": ");
    out_.number(correlation);
    out_.text(", \"device\": ");
    out_.number(lane.process);
    out_.text(", \"context\": 1, \"stream\": ");
    out_.number(lane.row);
  }
  void about_kernel(const ProfileEvent& e) {
    out_.text(", \"bytes read\": ");
    out_.number(e.bytes_read);
    out_.text(", \"bytes written\": ");
    out_.number(e.bytes_written);
    out_.text(", \"flops\": ");
    out_.number(e.flops);
    const std::size_t outputs = std::min<std::size_t>(e.output_count, e.shapes.size());
    shapes("Output", {e.shapes.data(), outputs});
    shapes("Input", {e.shapes.data() + outputs, e.shapes.size() - outputs});
    collective(e);
    refusals(e);
    site(e.site);
    out_.text("}}");
  }
  // As Kineto writes those of NCCL, for tools that compare ranks.
  void collective(const ProfileEvent& e) {
    if (*e.collective.name == '\0') return;
    out_.text(", \"Collective name\": \"");
    out_.escaped(e.collective.name);
    out_.text("\", \"Process Group Name\": \"");
    out_.escaped(e.collective.group);
    out_.text("\", \"Seq\": ");
    out_.number(e.collective.number);
    out_.text(", \"Group size\": ");
    out_.number(e.collective.ranks);
    if (e.shapes.size() != 2) return;
    const auto elements = [](const ProfileEvent::Shape& shape) {
      std::int64_t count = 1;
      for (const std::int64_t size : shape.sizes) count *= size;
      return count;
    };
    out_.text(", \"In msg nelems\": ");
    out_.number(elements(e.shapes[1]));
    out_.text(", \"Out msg nelems\": ");
    out_.number(elements(e.shapes[0]));
    out_.text(", \"dtype\": \"");
    out_.text(torch_scalar_type(e.shapes[1].dtype));
    out_.text("\"");
  }
  void refusals(const ProfileEvent& e) {
    if (e.refusals.empty()) return;
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
  std::vector<DeviceRows> devices_;  // asynchronous ones, in the order in which they were met
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
