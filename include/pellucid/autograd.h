// Gradients. Calls on tensors that require a gradient record a graph; backward walks it.
//
//   const Tensor w = randn({3, 4}).requires_grad_();
//   const Tensor loss = sum(square(matmul(x, w)));
//   loss.backward();
//   w.grad();
//
// The results own the graph; it is freed with them. Backward is deterministic: nodes run in one order, and
// several gradients of one tensor are added in that order, for any number of threads.
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

// In scope, calls are not recorded: results require no gradient.
class PEL_API NoGrad {
 public:
  NoGrad() : scope_({}, Key::Autograd) {}

 private:
  KeyScope scope_;
};
// In scope, calls are recorded even within NoGrad. Has no effect within InferenceMode.
class PEL_API EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  detail::ThreadKeys saved_;
};
// NoGrad that EnableGrad cannot undo.
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

// In scope, matmuls, convolutions and attention cast f32 arguments to bf16 or f16, and ops that need the
// range or precision of f32 cast the other way. The casts are part of the graph. A leaf is cast once for all
// its uses.
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

PEL_API std::optional<DType> autocast_dtype();  // the lower dtype on this thread; none outside of Autocast

struct BackwardOptions {
  bool retain_graph = false;  // saved tensors are kept for another backward
  bool create_graph = false;  // backward itself is recorded, for gradients of gradients; implies retain_graph
  std::vector<Tensor> gradients{};  // of the outputs; empty: ones, for outputs with one element
  bool allow_unused =
      false;  // grad() returns an undefined tensor for an input that the outputs do not depend on
};
// Adds the gradients of `outputs` with respect to each leaf to the leaf's grad().
PEL_API void backward(ArrayView<Tensor> outputs, const BackwardOptions& options = {},
                      Site site = Site::current());
// Returns the gradients with respect to `inputs`. Changes no grad().
PEL_API std::vector<Tensor> grad(ArrayView<Tensor> outputs, ArrayView<Tensor> inputs,
                                 const BackwardOptions& options = {}, Site site = Site::current());

// Calls `hook` with the complete gradient of `t` before it is passed on. A defined return value replaces the
// gradient. Returns an id for remove_hook.
using GradHook = std::function<Tensor(const Tensor& grad)>;
PEL_API std::uint64_t register_hook(const Tensor& t, GradHook hook, Site site = Site::current());
PEL_API void remove_hook(const Tensor& t, std::uint64_t id);

// A differentiable function of the user's: `forward` computes the values, `backward` the gradients.
class PEL_API FunctionContext {
 public:
  // Saves inputs, results or other tensors. Backward fails if one of them was written to in between.
  void save_for_backward(std::vector<Tensor> tensors) { to_save_ = std::move(tensors); }
  const std::vector<Tensor>& saved_tensors() const { return saved_; }  // inside backward

 private:
  friend class FunctionNode;
  std::vector<Tensor> to_save_, saved_;
};
struct Function {
  std::string name;
  std::function<std::vector<Tensor>(FunctionContext&, ArrayView<Tensor> inputs)> forward;
  // Returns one gradient for each input; an undefined one means zero.
  std::function<std::vector<Tensor>(FunctionContext&, ArrayView<Tensor> grads)> backward;
};
PEL_API std::vector<Tensor> apply(const Function& function, ArrayView<Tensor> inputs,
                                  Site site = Site::current());

// Runs `region` and saves only its inputs. Backward runs the region again to compute what its calls would
// have saved, with the same random numbers of the default generator. The region must do the same each time.
PEL_API Tensor checkpoint(const std::function<Tensor(ArrayView<Tensor>)>& region, ArrayView<Tensor> inputs,
                          Site site = Site::current());

// Compares the gradients of `f` with finite differences, in f64. Results and inputs that do not require a
// gradient are not checked. Returns an empty string if they agree, otherwise one line that says what differs.
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
