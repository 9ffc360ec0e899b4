// The calls of `pellucid anatomy` in libtorch. The tool starts it and sends requests, interleaved with its
// own loops:
//   peer_anatomy OP ROWS IN OUT THREADS    answers `list`, `version`, `run inference|plain|grad CALLS`
#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/torch.h>
#include <torch/version.h>

#include "../support/server.h"

namespace {

struct Sizes {
  std::int64_t rows, in, out;
};
struct Made {
  const Sizes& sizes;
  bool requires_grad;
  at::Tensor input(at::IntArrayRef size) const { return torch::randn(size); }
  at::Tensor trained(at::IntArrayRef size) const { return torch::randn(size).requires_grad_(requires_grad); }
};

// The same as in src/inspect/subject.cc.
bench::Case make_case(const char* name, const std::string& op, const Made& m) {
  const auto& [rows, in, out] = m.sizes;
  if (op == "linear") {
    const at::Tensor x = m.input({rows, in}), weight = m.trained({out, in}), bias = m.trained({out});
    return {name, [=] { return at::linear(x, weight, bias); }};
  }
  if (op == "mm" || op == "matmul") {
    const at::Tensor x = m.input({rows, in}), w = m.trained({in, out});
    if (op == "mm") return {name, [=] { return at::mm(x, w); }};
    return {name, [=] { return at::matmul(x, w); }};
  }
  const at::Tensor x = m.trained({rows, in});
  if (op == "add") return {name, [=, other = m.input({rows, in})] { return at::add(x, other); }};
  if (op == "gelu") return {name, [=] { return at::gelu(x); }};
  if (op == "softmax") return {name, [=] { return at::softmax(x, -1); }};
  if (op == "layer_norm") {
    const at::Tensor weight = m.trained({in}), bias = m.trained({in});
    return {name, [=, width = in] { return at::layer_norm(x, {width}, weight, bias); }};
  }
  if (op == "t") return {name, [=] { return at::t(x); }};
  std::cerr << "peer_anatomy: no op '" << op << "'\n";
  std::exit(2);
}

// The same call without gradients and version counters.
bench::Case in_inference_mode(const std::string& op, const Sizes& sizes) {
  const c10::InferenceMode made_inside;
  bench::Case inner = make_case("inference", op, {sizes, false});
  inner.repeat = [repeat = inner.repeat](std::int64_t calls) {
    const c10::InferenceMode inference;
    repeat(calls);
  };
  return inner;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: peer_anatomy OP ROWS IN OUT THREADS\n";
    return 2;
  }
  const std::string op = argv[1];
  const Sizes sizes{std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4])};
  at::set_num_threads(std::atoi(argv[5]));
  const std::vector<bench::Case> cases = {in_inference_mode(op, sizes),
                                          make_case("plain", op, {sizes, false}),
                                          make_case("grad", op, {sizes, true})};
  for (std::string request; std::getline(std::cin, request) && request != "quit";) {
    std::cout << (request == "version" ? TORCH_VERSION : bench::detail::answer(cases, request)) << std::endl;
  }
  return 0;
}
