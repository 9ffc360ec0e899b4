// Handlers of upper layers, seen from outside: who is called, in which order, with what.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "dispatch/registry.h"

namespace pel {
namespace {

std::vector<std::string> trail;

template <Key K>
void note(const Op& op, BoxedCall& call) {
  trail.push_back(std::string(name(K)) + " " + std::string(op.name()));
  call.redispatch(op);
}

class Keys : public testing::Test {
 protected:
  void SetUp() override {
    all_ops();  // wires the runtime
    trail.clear();
    Registry::set_fallback(Key::Profile, note<Key::Profile>);
    Registry::set_fallback(Key::Autograd, note<Key::Autograd>);
    Registry::set_fallback(Key::Capture, note<Key::Capture>);
  }
  void TearDown() override {
    for (Key key : {Key::Profile, Key::Autograd, Key::Capture}) Registry::set_fallback(key, nullptr);
    Registry::set_handler(op<"t">(), Key::Capture, nullptr);
    Registry::set_handler(op<"reshape">(), Key::Capture, nullptr);
  }
  using Trail = std::vector<std::string>;
  Tensor x_ = zeros({2, 3});
};

TEST_F(Keys, ACallVisitsThemFromTheHighestDown) {
  const KeyScope on(KeySet(Key::Capture) | Key::Profile | Key::Autograd);
  EXPECT_EQ(to_string(t(x_).sizes()), "[3, 2]");
  EXPECT_EQ(trail, (Trail{"Profile t", "Autograd t", "Capture t"}));
}

TEST_F(Keys, NoneIsVisitedWithoutBeingOn) {
  t(x_);
  EXPECT_TRUE(trail.empty());
}

TEST_F(Keys, ATensorBringsItsOwn) {
  x_.header()->keys |= KeySet(Key::Capture).bits();
  t(x_);
  EXPECT_EQ(trail, Trail{"Capture t"});
}

TEST_F(Keys, AnExcludedOneIsPassedOver) {
  x_.header()->keys |= KeySet(Key::Autograd).bits();
  const KeyScope off({}, Key::Autograd);
  t(x_);
  EXPECT_TRUE(trail.empty());
}

TEST_F(Keys, ACompositeOpIsSeenByTheProfilerAndThroughItsParts) {
  const KeyScope on(KeySet(Key::Profile) | Key::Autograd);
  reshape(x_, {6});
  EXPECT_EQ(trail, (Trail{"Profile reshape", "Profile view", "Autograd view"}));
}

TEST_F(Keys, AHandlerOfTheOpWinsOverTheFallback) {
  Registry::set_handler(op<"t">(), Key::Capture, [](const Op&, BoxedCall& call) {
    trail.push_back("mine");
    call.results.push_back(std::get<Tensor>(call.args[0]));
  });
  Registry::set_handler(op<"reshape">(), Key::Capture, note<Key::Capture>);
  const KeyScope on(Key::Capture);
  EXPECT_TRUE(t(x_).is_same(x_));
  reshape(x_, {6});
  EXPECT_EQ(trail, (Trail{"mine", "Capture reshape", "Capture view"}));
}

TEST_F(Keys, AnInPlaceOpStillReturnsItsArgument) {
  const KeyScope on(Key::Profile);
  EXPECT_TRUE(fill_(x_, 3).is_same(x_));
  EXPECT_EQ((x_[{0, 0}].item().to_double()), 3);
}

TEST_F(Keys, AHandlerSeesTheCallSiteAndTheArguments) {
  static std::uint_least32_t line;
  static std::string args;
  Registry::set_fallback(Key::Profile, [](const Op& op, BoxedCall& call) {
    line = call.site.line();
    args.clear();
    for (const Value& v : call.args) args += to_string(v) + ";";
    call.redispatch(op);
  });
  const KeyScope on(Key::Profile);
  const auto here = Site::current().line() + 1;
  x_.slice(1, 0, 2);
  EXPECT_EQ(line, here);
  EXPECT_EQ(args, "f32[2, 3];1;0;2;1;");
}

}  // namespace
}  // namespace pel
