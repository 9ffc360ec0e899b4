// write_seeds NAME FOLDER: writes small valid files as seeds for fuzzing.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "doctor/packed.h"
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

// The first byte is the size of a block.
std::vector<std::string> trace_seeds() {
  const std::string op =
      R"({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 2, "ts": 12.345,
    "dur": 2, "args": {"External id": 7, "Input Dims": [[8, 16], []], "Input type": ["float", "Scalar"],
    "Concrete Inputs": ["", "1"], "Sequence number": 3, "Fwd thread id": 0, "unknown": {"a": [1, "]"]}}})";
  const std::string kernel =
      R"json({"ph": "X", "cat": "kernel", "name": "void k<(a)1>(\"x\", \u00b5)", "pid": 0,
    "tid": 7, "ts": 1621401187223005.123, "dur": 0.007, "args": {"correlation": 4099, "device": 0, "stream": 7,
    "grid": [1, 2, 3], "block": [256, 1, 1], "blocks per SM": 0.25, "est. achieved occupancy %": 31}})json";
  const std::string old = R"({"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":1,"dur":2,
    "args":{"external id":3,"Call stack":"a.py(3): f;b"}})";
  const std::string row =
      R"({"ph": "M", "name": "thread_name", "pid": "Spans", "tid": 7, "args": {"name": "s"}})";
  const std::string flow = R"({"ph": "s", "id": "0x1f", "cat": "ac2g", "pid": 0, "tid": 7, "ts": 1.5e3})";
  const std::string many = "{\"schemaVersion\": 1, \"traceEvents\": [\n" + op + ",\n" + kernel + ",\n" + row +
                           ",\n" + flow + "\n], \"baseTimeNanoseconds\": 1711964646000000000}";
  const std::string bare = "[" + old + "," + row + "," + old + "," + flow + "," + old + "]";
  std::vector<std::string> seeds;
  for (const char block : {'\x01', '\x40', '\xff'}) {
    for (const std::string& text : {many, bare, gzip_of(many), gzip_of(bare) + gzip_of(" "), zstd_of(many)})
      seeds.push_back(block + text);
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
  if (name == "trace") seeds = trace_seeds();
  if (name == "tokenizer")
    seeds = {"the \u00e9tat <|x|> 1 a\u0301!\n", "t h\nth e\nmerges\nt h\n<x>", "\xf0\x9f\x98 \xff"};
  int number = 0;
  for (const std::string& seed : seeds)
    std::ofstream(folder / std::to_string(number++), std::ios::binary) << seed;
}
