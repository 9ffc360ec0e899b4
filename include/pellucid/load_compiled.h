// Compiled functions from files: what Compiled::save has written runs in another process, with the same bits
// and without a compiler.
//
//   fast.save("model.pel");                                      // after at least one call
//   const LoadedFunction model = load_compiled("model.pel");     // in another process
//   const Tensor y = model.call<Tensor>(x);
//
// Loading a file loads machine code: trust an unsigned one as you trust a shared library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pellucid/compile.h"
#include "pellucid/signing.h"

namespace pel {

struct LoadOptions {
  // Where the safetensors files are that hold its weights. Empty: in the folder of the file.
  std::string weights_folder{};
  // Whether weights are compared with their checksums, which reads all of them. The rest of the file always
  // is.
  bool checks_weights = true;
  // If there are any, only a file that is signed with one of them is loaded, and nothing of it is run before
  // that is known. All weights are read.
  std::vector<PublicKey> trusted_keys{};
};

// A compiled function of a file. Copies share their plans, and several threads may call it. Calls that none
// of its graphs serves are a ValueError that lists the guards. Weights are mapped, not copied, except those
// that the function writes to: each load has its own.
class PEL_API LoadedFunction {
 public:
  std::vector<Tensor> operator()(ArrayView<Tensor> inputs) const { return function_(inputs); }
  template <class... T>
    requires(std::is_same_v<T, Tensor> && ...)
  std::vector<Tensor> operator()(const T&... tensors) const {
    const Tensor inputs[] = {tensors...};
    return function_(ArrayView<Tensor>(inputs, sizeof...(T)));
  }
  // The results as the function returned them: call<Tensor>(x), call<std::pair<Tensor, Tensor>>(x, y).
  template <class R, class... T>
  R call(const T&... tensors) const {
    using Result = detail::TensorResult<R>;
    return Result::unpack(checked((*this)(tensors...), Result::kCount));
  }

  std::size_t graphs() const { return function_.compiles(); }
  std::size_t plans() const { return function_.plans(); }  // of tuples of sizes
  // As those of Compiled.
  std::vector<std::string> kernels(ArrayView<Tensor> inputs) const { return function_.kernels(inputs); }
  std::int64_t peak_bytes(ArrayView<Tensor> inputs) const { return function_.peak_bytes(inputs); }
  std::string graph() const { return function_.graph(); }
  CompileExplanation explain() const { return function_.explain(); }
  CompileExplanation explain(ArrayView<Tensor> inputs) const { return function_.explain(inputs); }

 private:
  friend PEL_API LoadedFunction load_compiled(const std::string& path, const LoadOptions& options, Site site);
  explicit LoadedFunction(std::shared_ptr<compiler::CompiledFunction> function)
      : function_(std::move(function)) {}

  // Throws a ValueError if a call returns another number of tensors.
  static std::vector<Tensor> checked(std::vector<Tensor> results, std::size_t count);

  detail::CompiledTensors function_;
};
// Throws a FileError that says what is wrong if the file is damaged, was saved by another version of
// Pellucid, or has no kernels for this processor.
PEL_API LoadedFunction load_compiled(const std::string& path, const LoadOptions& options = {},
                                     Site site = Site::current());

}  // namespace pel
