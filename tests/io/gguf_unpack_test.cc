// Unpacking of blocks: checked by hand, and against ggml's own package, whose results ./dev test writes if it
// is installed.
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "pellucid/io.h"
#include "pellucid/ops.h"

#include "support/answers.h"
#include "support/bytes.h"
#include "support/weight_files.h"

namespace pel {
namespace {

using io::GgufFile;
using test::GgufBytes;
using test::raw;

constexpr std::uint16_t kHalf1 = 0x3c00, kHalfMinus2 = 0xc000, kHalfHalf = 0x3800, kHalfSmallest = 0x0001;

// One block, and a few of its elements.
struct Block {
  std::uint32_t type;
  std::string bytes;
  std::vector<std::pair<int, float>> elements;
};

std::vector<Block> blocks() {
  std::string ascending;
  for (int i = 0; i < 256; ++i) ascending += static_cast<char>(i);
  std::vector<Block> all;
  // d = -2, q = 0, 1, … 31 and, by the sign of the byte, -128.
  all.push_back({8, raw(kHalfMinus2) + ascending.substr(0, 31) + '\x80', {{0, -0.f}, {1, -2}, {31, 256}}});
  all.push_back({8, raw(kHalfSmallest) + ascending.substr(0, 32), {{1, 0x1p-24f}, {31, 31 * 0x1p-24f}}});
  // Byte i = i | i << 4, so elements i and i + 16 are i.
  std::string nibbles;
  for (int i = 0; i < 16; ++i) nibbles += static_cast<char>(i * 0x11);
  all.push_back({2, raw(kHalf1) + nibbles, {{0, -8}, {8, 0}, {15, 7}, {16, -8}, {31, 7}}});
  all.push_back({2, raw(kHalfMinus2) + std::string(16, '\x3f'), {{0, -14}, {15, -14}, {16, 10}, {31, 10}}});
  all.push_back({3, raw(kHalfHalf) + raw(kHalfMinus2) + nibbles, {{0, -2}, {1, -1.5}, {15, 5.5}, {31, 5.5}}});
  // Scales 1, 2, 3, 4 | 5 + 16, 6, 7, 8; minima 0, 1, 2, 3 | 4 + 32, 5, 6, 7. High bits of the second
  // four are stored above the first four.
  const std::string scales = {'\x41', 2, 3, 4, '\x80', 1, 2, 3, '\x45', '\x56', '\x67', '\x78'};
  all.push_back({12,
                 raw(kHalf1) + raw(kHalfHalf) + scales + std::string(128, '\x29'),
                 {{0, 9},
                  {32, 2 * 2 - 0.5f},
                  {64, 3 * 9 - 1},
                  {96, 4 * 2 - 1.5f},
                  {128, 21 * 9 - 18},
                  {160, 6 * 2 - 2.5f},
                  {192, 7 * 9 - 3},
                  {255, 8 * 2 - 3.5f}}});
  // Low bits 5 and 10, high bits 3, 2, 1, 0 from the top: 11 10 01 00.
  std::string sixteen;
  for (int i = 0; i < 16; ++i) sixteen += static_cast<char>(i - 8);
  all.push_back({14,
                 std::string(128, '\xa5') + std::string(64, '\xe4') + sixteen + raw(kHalfHalf),
                 {{0, -4.f * (5 - 32)},
                  {16, -3.5f * (5 - 32)},
                  {32, -3.f * (5 + 16 - 32)},
                  {64, -2.f * (10 + 32 - 32)},
                  {96, -1.f * (10 + 48 - 32)},
                  {128, -0.f},
                  {144, 0.5f * (5 - 32)},
                  {160, 1.f * (5 + 16 - 32)},
                  {192, 2.f * 10},
                  {255, 3.5f * (10 + 48 - 32)}}});
  return all;
}

TEST(GgufUnpack, BlocksByHand) {
  for (const Block& block : blocks()) {
    const bool is_large = block.type >= 10;
    for (const std::uint64_t count : {1, 3}) {
      std::string bytes;
      for (std::uint64_t i = 0; i < count; ++i) bytes += block.bytes;
      const std::uint64_t elements = is_large ? 256 : 32;
      const std::string file = GgufBytes().tensor_with("t", {elements, count}, block.type, bytes).file();
      const Tensor read = GgufFile::from_memory(file).tensor("t");
      ASSERT_EQ(read.size(1), elements);
      for (const auto& [at, value] : block.elements) {
        const float found = read.data<const float>()[(count - 1) * elements + at];
        EXPECT_EQ(std::memcmp(&found, &value, sizeof value), 0)
            << "type " << block.type << ", element " << at << ": " << found << ", not " << value;
      }
    }
  }
}

TEST(GgufUnpack, F16AndBf16AreRoundedOnceFromF32) {
  std::string bytes;
  for (int i = 0; i < 1800; ++i)  // more than one part
    bytes += raw(static_cast<std::uint16_t>(0x2c00 + i)) + raw(static_cast<std::uint16_t>(0xb000 + 3 * i)) +
             "0123456789abcdef";
  const std::string file = GgufBytes().tensor_with("t", {32, 1800}, 3, bytes).file();
  const auto gguf = GgufFile::from_memory(file);
  const Tensor whole = gguf.tensor("t");
  for (const DType dtype : {kF16, kBF16}) {
    const Tensor read = gguf.tensor("t", dtype);
    EXPECT_EQ(read.dtype(), dtype);
    EXPECT_FALSE(read.is_read_only());
    EXPECT_EQ(test::bytes_of(read), test::bytes_of(whole.to(dtype)));
  }
  const std::string empty = GgufBytes().tensor_with("t", {0, 4}, 3, "").file();
  EXPECT_EQ(to_string(GgufFile::from_memory(empty).tensor("t", kBF16).sizes()), "[4, 0]");
}

// Compares bits; all NaNs are equal.
void expect_same_numbers(const Tensor& read, const Tensor& wanted, const std::string& name) {
  ASSERT_EQ(to_string(read.sizes()), to_string(wanted.sizes())) << name;
  const auto* a = read.data<const float>();
  const auto* b = wanted.data<const float>();
  int shown = 0;
  for (std::int64_t i = 0; i < read.numel().value() && shown < 5; ++i) {
    if (std::memcmp(a + i, b + i, sizeof(float)) == 0 || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ADD_FAILURE() << name << "[" << i << "]: " << a[i] << ", not " << b[i];
    ++shown;
  }
}

TEST(GgufUnpack, AgreesWithGgmlsPackage) {
  if (!test::has_answers("cases.gguf")) GTEST_SKIP() << test::kNoAnswers;
  const GgufFile file(test::answer_file("cases.gguf"));
  int compared = 0;
  for (const auto& each : file.tensors()) {
    if (each.name.ends_with(".f32")) continue;
    expect_same_numbers(file.tensor(each.name), file.tensor(each.name + ".f32"), each.name);
    ++compared;
  }
  EXPECT_EQ(compared, 8);
  // Values as its writer packs them.
  EXPECT_EQ(file.text("general.architecture"), "cases");
  EXPECT_EQ(file.integer("cases.minimum"), -5);
  EXPECT_EQ(file.number("cases.number"), 0.5);
  EXPECT_EQ(file.texts("cases.texts"), (std::vector<std::string>{"a", "über", ""}));
}

// Σ (2i + 1) wᵢ modulo 2^64 over the 32-bit words: the sum depends on the order.
std::uint64_t checksum(const Tensor& t) {
  const auto* numbers = t.data<const float>();
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < t.numel().value(); ++i)
    sum += std::bit_cast<std::uint32_t>(numbers[i]) * static_cast<std::uint64_t>(2 * i + 1);
  return sum;
}

TEST(GgufUnpack, EveryTensorOfSmolLm2HasTheBitsOfThePackage) {
  std::ifstream index(test::answer_file("smollm2.txt"));
  if (!index) GTEST_SKIP() << test::kNoAnswers;
  std::string path;
  std::getline(index, path);
  const GgufFile file(path);
  std::map<std::string, std::uint64_t> wanted;
  std::string name;
  for (std::uint64_t sum = 0; index >> name >> sum;) wanted[name] = sum;
  ASSERT_EQ(wanted.size(), file.tensors().size());

  const auto begin = std::chrono::steady_clock::now();
  std::vector<Tensor> tensors;
  for (const auto& each : file.tensors()) tensors.push_back(file.tensor(each.name));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::cout << file.tensors().size() << " tensors in " << seconds.count() << " s\n";
  for (std::size_t i = 0; i < tensors.size(); ++i)
    EXPECT_EQ(checksum(tensors[i]), wanted.at(file.tensors()[i].name)) << file.tensors()[i].name;
}

}  // namespace
}  // namespace pel
