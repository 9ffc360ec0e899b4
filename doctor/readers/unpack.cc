#include "doctor/readers/unpack.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

#include <isa-l/igzip_lib.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace pel::doctor {
namespace {

class GzipUnpacker : public Unpacker {
 public:
  GzipUnpacker() { begin_member(); }

  const char* step(std::span<const char>& input, std::span<char>& output) override {
    if (is_between_) {
      // After the last member tapes and disks leave zeros.
      while (!input.empty() && input[0] == '\0' && has_member_) input = input.subspan(1);
      if (input.empty()) return nullptr;
      begin_member();
    }
    constexpr std::size_t kMaxAtOnce = std::numeric_limits<std::uint32_t>::max();
    // Its type is that of bytes that may be written; they are not.
    state_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(input.data()));
    state_.avail_in = static_cast<std::uint32_t>(std::min(input.size(), kMaxAtOnce));
    state_.next_out = reinterpret_cast<std::uint8_t*>(output.data());
    state_.avail_out = static_cast<std::uint32_t>(std::min(output.size(), kMaxAtOnce));
    const std::uint32_t in = state_.avail_in, out = state_.avail_out;
    const int status = isal_inflate(&state_);
    input = input.subspan(in - state_.avail_in);
    output = output.subspan(out - state_.avail_out);
    if (status != ISAL_DECOMP_OK && status != ISAL_END_INPUT) return reason_of(status);
    is_between_ = state_.block_state == ISAL_BLOCK_FINISH;
    has_member_ = has_member_ || is_between_;
    return nullptr;
  }
  bool may_end() const override { return is_between_; }
  const char* name() const override { return "gzip"; }

 private:
  void begin_member() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
    is_between_ = false;
  }
  static const char* reason_of(int status) {
    switch (status) {
      case ISAL_INVALID_WRAPPER:
      case ISAL_UNSUPPORTED_METHOD:
        return "the data that follows is not a gzip member";
      case ISAL_INCORRECT_CHECKSUM:
        return "the gzip checksum does not match";
      default:
        return "the gzip data is corrupt";
    }
  }
  inflate_state state_{};  // broken data may refer to parts that it does not set
  bool is_between_ = false, has_member_ = false;
};

class ZstdUnpacker : public Unpacker {
 public:
  ZstdUnpacker() : stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~ZstdUnpacker() override { ZSTD_freeDStream(stream_); }
  ZstdUnpacker(const ZstdUnpacker&) = delete;
  ZstdUnpacker& operator=(const ZstdUnpacker&) = delete;

  const char* step(std::span<const char>& input, std::span<char>& output) override {
    if (is_between_ && input.empty()) return nullptr;  // it would begin a frame
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output.data(), output.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream_, &out, &in);
    input = input.subspan(in.pos);
    output = output.subspan(out.pos);
    if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge)
      return "the zstd window is larger than 128 MB: decompress the file with zstd -d --long=31";
    if (ZSTD_isError(left) != 0) return ZSTD_getErrorName(left);
    is_between_ = left == 0;
    return nullptr;
  }
  bool may_end() const override { return is_between_; }
  const char* name() const override { return "zstd"; }

 private:
  ZSTD_DStream* stream_;
  bool is_between_ = false;
};

}  // namespace

std::unique_ptr<Unpacker> unpacker_of(std::string_view first_bytes) {
  if (first_bytes.starts_with("\x1f\x8b")) return std::make_unique<GzipUnpacker>();
  if (first_bytes.starts_with("\x28\xb5\x2f\xfd")) return std::make_unique<ZstdUnpacker>();
  return nullptr;
}

}  // namespace pel::doctor
