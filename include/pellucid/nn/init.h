// Initialization of parameters, with PyTorch's names and distributions. In place and without gradients.
#pragma once

#include "pellucid/generator.h"
#include "pellucid/tensor.h"

namespace pel::nn {

// While an object of it lives, modules on this thread do not initialize their parameters: for weights that
// are about to be loaded.
class PEL_API SkipInit {
 public:
  SkipInit();
  ~SkipInit();
  SkipInit(const SkipInit&) = delete;
  SkipInit& operator=(const SkipInit&) = delete;

 private:
  bool saved_;
};

// For [out, in, kernel…]: the number of inputs of one output, and of outputs of one input.
struct Fan {
  std::int64_t in, out;
};
PEL_API Fan fan_of(const Tensor& t, Site site = Site::current());

PEL_API void init_uniform_(const Tensor& t, double low, double high,
                           Generator& generator = default_generator());
PEL_API void init_normal_(const Tensor& t, double mean, double std,
                          Generator& generator = default_generator());
// Normal, redrawn outside [low, high].
PEL_API void init_truncated_normal_(const Tensor& t, double mean = 0, double std = 1, double low = -2,
                                    double high = 2, Generator& generator = default_generator());
PEL_API void init_constant_(const Tensor& t, double value);
// Of Glorot and Bengio: a variance of gain^2 2 / (in + out).
PEL_API void init_xavier_uniform_(const Tensor& t, double gain = 1,
                                  Generator& generator = default_generator());
PEL_API void init_xavier_normal_(const Tensor& t, double gain = 1,
                                 Generator& generator = default_generator());
// Of He and others: a variance of 2 / ((1 + a^2) in), for a leaky relu of slope a.
PEL_API void init_kaiming_uniform_(const Tensor& t, double a = 0, Generator& generator = default_generator());
PEL_API void init_kaiming_normal_(const Tensor& t, double a = 0, Generator& generator = default_generator());

}  // namespace pel::nn
