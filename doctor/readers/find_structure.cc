#include "doctor/readers/find_structure.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "doctor/readers/byte_marks.h"

namespace pel::doctor {
namespace {

// Goes over the text in strides; what one stride leaves for the next is one bit each.
class StructureScan {
 public:
  explicit StructureScan(std::uint32_t* to) : to_(to) {}

  void stride(const char* bytes, std::uint32_t at) {
    const ByteClasses classes(bytes);
    is_ascii_ &= classes.is_ascii();
    const std::uint64_t quotes =
        classes.marks<detail::kQuote>() & ~escaped_by(classes.marks<detail::kBackslash>(), escape_);
    const std::uint64_t in_string = parity_up_to(quotes) ^ in_string_;  // with the opening quote alone
    in_string_ = std::uint64_t{0} - (in_string >> 63);
    has_control_in_string_ |= (classes.marks<detail::kControl>() & in_string) != 0;

    const std::uint64_t operators = classes.marks<detail::kSeparator | detail::kOpening | detail::kClosing>();
    const std::uint64_t values = ~(operators | classes.marks<detail::kBlank>());
    // A value begins where none precedes it. A quote ends what precedes it.
    const std::uint64_t unquoted = values & ~quotes;
    const std::uint64_t starts = values & ~(unquoted << 1 | after_value_);
    after_value_ = unquoted >> 63;
    add_positions((operators | starts) & ~(in_string ^ quotes), at);
  }
  std::uint32_t* end() const { return to_; }
  bool is_in_string() const { return in_string_ != 0; }
  bool has_control_in_string() const { return has_control_in_string_; }
  bool is_ascii() const { return is_ascii_; }

 private:
  // Stores eight positions at a time, since a branch for each bit is often predicted wrongly. Those past the
  // last bit are overwritten later; simdjson's array has space for them.
  void add_positions(std::uint64_t bits, std::uint32_t at) {
    std::uint32_t* const end = to_ + std::popcount(bits);
    while (to_ < end) {
      for (unsigned i = 0; i < 8; ++i, bits &= bits - 1)
        to_[i] = at + static_cast<std::uint32_t>(std::countr_zero(bits));
      to_ += 8;
    }
    to_ = end;
  }

  std::uint32_t* to_;
  std::uint64_t escape_ = 0, in_string_ = 0, after_value_ = 0;  // before the first byte: 1, all ones, 1
  bool has_control_in_string_ = false, is_ascii_ = true;
};

}  // namespace

simdjson::error_code find_structure(std::string_view text,
                                    simdjson::internal::dom_parser_implementation& into) {
  if (text.size() > into.capacity()) return simdjson::CAPACITY;
  if (text.empty()) return simdjson::EMPTY;
  StructureScan scan(into.structural_indexes.get());
  std::size_t at = 0;
  for (; at + kStride < text.size(); at += kStride)
    scan.stride(text.data() + at, static_cast<std::uint32_t>(at));
  std::array<char, kStride> last;
  last.fill(' ');
  std::memcpy(last.data(), text.data() + at, text.size() - at);
  scan.stride(last.data(), static_cast<std::uint32_t>(at));

  // In the order in which simdjson looks for them.
  if (scan.is_in_string()) return simdjson::UNCLOSED_STRING;
  if (scan.has_control_in_string()) return simdjson::UNESCAPED_CHARS;
  const auto count = static_cast<std::uint32_t>(scan.end() - into.structural_indexes.get());
  const auto length = static_cast<std::uint32_t>(text.size());
  into.n_structural_indexes = count;
  into.structural_indexes[count] = into.structural_indexes[count + 1] = length;
  into.structural_indexes[count + 2] = 0;
  into.next_structural_index = 0;
  if (count == 0) return simdjson::EMPTY;
  if (scan.is_ascii()) return simdjson::SUCCESS;
  return simdjson::validate_utf8(text.data(), text.size()) ? simdjson::SUCCESS : simdjson::UTF8_ERROR;
}

}  // namespace pel::doctor
