// The two functions that ISA-L's inflate takes from its compression, which the doctor does not link.
#include <stdint.h>
#include <string.h>

#include "igzip_lib.h"

uint32_t adler32_base(uint32_t init, uint8_t* buffer, uint32_t bytes);

void isal_gzip_header_init(struct isal_gzip_header* header) {
  memset(header, 0, sizeof(*header));
  header->os = 0xff;  // unknown
}

// The checksum of zlib's format. Its state has 1 less in the low half, so that it begins with 0 like a CRC. Traces are in gzip's
// format: speed does not matter.
uint32_t isal_adler32_bam1(uint32_t state, const unsigned char* buffer, uint64_t bytes) {
  const uint32_t modulus = 65521;
  const uint32_t low = ((state & 0xffff) + 1) % modulus;
  const uint32_t sum = adler32_base((state & 0xffff0000) | low, (uint8_t*)buffer, (uint32_t)bytes);
  return (sum & 0xffff0000) | ((sum & 0xffff) + modulus - 1) % modulus;
}
