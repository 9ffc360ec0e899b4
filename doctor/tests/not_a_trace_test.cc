// Files that are not traces: each is refused with a sentence that says what it looks like, and a damaged
// trace is not one of them.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/error.h"

#include "doctor/diagnosis/diagnose.h"
#include "doctor/readers/read_trace.h"
#include "doctor/readers/what_it_looks_like.h"
#include "doctor/tests/packed.h"
#include "doctor/tests/sources.h"

namespace pel::doctor {
namespace {

namespace fs = std::filesystem;

ReadOptions lenient() {
  ReadOptions options;
  options.reading = Reading::Lenient;
  return options;
}

std::string refused(const std::string& bytes, Reading reading = Reading::Lenient) {
  test::TextSource source(bytes, 1000);
  ReadOptions options;
  options.reading = reading;
  try {
    read_trace(source, [](const TraceEvent&) {}, options);
  } catch (const FileError& error) {
    return error.message();
  }
  return "";
}

struct FileOf {
  std::string name, bytes, what, advice;
};

std::vector<FileOf> files() {
  const auto bytes = [](std::string_view text) { return std::string(text); };
  using namespace std::string_view_literals;
  return {
      {"run.json", "", "an empty file", "record it again"},
      {"run.json", " \n", "an empty file", "record it again"},
      {"a.json", R"({"a": 1})", "JSON without the key traceEvents", "export_chrome_trace"},
      {"a.json", "\xEF\xBB\xBF{\"a\": 1}", "JSON without the key traceEvents", "export_chrome_trace"},
      {"a.json", R"(["a", 2])", "a JSON list whose elements are not events", "export_chrome_trace"},
      {"a.json", "[]", "a JSON list", "export_chrome_trace"},
      {"snapshot.pickle",
       bytes("\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x08segments\x94]\x94\x8c\x0d"
             "device_traces"sv),
       "a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot)", "memory viewer"},
      {"x.pkl", bytes("\x80\x04\x95\x05\x00\x00\x00"sv), "a pickle of Python", "export_chrome_trace"},
      {"snapshot.json", R"({"segments": [{"blocks": []}], "device_traces": []})",
       "a memory snapshot of PyTorch as JSON", "memory viewer"},
      {"snapshot.html", "<!DOCTYPE html>\n<html><script>import {add_local_files} from 'MemoryViz.js'",
       "a page of PyTorch about a memory snapshot", "browser"},
      {"timeline.json", "[[1720000000, 1720000001], [[0, 1]]]", "a memory timeline of PyTorch",
       "export_chrome"},
      {"et.json", R"({"schema": "1.1.0-chakra", "pid": 3, "nodes": []})", "an execution trace of PyTorch",
       "trace of the profiler"},
      {"run.nsys-rep", bytes("\x01\x02\x03\x00"sv), "a report of Nsight Systems",
       "nsys export --type sqlite"},
      {"renamed", bytes("NVIDIA Tegra Profiler Report 2025@1@3@140\x00"sv), "a report of Nsight Systems",
       "nsys export --type sqlite"},
      {"run.ncu-rep", bytes("NVR\x00"sv), "a report of Nsight Compute", "nsys profile"},
      {"vm.xplane.pb", bytes("\n\x10\x12\x0e/host:metadata"sv), "a profile of XLA", ".trace.json.gz"},
      {"run.csv", "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\"\n\"KERNEL_DISPATCH\",1,1,\"k\"\n",
       "a table of rocprof (CSV)", "--output-format"},
      {"run.csv", "a,b\n1,2\n", "a table (CSV)", "export_chrome_trace"},
      {"run.json", R"({"rocprofiler-sdk-tool": [{"metadata": {}}]})", "the JSON output of rocprofv3",
       "--output-format"},
      {"a.html", "  <HTML><body>", "an HTML page", "export_chrome_trace"},
      {"a.zip", bytes("PK\x03\x04\x14\x00"sv), "a zip archive", "Unpack it"},
      {"model.pt", bytes("PK\x03\x04\x00\x00 archive/data.pkl"sv), "a checkpoint of PyTorch",
       "export_chrome"},
      {"train.py", "import torch\n", "a Python program", "torch.profiler.profile()"},
      {"read.py", "import json\nevents = json.load(open('run.json'))[\"traceEvents\"]\n", "a Python program",
       "torch.profiler.profile()"},
      {"train", "#!/usr/bin/env python3\nprint()", "a Python program", "torch.profiler.profile()"},
      {"a.xz",
       bytes("\xFD"
             "7zXZ\x00"sv),
       "a file packed by xz", "xz -d"},
      {"log.txt", "step 1: loss 2.3\n", "text", "export_chrome_trace"},
      {"a.bin", bytes("\x00\x01\x02\xff"sv), "binary data of an unknown format", "export_chrome_trace"},
      {"cut.json", R"({"schemaVersion": 1, "deviceProperties": [{"id": 0)",
       "the beginning of a trace of PyTorch", "record it again"},
  };
}

TEST(NotATrace, SaysWhatTheFileLooksLikeAndWhatToDo) {
  for (const FileOf& file : files()) {
    const std::string said = not_a_trace(file.name, file.bytes);
    EXPECT_TRUE(said.starts_with(file.name + " is not a trace: it looks like ")) << said;
    EXPECT_NE(said.find(file.what), std::string::npos) << file.name << ": " << said;
    EXPECT_NE(said.find(file.advice), std::string::npos) << file.name << ": " << said;
  }
}

TEST(NotATrace, IsRefusedPlainOrPackedStrictOrNot) {
  for (const FileOf& file : files()) {
    EXPECT_TRUE(refused(file.bytes).starts_with("text is not a trace: it looks like ")) << file.what;
    EXPECT_NE(refused(file.bytes, Reading::Strict), "") << file.what;
    const auto source =
        unpacked(std::make_unique<test::TextSource>(test::gzip_of(file.bytes), std::size_t{100}));
    EXPECT_THROW(Examination(*source, lenient()), FileError) << file.what;
  }
}

TEST(NotATrace, IsNotSaidOfADamagedTrace) {
  const std::string event = R"({"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 2})";
  for (const std::string& text :
       {std::string(R"({"traceEvents": []})"), std::string(R"({"a": 1, "traceEvents": [)"),
        std::string(R"({"traceEvents": [{"ph": )"), std::string(R"({"a: 1, "traceEvents": []})"), "[" + event,
        "junk [" + event, "{\"a\" \n [" + event + "]"})
    EXPECT_EQ(refused(text), "") << text;
}

