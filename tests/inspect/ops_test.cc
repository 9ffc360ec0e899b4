#include "inspect/ops.h"

#include <sstream>

#include <gtest/gtest.h>

#include "support/page.h"

namespace pel::inspect {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t begin = 2; begin < line.size();) {
    const std::size_t end = line.find(" |", begin);
    cells.push_back(line.substr(begin, end - begin));
    begin = end + 3;
  }
  return cells;
}

// The page is generated from internal records, the facts from the public headers.
TEST(OpFacts, AgreeWithTheReferencePage) {
  std::istringstream page(test::read_file(PELLUCID_SOURCE_DIR "/docs/ops.md"));
  int seen = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> cells = cells_of(line);
    ASSERT_EQ(cells.size(), 6U) << line;
    const Op* op = find_op(cells[0].substr(1, cells[0].find('(') - 1));
    ASSERT_NE(op, nullptr) << line;
    const OpFacts facts = facts_of(*op);
    EXPECT_EQ("`" + facts.schema + "`", cells[0]);
    if (op->kind() == OpKind::Kernel && !facts.kernels.empty()) {
      EXPECT_EQ(facts.origin, cells[2]) << line;
    }
    EXPECT_EQ(facts.dtypes, cells[3]) << line;
    const std::string gradient = facts.gradient.empty() ? "—" : facts.gradient;
    EXPECT_TRUE(cells[4].ends_with(gradient) || (gradient == "—" && cells[4].starts_with("of "))) << line;
    ++seen;
  }
  EXPECT_GT(seen, 300);
}

TEST(OpFacts, KernelsThatDifferOnlyInDTypeAreOneFamily) {
  const OpFacts add = facts_of(*find_op("add"));
  ASSERT_EQ(add.kernels.size(), 2U);
  EXPECT_EQ(add.kernels[0].members.size(), 10U);
  EXPECT_EQ(add.kernels[0].name.substr(0, 6), "add_*_");
  EXPECT_EQ(add.forms, (std::vector<std::string>{"add_", "add.out"}));
}

TEST(ListOps, ListsFormsWithTheirOp) {
  for (const OpFacts& op : list_ops("add").ops) {
    EXPECT_NE(op.name, "add_");
    EXPECT_NE(op.name, "add.out");
  }
  EXPECT_EQ(list_ops("no_such_op").ops.size(), 0U);
  EXPECT_GT(list_ops("").ops.size(), 300U);
}

}  // namespace
}  // namespace pel::inspect
