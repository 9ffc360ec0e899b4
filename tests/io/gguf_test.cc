// GGUF: values of all types, tensors in the file's memory, unsupported types.
#include <gtest/gtest.h>

#include "pellucid/io.h"
#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"

#include "support/bytes.h"
#include "support/errors.h"
#include "support/weight_files.h"

namespace pel {
namespace {

using io::GgufFile;
using test::gguf_list;
using test::gguf_string;
using test::GgufBytes;
using test::GgufKind;
using test::raw;
using test::thrown_by;

constexpr std::uint32_t kTypeF32 = 0, kTypeF16 = 1, kTypeQ5_0 = 6, kTypeQ8_0 = 8, kTypeBF16 = 30;

TEST(Gguf, ReadsValuesOfEveryType) {
  GgufBytes bytes;
  bytes.key("u8", GgufKind::U8, raw(std::uint8_t{200}))
      .key("i8", GgufKind::I8, raw(std::int8_t{-100}))
      .key("u16", GgufKind::U16, raw(std::uint16_t{60000}))
      .key("i16", GgufKind::I16, raw(std::int16_t{-30000}))
      .key("u32", GgufKind::U32, raw(std::uint32_t{4000000000}))
      .key("i32", GgufKind::I32, raw(std::int32_t{-2000000000}))
      .key("u64", GgufKind::U64, raw(std::uint64_t{1} << 62))
      .key("i64", GgufKind::I64, raw(std::int64_t{-1} << 62))
      .key("f32", GgufKind::F32, raw(1.5f))
      .key("f64", GgufKind::F64, raw(0.1))
      .key("bool", GgufKind::Bool, raw(std::uint8_t{1}))
      .key("text", GgufKind::String, gguf_string("über"))
      .key("none", GgufKind::String, gguf_string(""))
      .key("bools", GgufKind::List, gguf_list(GgufKind::Bool, 2, std::string("\1\0", 2)))
      .key("integers", GgufKind::List,
           gguf_list(GgufKind::I16, 2, raw(std::int16_t{-1}) + raw(std::int16_t{2})))
      .key("numbers", GgufKind::List, gguf_list(GgufKind::F32, 2, raw(0.5f) + raw(2.f)))
      .key("texts", GgufKind::List, gguf_list(GgufKind::String, 2, gguf_string("a") + gguf_string("bc")))
      .key("nothing", GgufKind::List, gguf_list(GgufKind::U8, 0, ""))
      .key("lists", GgufKind::List,
           gguf_list(GgufKind::List, 2, gguf_list(GgufKind::U8, 1, "1") + gguf_list(GgufKind::String, 0, "")))
      .key("last", GgufKind::U8, raw(std::uint8_t{7}));
  for (const std::uint32_t version : {2u, 3u}) {
    bytes.version = version;
    const std::string file = bytes.file();
    const auto gguf = GgufFile::from_memory(file);
    EXPECT_EQ(gguf.integer("u8"), 200);
    EXPECT_EQ(gguf.integer("i8"), -100);
    EXPECT_EQ(gguf.integer("u16"), 60000);
    EXPECT_EQ(gguf.integer("i16"), -30000);
    EXPECT_EQ(gguf.integer("u32"), 4000000000);
    EXPECT_EQ(gguf.integer("i32"), -2000000000);
    EXPECT_EQ(gguf.integer("u64"), std::int64_t{1} << 62);
    EXPECT_EQ(gguf.integer("i64"), std::int64_t{-1} << 62);
    EXPECT_EQ(gguf.number("f32"), 1.5);
    EXPECT_EQ(gguf.number("f64"), 0.1);
    EXPECT_EQ(gguf.number("u8"), 200);
    EXPECT_EQ(std::get<bool>(gguf.metadata().at("bool")), true);
    EXPECT_EQ(gguf.text("text"), "über");
    EXPECT_EQ(gguf.text("none"), "");
    EXPECT_EQ(std::get<std::vector<bool>>(gguf.metadata().at("bools")), (std::vector<bool>{true, false}));
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(gguf.metadata().at("integers")),
              (std::vector<std::int64_t>{-1, 2}));
    EXPECT_EQ(std::get<std::vector<double>>(gguf.metadata().at("numbers")), (std::vector<double>{0.5, 2}));
    EXPECT_EQ(gguf.texts("texts"), (std::vector<std::string>{"a", "bc"}));
    EXPECT_TRUE(std::get<std::vector<std::int64_t>>(gguf.metadata().at("nothing")).empty());
    EXPECT_TRUE(std::holds_alternative<std::monostate>(gguf.metadata().at("lists")));
    EXPECT_EQ(gguf.integer("last"), 7);
    EXPECT_TRUE(gguf.has_key("last"));
    EXPECT_FALSE(gguf.has_key("later"));
    EXPECT_EQ(thrown_by<FileError>([&] { gguf.integer("later"); }).message(), "memory has no key \"later\"");
    EXPECT_EQ(thrown_by<FileError>([&] { gguf.integer("f32"); }).message(),
              "memory: the value of \"f32\" is not an integer");
    EXPECT_EQ(thrown_by<FileError>([&] { gguf.number("text"); }).message(),
              "memory: the value of \"text\" is not a number");
    EXPECT_EQ(thrown_by<FileError>([&] { gguf.text("texts"); }).message(),
              "memory: the value of \"texts\" is not a text");
    const FileError error = thrown_by<FileError>([&] { gguf.texts("text"); });
    EXPECT_EQ(error.message(), "memory: the value of \"text\" is not a list of texts");
    EXPECT_EQ(test::file_of(error.site()), "gguf_test.cc");
  }
}

TEST(Gguf, TensorsOfSupportedDtypesShareTheFilesMemory) {
  const Tensor values = tensor({1., -2., 0.5, 3e-7, 70000., 6.});
  const auto bytes_as = [&](DType dtype) {
    const std::vector<char> bytes = test::bytes_of(values.to(dtype));
    return std::string(bytes.begin(), bytes.end());
  };
  GgufBytes bytes;
  bytes.tensor_with("f32", {3, 2}, kTypeF32, bytes_as(pel::kF32))
      .tensor_with("f16", {3, 2}, kTypeF16, bytes_as(pel::kF16))
      .tensor_with("bf16", {3, 2}, kTypeBF16, bytes_as(pel::kBF16))
      .tensor_with("number", {}, kTypeF32, raw(4.f))
      .tensor_with("empty", {0, 2}, kTypeF32, "");
  const std::string file = bytes.file();
  const auto gguf = GgufFile::from_memory(file);
  ASSERT_EQ(gguf.tensors().size(), 5u);
  EXPECT_EQ(gguf.tensors()[1].name, "f16");
  EXPECT_EQ(gguf.tensors()[1].type, "F16");
  EXPECT_EQ(gguf.tensors()[1].bytes, 12u);
  EXPECT_EQ(gguf.tensors()[1].sizes, (std::vector<std::int64_t>{2, 3}));
  for (const DType from : {pel::kF32, pel::kF16, pel::kBF16}) {
    for (const DType to : {pel::kF32, pel::kF16, pel::kBF16}) {
      const Tensor read = gguf.tensor(name(from), to);
      EXPECT_EQ(to_string(read.sizes()), "[2, 3]");
      EXPECT_EQ(test::bytes_of(read), test::bytes_of(values.to(from).to(to))) << name(from) << name(to);
      EXPECT_EQ(read.is_read_only(), from == to);
      const bool is_inside = read.raw_data() >= file.data() && read.raw_data() < file.data() + file.size();
      EXPECT_EQ(is_inside, from == to);
    }
  }
  EXPECT_EQ(gguf.tensor("number").item().to_double(), 4);
  EXPECT_EQ(to_string(gguf.tensor("empty").sizes()), "[2, 0]");
  EXPECT_EQ(thrown_by<DTypeError>([&] { gguf.tensor("f32", kI64); }).message(),
            "tensors can be unpacked to f32, f16 or bf16, not to i64");
  EXPECT_EQ(thrown_by<FileError>([&] { gguf.tensor("g"); }).message(), "memory has no tensor \"g\"");
}

TEST(Gguf, TakesTheAlignmentFromItsKey) {
  for (const std::uint64_t alignment : {1u, 2u, 64u, 4096u}) {
    GgufBytes bytes;
    bytes.alignment = alignment;
    bytes.key("general.alignment", GgufKind::U32, raw(static_cast<std::uint32_t>(alignment)))
        .tensor_with("a", {1}, kTypeBF16, raw(std::uint16_t{0x3f80}))
        .tensor_with("b", {2}, kTypeF32, raw(1.5f) + raw(2.5f));
    const std::string file = bytes.file();
    const auto gguf = GgufFile::from_memory(file);
    EXPECT_EQ(gguf.tensor("a").item().to_double(), 1);
    EXPECT_EQ(test::bytes_of(gguf.tensor("b") * 2), test::bytes_of(tensor({3., 5.})));
  }
}

TEST(Gguf, ListsTensorsOfUnsupportedTypes) {
  GgufBytes bytes;
  bytes.tensor_with("known", {32}, kTypeQ5_0, std::string(22, 'x'))
      .tensor_with("new", {5}, 99, "")
      .tensor_with("plain", {1}, kTypeF32, raw(1.f));
  const std::string file = bytes.file();
  const auto gguf = GgufFile::from_memory(file);
  EXPECT_EQ(gguf.tensors()[0].type, "Q5_0");
  EXPECT_EQ(gguf.tensors()[0].bytes, 22u);
  EXPECT_EQ(gguf.tensors()[1].type, "type 99");
  EXPECT_EQ(gguf.tensors()[1].bytes, 0u);
  EXPECT_EQ(gguf.tensor("plain").item().to_double(), 1);
  EXPECT_EQ(
      thrown_by<FileError>([&] { gguf.tensor("known"); }).message(),
      "memory: tensor \"known\" has type Q5_0; supported are F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q6_K");
  EXPECT_NE(thrown_by<FileError>([&] { gguf.tensor("new"); }).message().find("has type type 99"),
            std::string::npos);
}

// A valid file with a key of each kind and tensors in blocks.
std::string small_file() {
  GgufBytes bytes;
  bytes.key("a", GgufKind::U32, raw(std::uint32_t{1}))
      .key("b", GgufKind::String, gguf_string("text"))
      .key("c", GgufKind::List, gguf_list(GgufKind::String, 2, gguf_string("a") + gguf_string("b")))
      .key("d", GgufKind::List, gguf_list(GgufKind::List, 1, gguf_list(GgufKind::F64, 1, raw(1.))))
      .tensor_with("w", {32, 2}, kTypeQ8_0, std::string(68, 'x'))
      .tensor_with("v", {3}, kTypeF32, std::string(12, 'x'));
  return bytes.file();
}

TEST(HostileGguf, CutAnywhereIsAnError) {
  const std::string whole = small_file();
  GgufFile::from_memory(whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);  // its own memory, so that a sanitizer sees its end
    EXPECT_THROW(GgufFile::from_memory(cut), FileError) << size;
  }
}

