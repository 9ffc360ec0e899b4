// Safetensors: round trips, shared memory, models in several files.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pellucid/io.h"
#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"

#include "support/bytes.h"
#include "support/errors.h"
#include "support/weight_files.h"

namespace pel {
namespace {

using io::SafetensorsFile;
using test::bytes_of;
using test::safetensors;
using test::thrown_by;

class Safetensors : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("pellucid_safetensors_" + std::to_string(::getpid()));
};

void expect_same(const Tensor& read, const Tensor& written) {
  EXPECT_EQ(read.dtype(), written.dtype());
  EXPECT_EQ(to_string(read.sizes()), to_string(written.sizes()));
  EXPECT_EQ(bytes_of(read), bytes_of(written));
}

TEST_F(Safetensors, ReadsBackWhatItWrote) {
  std::vector<NamedTensor> tensors;
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    tensors.push_back({"a." + std::string(name(dtype)), arange(0, 15).view({3, 5}).to(dtype)});
    tensors.push_back({"transposed." + std::string(name(dtype)), arange(0, 6).view({2, 3}).t().to(dtype)});
  }
  tensors.push_back({"number", tensor(7.5)});
  tensors.push_back({"empty", zeros({3, 0, 2})});
  tensors.push_back({"with \"quotes\", \\ and \n, ü", ones({1})});
  tensors.push_back({"learned", ones({2}).requires_grad_()});
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"a \"b\"", "\t\\"}};
  io::save_safetensors(path("a.safetensors"), tensors, metadata);

  const SafetensorsFile file(path("a.safetensors"));
  EXPECT_EQ(file.metadata(), metadata);
  EXPECT_EQ(file.names().size(), tensors.size());
  EXPECT_TRUE(std::is_sorted(file.names().begin(), file.names().end()));
  for (const NamedTensor& each : tensors) {
    SCOPED_TRACE(each.path);
    ASSERT_TRUE(file.has(each.path));
    const Tensor read = file.tensor(each.path);
    expect_same(read, each.tensor.detach());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read.raw_data()) %
                  static_cast<std::uintptr_t>(size_bytes(read.dtype())),
              0u);
  }
  EXPECT_FALSE(file.has("b"));
  EXPECT_EQ(thrown_by<FileError>([&] { file.tensor("b"); }).message(),
            path("a.safetensors") + " has no tensor \"b\"");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);  // no temporary file is left
}

TEST_F(Safetensors, WritesAFileWithoutTensors) {
  io::save_safetensors(path("a.safetensors"), {});
  EXPECT_TRUE(SafetensorsFile(path("a.safetensors")).names().empty());
}

TEST_F(Safetensors, SharesTheFilesMemoryAsLongAsATensorLives) {
  io::save_safetensors(path("a.safetensors"), {{"a", arange(0, 1000)}});
  Tensor view;
  {
    const SafetensorsFile file(path("a.safetensors"));
    EXPECT_EQ(file.tensor("a").raw_data(), file.tensor("a").raw_data());
    view = file.tensor("a").narrow(0, 500, 500);
  }
  std::filesystem::remove(path("a.safetensors"));
  EXPECT_TRUE(view.is_read_only());
  EXPECT_EQ(bytes_of(view), bytes_of(arange(500, 1000)));
  EXPECT_THROW(view.fill_(1), AliasError);
  EXPECT_THROW(view.data<std::int64_t>(), AliasError);
  EXPECT_EQ(view.data<const std::int64_t>()[1], 501);
}

TEST_F(Safetensors, OldTensorsSurviveANewFileOfTheSameName) {
  io::save_safetensors(path("a.safetensors"), {{"a", ones({1000})}});
  const Tensor old = SafetensorsFile(path("a.safetensors")).tensor("a");
  io::save_safetensors(path("a.safetensors"), {{"a", zeros({10})}});
  EXPECT_EQ(bytes_of(old), bytes_of(ones({1000})));
  expect_same(SafetensorsFile(path("a.safetensors")).tensor("a"), zeros({10}));
  // A file may be written from its own tensors.
  const Tensor own = SafetensorsFile(path("a.safetensors")).tensor("a");
  io::save_safetensors(path("a.safetensors"), {{"b", own}});
  expect_same(SafetensorsFile(path("a.safetensors")).tensor("b"), zeros({10}));
}

