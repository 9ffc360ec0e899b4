// Boxed calls, launches and the log.
#include <gtest/gtest.h>

#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "dispatch/registry.h"
#include "support/errors.h"

namespace pel {
namespace {

template <class E, class F>
std::string message_of(F&& f) {
  return test::thrown_by<E>(f).what();
}
void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

TEST(BoxedCall, TakesDefaultsFromTheSchema) {
  const Tensor x = arange(10);
  const auto results = call_boxed(*find_op("slice"), {x, Dim(0), Dim(2)});
  EXPECT_EQ(to_string(std::get<Tensor>(results.at(0)).sizes()), "[8]");
}

TEST(BoxedCall, SaysWhichArgumentIsMissingOrWrong) {
  const Tensor x = arange(10);
  expect_in(message_of<ValueError>([&] { call_boxed(*find_op("select"), {x}); }),
            "select: argument dim is missing");
  expect_in(message_of<ValueError>([&] { call_boxed(*find_op("t"), {x, x}); }), "got 2 arguments");
  expect_in(message_of<ValueError>([&] { call_boxed(*find_op("t"), {Dim(3)}); }),
            "expected an argument of type Tensor, got 3");
  expect_in(message_of<ValueError>([&] { call_boxed(*find_op("select"), {x, 1.5, Dim(0)}); }),
            "expected an argument of type int");
}

TEST(Call, RefusesAnUndefinedTensorByName) {
  expect_in(message_of<ValueError>([] { t(Tensor()); }), "t: argument self is an undefined tensor");
  expect_in(message_of<ValueError>([] { zeros({2}).copy_(Tensor()); }),
            "copy_: argument src is an undefined tensor");
  expect_in(message_of<ValueError>([] { call_boxed(*find_op("t"), {Tensor()}); }), "undefined");
}

TEST(BoxedCall, ReturnsTheResultsOfTheTypedCall) {
  const Tensor x = arange(6).view({2, 3});
  const auto results = call_boxed(*find_op("unbind"), {x, Dim(1)});
  const auto& list = std::get<std::vector<Tensor>>(results.at(0));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(to_string(list[2]), to_string(x.unbind(1)[2]));
}

TEST(Launch, RefusesAnOutputThatPartlyOverlapsAnInput) {
  const Tensor x = arange(10);
  expect_in(message_of<AliasError>([&] { x.slice(0, 0, 5).copy_(x.slice(0, 1, 6)); }), "partly overlaps");
  x.slice(0, 0, 5).copy_(x.slice(0, 5, 10));  // next to each other
  x.copy_(x);                                 // the same
  const Tensor m = zeros({4, 4});
  m[{Slice(), Slice(0, std::nullopt, 2)}].copy_(m[{Slice(), Slice(1, std::nullopt, 2)}]);  // interleaved
  expect_in(message_of<AliasError>([&] { m.copy_(m.t()); }), "partly overlaps");
}

TEST(Launch, RefusesAnOutputThatOverlapsItself) {
  const Tensor x = zeros({1, 3});
  expect_in(message_of<AliasError>([&] { x.expand({2, 3}).copy_(ones({2, 3})); }),
            "one element at several indices");
}

TEST(Launch, FindsOverlapOfExternalMemoryInTwoStorages) {
  std::vector<float> memory(8);
  External first, second;
  first.data = memory.data();
  second.data = memory.data() + 2;
  first.sizes = second.sizes = {4};
  const Tensor a = from_external(first), b = from_external(second);
  expect_in(message_of<AliasError>([&] { a.copy_(b); }), "partly overlaps");
}

TEST(Launch, RefusesTwoDevices) {
  expect_in(message_of<DeviceError>([] { zeros({2}).copy_(empty({2}, kMeta)); }), "cpu and meta");
}

Tensor picky_body(const Op& op, const Tensor& x) {
  launch(op, {x}, {});
  return x;
}

TEST(Launch, ListsTheReasonsWhenNoKernelTakesTheCall) {
  static const Op& op = register_op(
      define_op<picky_body>(OpKind::Kernel, "test::picky(Tensor(a!) x) -> Tensor(a!)")
          .kernels(DeviceType::Cpu,
                   {{"first", [](const KernelArgs&) { return Support::no("it is Monday"); }, nullptr},
                    {"second", [](const KernelArgs&) { return Support::no("too few"); }, nullptr}}));
  const Tensor x = zeros({1});
  expect_in(message_of<NoKernelError>([&] { call_boxed(op, {x}); }),
            "no kernel on cpu takes this call (first: it is Monday; second: too few)");
}

class Logged : public testing::Test {
 protected:
  void SetUp() override {
    all_ops();
    detail::process_keys |= detail::kLogged;
    testing::internal::CaptureStderr();
  }
  std::string text() {
    detail::process_keys &= static_cast<std::uint16_t>(~detail::kLogged);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Logged, ACallShowsOpArgumentsKeysKernelAndRefusals) {
  const Tensor x = arange(6).view({2, 3});
  const auto line = std::to_string(Site::current().line() + 1);
  x.t().contiguous();
  const std::string log = text();
  expect_in(log,
            "[dispatch] t(self=i64[2, 3]) keys Backend -> no kernel: metadata only  at call_test.cc:" + line);
  expect_in(log, "[dispatch] contiguous(self=i64[3, 2]) keys Backend -> composite  at call_test.cc:" + line +
                     "\n" + "[dispatch]   clone(self=i64[3, 2], row_major=true)");
  expect_in(
      log, "cpu_copy_dense refused (source and destination are not both row-major), kernel cpu_copy_strided");
}

TEST_F(Logged, AFailedCallIsShownToo) {
  EXPECT_THROW(arange(6).view({4}), ShapeError);
  expect_in(text(), "view(self=i64[6], size=[4]) keys Backend -> failed");
}

}  // namespace
}  // namespace pel
