#include "pellucid/error.h"

#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "support/errors.h"

namespace pel {
namespace {

using test::thrown_by;

struct CodeName {
  ErrorCode code;
  int number;
  const char* name;
};
constexpr CodeName kCodes[] = {
    {ErrorCode::Shape, 1, "E01 shape"},
    {ErrorCode::DType, 2, "E02 dtype"},
    {ErrorCode::Index, 3, "E03 index"},
    {ErrorCode::Value, 4, "E04 value"},
    {ErrorCode::Device, 5, "E05 device"},
    {ErrorCode::Alias, 6, "E06 alias"},
    {ErrorCode::Version, 7, "E07 version"},
    {ErrorCode::NoKernel, 8, "E08 no kernel"},
    {ErrorCode::Memory, 9, "E09 memory"},
    {ErrorCode::Registry, 10, "E10 registry"},
    {ErrorCode::Capture, 11, "E11 capture"},
    {ErrorCode::File, 12, "E12 file"},
    {ErrorCode::Expectation, 13, "E13 expectation"},
    {ErrorCode::Sync, 14, "E14 sync"},
    {ErrorCode::Communication, 15, "E15 communication"},
    {ErrorCode::Internal, 99, "E99 internal"},
};

TEST(ErrorCodes, NumbersAndNamesDoNotChange) {
  for (const CodeName& c : kCodes) {
    EXPECT_EQ(static_cast<int>(c.code), c.number);
    EXPECT_EQ(error_code_name(c.code), c.name);
    EXPECT_EQ(error_code_name(c.code).substr(0, 3), fmt::format("E{:02}", c.number));
  }
}

TEST(ErrorCodes, AnUnknownOneHasANameToo) {
  EXPECT_EQ(error_code_name(static_cast<ErrorCode>(50)), "E?? unknown");
}

TEST(ErrorCodes, EachClassCarriesItsOwn) {
  const ErrorCode codes[] = {
      ShapeError("").code(),       DTypeError("").code(),    IndexError("").code(),
      ValueError("").code(),       DeviceError("").code(),   AliasError("").code(),
      VersionError("").code(),     NoKernelError("").code(), MemoryError("").code(),
      RegistryError("").code(),    CaptureError("").code(),  FileError("").code(),
      ExpectationError("").code(), SyncError("").code(),     CommunicationError("").code(),
      InternalError("").code()};
  static_assert(std::size(codes) == std::size(kCodes));
  for (std::size_t i = 0; i < std::size(codes); ++i) EXPECT_EQ(codes[i], kCodes[i].code);
}

TEST(ErrorText, HasCodeAndMessageBeforeAnyCall) {
  const ShapeError error("sizes differ");
  EXPECT_STREQ(error.what(), "E01 shape: sizes differ");
  EXPECT_EQ(error.message(), "sizes differ");
  EXPECT_EQ(error.op(), "");
  EXPECT_EQ(error.site().line(), 0u);
}

TEST(ErrorText, NamesOpAndPlaceAfterACall) {
  ShapeError error("sizes differ");
  const Site here = Site::current();
  error.leave_call("view", here);
  EXPECT_EQ(error.what(),
            fmt::format("E01 shape: view: sizes differ [called at {}:{}]", here.file_name(), here.line()));
  EXPECT_EQ(error.message(), "sizes differ");
}

TEST(ErrorText, OpPathGrowsFromTheInsideOutAndTheOutermostPlaceWins) {
  ShapeError error("sizes differ");
  const Site inner = Site::current();
  const Site outer = Site::current();
  error.leave_call("view", inner);
  EXPECT_EQ(error.op(), "view");
  error.leave_call("flatten", outer);
  EXPECT_EQ(error.op(), "flatten > view");
  error.leave_call("model", outer);
  EXPECT_EQ(error.op(), "model > flatten > view");
  EXPECT_EQ(error.site().line(), outer.line());
  EXPECT_EQ(error.what(), fmt::format("E01 shape: model > flatten > view: sizes differ [called at {}:{}]",
                                      outer.file_name(), outer.line()));
}

TEST(ErrorText, CopiesKeepEverything) {
  ValueError error("bad");
  error.leave_call("full", Site::current());
  const ValueError copy = error;
  EXPECT_STREQ(copy.what(), error.what());
  EXPECT_EQ(copy.op(), "full");
}

TEST(ErrorText, BracesInAMessageStandAsTheyAre) {
  ValueError error("{} and {0}");
  error.leave_call("f{}", Site::current());
  EXPECT_NE(std::string(error.what()).find("f{}: {} and {0}"), std::string::npos);
}

TEST(Errors, AreCaughtAsTheirBaseAndAsStdException) {
  EXPECT_THROW(throw MemoryError("x"), Error);
  EXPECT_THROW(throw MemoryError("x"), std::exception);
}

TEST(Check, ThrowsTheNamedErrorWithTheFormattedMessageOnlyWhereItFails) {
  EXPECT_NO_THROW(PEL_CHECK(1 + 1 == 2, ValueError, "never"));
  const auto error = thrown_by<IndexError>([] { PEL_CHECK(1 > 2, IndexError, "axis {} of {}", 3, 2); });
  EXPECT_EQ(error.message(), "axis 3 of 2");
}

TEST(Assert, ThrowsAnInternalErrorThatNamesPlaceAndCondition) {
  const auto error = thrown_by<InternalError>([] { PEL_ASSERT(1 > 2, "one is small"); });
  EXPECT_NE(error.message().find("error_test.cc:"), std::string::npos);
  EXPECT_NE(error.message().find("1 > 2 does not hold: one is small"), std::string::npos);
}

}  // namespace
}  // namespace pel
