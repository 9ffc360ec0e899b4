// Replaces the assembly of ISA-L that inflate calls, for targets that have none. It is ISA-L's own C, except for the CRC:
// ISA-L's takes a byte a step, which is a fifth of the time of a packed trace.
#include <stdint.h>

#include "igzip_lib.h"

int decode_huffman_code_block_stateless_base(struct inflate_state* state, uint8_t* start_out);

int decode_huffman_code_block_stateless(struct inflate_state* state, uint8_t* start_out) {
  return decode_huffman_code_block_stateless_base(state, start_out);
}

// crc_tables[n][byte]: what a byte adds to the CRC if n bytes follow it.
static uint32_t crc_tables[8][256];

__attribute__((constructor)) static void fill_crc_tables(void) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
    crc_tables[0][byte] = crc;
  }
  for (int n = 1; n < 8; ++n)
    for (int byte = 0; byte < 256; ++byte)
      crc_tables[n][byte] = crc_tables[n - 1][byte] >> 8 ^ crc_tables[0][crc_tables[n - 1][byte] & 0xff];
}

static uint32_t load_little_endian(const unsigned char* bytes) {
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

// Eight bytes a step: they are independent look-ups.
uint32_t crc32_gzip_refl(uint32_t seed, const unsigned char* buffer, uint64_t bytes) {
  uint32_t crc = ~seed;
  for (; bytes >= 8; bytes -= 8, buffer += 8) {
    const uint32_t low = load_little_endian(buffer) ^ crc, high = load_little_endian(buffer + 4);
    crc = crc_tables[7][low & 0xff] ^ crc_tables[6][low >> 8 & 0xff] ^ crc_tables[5][low >> 16 & 0xff] ^
          crc_tables[4][low >> 24] ^ crc_tables[3][high & 0xff] ^ crc_tables[2][high >> 8 & 0xff] ^
          crc_tables[1][high >> 16 & 0xff] ^ crc_tables[0][high >> 24];
  }
  for (; bytes != 0; --bytes) crc = crc >> 8 ^ crc_tables[0][(crc ^ *buffer++) & 0xff];
  return ~crc;
}