TEST_F(Safetensors, ReadsDataAtAnyAlignment) {
  const std::string numbers = test::raw(1.5f) + test::raw(2.5f);
  for (std::size_t pad = 0; pad < 8; ++pad) {
    std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})" + std::string(pad, ' ');
    const std::string bytes = safetensors(header, numbers);
    const Tensor read = SafetensorsFile::from_memory(bytes).tensor("a");
    EXPECT_EQ(bytes_of(read + 1), bytes_of(tensor({2.5, 3.5})));
    EXPECT_EQ(read.clone().data<const float>()[1], 2.5f);
  }
}

TEST_F(Safetensors, RefusesWhatItCannotWrite) {
  const auto error = [&](const std::vector<NamedTensor>& tensors, const std::string& name = "a.safetensors") {
    return thrown_by<ValueError>([&] { io::save_safetensors(path(name), tensors); }).message();
  };
  EXPECT_EQ(error({{"a", ones({1})}, {"a", ones({2})}}), "two tensors have the name \"a\"");
  EXPECT_EQ(error({{"__metadata__", ones({1})}}),
            "a tensor must not be named __metadata__: the format reserves that name");
  EXPECT_EQ(error({{"a", Tensor()}}), "tensor \"a\" has no data");
  EXPECT_EQ(error({{"a", zeros({2}, kMeta)}}), "tensor \"a\" has no data");
  EXPECT_NE(error({{"a\xff", ones({1})}}).find("is not UTF-8"), std::string::npos);
  const auto in_no_folder = [&] { io::save_safetensors(path("no/a.safetensors"), {}); };
  EXPECT_NE(thrown_by<FileError>(in_no_folder).message().find("cannot create"), std::string::npos);
  std::filesystem::create_directory(path("folder"));
  const auto over_a_folder = [&] { io::save_safetensors(path("folder"), {}); };
  EXPECT_NE(thrown_by<FileError>(over_a_folder).message().find("cannot rename"), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Safetensors, RefusesWhatIsNotARegularFile) {
  const auto error = [](const std::string& path) {
    return std::string(thrown_by<FileError>([&] { SafetensorsFile file(path); }).what());
  };
  EXPECT_NE(error(path("none")).find("E12 file: SafetensorsFile: cannot open "), std::string::npos);
  EXPECT_NE(error(folder_).find("is not a regular file"), std::string::npos);
  write("empty", "");
  EXPECT_NE(error(path("empty")).find("has 0 bytes"), std::string::npos);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(error(path("pipe")).find("is not a regular file"), std::string::npos);
}

// An unsupported dtype is an error only for its own tensor.
TEST_F(Safetensors, ReadsTheRestOfAFileWithUnsupportedDtypes) {
  const std::string bytes = safetensors(
      R"({"a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]},
          "b":{"dtype":"NEW","shape":[2],"data_offsets":[2,3]},
          "c":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})",
      "abcd");
  const auto file = SafetensorsFile::from_memory(bytes);
  EXPECT_EQ(file.tensor("c").item().to_int(), 'd');
  EXPECT_EQ(
      thrown_by<FileError>([&] { file.tensor("a"); }).message(),
      "memory: tensor \"a\" has dtype \"F8_E4M3\"; supported are F64, F32, F16, BF16, I64, I32, I16, I8, U8, "
      "BOOL");
  EXPECT_NE(thrown_by<FileError>([&] { file.tensor("b"); }).message().find("dtype \"NEW\""),
            std::string::npos);
}

