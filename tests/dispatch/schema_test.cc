#include "dispatch/schema.h"

#include <gtest/gtest.h>

#include "pellucid/extend/op.h"

namespace pel {
namespace {

std::string failure(const char* text) {
  try {
    parse_schema(text);
  } catch (const RegistryError& error) {
    return error.message();
  }
  return "no error";
}

TEST(Schema, KeepsTypesMarksDefaultsAndKeywords) {
  const Schema s = parse_schema(
      "ns::f(Tensor(a!) self, Tensor? w=None, Dim[] size=[1, 2], *, float p=0.5) -> (Tensor(a!), Tensor)");
  EXPECT_EQ(s.op_name, "ns::f");
  ASSERT_EQ(s.args.size(), 4u);
  EXPECT_EQ(s.args[0].alias.set, 'a');
  EXPECT_TRUE(s.args[0].alias.is_written);
  EXPECT_TRUE(s.args[1].type.is_optional);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*s.args[1].default_value));
  EXPECT_EQ(to_string(*s.args[2].default_value), "[1, 2]");
  EXPECT_FALSE(s.args[2].keyword_only);
  EXPECT_TRUE(s.args[3].keyword_only);
  EXPECT_EQ(std::get<double>(*s.args[3].default_value), 0.5);
  EXPECT_EQ(s.results.size(), 2u);
}

TEST(Schema, PrintsWhatItReads) {
  for (const char* text : {"f(Tensor self, int dim=-1, bool keepdim=False) -> Tensor", "g() -> ()",
                           "h(Tensor(a) self, *, DType? dtype=None, Scalar alpha=1) -> Tensor(a)[]"}) {
    EXPECT_EQ(to_string(parse_schema(text)), text);
  }
}

TEST(Schema, EveryRegisteredOneReadsBack) {
  for (const Op* op : all_ops()) EXPECT_EQ(to_string(parse_schema(op->schema())), op->schema());
}

TEST(Schema, AnErrorShowsThePosition) {
  EXPECT_EQ(failure("f(Tensr x) -> Tensor"),
            "schema \"f(Tensr x) -> Tensor\": expected a type before at \" x) -> Tensor\"");
  EXPECT_NE(failure("f(Tensor x").find("expected ,"), std::string::npos);
  EXPECT_NE(failure("f(Tensor x)").find("expected ->"), std::string::npos);
  EXPECT_NE(failure("f(int x=None) -> Tensor").find("optional"), std::string::npos);
  EXPECT_NE(failure("f() -> Tensor and more").find("expected the end"), std::string::npos);
}

}  // namespace
}  // namespace pel
