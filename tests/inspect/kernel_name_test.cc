#include "inspect/kernel_name.h"

#include <sstream>

#include <gtest/gtest.h>

namespace pel::inspect {
namespace {

TEST(KernelNames, AreParsedFromLinesAndShownInOrder) {
  std::istringstream lines("ampere_sgemm_64x64_nn\r\n\nattn_fwd\n");
  const KernelNames decoded = decode_names(names_in(lines));
  ASSERT_EQ(decoded.names.size(), 2u);
  const std::string text = decoded.text({});
  EXPECT_TRUE(text.starts_with("ampere_sgemm_64x64_nn\nGEMM f32 64x64 nn, no tensor cores\n")) << text;
  EXPECT_NE(text.find("\n\nattn_fwd\nattention, tensor cores\n"), std::string::npos) << text;
  std::istringstream nothing("\n\n");
  EXPECT_TRUE(names_in(nothing).empty());
}

TEST(KernelNames, InvalidUtf8ReachesNeitherATerminalNorJson) {
  const KernelNames decoded = decode_names({"\x1b[31mred\xff", "\x01"});
  for (const char c : decoded.text({}) + decoded.json()) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
}

}  // namespace
}  // namespace pel::inspect