TEST_F(Safetensors, RefusesABoolThatIsNeither0Nor1) {
  const std::string bytes =
      safetensors(R"({"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", std::string("\0\1\2", 3));
  const auto file = SafetensorsFile::from_memory(bytes);
  EXPECT_EQ(thrown_by<FileError>([&] { file.tensor("a"); }).message(),
            "memory: tensor \"a\": a bool must be 0 or 1, but byte 2 is 2");
}

TEST_F(Safetensors, ReadsOneModelFromSeveralFiles) {
  io::save_safetensors(path("m-1.safetensors"), {{"a", ones({2})}, {"b", ones({3})}}, {{"format", "pt"}});
  io::save_safetensors(path("m-2.safetensors"), {{"c", ones({4})}}, {{"format", "pt"}});
  const std::string index = path("m.safetensors.index.json");
  const auto write_index = [&](const std::string& map) {
    write("m.safetensors.index.json", R"({"metadata":{"total_size":36},"weight_map":)" + map + "}");
  };
  write_index(R"({"c":"m-2.safetensors","a":"m-1.safetensors","b":"m-1.safetensors"})");
  const SafetensorsFile file(index);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  expect_same(file.tensor("c"), ones({4}));
  expect_same(file.tensor("b"), ones({3}));

  const struct {
    std::string map, message;
  } cases[] = {
      {R"({"d":"m-1.safetensors"})", "tensor \"d\" is not in \"m-1.safetensors\""},
      {R"({"a":"m-1.safetensors","a":"m-1.safetensors"})", "tensor \"a\" appears twice"},
      {R"({"a":"../m-1.safetensors"})", "must name a file in the same folder"},
      {R"({"a":"/etc/passwd"})", "must name a file in the same folder"},
      {R"({"a":".."})", "must name a file in the same folder"},
      {R"({"a":""})", "must name a file in the same folder"},
      {R"({"a":"m-1.safetensors\u0000"})", "must name a file in the same folder"},
      {R"({"a":"m-3.safetensors"})", "cannot open"},
      {R"({"a":1})", "the file of \"a\" must be a string"},
      {R"([])", "weight_map must be an object"},
      {R"({},"weight_map":{})", "has two fields weight_map"},
      {R"({)", "is not valid JSON"},
  };
  for (const auto& [map, message] : cases) {
    write_index(map);
    const std::string found = thrown_by<FileError>([&] { SafetensorsFile broken(index); }).message();
    EXPECT_NE(found.find(message), std::string::npos) << map << "\n" << found;
  }
}

TEST_F(Safetensors, WritesAnIndexOfSeveralFiles) {
  io::save_safetensors(path("m-1.safetensors"), {{"a", ones({2})}, {"b \"x\"", arange(3)}});
  io::save_safetensors(path("m-2.safetensors"), {{"c", ones({4}, kBF16)}});
  const std::string index = path("m.safetensors.index.json");
  io::save_safetensors_index(index, {"m-1.safetensors", "m-2.safetensors"});
  const SafetensorsFile file(index);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "b \"x\"", "c"}));
  expect_same(file.tensor("b \"x\""), arange(3));
  expect_same(file.tensor("c"), ones({4}, kBF16));

  const auto error = [&](const std::string& name, const std::vector<std::string>& files) {
    try {
      io::save_safetensors_index(path(name), files);
    } catch (const Error& thrown) {
      return thrown.message();
    }
    return std::string("no error");
  };
  EXPECT_EQ(error("m.index.json", {"m-1.safetensors", "m-1.safetensors"}),
            "m-1.safetensors and m-1.safetensors both have a tensor \"a\"");
  EXPECT_EQ(error("m.index.json", {"../m-1.safetensors"}),
            "\"../m-1.safetensors\" must be the name of a file in the folder of the index, without a path");
  EXPECT_NE(error("m.index.json", {"m-3.safetensors"}).find("cannot open"), std::string::npos);
  EXPECT_NE(error("m.json", {}).find("an index has a name that ends with .index.json, not "),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("m.index.json")));
}

}  // namespace
}  // namespace pel
