// Says what a run gave in the words of the expectations, and compares.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "parity/case_file.h"
#include "parity/case_run.h"

namespace pel::parity {

inline constexpr std::size_t kMaxValuesInFull = 64;

// An element: a sign-extended integer, or the bits of a floating value.
struct Word {
  std::uint64_t bits = 0;
  bool nan = false;
};

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

inline Word word_at(const std::byte* at, DType dtype) {
  const auto integer = [](std::int64_t value) { return Word{static_cast<std::uint64_t>(value), false}; };
  switch (dtype) {
    case kF64:
      return {load<std::uint64_t>(at), std::isnan(load<double>(at))};
    case kF32:
      return {load<std::uint32_t>(at), std::isnan(load<float>(at))};
    case kF16:
      return {load<std::uint16_t>(at), (load<std::uint16_t>(at) & 0x7fff) > 0x7c00};
    case kBF16:
      return {load<std::uint16_t>(at), (load<std::uint16_t>(at) & 0x7fff) > 0x7f80};
    case kI64:
      return integer(load<std::int64_t>(at));
    case kI32:
      return integer(load<std::int32_t>(at));
    case kI16:
      return integer(load<std::int16_t>(at));
    case kI8:
      return integer(load<std::int8_t>(at));
    case kU8:
    case kBool:
      return integer(load<std::uint8_t>(at));
  }
  throw std::runtime_error("no such dtype");
}

// In row-major order, read straight from memory: no op of the library is trusted with the answer.
inline std::vector<Word> words_of(const Tensor& t) {
  std::vector<Word> words;
  std::vector<std::int64_t> at(static_cast<std::size_t>(t.dim()), 0);
  std::int64_t left = t.numel().value(), place = 0;
  for (; left > 0; --left) {
    words.push_back(
        word_at(static_cast<const std::byte*>(t.raw_data()) + place * size_bytes(t.dtype()), t.dtype()));
    for (std::size_t axis = at.size(); axis-- > 0;) {
      place += t.strides()[axis].value();
      if (++at[axis] < t.sizes()[axis].value()) break;
      place -= at[axis] * t.strides()[axis].value();
      at[axis] = 0;
    }
  }
  return words;
}

inline std::string text_of(Word word, DType dtype) {
  if (word.nan) return "nan";
  if (!is_floating(dtype)) return std::to_string(static_cast<std::int64_t>(word.bits));
  char text[17];
  std::snprintf(text, sizeof text, "%0*llx", static_cast<int>(2 * size_bytes(dtype)),
                static_cast<unsigned long long>(word.bits));
  return text;
}

inline std::string values_text(const Tensor& t, bool in_full) {
  const std::vector<Word> words = words_of(t);
  if (words.size() > kMaxValuesInFull && !in_full) {
    std::uint64_t digest = 0xcbf29ce484222325u;
    for (Word word : words) digest = (digest ^ (word.nan ? ~std::uint64_t{0} : word.bits)) * 0x100000001b3u;
    char text[18];
    std::snprintf(text, sizeof text, "#%016llx", static_cast<unsigned long long>(digest));
    return text;
  }
  std::string text;
  for (Word word : words) text += (text.empty() ? "" : ",") + text_of(word, t.dtype());
  return "[" + text + "]";
}

inline std::string text_of(Dims dims) {
  std::string text;
  for (Dim dim : dims) text += (text.empty() ? "" : ",") + std::to_string(dim.value());
  return "[" + text + "]";
}

inline std::string text_of(const Scalar& scalar) {
  if (!scalar.is_float()) {
    return (scalar.kind() == Scalar::Kind::Bool ? "b:" : "i:") + std::to_string(scalar.to_int());
  }
  if (std::isnan(scalar.to_double())) return "f:nan";
  char text[40];
  std::snprintf(text, sizeof text, "f:%a", scalar.to_double());
  return text;
}

// The first register with the same storage.
inline std::string owner_of(const Tensor& t, const Registers& registers) {
  for (std::size_t i = 0; i < registers.size(); ++i) {
    const Tensor* other = std::get_if<Tensor>(&registers[i]);
    if (other && !other->is_same(t) && other->shares_storage(t)) return "%" + std::to_string(i);
  }
  return "new";
}

inline std::string describe(const Tensor& t, const std::string& kind, const Registers& registers) {
  std::string text = kind + " " + std::string(name(t.dtype())) + " " + text_of(t.sizes()) + " " +
                     text_of(t.strides()) + " " + std::to_string(t.storage_offset().value()) + " " +
                     owner_of(t, registers);
  return kind == "layout" ? text : text + " " + values_text(t, kind != "tensor");
}

// What the run has to say where `expected` stands.
inline std::string observe(const Run& run, const Case& c, const std::string& expected) {
  if (!run.error.empty()) {
    const bool in_last_step = run.registers.size() + 1 == c.steps.size();
    return "error " + run.error + (in_last_step ? "" : " in step " + std::to_string(run.registers.size()));
  }
  const std::vector<std::string> words = split_text(expected, " ");
  if (words[0] == "error") return "no error";
  const std::vector<std::string> place = split_text(words[0].substr(1), ".");
  const Register& reg = run.registers.at(std::stoul(place[0]));
  const std::string& kind = words[1];
  if (place.size() == 2) {
    const auto& pieces = std::get<std::vector<Tensor>>(reg);
    const std::size_t i = std::stoul(place[1]);
    return words[0] + " " + (i < pieces.size() ? describe(pieces[i], kind, run.registers) : "absent");
  }
  std::string said;
  if (kind == "count") {
    said = std::to_string(std::get<std::vector<Tensor>>(reg).size());
  } else if (kind == "same") {
    const Tensor& other = std::get<Tensor>(run.registers.at(std::stoul(words[2].substr(1))));
    said = std::get<Tensor>(reg).is_same(other) ? words[2] : "another tensor";
  } else if (kind == "version") {
    said = std::to_string(std::get<Tensor>(reg).version());
  } else if (kind == "number") {
    said = text_of(std::get<Scalar>(reg));
  } else if (kind == "dtype") {
    said = name(std::get<DType>(reg));
  } else if (kind == "answer") {
    said = std::get<bool>(reg) ? "yes" : "no";
  } else if (kind == "tensor" || kind == "near" || kind == "layout" || kind.starts_with("steps:")) {
    return words[0] + " " + describe(std::get<Tensor>(reg), kind, run.registers);
  } else {
    throw std::runtime_error("no such expectation: " + expected);
  }
  return words[0] + " " + kind + " " + said;
}

inline double value_of(const std::string& digits, DType dtype) {
  if (digits == "nan") return std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t bits = std::stoull(digits, nullptr, 16);
  switch (dtype) {
    case kF64:
      return std::bit_cast<double>(bits);
    case kF32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case kF16:
      return detail::half_to_float(static_cast<std::uint16_t>(bits));
    default:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
}

// The floating values of two descriptions, where all the rest is equal; none where it is not.
struct ValuePair {
  DType dtype;
  std::vector<std::string> expected, got;
};
inline std::optional<ValuePair> floating_values(const std::string& expected, const std::string& got) {
  const std::vector<std::string> a = split_text(expected, " "), b = split_text(got, " ");
  if (a.size() != 8 || b.size() != 8 || !std::equal(a.begin(), a.end() - 1, b.begin())) return std::nullopt;
  ValuePair pair{parse_dtype(a[2]), parse_list(a[7]), parse_list(b[7])};
  if (!is_floating(pair.dtype) || pair.expected.size() != pair.got.size()) return std::nullopt;
  return pair;
}

// arange and linspace may round in another order: up to four units in the last place of the largest value.
inline bool nearly_equal(const std::string& expected, const std::string& got) {
  const std::optional<ValuePair> values = floating_values(expected, got);
  if (!values) return false;
  const DType dtype = values->dtype;
  double largest = 0;
  for (const std::string& digits : values->expected)
    largest = std::max(largest, std::fabs(value_of(digits, dtype)));
  const double epsilon = dtype == kF64 ? 0x1p-52 : dtype == kF32 ? 0x1p-23 : dtype == kF16 ? 0x1p-10 : 0x1p-7;
  for (std::size_t i = 0; i < values->expected.size(); ++i) {
    const std::string &a = values->expected[i], &b = values->got[i];
    const double difference = std::fabs(value_of(a, dtype) - value_of(b, dtype));
    if (a != b && !(difference <= 4 * epsilon * largest)) return false;
  }
  return true;
}

// How many numbers of the dtype lie between: 1 for neighbours, of which the largest number and infinity are a
// pair. None where only one is NaN, and between 0 and -0.
inline std::optional<std::uint64_t> steps_between(const std::string& a, const std::string& b, DType dtype) {
  if (a == b) return 0;
  if (a == "nan" || b == "nan") return std::nullopt;
  const std::uint64_t sign = std::uint64_t{1} << (8 * size_bytes(dtype) - 1);
  const std::uint64_t left = std::stoull(a, nullptr, 16), right = std::stoull(b, nullptr, 16);
  const std::uint64_t x = left & ~sign, y = right & ~sign;  // as steps from 0
  if ((left & sign) != (right & sign)) return x + y == 0 ? std::nullopt : std::optional(x + y);
  return x > y ? x - y : y - x;
}

// The largest distance between floating values; none where something cannot be measured in steps.
inline std::optional<std::uint64_t> max_steps(const std::string& expected, const std::string& got) {
  const std::optional<ValuePair> values = floating_values(expected, got);
  if (!values) return std::nullopt;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < values->expected.size(); ++i) {
    const auto steps = steps_between(values->expected[i], values->got[i], values->dtype);
    if (!steps) return std::nullopt;
    most = std::max(most, *steps);
  }
  return most;
}

// What was got, with * for the strides that the expectation leaves open.
inline std::string with_open_strides(const std::string& expected, const std::string& got) {
  std::vector<std::string> words = split_text(got, " ");
  const std::vector<std::string> wanted = split_text(expected, " ");
  if (expected.find('*') == std::string::npos || words.size() != 8 || wanted.size() != 8) return got;
  const std::vector<std::string> open = parse_list(wanted[4]);
  std::vector<std::string> strides = parse_list(words[4]);
  std::string text;
  for (std::size_t i = 0; i < strides.size(); ++i)
    text += (i ? "," : "") + (i < open.size() && open[i] == "*" ? "*" : strides[i]);
  words[4] = "[" + text + "]";
  text = words[0];
  for (std::size_t i = 1; i < words.size(); ++i) text += " " + words[i];
  return text;
}

// What the words of an expectation leave open. "steps:4" lets every floating value be four numbers away.
inline bool holds(const std::string& expected, const std::string& got) {
  if (got == expected) return true;
  const std::vector<std::string> words = split_text(expected, " ");
  if (words.size() < 2) return false;
  if (words[1] == "near") return nearly_equal(expected, got);
  if (!words[1].starts_with("steps:")) return false;
  const std::optional<std::uint64_t> steps = max_steps(expected, got);
  return steps && *steps <= std::stoull(words[1].substr(6));
}

struct Difference {
  std::string expected;
  std::string got;
  std::string message;  // of an error that Pellucid raised, or the distance
};

// Runs the case; the first expectation that does not hold.
inline std::optional<Difference> check_case(const Case& c) {
  Run run;
  try {
    run = run_case(c);
    for (const std::string& expected : c.expectations) {
      const std::string got = with_open_strides(expected, observe(run, c, expected));
      if (holds(expected, got)) continue;
      Difference difference{expected, got, run.message};
      if (const auto steps = max_steps(expected, got); steps && *steps > 0)
        difference.message = std::to_string(*steps) + " steps apart";
      return difference;
    }
  } catch (const std::exception& e) {
    return Difference{c.expectations.front(), "an exception that is not a pel::Error", e.what()};
  }
  return std::nullopt;
}

}  // namespace pel::parity
