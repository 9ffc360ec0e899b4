// What a file holds of values of the library. One description (graph_fields.h) serves for writing and for
// reading: it calls the same member functions of a FieldWriter and a FieldReader.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "ir/symbolic_sizes.h"

namespace pel::saved {

// A value that is written, or that is read into.
template <class Fields, class T>
using Field = std::conditional_t<Fields::kReads, T&, const T&>;

// Texts repeat, such as those of source locations: each is stored once.
class FieldWriter {
 public:
  static constexpr bool kReads = false;

  void number(std::uint32_t value) { fields_.number(value); }
  void wide(std::int64_t value) { fields_.wide(static_cast<std::uint64_t>(value)); }
  void real(double value) { fields_.wide(std::bit_cast<std::uint64_t>(value)); }
  void flag(bool value) { number(value ? 1 : 0); }
  template <class E>
  void choice(E value, E) {
    number(static_cast<std::uint32_t>(value));
  }
  void text(const std::string& value) {
    const auto [found, is_new] = numbers_.emplace(value, static_cast<std::uint32_t>(numbers_.size()));
    if (is_new) texts_.text(value);
    number(found->second);
  }
  void dim(Dim value) { fields_.wide(std::bit_cast<std::uint64_t>(value)); }
  void index(std::uint32_t value, std::size_t) { number(value); }  // of a list of `size`
  template <class T, class F>
  void list(const std::vector<T>& values, F&& field) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) field(value);
  }
  template <class T, class F>
  void optional(const std::optional<T>& value, F&& field) {
    flag(value.has_value());
    if (value) field(*value);
  }
  std::string bytes() && {
    ByteWriter all;
    all.number(static_cast<std::uint32_t>(numbers_.size()));
    all.text(std::move(texts_).bytes());
    return std::move(all).bytes() + std::move(fields_).bytes();
  }

 private:
  ByteWriter texts_, fields_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

// Throws a FileError at the first value that is not valid. Counts do not exceed the bytes that are left.
class FieldReader {
 public:
  static constexpr bool kReads = true;

  // `bytes` must outlive it.
  explicit FieldReader(std::string_view bytes) : fields_(bytes) {
    const std::uint32_t count = fields_.number();
    ByteReader texts(fields_.text());
    check(count <= texts.left(), "the number of texts");
    for (std::uint32_t i = 0; i < count; ++i) texts_.emplace_back(texts.text());
    check(texts.is_good() && texts.is_at_end(), "the list of texts");
  }

  // Dims that are read afterwards are expressions of these.
  void set_sizes(std::shared_ptr<SymbolicSizes> sizes) { sizes_ = std::move(sizes); }

  static void check(bool condition, std::string_view what) {
    PEL_CHECK(condition, FileError, "it is not valid: {}", what);
  }
  void number(std::uint32_t& value) {
    value = fields_.number();
    check(fields_.is_good(), "it ends too early");
  }
  void wide(std::int64_t& value) { value = static_cast<std::int64_t>(wide_bits()); }
  void real(double& value) { value = std::bit_cast<double>(wide_bits()); }
  void flag(bool& value) {
    std::uint32_t read = 0;
    index(read, 2);
    value = read != 0;
  }
  template <class E>
  void choice(E& value, E last) {
    std::uint32_t read = 0;
    index(read, static_cast<std::size_t>(last) + 1);
    value = static_cast<E>(read);
  }
  void text(std::string& value) {
    std::uint32_t at = 0;
    index(at, texts_.size());
    value = texts_[at];
  }
  void dim(Dim& value) {
    value = std::bit_cast<Dim>(wide_bits());
    check(value.is_symbolic() ? sizes_ != nullptr && sizes_->has(value) : true, "a size");
  }
  void index(std::uint32_t& value, std::size_t size) {
    number(value);
    check(value < size, "a number is out of range");
  }
  template <class T, class F>
  void list(std::vector<T>& values, F&& field) {
    std::uint32_t count = 0;
    number(count);
    check(count <= fields_.left(), "the length of a list");
    values.clear();
    for (std::uint32_t i = 0; i < count; ++i) field(values.emplace_back());
  }
  template <class T, class F>
  void optional(std::optional<T>& value, F&& field) {
    bool has = false;
    flag(has);
    value.reset();
    if (has) field(value.emplace());
  }
  bool is_at_end() const { return fields_.is_at_end(); }

 private:
  std::uint64_t wide_bits() {
    const std::uint64_t bits = fields_.wide();
    check(fields_.is_good(), "it ends too early");
    return bits;
  }

  ByteReader fields_;
  std::vector<std::string> texts_;
  std::shared_ptr<SymbolicSizes> sizes_;
};

}  // namespace pel::saved
