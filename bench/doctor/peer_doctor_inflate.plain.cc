// Only unpacks, a block of 256 KB at a time.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include <isa-l/igzip_lib.h>
#include <zlib.h>
#include <zstd.h>

#include "../support/server.h"
#include "traces.h"

namespace {

std::vector<std::uint8_t> bytes_of(const char* file) {
  std::ifstream in(bench::trace_path(file), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::vector<std::uint8_t>& block() {
  static std::vector<std::uint8_t> block(256 << 10);
  return block;
}

void by_isal() {
  auto packed = bytes_of("large.json.gz");
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  state.next_in = packed.data();
  state.avail_in = static_cast<std::uint32_t>(packed.size());
  do {
    state.next_out = block().data();
    state.avail_out = static_cast<std::uint32_t>(block().size());
    if (isal_inflate(&state) != ISAL_DECOMP_OK) throw std::runtime_error("isal_inflate");
  } while (state.block_state != ISAL_BLOCK_FINISH);
}

void by_zlib() {
  auto packed = bytes_of("large.json.gz");
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzip) != Z_OK) throw std::runtime_error("inflateInit2");
  stream.next_in = packed.data();
  stream.avail_in = static_cast<unsigned>(packed.size());
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = block().data();
    stream.avail_out = static_cast<unsigned>(block().size());
    status = inflate(&stream, Z_NO_FLUSH);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("inflate");
}

void by_zstd() {
  const auto packed = bytes_of("large.json.zst");
  ZSTD_DStream* stream = ZSTD_createDStream();
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  while (in.pos != in.size) {
    ZSTD_outBuffer out{block().data(), block().size(), 0};
    if (ZSTD_isError(ZSTD_decompressStream(stream, &out, &in)) != 0) throw std::runtime_error("zstd");
  }
  ZSTD_freeDStream(stream);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::serve(argc, argv,
                      {bench::Case("gz_256MB", by_isal), bench::Case("gz_256MB_zlib", by_zlib),
                       bench::Case("zst_256MB", by_zstd)});
}
