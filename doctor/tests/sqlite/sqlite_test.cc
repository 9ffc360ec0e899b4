// Databases of Nsight Systems and rocprofv3, made by schema, no real file: the same run as a trace of PyTorch
// must have the same diagnosis. Damaged and hostile databases.
#include "doctor/readers/sqlite/sqlite.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "pellucid/error.h"

#include "doctor/readers/read_trace.h"
#include "doctor/tests/made_run.h"
#include "doctor/tests/packed.h"
#include "doctor/tests/sqlite/made_database.h"

namespace pel::doctor {
namespace {

constexpr const char* kDatabaseH100 =
    R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}], )";
constexpr const char* kMi300x =
    R"("deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "numSms": 0}], )";

std::vector<test::TraceText> runs() {
  return {test::mixed_run(3), test::MadeRun({}, 3, 40, 1).trace(),
          test::MadeRun({.kernel = 60, .loading = 500, .sync_every = 10}, 2, 30, 2).trace(),
          test::MadeRun({.kernel = 60, .has_backward = true, .has_communication = true}, 2, 30, 3).trace()};
}

std::string refusal(const std::string& bytes, Reading reading = Reading::Lenient) {
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

TEST(Sqlite, ARunOfNsightSystemsIsDiagnosedAsThatOfPyTorch) {
  for (const test::TraceText& run : runs()) {
    const auto events = test::events_of(run);
    EXPECT_EQ(test::said_about(test::nsys_of(events)),
              test::said_about(test::kineto_of(events, kDatabaseH100, "step {}")));
  }
}

TEST(Sqlite, ARunOfRocprofIsDiagnosedAsThatOfPyTorch) {
  for (const test::TraceText& run : runs()) {
    auto events = test::events_of(run);
    // It knows no memsets, which are kernels of HIP, and not whether memory of the host is pinned.
    std::erase_if(events, [](const test::RunEvent& e) { return e.category == Category::Memset; });
    auto named = events;
    for (test::RunEvent& e : named) {
      if (e.category != Category::Memcpy) continue;
      e.name = e.name.find("DtoH") != std::string::npos ? "Memcpy DtoH (Device -> Host)"
                                                        : "Memcpy HtoD (Host -> Device)";
    }
    EXPECT_EQ(test::said_about(test::rocpd_of(events)),
              test::said_about(test::kineto_of(named, kMi300x, "step {}")));
  }
}

TEST(Sqlite, IsReadFromAFileAndCompressed) {
  const auto events = test::events_of(test::mixed_run(2));
  const std::string bytes = test::nsys_of(events), expected = test::said_about(bytes);
  const auto source = unpacked(std::make_unique<test::TextSource>(test::gzip_of(bytes), std::size_t{1000}));
  EXPECT_EQ(test::said_about(*source), expected);
  // In a name of which a part would be an option in a URI.
  const std::string path = testing::TempDir() + "run%20 #1?mode=rw.sqlite";
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(test::said_about(*open_source(path)), expected);
  std::filesystem::remove(path);
}

TEST(Sqlite, ProcessesHaveTheirOwnCorrelations) {
  test::MadeDatabase db;
  db.run(R"(CREATE TABLE StringIds (id INTEGER, value TEXT);
    INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000'), (3, 'cuLaunchKernelEx');
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, "end" INT, globalTid INT, correlationId INT, nameId INT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, "end" INT, deviceId INT, streamId INT, correlationId INT,
      globalPid INT, shortName INT);)");
  for (const std::int64_t process : {100, 200}) {
    const std::int64_t id = process << 24;
    db.run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, {}, 1, {})", process,
                       process + 5, id + process, process == 100 ? 2 : 3));
    db.run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, 0, 7, 1, {}, 1)", process + 10,
                       process + 20, id));
  }
  const std::string bytes = db.bytes();
  test::TextSource source(bytes, 1000);
  const Examination examination(source);
  const Model& model = examination.model();
  ASSERT_EQ(model.activities().size(), 2u);
  EXPECT_EQ(model.activities_without_launch(), 0u);
  EXPECT_EQ(model.events().name(model.activities()[0].launch), "cudaLaunchKernel");
  EXPECT_EQ(model.events().name(model.activities()[1].launch), "cuLaunchKernelEx");
  EXPECT_EQ(model.events().name(model.activities()[1].event), "gemm");
}

// As real exports of version 2022.2 have them.
TEST(Sqlite, PagesOfUnifiedMemoryAreCopiesWithoutACall) {
  test::MadeDatabase db;
  db.run(R"(CREATE TABLE StringIds (id INTEGER, value TEXT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, "end" INT, deviceId INT, streamId INT, correlationId INT,
      globalPid INT, bytes INT, copyKind INT, srcKind INT, dstKind INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 0, 0, 0, 5, 4096, 11, 7, 7), (30, 40, 0, 0, 0, 5, 4096, 12, 7, 7);)");
  const std::string bytes = db.bytes();
  test::TextSource source(bytes, 1000);
  std::string names;
  read_trace(source, [&](const TraceEvent& e) {
    names += std::string(e.name) + "; ";
    EXPECT_FALSE(e.has(Arg::Correlation));
  });
  EXPECT_EQ(names, "Memcpy HtoD (Unified memory); Memcpy DtoH (Unified memory); ");
}

TEST(Sqlite, ADatabaseOfSomethingElseIsRefused) {
  test::MadeDatabase db;
  db.run("CREATE TABLE customers (id INTEGER)");
  EXPECT_TRUE(refusal(db.bytes()).starts_with("text: it is a SQLite database without the tables of Nsight"));
  EXPECT_NE(refusal(std::string(kSqliteMagic)), "");
  EXPECT_NE(refusal(std::string(kSqliteMagic) + std::string(4096, 'x')), "");
}

TEST(Sqlite, DamagedDatabasesAreReadInPartOrRefused) {
  const std::string bytes = test::nsys_of(test::events_of(test::MadeRun({}, 20, 60, 1).trace()));
  std::mt19937 random(1);
  int read = 0, refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string damaged = bytes;
    if (i % 4 == 0) {
      damaged.resize(random() % damaged.size());
    } else {
      for (int k = 0; k < 1 << i % 8; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    ++(refusal(damaged).empty() ? read : refused);
  }
  EXPECT_GT(read, 20);
  EXPECT_GT(refused, 20);
  std::string cut = bytes;
  cut.resize(cut.size() / 2);
  EXPECT_NE(refusal(cut, Reading::Strict), "");
}

TEST(Sqlite, AViewThatNeverEndsIsGivenUp) {
  test::MadeDatabase db;
  db.run(R"(CREATE TABLE regions (start INT);
    CREATE VIEW kernels AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT 1 FROM n)
      SELECT start, start AS "end", 'k' AS name FROM n WHERE start = 2;)");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(refusal(db.bytes()), "text: the database takes too long to read");
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 60);
}

}  // namespace
}  // namespace pel::doctor
