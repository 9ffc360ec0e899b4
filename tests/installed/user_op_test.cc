// An op defined outside the library, with public headers only.
#include <algorithm>

#include <gtest/gtest.h>
#include <pellucid/pellucid.h>

namespace {

using namespace pel;

Support takes_row_major(const KernelArgs& args) {
  std::int64_t expected = 1;
  const Operand& src = input(args, 0);
  for (int i = src.rank; i-- > 0; expected *= src.sizes[i]) {
    if (src.sizes[i] != 1 && src.strides[i] != expected) return Support::no("x is not row-major");
  }
  return Support::yes();
}

template <class T>
void double_it(const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  std::int64_t count = 1;
  for (int i = 0; i < dst.rank; ++i) count *= dst.sizes[i];
  const auto* from = static_cast<const T*>(input(args, 0).data);
  std::transform(from, from + count, static_cast<T*>(dst.data), [](T v) { return v + v; });
}
void run(Stream&, const KernelArgs& args) {
  EXPECT_EQ(args.version, PEL_KERNEL_ARGS_VERSION);
  static_cast<DType>(output(args, 0).dtype) == kF32 ? double_it<float>(args) : double_it<double>(args);
}

Tensor twice_body(const Op& op, const Tensor& x) {
  Tensor result = make_dense(x.sizes(), x.dtype(), x.device());
  launch(op, {result}, {x});
  return result;
}
const Op& twice_op() {
  static const Op& op = register_op(define_op<twice_body>(OpKind::Kernel, "user::twice(Tensor x) -> Tensor")
                                        .dtypes({kF32, kF64})
                                        .kernels(DeviceType::Cpu, {{"user_twice", takes_row_major, run}}));
  return op;
}
Tensor twice(const Tensor& x, Site site = Site::current()) { return call<twice_body>(twice_op(), site, x); }

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(UserOp, WorksEagerlyAndIsCounted) {
  const Tensor x = arange(3, kF64);
  const auto before = launch_count();
  Recording recording;
  EXPECT_EQ(to_string(twice(x)), "tensor([0., 2., 4.], f64[3])");
  EXPECT_EQ(launch_count() - before, 1u);
  ASSERT_EQ(recording.events().size(), 1u);
  EXPECT_STREQ(recording.events()[0].name, "user_twice");
  EXPECT_STREQ(recording.events()[0].op, "user::twice");
  EXPECT_EQ(recording.events()[0].bytes_read, 24u);
}

TEST(UserOp, IsFoundByNameAndCalledByValues) {
  const Op& registered = twice_op();
  const Op* op = find_op("user::twice");
  ASSERT_EQ(op, &registered);
  EXPECT_EQ(op->schema(), "user::twice(Tensor x) -> Tensor");
  const auto results = call_boxed(*op, {ones({2})});
  EXPECT_EQ(to_string(std::get<Tensor>(results[0])), "tensor([2., 2.], f32[2])");
}

TEST(UserOp, RefusesAWrongDtypeWithOpRuleValueAndSourceLocation) {
  const auto line = std::to_string(Site::current().line() + 1);
  const std::string message = message_of([] { twice(arange(3)); });
  EXPECT_NE(message.find("E02 dtype: user::twice: expected operands of dtype f64, f32; one is i64[3]"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("user_op_test.cc:" + line), std::string::npos) << message;
}

TEST(UserOp, RefusesALayoutWithTheKernelsReason) {
  const std::string message = message_of([] { twice(zeros({2, 3}).t()); });
  EXPECT_NE(
      message.find(
          "E08 no kernel: user::twice: no kernel on cpu takes this call (user_twice: x is not row-major)"),
      std::string::npos)
      << message;
}

TEST(UserOp, RunsItsShapeRuleOnTheMetaDevice) {
  const Tensor y = twice(empty({5, 7}, kMeta));
  EXPECT_EQ(to_string(y), "tensor(no data, f32[5, 7]@meta)");
}

TEST(UserOp, MustHaveANamespaceAFreeNameAndTypesThatFit) {
  EXPECT_NE(message_of([] {
              register_op(define_op<twice_body>(OpKind::Kernel, "twice(Tensor x) -> Tensor"));
            }).find("needs a namespace, as in my::twice"),
            std::string::npos);
  twice_op();
  EXPECT_NE(message_of([] {
              register_op(define_op<twice_body>(OpKind::Kernel, "user::twice(Tensor x) -> Tensor"));
            }).find("registered already"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              register_op(define_op<twice_body>(OpKind::Kernel, "user::other(int x) -> Tensor"));
            }).find("argument x is int in the schema and Tensor in the body"),
            std::string::npos);
}

}  // namespace
