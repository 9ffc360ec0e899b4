// The traces that the doctor's benchmarks read, in build/bench_traces: generated once by
// doctor/tests/made_trace.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include "doctor/tests/made_trace.h"

namespace bench {

inline std::string trace_path(const std::string& name) {
  return std::string(PELLUCID_SOURCE_DIR) + "/build/bench_traces/" + name;
}

inline pel::test::TracePlan training_plan() {
  return {.steps = 1,
          .jitter_percent = 30,
          .streams = 2,
          .has_python = true,
          .has_memory = true,
          .has_shapes = true};
}

namespace detail {

class GzipFile {
 public:
  explicit GzipFile(const std::string& path) : file_(path, std::ios::binary), level_(ISAL_DEF_LVL2_DEFAULT) {
    isal_deflate_init(&stream_);
    stream_.gzip_flag = IGZIP_GZIP;
    stream_.level = 2;
    stream_.level_buf = level_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(level_.size());
  }
  void add(const char* bytes, std::size_t count, bool is_last) {
    stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes));
    stream_.avail_in = static_cast<std::uint32_t>(count);
    stream_.end_of_stream = is_last;
    do {
      stream_.next_out = packed_.data();
      stream_.avail_out = static_cast<std::uint32_t>(packed_.size());
      if (isal_deflate(&stream_) != COMP_OK) throw std::runtime_error("isal_deflate");
      file_.write(reinterpret_cast<const char*>(packed_.data()),
                  static_cast<std::streamsize>(packed_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

 private:
  std::ofstream file_;
  std::vector<std::uint8_t> level_, packed_ = std::vector<std::uint8_t>(1 << 16);
  isal_zstream stream_;
};

class ZstdFile {
 public:
  explicit ZstdFile(const std::string& path) : file_(path, std::ios::binary), stream_(ZSTD_createCStream()) {}
  ~ZstdFile() { ZSTD_freeCStream(stream_); }
  ZstdFile(const ZstdFile&) = delete;
  ZstdFile& operator=(const ZstdFile&) = delete;
  void add(const char* bytes, std::size_t count, bool is_last) {
    ZSTD_inBuffer in{bytes, count, 0};
    for (std::size_t left = 1; left != 0 && (is_last || in.pos != in.size);) {
      ZSTD_outBuffer out{packed_.data(), packed_.size(), 0};
      left = ZSTD_compressStream2(stream_, &out, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0) throw std::runtime_error(ZSTD_getErrorName(left));
      file_.write(packed_.data(), static_cast<std::streamsize>(out.pos));
      if (!is_last) left = 1;
    }
  }

 private:
  std::ofstream file_;
  ZSTD_CStream* stream_;
  std::vector<char> packed_ = std::vector<char>(1 << 16);
};

inline void write_traces(const std::string& name, std::uint64_t min_bytes) {
  std::ofstream plain(trace_path(name + ".json"), std::ios::binary);
  GzipFile gzip(trace_path(name + ".json.gz"));
  ZstdFile zstd(trace_path(name + ".json.zst"));
  pel::test::MadeSource source(training_plan(), min_bytes);
  std::vector<char> block(1 << 20);
  for (;;) {
    const std::size_t count = source.read(block.data(), block.size());
    plain.write(block.data(), static_cast<std::streamsize>(count));
    gzip.add(block.data(), count, count == 0);
    zstd.add(block.data(), count, count == 0);
    if (count == 0) return;
  }
}

}  // namespace detail

struct TraceSize {
  const char* name;
  std::uint64_t bytes;
};
inline constexpr TraceSize kTraceSizes[] = {{"small", std::uint64_t{20} << 20},
                                            {"large", std::uint64_t{256} << 20}};

// Writes NAME.json, NAME.json.gz and NAME.json.zst, unless they exist and the generator has not changed.
inline void make_traces() {
  std::filesystem::create_directories(trace_path(""));
  const std::string stamp =
      std::to_string(std::hash<std::string>()(pel::test::made_trace(training_plan())) ^ kTraceSizes[1].bytes);
  const std::string stamp_path = trace_path("stamp");
  std::string last;
  std::getline(std::ifstream(stamp_path) >> std::ws, last);
  if (last == stamp) return;
  for (const TraceSize& size : kTraceSizes) detail::write_traces(size.name, size.bytes);
  std::ofstream(stamp_path) << stamp << '\n';
}

}  // namespace bench