TEST(HostileGguf, ATensorWithoutElementsMayBeAtTheEnd) {
  const std::string whole =
      GgufBytes().tensor_with("plain", {0}, kTypeF32, "").tensor_with("packed", {0}, kTypeQ8_0, "").file();
  int read = 0;
  for (std::size_t left_out = 0; left_out < 32; ++left_out) {
    const std::string file = whole.substr(0, whole.size() - left_out);
    try {
      const auto gguf = GgufFile::from_memory(file);
      for (const char* name : {"plain", "packed"}) EXPECT_EQ(gguf.tensor(name).numel(), 0);
      ++read;
    } catch (const FileError&) {  // the names are cut
    }
  }
  EXPECT_GT(read, 1);
}

TEST(HostileGguf, AnyByteMayBeWrong) {
  const std::string whole = small_file();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {1, 2, 0x7f, 0x80, 0xff}) {
      std::string file = whole;
      file[at] = static_cast<char>(file[at] ^ flip);
      try {
        const auto gguf = GgufFile::from_memory(file);
        for (const auto& each : gguf.tensors()) gguf.tensor(each.name);
      } catch (const FileError&) {  // no other error
      }
    }
  }
}

std::string header(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
  return "GGUF" + raw(version) + raw(tensors) + raw(keys);
}

