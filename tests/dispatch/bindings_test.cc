// What bindings of other languages read and make, by public headers alone.
#include <gtest/gtest.h>

#include "pellucid/extend/op.h"
#include "pellucid/ops.h"

namespace pel {
namespace {

TEST(Bindings, ReadTheSignatureOfAnOp) {
  const Schema& schema = find_op("add")->signature();
  EXPECT_EQ(schema.op_name, "add");
  ASSERT_EQ(schema.args.size(), 3u);
  EXPECT_EQ(schema.args[1].name, "other");
  EXPECT_EQ(schema.args[1].type, (ArgType{ArgType::Base::Tensor, false, false}));
  EXPECT_FALSE(schema.args[1].default_value.has_value());
  EXPECT_TRUE(schema.args[2].keyword_only);
  EXPECT_EQ(std::get<Scalar>(*schema.args[2].default_value).to_int(), 1);
  EXPECT_TRUE(find_op("add_")->signature().args[0].alias.is_written);
}

TEST(Bindings, PassANumberForATensor) {
  const Tensor x = ones({2}, kF16);
  const Value number = make_number(2.5, kCpu);
  const Value result = call_boxed(*find_op("add"), {x, number})[0];
  EXPECT_EQ(std::get<Tensor>(result).dtype(), kF16);  // by kind: a tensor of f64 would widen
  EXPECT_EQ(std::get<Tensor>(result)[0].item().to_double(), 3.5);
}

}  // namespace
}  // namespace pel
