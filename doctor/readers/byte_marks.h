// Which of 64 bytes of JSON are quotes, brackets and so on: one bit for each byte. All later steps are a few
// operations on such words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

namespace pel::doctor {

inline constexpr std::size_t kStride = 64;

struct ByteMarks {
  std::uint64_t quotes = 0, backslashes = 0, line_breaks = 0, opening = 0, closing = 0;
};

namespace detail {

// What a byte can be; some are two things.
enum ByteClass : std::uint8_t {
  kQuote = 1,
  kBackslash = 2,
  kLineBreak = 4,
  kOpening = 8,
  kClosing = 16,
  kSeparator = 32,
  kBlank = 64,
  kControl = 128,
};
inline constexpr std::array<std::uint8_t, 256> kByteClasses = [] {
  std::array<std::uint8_t, 256> classes{};
  for (std::size_t c = 0; c < 0x20; ++c) classes[c] = kControl;
  for (const char c : {' ', '\t', '\n', '\r'}) classes[static_cast<unsigned char>(c)] |= kBlank;
  // Form feed and substitute differ from comma and colon by one bit that the SIMD code of simdjson ignores.
  for (const char c : {',', ':', '\x0c', '\x1a'}) classes[static_cast<unsigned char>(c)] |= kSeparator;
  for (const char c : {'{', '['}) classes[static_cast<unsigned char>(c)] |= kOpening;
  for (const char c : {'}', ']'}) classes[static_cast<unsigned char>(c)] |= kClosing;
  classes['\n'] |= kLineBreak;
  classes['\\'] |= kBackslash;
  classes['"'] |= kQuote;
  return classes;
}();

}  // namespace detail

// The classes of 64 bytes, for processors without SIMD: a table for each byte, and a multiplication that
// collects one bit of 8 bytes.
class ScalarClasses {
 public:
  explicit ScalarClasses(const char* bytes) {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      std::uint64_t classes = 0;
      for (std::size_t i = 8; i-- > 0;)
        classes = classes << 8 | detail::kByteClasses[static_cast<unsigned char>(bytes[8 * word + i])];
      words_[word] = classes;
      std::uint64_t own;
      std::memcpy(&own, bytes + 8 * word, sizeof(own));
      all_ |= own;
    }
  }
  // Marks the bytes that are of any of the classes.
  template <unsigned Classes>
  std::uint64_t marks() const {
    std::uint64_t marks = 0;
    for (std::size_t word = 0; word < words_.size(); ++word) {
      std::uint64_t any = 0;
      for (unsigned bit = 0; bit < 8; ++bit)
        if ((Classes >> bit & 1) != 0) any |= words_[word] >> bit;
      const std::uint64_t ones = any & 0x0101010101010101;
      marks |= (ones * 0x0102040810204080 >> 56) << 8 * word;  // byte i adds its bit at 56 + i
    }
    return marks;
  }
  bool is_ascii() const { return (all_ & 0x8080808080808080) == 0; }

 private:
  std::array<std::uint64_t, kStride / 8> words_;  // a class in each byte
  std::uint64_t all_ = 0;                         // the bytes, or-ed
};

#if defined(__SSE2__) || defined(__wasm_simd128__)
// The same by comparisons of 16 bytes at once. What collects a bit of each byte is the only thing that x86-64
// and WebAssembly write differently, so the tests on x86-64 run the code of both.
class VectorClasses {
 public:
  explicit VectorClasses(const char* bytes) { std::memcpy(parts_, bytes, sizeof(parts_)); }
  template <unsigned Classes>
  std::uint64_t marks() const {
    std::uint64_t marks = 0;
    for (std::size_t part = 0; part < kParts; ++part)
      marks |= std::uint64_t{high_bits(are_any<Classes>(parts_[part]))} << 16 * part;
    return marks;
  }
  bool is_ascii() const { return high_bits(parts_[0] | parts_[1] | parts_[2] | parts_[3]) == 0; }

 private:
  typedef std::uint8_t Bytes __attribute__((vector_size(16)));
  static constexpr std::size_t kParts = kStride / sizeof(Bytes);

  template <unsigned Classes>
  static Bytes are_any(Bytes b) {
    const Bytes braces = b | 0x20;  // [ is { and ] is }, and no other bytes are
    Bytes any{};
    if constexpr ((Classes & detail::kQuote) != 0) any |= Bytes(b == '"');
    if constexpr ((Classes & detail::kBackslash) != 0) any |= Bytes(b == '\\');
    if constexpr ((Classes & detail::kLineBreak) != 0) any |= Bytes(b == '\n');
    if constexpr ((Classes & detail::kOpening) != 0) any |= Bytes(braces == '{');
    if constexpr ((Classes & detail::kClosing) != 0) any |= Bytes(braces == '}');
    if constexpr ((Classes & detail::kSeparator) != 0) any |= Bytes(braces == ',') | Bytes(braces == ':');
    if constexpr ((Classes & detail::kBlank) != 0)
      any |= Bytes(b == ' ') | Bytes(b == '\t') | Bytes(b == '\n') | Bytes(b == '\r');
    if constexpr ((Classes & detail::kControl) != 0) any |= Bytes(b < 0x20);
    return any;
  }
  static unsigned high_bits(Bytes b) {
#if defined(__SSE2__)
    return static_cast<unsigned>(_mm_movemask_epi8(reinterpret_cast<__m128i>(b)));
#else
    return wasm_i8x16_bitmask(reinterpret_cast<v128_t>(b));
#endif
  }
  Bytes parts_[kParts];
};
using ByteClasses = VectorClasses;
#else
using ByteClasses = ScalarClasses;
#endif

inline ByteMarks marks_of(const char* bytes) {
  const ByteClasses classes(bytes);
  return {classes.marks<detail::kQuote>(), classes.marks<detail::kBackslash>(),
          classes.marks<detail::kLineBreak>(), classes.marks<detail::kOpening>(),
          classes.marks<detail::kClosing>()};
}

// Returns the bytes after an odd number of backslashes. `carry`: the byte before the first one escapes it.
inline std::uint64_t escaped_by(std::uint64_t backslashes, std::uint64_t& carry) {
  constexpr std::uint64_t kEven = 0x5555555555555555;
  backslashes &= ~carry;
  const std::uint64_t follows = backslashes << 1 | carry;
  const std::uint64_t starts_at_odd = backslashes & ~kEven & ~follows;
  std::uint64_t after_runs;
  carry = __builtin_add_overflow(starts_at_odd, backslashes, &after_runs) ? 1 : 0;
  return (kEven ^ after_runs << 1) & follows;
}

// Each bit becomes the parity of itself and all below it.
inline std::uint64_t parity_up_to(std::uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace pel::doctor
