// The same calls as autograd.cc in libtorch.
#include <ATen/Parallel.h>
#include <torch/optim/adamw.h>
#include <torch/torch.h>

#include "cases.h"

namespace {

struct Stepper {
  Stepper(int count, std::int64_t size) : optimizer(made(count, size)) {}
  static std::vector<at::Tensor> made(int count, std::int64_t size) {
    std::vector<at::Tensor> tensors;
    for (int i = 0; i < count; ++i) {
      tensors.push_back(torch::randn({size, size}).requires_grad_());
      tensors.back().mutable_grad() = torch::randn({size, size});
    }
    return tensors;
  }
  void step() { optimizer.step(); }
  torch::optim::AdamW optimizer;
};

struct Api {
  static constexpr at::ScalarType kFloat = at::kFloat, kBfloat = at::kBFloat16;
  static void set_threads(int count) { at::set_num_threads(count); }
  static at::Tensor noise(std::int64_t rows, std::int64_t columns, at::ScalarType dtype) {
    return torch::randn({rows, columns}).mul(0.05).to(dtype);
  }
  static at::Tensor parameter(std::int64_t rows, std::int64_t columns, at::ScalarType dtype) {
    return noise(rows, columns, dtype).requires_grad_();
  }
  static at::Tensor vector(std::int64_t size) { return torch::ones({size}).requires_grad_(); }
  static at::Tensor add(const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }
  static at::Tensor linear(const at::Tensor& x, const at::Tensor& weight) { return at::linear(x, weight); }
  static at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return at::linear(x, weight, bias);
  }
  static at::Tensor gelu(const at::Tensor& x) { return at::gelu(x, "tanh"); }
  static at::Tensor mul(const at::Tensor& a, const at::Tensor& b) { return at::mul(a, b); }
  static std::vector<at::Tensor> gradients(const at::Tensor& y, const at::Tensor& slope,
                                           const std::vector<at::Tensor>& inputs) {
    return torch::autograd::grad({y}, inputs, {slope});
  }
  static std::shared_ptr<Stepper> adamw(int count, std::int64_t size) {
    return std::make_shared<Stepper>(count, size);
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::autograd_cases<Api>()); }
