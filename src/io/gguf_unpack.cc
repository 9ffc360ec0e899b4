// Inner loops have constant bounds and no branch, so that the compiler vectorizes them. Multiplications and
// additions are rounded one by one, in ggml's order: contraction is off for the whole library.
#include "io/gguf_unpack.h"

#include <algorithm>
#include <cstring>

namespace pel::io {
namespace {

float half_at(const std::uint8_t* src) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, src, sizeof bits);
  return detail::half_to_float(bits);
}

// d:f16 q:i8[32]
void unpack_q8_0(const std::uint8_t* __restrict src, std::size_t blocks, float* __restrict dst) {
  for (; blocks > 0; --blocks, src += 34, dst += 32) {
    const float d = half_at(src);
    for (int i = 0; i < 32; ++i) dst[i] = d * static_cast<float>(static_cast<std::int8_t>(src[2 + i]));
  }
}

// d:f16 q:u4[32], where byte i holds elements i and i + 16; less 8
void unpack_q4_0(const std::uint8_t* __restrict src, std::size_t blocks, float* __restrict dst) {
  for (; blocks > 0; --blocks, src += 18, dst += 32) {
    const float d = half_at(src);
    for (int i = 0; i < 16; ++i) dst[i] = d * static_cast<float>((src[2 + i] & 15) - 8);
    for (int i = 0; i < 16; ++i) dst[16 + i] = d * static_cast<float>((src[2 + i] >> 4) - 8);
  }
}

// d:f16 m:f16 q:u4[32], as above; plus m
void unpack_q4_1(const std::uint8_t* __restrict src, std::size_t blocks, float* __restrict dst) {
  for (; blocks > 0; --blocks, src += 20, dst += 32) {
    const float d = half_at(src), m = half_at(src + 2);
    for (int i = 0; i < 16; ++i) dst[i] = d * static_cast<float>(src[4 + i] & 15) + m;
    for (int i = 0; i < 16; ++i) dst[16 + i] = d * static_cast<float>(src[4 + i] >> 4) + m;
  }
}

// d:f16 dmin:f16 scales:u8[12] q:u4[256]. Eight groups of 32, each with a scale and a minimum of 6 bits;
// byte i of 32 holds element i of one group and of the next.
void unpack_q4_k(const std::uint8_t* __restrict src, std::size_t blocks, float* __restrict dst) {
  for (; blocks > 0; --blocks, src += 144) {
    const float d = half_at(src), dmin = half_at(src + 2);
    const std::uint8_t* packed = src + 4;
    float scale[8], minimum[8];
    for (int g = 0; g < 4; ++g) {
      scale[g] = d * static_cast<float>(packed[g] & 63);
      minimum[g] = dmin * static_cast<float>(packed[4 + g] & 63);
      scale[4 + g] = d * static_cast<float>((packed[8 + g] & 15) | ((packed[g] >> 2) & 48));
      minimum[4 + g] = dmin * static_cast<float>((packed[8 + g] >> 4) | ((packed[4 + g] >> 2) & 48));
    }
    const std::uint8_t* q = src + 16;
    for (int g = 0; g < 8; g += 2, q += 32, dst += 64) {
      for (int i = 0; i < 32; ++i) dst[i] = scale[g] * static_cast<float>(q[i] & 15) - minimum[g];
      for (int i = 0; i < 32; ++i)
        dst[32 + i] = scale[g + 1] * static_cast<float>(q[i] >> 4) - minimum[g + 1];
    }
  }
}

// low:u4[256] high:u2[256] scales:i8[16] d:f16. A half of the block has four groups of 32, each with two
// scales; its 64 bytes of low bits hold groups 0 and 2, 1 and 3; its 32 bytes of high bits hold all four.
void unpack_q6_k(const std::uint8_t* __restrict src, std::size_t blocks, float* __restrict dst) {
  for (; blocks > 0; --blocks, src += 210) {
    const float d = half_at(src + 208);
    for (int half = 0; half < 2; ++half) {
      const std::uint8_t* high = src + 128 + 32 * half;
      for (int g = 0; g < 4; ++g) {
        const std::uint8_t* low = src + 64 * half + 32 * (g % 2);
        const int low_shift = 4 * (g / 2), high_shift = 2 * g;
        for (int part = 0; part < 32; part += 16, dst += 16) {
          const auto scale = static_cast<std::int8_t>(src[192 + 8 * half + 2 * g + part / 16]);
          const float scaled = d * static_cast<float>(scale);
          for (int i = 0; i < 16; ++i) {
            const int q = ((low[part + i] >> low_shift) & 15) | (((high[part + i] >> high_shift) & 3) << 4);
            dst[i] = scaled * static_cast<float>(q - 32);
          }
        }
      }
    }
  }
}

constexpr GgufType kTypes[] = {
    {0, "F32", 1, 4, kF32},
    {1, "F16", 1, 2, kF16},
    {30, "BF16", 1, 2, kBF16},
    {8, "Q8_0", 32, 34, {}, unpack_q8_0},
    {2, "Q4_0", 32, 18, {}, unpack_q4_0},
    {3, "Q4_1", 32, 20, {}, unpack_q4_1},
    {12, "Q4_K", 256, 144, {}, unpack_q4_k},
    {14, "Q6_K", 256, 210, {}, unpack_q6_k},
    {6, "Q5_0", 32, 22},
    {7, "Q5_1", 32, 24},
    {9, "Q8_1", 32, 40},
    {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},
    {13, "Q5_K", 256, 176},
    {15, "Q8_K", 256, 292},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1},
    {25, "I16", 1, 2},
    {26, "I32", 1, 4},
    {27, "I64", 1, 8},
    {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},
    {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},
    {39, "MXFP4", 32, 17},
};

}  // namespace

const GgufType* find_gguf_type(std::uint32_t code) {
  for (const GgufType& type : kTypes) {
    if (type.code == code) return &type;
  }
  return nullptr;
}

std::string readable_gguf_types() {
  std::string names;
  for (const GgufType& type : kTypes) {
    if (type.is_readable()) names.append(names.empty() ? "" : ", ").append(type.name);
  }
  return names;
}

Tensor unpack_gguf(const GgufType& type, std::string_view bytes, std::span<const std::int64_t> sizes,
                   DType dtype) {
  const auto* src = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const std::size_t blocks = bytes.size() / type.block_bytes;
  const Tensor result = make_dense(std::vector<Dim>(sizes.begin(), sizes.end()), dtype, kCpu);
  if (blocks == 0) return result;
  if (dtype == kF32) {
    type.unpack(src, blocks, static_cast<float*>(result.raw_data()));
    return result;
  }
  // Converts part by part, so that the f32 stays in the cache.
  constexpr std::size_t kPartElements = 1 << 14;
  const Tensor flat = result.view({-1}), part = make_dense({kPartElements}, kF32, kCpu);
  const std::size_t part_blocks = kPartElements / type.block_elements;
  for (std::size_t done = 0; done < blocks; done += part_blocks) {
    const std::size_t now = std::min(part_blocks, blocks - done);
    type.unpack(src + done * type.block_bytes, now, static_cast<float*>(part.raw_data()));
    const std::size_t elements = now * type.block_elements;
    flat.narrow(0, done * type.block_elements, elements).copy_(part.narrow(0, 0, elements));
  }
  return result;
}

}  // namespace pel::io
