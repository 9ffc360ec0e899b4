// A whole op in one file, outside the library: schema, shape rule, kernel, and the function users call.
// It is dispatched, logged (PELLUCID_LOG=dispatch), counted and checked like a built-in one.
#include <iostream>

#include <pellucid/pellucid.h>

namespace demo {

using namespace pel;

// The kernel: destination first, returns nothing.
Support takes(const KernelArgs& args) {
  for (int i = 0; i < 2; ++i) {
    const Operand& operand = args.operands[i];
    if (operand.rank > 0 && operand.strides[operand.rank - 1] != 1)
      return Support::no("an operand is not row-major");
  }
  return Support::yes();
}

void run(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  std::int64_t count = 1;
  for (int i = 0; i < dst.rank; ++i) count *= dst.sizes[i];
  const auto scale = static_cast<float>(args.scalars[0].as_float);
  const auto shift = static_cast<float>(args.scalars[1].as_float);
  const auto* from = static_cast<const float*>(input(args, 0).data);
  auto* to = static_cast<float*>(dst.data);
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * scale + shift;
}

// The body: what shape the result has, and what is launched.
Tensor axpb_body(const Op& op, const Tensor& x, double scale, double shift) {
  Tensor result = make_dense(x.sizes(), x.dtype(), x.device());
  launch(op, {result}, {x}, {scale, shift});
  return result;
}

const Op& axpb_op() {
  static const Op& op = register_op(
      define_op<axpb_body>(OpKind::Kernel, "demo::axpb(Tensor x, float scale, float shift=0) -> Tensor")
          .dtypes({kF32})
          .kernels(DeviceType::Cpu, {{"demo_axpb_f32", takes, run}}));
  return op;
}

// scale * x + shift
Tensor axpb(const Tensor& x, double scale, double shift = 0, Site site = Site::current()) {
  return call<axpb_body>(axpb_op(), site, x, scale, shift);
}

}  // namespace demo

int main() {
  using namespace pel;
  const auto before = launch_count();
  std::cout << demo::axpb(ones({2, 3}), 2, 0.5) << "\n" << launch_count() - before << " kernels ran\n";
  try {
    demo::axpb(arange(3), 2);
  } catch (const Error& error) {
    std::cout << error.what() << "\n";
  }
}
