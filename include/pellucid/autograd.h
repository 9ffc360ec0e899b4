// Gradients. Calls on tensors that require one leave a graph behind; backward walks it.
//
//   const Tensor w = randn({3, 4}).requires_grad_();
//   const Tensor loss = sum(square(matmul(x, w)));
//   loss.backward();
//   w.grad();
//
// The graph belongs to the tensors that came out of it and is gone with them. Walks are deterministic: nodes
// run in one order, and a sum of several gradients is added in that order, for any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/extend/keys.h"
#include "pellucid/tensor.h"

namespace pel {

// Inside, nothing is recorded: results require no gradient.
class PEL_API NoGrad {
 public:
  NoGrad() : scope_({}, Key::Autograd) {}

 private:
  KeyScope scope_;
};
// Inside, calls are recorded again, also within NoGrad. It changes nothing within InferenceMode.
class PEL_API EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  detail::ThreadKeys saved_;
};
// NoGrad that nothing inside can undo.
class PEL_API InferenceMode {
 public:
  InferenceMode();
  ~InferenceMode();
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  NoGrad no_grad_;
  bool saved_;
};
PEL_API bool is_grad_enabled();
PEL_API bool is_inference_mode();

// Inside, products, convolutions and attention take f32 arguments as bf16 or f16, and ops whose sums need it
// take those as f32; the casts are part of the graph. A leaf is cast once for all its uses.
class PEL_API Autocast {
 public:
  explicit Autocast(DType lower = kBF16, Site site = Site::current());
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  KeyScope scope_;
  DType saved_;
};

PEL_API std::optional<DType> autocast_dtype();  // what it casts to on this thread; none outside

struct BackwardOptions {
  bool retain_graph = false;        // what calls kept stays, for another walk
  bool create_graph = false;        // the walk itself is recorded, for gradients of gradients; retains, too
  std::vector<Tensor> gradients{};  // of the outputs; empty: ones, for outputs with one element
  bool allow_unused = false;        // grad() gives an undefined tensor for an input that has no part in it
};
// Adds the gradient of `outputs` with respect to every leaf to that leaf's grad().
PEL_API void backward(ArrayView<Tensor> outputs, const BackwardOptions& options = {},
                      Site site = Site::current());
// The gradients with respect to `inputs`; no grad() changes.
PEL_API std::vector<Tensor> grad(ArrayView<Tensor> outputs, ArrayView<Tensor> inputs,
                                 const BackwardOptions& options = {}, Site site = Site::current());

// Called with the gradient of `t` when it is complete, before it flows on. What it returns, if defined,
// takes its place. The number removes it again.
using GradHook = std::function<Tensor(const Tensor& grad)>;
PEL_API std::uint64_t register_hook(const Tensor& t, GradHook hook, Site site = Site::current());
PEL_API void remove_hook(const Tensor& t, std::uint64_t id);

// An op of your own without a record: values by `forward`, gradients by `backward`.
class PEL_API FunctionContext {
 public:
  // Kept for backward, with the check that nobody writes to them in between. Inputs and results of the
  // function, or anything else.
  void keep(std::vector<Tensor> tensors) { to_keep_ = std::move(tensors); }
  const std::vector<Tensor>& kept() const { return kept_; }

 private:
  friend class FunctionNode;
  std::vector<Tensor> to_keep_, kept_;
};
struct Function {
  std::string name;
  std::function<std::vector<Tensor>(FunctionContext&, ArrayView<Tensor> inputs)> forward;
  // One gradient for each input; an undefined one means that nothing flows.
  std::function<std::vector<Tensor>(FunctionContext&, ArrayView<Tensor> grads)> backward;
};
PEL_API std::vector<Tensor> apply(const Function& function, ArrayView<Tensor> inputs,
                                  Site site = Site::current());

// Runs `region`, but keeps only its inputs: what its calls need for their gradients is computed again in
// backward, with the same random numbers of the default generator. The region must do the same each time.
PEL_API Tensor checkpoint(const std::function<Tensor(ArrayView<Tensor>)>& region, ArrayView<Tensor> inputs,
                          Site site = Site::current());

// Whether the gradients of `f` agree with differences of its values. In f64; of results and inputs that do
// not require a gradient nothing is asked. Empty: they agree; otherwise what differs, in one line.
struct GradcheckOptions {
  double step = 1e-6, absolute = 1e-5, relative = 1e-3;
};
using TensorFunction = std::function<std::vector<Tensor>(ArrayView<Tensor>)>;
PEL_API std::string gradcheck(const TensorFunction& f, ArrayView<Tensor> inputs,
                              const GradcheckOptions& options = {});
// The same for the gradients of the gradients.
PEL_API std::string gradgradcheck(const TensorFunction& f, ArrayView<Tensor> inputs,
                                  const GradcheckOptions& options = {});

}  // namespace pel