TEST(NotATrace, NothingThatCouldBeDecompressedSaysWhy) {
  std::string packed = test::gzip_of(R"({"traceEvents": []})");
  packed.resize(6);
  const auto source = unpacked(std::make_unique<test::TextSource>(packed, std::size_t{100}));
  try {
    Examination(*source, lenient());
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(error.message(), "text: the file ends at byte 6, before its gzip data does");
  }
}

class Directories : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / ("pellucid_" + std::string(test.name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const fs::path& name) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << "{}";
  }
  std::string said() const {
    try {
      open_source(folder_.string());
    } catch (const FileError& error) {
      return error.message();
    }
    return "";
  }
  fs::path folder_;
};

TEST_F(Directories, NameTheTracesInside) {
  write("b.json.gz");
  write("a.json");
  write("notes.txt");
  const std::string in = folder_.string();
  EXPECT_EQ(said(), in + " is a directory. Give the files inside that are traces: " + in + "/a.json " + in +
                        "/b.json.gz");
  write("plugins/profile/2026_01_01/vm.trace.json.gz");
  write("z.json");
  EXPECT_TRUE(said().ends_with("/plugins/profile/2026_01_01/vm.trace.json.gz and 1 more")) << said();
}

TEST_F(Directories, WithoutTracesSayHowToRecordOne) {
  write("notes.txt");
  EXPECT_EQ(said(),
            folder_.string() +
                " is a directory without traces. Record a trace: prof.export_chrome_trace(\"run.json\")");
}

}  // namespace
}  // namespace pel::doctor
