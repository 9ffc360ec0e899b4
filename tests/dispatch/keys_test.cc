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

// Profile takes calls unboxed, past its handler, unless each layer is wanted.
constexpr KeySet kProfile = KeySet(Key::Profile) | KeySet(detail::kLayered);

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
    profile_ = Registry::fallback(Key::Profile);
    autograd_ = Registry::fallback(Key::Autograd);
    Registry::set_fallback(Key::Profile, note<Key::Profile>);
    Registry::set_fallback(Key::Autograd, note<Key::Autograd>);
    Registry::set_fallback(Key::Capture, note<Key::Capture>);
  }
  void TearDown() override {
    Registry::set_fallback(Key::Profile, profile_);
    Registry::set_fallback(Key::Autograd, autograd_);
    Registry::set_fallback(Key::Capture, nullptr);
    Registry::set_handler(op<"t">(), Key::Capture, nullptr);
    Registry::set_handler(op<"reshape">(), Key::Capture, nullptr);
  }
  using Trail = std::vector<std::string>;
  Tensor x_ = zeros({2, 3});
  Handler profile_ = nullptr, autograd_ = nullptr;
};

TEST_F(Keys, ACallVisitsThemFromTheHighestDown) {
  const KeyScope on(KeySet(Key::Capture) | kProfile | Key::Autograd);
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
  const KeyScope on(kProfile | Key::Autograd);
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
  const KeyScope on(kProfile);
  const auto here = Site::current().line() + 1;
  x_.slice(1, 0, 2);
  EXPECT_EQ(line, here);
  EXPECT_EQ(args, "f32[2, 3];1;0;2;1;");
}

}  // namespace
}  // namespace pel
