// Text packed as others do.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <isa-l/igzip_lib.h>
#include <zstd.h>

namespace pel::test {

// One member.
inline std::string gzip_of(const std::string& text) {
  std::string packed(text.size() + text.size() / 8 + 1000, '\0');
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<std::uint32_t>(text.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(packed.data());
  stream.avail_out = static_cast<std::uint32_t>(packed.size());
  if (isal_deflate_stateless(&stream) != COMP_OK) throw std::runtime_error("isal_deflate_stateless");
  packed.resize(stream.total_out);
  return packed;
}

// One frame.
inline std::string zstd_of(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(
      ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), /*compressionLevel=*/3));
  return packed;
}

}  // namespace pel::test
