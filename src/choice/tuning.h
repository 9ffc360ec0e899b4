// Kernels chosen by measurement instead of prediction.
#pragma once

#include <memory>
#include <string>

#include "pellucid/extend/op.h"

namespace pel {

// Calls of one class of shapes take the kernel that was fastest when the class was first met. The winners are
// stored in a file, so that other processes take the same kernels without measuring.
class Tuning {
 public:
  // Reads the file, if there is one, and writes it after each measurement.
  explicit Tuning(std::string path);
  ~Tuning();
  Tuning(const Tuning&) = delete;
  Tuning& operator=(const Tuning&) = delete;

  static Tuning* active();  // with the file that PELLUCID_TUNE names; null: no tuning

  // Returns the kernel for a call whose operands are on `device`. Measures all candidates where the class is
  // new. `predicted` is the winner by prediction.
  const Kernel* choose(const Op& op, Device device, KernelArgs args, const Kernel* predicted,
                       const std::optional<Computation>& computation);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pel
