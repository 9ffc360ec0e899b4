// Code images as bytes, and loaded.
#include "codegen/code_image.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

namespace pel::codegen {
namespace {

// One function that returns 7, and one that jumps to memset through a slot.
CodeImage small() {
  CodeImage image;
  image.bytes.assign(CodeImage::kPage + 16, '\0');
  image.bytes.replace(0, 6, std::string("\xb8\x07\0\0\0\xc3", 6));     // mov $7, %eax; ret
  image.bytes.replace(16, 6, std::string("\xff\x25\xf2\x0f\0\0", 6));  // jmp *slot(%rip)
  image.code_bytes = CodeImage::kPage;
  image.functions = {{"seven", 0}, {"fill", 16}};
  image.slots = {{Import::Memset, CodeImage::kPage + 8}};
  return image;
}

TEST(CodeImage, RunsAndCallsImports) {
  const CompiledKernels loaded = load(small());
  EXPECT_EQ(loaded[0](0, nullptr, nullptr, nullptr), 7u);
  char bytes[4] = {};
  const auto fill = reinterpret_cast<void* (*)(void*, int, std::size_t)>(reinterpret_cast<void*>(loaded[1]));
  EXPECT_EQ(fill(bytes, 'x', 3), bytes);
  EXPECT_EQ(std::string(bytes), "xxx");
}

TEST(CodeImage, IsTheSameAfterBytes) {
  const CodeImage image = small();
  const std::optional<CodeImage> again = image_from(to_bytes(image));
  ASSERT_TRUE(again);
  EXPECT_EQ(to_bytes(*again), to_bytes(image));
}

TEST(CodeImage, ACutOneIsRefused) {
  const std::string bytes = to_bytes(small());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(image_from(std::string_view(bytes).substr(0, size))) << size;
  EXPECT_FALSE(image_from(bytes + "x"));
}

TEST(CodeImage, OffsetsOutsideAreRefused) {
  const auto is_refused = [](auto change) {
    CodeImage image = small();
    change(image);
    return !image_from(to_bytes(image)).has_value();
  };
  EXPECT_FALSE(is_refused([](CodeImage&) {}));
  EXPECT_TRUE(is_refused([](CodeImage& i) { i.functions[0].offset = i.code_bytes; }));
  EXPECT_TRUE(is_refused([](CodeImage& i) { i.slots[0].offset = 0; }));
  EXPECT_TRUE(is_refused([](CodeImage& i) { i.slots[0].offset += 1; }));
  EXPECT_TRUE(is_refused([](CodeImage& i) { i.slots[0].offset += 8; }));
  EXPECT_TRUE(is_refused([](CodeImage& i) { i.slots[0].offset = ~std::uint32_t{7}; }));
  EXPECT_TRUE(is_refused([](CodeImage& i) { i.slots[0].import = static_cast<Import>(99); }));
  EXPECT_TRUE(is_refused([](CodeImage& i) { i.code_bytes = 0; }));
  EXPECT_TRUE(is_refused([](CodeImage& i) { i.code_bytes = 100; }));
  EXPECT_TRUE(is_refused([](CodeImage& i) { i.code_bytes = 2 * CodeImage::kPage; }));
}

}  // namespace
}  // namespace pel::codegen
