// Invalid safetensors files, each with one defect.
#include <gtest/gtest.h>

#include "pellucid/io.h"

#include "support/errors.h"
#include "support/weight_files.h"

namespace pel {
namespace {

using io::SafetensorsFile;
using test::raw;
using test::safetensors;

// Returns a file with one F32 tensor of two elements and these fields.
std::string with(const std::string& shape, const std::string& offsets, const std::string& dtype = "\"F32\"") {
  return safetensors(
      R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
      "12345678");
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  while (times-- > 0) all += text;
  return all;
}

TEST(HostileSafetensors, EachIsAnErrorThatSaysWhere) {
  const std::string a = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  const struct {
    std::string bytes, message;
  } cases[] = {
      {"", "has 0 bytes"},
      {"1234567", "has 7 bytes"},
      {raw(std::uint64_t{1}), "the header's length, 1 bytes, exceeds the 0 bytes of the file"},
      {raw(~std::uint64_t{0}) + "{}", "exceeds the format's limit"},
      {raw(std::uint64_t{100'000'001}) + "{}", "exceeds the format's limit"},
      {safetensors(""), "must begin with {"},
      {safetensors(" {}"), "must begin with {"},
      {safetensors("[]"), "must begin with {"},
      {safetensors("{"), "is not valid JSON"},
      {safetensors("{}x"), "is not valid JSON"},
      {safetensors("{\"\xff\":1}"), "is not valid JSON"},
      {safetensors(repeated("{\"a\":", 2000) + "1" + repeated("}", 2000)), "is not valid JSON"},
      {safetensors("{}", "1"), "1 bytes after the last tensor belong to no tensor"},
      {safetensors(R"({"a":1})"), "tensor \"a\" must be an object"},
      {safetensors(R"({"a":{}})"), "tensor \"a\" has no field dtype"},
      {safetensors("{" + a + "," + a + "}", "1234"), "tensor \"a\" appears twice"},
      {safetensors(R"({"__metadata__":[]})"), "__metadata__ must be an object"},
      {safetensors(R"({"__metadata__":{"a":1}})"), "__metadata__: \"a\" must be a string"},
      {safetensors(R"({"__metadata__":{"a":"","a":""}})"), "__metadata__ has two values \"a\""},
      {safetensors(R"({"__metadata__":{},"__metadata__":{}})"), "two fields __metadata__"},
      {with("[2]", "[0,8]", "1"), "dtype must be a string"},
      {with("[2]", "[0,8],\"dtype\":\"F32\""), "has two fields dtype"},
      {with("{}", "[0,8]"), "shape must be a list"},
      {with("[-1]", "[0,8]"), "sizes must be non-negative integers"},
      {with("[2.0]", "[0,8]"), "sizes must be non-negative integers"},
      {with("[18446744073709551615]", "[0,8]"), "sizes must be non-negative integers"},
      {with("[99999999999999999999]", "[0,8]"), "is not valid JSON"},
      {with("[4294967296,4294967296]", "[0,0]"), "the product of its sizes exceeds 2^56"},
      {with("[0,4294967296,4294967296]", "[0,0]"), "the product of its sizes exceeds 2^56"},
      {with("[72057594037927937]", "[0,8]"), "the product of its sizes exceeds 2^56"},
      {with("[2" + repeated(",1", 64) + "]", "[0,8]"), "has more than 64 axes"},
      {with("[3]", "[0,8]"), "3 elements of F32 take 96 bits, but data_offsets [0, 8] hold 64"},
      {with("[2]", "[0,7]"), "take 64 bits, but data_offsets [0, 7] hold 56"},
      {with("[3]", "[0,8]", "\"F8_E5M2\""), "3 elements of F8_E5M2 take 24 bits"},
      {with("[2]", "[0]"), "must be two integers, got 1"},
      {with("[2]", "[0,8,8]"), "must be two integers, got 3"},
      {with("[2]", "[0,-8]"), "data_offsets must be two non-negative integers"},
      {with("[2]", "[\"0\",8]"), "data_offsets must be two non-negative integers"},
      {with("[2]", "[8,0]"), "must be increasing and end inside the 8 bytes"},
      {with("[2]", "[0,16]"), "must be increasing and end inside the 8 bytes"},
      {with("[2]", "[18446744073709551608,18446744073709551615]"), "must be increasing and end inside"},
      {with("[1]", "[0,4]"), "4 bytes after the last tensor"},
      {with("[1]", "[4,8]"), "leaves a gap after byte 0"},
      {safetensors("{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})", "123456"),
       "tensor \"b\" begins at byte 2 of the data, and overlaps the tensor that ends at byte 4"},
      {safetensors("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "1234"), "overlaps"},
      {safetensors("{" + a + R"(,"b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})", "1234"), "overlaps"},
      {safetensors("{" + a + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}})", "123456"), "a gap"},
      {safetensors(R"({"\u001b[31m)" + std::string(1000, 'x') + R"(":1})"),
       "tensor \"\\x1b[31m" + std::string(75, 'x') + "…\" must be an object"},
  };
  for (const auto& [bytes, message] : cases) {
    const std::string found =
        test::thrown_by<FileError>([&] { SafetensorsFile::from_memory(bytes); }).message();
    EXPECT_NE(found.find(message), std::string::npos) << "expected: " << message << "\nfound:    " << found;
  }
}

TEST(HostileSafetensors, CutAnywhereIsAnError) {
  const std::string whole = safetensors(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678");
  SafetensorsFile::from_memory(whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);  // its own memory, so that a sanitizer sees its end
    EXPECT_THROW(SafetensorsFile::from_memory(cut), FileError) << size;
  }
}

}  // namespace
}  // namespace pel
