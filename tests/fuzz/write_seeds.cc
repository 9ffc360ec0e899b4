// write_seeds NAME FOLDER: writes small valid files as seeds for fuzzing.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "io/gguf_unpack.h"
#include "io/safetensors_format.h"
#include "support/weight_files.h"

namespace pel::test {
namespace {

std::vector<std::string> safetensors_seeds() {
  std::vector<std::string> seeds = {
      safetensors("{}"),
      safetensors(R"({"__metadata__":{"format":"pt","k\u00fc":""}}     )"),
      safetensors(R"({"a":{"dtype":"I16","shape":[2,1],"data_offsets":[0,4]},
                      "b":{"dtype":"BOOL","shape":[2],"data_offsets":[4,6]},
                      "c":{"dtype":"F64","shape":[0,9],"data_offsets":[6,6]}})",
                  std::string("\1\2\3\4\0\1", 6)),
  };
  for (const io::SafetensorsDType& dtype : io::kSafetensorsDTypes) {
    const std::string end = std::to_string(dtype.bits);  // 8 elements
    seeds.push_back(safetensors(R"({"t":{"dtype":")" + std::string(dtype.name) +
                                    R"(","shape":[2,4],"data_offsets":[0,)" + end + "]}}",
                                std::string(dtype.bits, '\0')));
  }
  return seeds;
}

std::vector<std::string> gguf_seeds() {
  std::vector<std::string> seeds = {GgufBytes().file()};
  GgufBytes keys;
  keys.version = 2;
  keys.key("general.alignment", GgufKind::U32, raw(std::uint32_t{32}))
      .key("u8", GgufKind::U8, "1")
      .key("f32", GgufKind::F32, raw(1.5f))
      .key("bool", GgufKind::Bool, "\1")
      .key("i64", GgufKind::I64, raw(std::int64_t{-1}))
      .key("text", GgufKind::String, gguf_string("text"))
      .key("texts", GgufKind::List, gguf_list(GgufKind::String, 2, gguf_string("a") + gguf_string("b")))
      .key("numbers", GgufKind::List, gguf_list(GgufKind::F32, 2, raw(1.f) + raw(2.f)))
      .key("bools", GgufKind::List, gguf_list(GgufKind::Bool, 2, std::string("\0\1", 2)))
      .key("lists", GgufKind::List, gguf_list(GgufKind::List, 1, gguf_list(GgufKind::U16, 1, "12")));
  seeds.push_back(keys.file());
  GgufBytes several;
  several.tensor_with("a", {2, 3}, 0, std::string(24, 'a'))
      .tensor_with("b", {32, 2}, 8, std::string(68, 'b'))
      .tensor_with("c", {}, 1, "cc")
      .tensor_with("d", {0}, 30, "");
  seeds.push_back(several.file());
  for (std::uint32_t code = 0; code < 64; ++code) {
    const io::GgufType* type = io::find_gguf_type(code);
    if (!type) continue;
    GgufBytes bytes;
    bytes.tensor_with("t", {type->block_elements, 2}, code,
                      std::string(std::size_t{2} * type->block_bytes, '1'));
    bytes.tensor_with("u", {type->block_elements}, code, std::string(type->block_bytes, '2'));
    seeds.push_back(bytes.file());
  }
  return seeds;
}

}  // namespace
}  // namespace pel::test

int main(int count, char** words) {
  using namespace pel::test;
  if (count != 3) {
    std::cerr << "usage: write_seeds NAME FOLDER\n";
    return 2;
  }
  const std::string name = words[1];
  const std::filesystem::path folder = words[2];
  std::filesystem::create_directories(folder);
  std::vector<std::string> seeds;
  if (name == "gguf") seeds = gguf_seeds();
  if (name == "safetensors") seeds = safetensors_seeds();
  if (name == "tokenizer")
    seeds = {"the \u00e9tat <|x|> 1 a\u0301!\n", "t h\nth e\nmerges\nt h\n<x>", "\xf0\x9f\x98 \xff"};
  int number = 0;
  for (const std::string& seed : seeds)
    std::ofstream(folder / std::to_string(number++), std::ios::binary) << seed;
}