TEST(HostileGguf, EachIsAnErrorThatSaysWhere) {
  const std::string key = test::gguf_key("k", GgufKind::U8, "1");
  const auto with_key = [](std::uint32_t kind, const std::string& value, const std::string& rest = "") {
    return header(0, 1) + test::gguf_key("k", kind, value) + rest + std::string(64, '\0');
  };
  const auto with_tensor = [](std::initializer_list<std::uint64_t> sizes, std::uint32_t type,
                              std::uint64_t offset = 0) {
    GgufBytes bytes;
    bytes.tensor("t", sizes, type, offset).data = std::string(64, 'x');
    return bytes.file();
  };
  const auto with_alignment = [](std::uint32_t kind, const std::string& value) {
    return GgufBytes().key("general.alignment", kind, value).file();
  };
  std::string nested = gguf_list(GgufKind::U8, 1, "1");
  for (int i = 0; i < 8; ++i) nested = gguf_list(GgufKind::List, 1, nested);
  GgufBytes twice, overlapping;
  twice.tensor("t", {1}, kTypeF32, 0).tensor("t", {1}, kTypeF32, 32).data = std::string(64, 'x');
  overlapping.tensor("t", {9}, kTypeF32, 0).tensor("u", {1}, kTypeF32, 32).data = std::string(64, 'x');

  constexpr std::uint64_t kMany = std::uint64_t{1} << 60;
  const struct {
    std::string bytes, message;
  } cases[] = {
      {"", "the word GGUF at byte 0 takes 4 bytes, but only 0 are left"},
      {"GGML1234", "must begin with GGUF, but begins with \"GGML\""},
      {header(0, 0, 1), "has version 1 of GGUF; versions 2 and 3 are supported"},
      {header(0, 0, 4), "has version 4"},
      {header(0, 0, 0), "has version 0"},
      {header(0, 0, 0x03000000), "is big endian"},
      {header(kMany, 0) + key, "the number of tensors at byte 8 is 1152921504606846976, but"},
      {header(0, kMany) + key, "the number of keys at byte 16 is 1152921504606846976, but the 14 bytes left"},
      {header(2, 1) + key + std::string(47, '\0'), "the number of tensors is 2, but the 47 bytes left hold"},
      {header(0, 2) + key + key, "key \"k\" appears twice"},
      {header(0, 1) + raw(kMany) + std::string(64, 'k'), "a key at byte 24 is 1152921504606846976"},
      {header(0, 1) + gguf_string(std::string(65536, 'k')) + raw(std::uint32_t{0}) + "1",
       "at most 65535 are allowed"},
      {with_key(13, "1"), "key \"k\" has the unknown type 13"},
      {with_key(GgufKind::Bool, "\2"), "a bool must be 0 or 1, got 2"},
      {with_key(GgufKind::U64, raw(~std::uint64_t{0})), "18446744073709551615, which does not fit 63 bits"},
      {with_key(GgufKind::String, raw(kMany)), "key \"k\" at byte 37 is 1152921504606846976"},
      {with_key(GgufKind::List, gguf_list(13, 1, "1")), "has the unknown type 13"},
      {with_key(GgufKind::List, gguf_list(GgufKind::String, kMany, "")), "hold at most 8"},
      {with_key(GgufKind::List, gguf_list(GgufKind::U8, kMany, "")), "hold at most 64"},
      {with_key(GgufKind::List, gguf_list(GgufKind::List, kMany, "")), "hold at most 5"},
      {with_key(GgufKind::List, nested), "nests lists more than 8 deep"},
      {with_alignment(GgufKind::U32, raw(std::uint32_t{0})),
       "general.alignment must be a power of two up to 2^30, but is 0"},
      {with_alignment(GgufKind::U32, raw(std::uint32_t{24})), "but is 24"},
      {with_alignment(GgufKind::U64, raw(kMany)), "must be a power of two up to 2^30"},
      {with_alignment(GgufKind::I32, raw(std::int32_t{-32})), "but is -32"},
      {with_alignment(GgufKind::String, gguf_string("32")), "general.alignment\" is not an integer"},
      {with_tensor({1, 1, 1, 1, 1}, kTypeF32), "tensor \"t\" has 5 axes, but GGUF allows 4"},
      {with_tensor({std::uint64_t{1} << 63}, kTypeF32),
       "a size of tensor \"t\" is 9223372036854775808, which does not"},
      {with_tensor({std::uint64_t{1} << 40, std::uint64_t{1} << 40}, kTypeF32), "exceeds 2^56"},
      {with_tensor({0, std::uint64_t{1} << 40, std::uint64_t{1} << 40}, kTypeF32), "exceeds 2^56"},
      {with_tensor({16}, kTypeQ8_0), "rows of 16 elements, but Q8_0 needs a multiple of its block size, 32"},
      {with_tensor({16, 2}, kTypeQ8_0), "rows of 16 elements"},
      {with_tensor({}, kTypeQ8_0), "rows of 1 elements"},
      {with_tensor({17}, kTypeF32), "takes 68 bytes at byte 0 of the data, which has only 64"},
      {with_tensor({1}, kTypeF32, 16),
       "begins at byte 16 of the data, which is not a multiple of the alignment, 32"},
      {with_tensor({1}, kTypeF32, 64), "takes 4 bytes at byte 64 of the data, which has only 64"},
      {with_tensor({1}, kTypeF32, ~std::uint64_t{31}), "of the data, which has only 64"},
      {with_tensor({1}, 99, 96), "takes 0 bytes at byte 96 of the data, which has only 64"},
      {twice.file(), "tensor \"t\" appears twice"},
      {overlapping.file(), "tensors \"t\" and \"u\" overlap"},
  };
  for (const auto& [bytes, message] : cases) {
    const std::string found = thrown_by<FileError>([&] { GgufFile::from_memory(bytes); }).message();
    EXPECT_NE(found.find(message), std::string::npos) << "expected: " << message << "\nfound:    " << found;
  }
}

}  // namespace
}  // namespace pel
