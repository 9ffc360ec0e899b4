// Gradients: recorded calls, a training step's MLP, an optimiser's step.
#include <pellucid/pellucid.h>

#include "cases.h"

namespace {

struct Many : pel::nn::Module {
  Many(int count, std::int64_t size) : tensors(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      add_parameter(std::to_string(i), tensors[i], pel::randn({size, size}));
      tensors[i].set_grad(pel::randn({size, size}));
    }
  }
  std::vector<pel::Tensor> tensors;
};
struct Stepper {
  Stepper(int count, std::int64_t size) : module(count, size), optimizer(module) {}
  void step() { optimizer.step(); }
  Many module;
  pel::optim::AdamW optimizer;
};

struct Api {
  static constexpr pel::DType kFloat = pel::kF32, kBfloat = pel::kBF16;
  static void set_threads(int count) { pel::set_thread_count(count); }
  static pel::Tensor noise(std::int64_t rows, std::int64_t columns, pel::DType dtype) {
    return pel::to_copy(pel::mul(pel::randn({rows, columns}), 0.05), dtype);
  }
  static pel::Tensor parameter(std::int64_t rows, std::int64_t columns, pel::DType dtype) {
    return noise(rows, columns, dtype).requires_grad_();
  }
  static pel::Tensor vector(std::int64_t size) { return pel::ones({size}).requires_grad_(); }
  static pel::Tensor add(const pel::Tensor& a, const pel::Tensor& b) { return pel::add(a, b); }
  static pel::Tensor linear(const pel::Tensor& x, const pel::Tensor& weight) {
    return pel::linear(x, weight);
  }
  static pel::Tensor linear(const pel::Tensor& x, const pel::Tensor& weight, const pel::Tensor& bias) {
    return pel::linear(x, weight, bias);
  }
  static pel::Tensor gelu(const pel::Tensor& x) { return pel::gelu(x, pel::GeluApproximate::Tanh); }
  static pel::Tensor mul(const pel::Tensor& a, const pel::Tensor& b) { return pel::mul(a, b); }
  static std::vector<pel::Tensor> gradients(const pel::Tensor& y, const pel::Tensor& slope,
                                            const std::vector<pel::Tensor>& inputs) {
    return pel::grad({y}, inputs, {.gradients = {slope}});
  }
  static std::shared_ptr<Stepper> adamw(int count, std::int64_t size) {
    return std::make_shared<Stepper>(count, size);
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::autograd_cases<Api>()); }
