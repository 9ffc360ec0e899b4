// Random numbers. Names and semantics are PyTorch's; the numbers are not. Element i of a result, in row-major
// order, is a function of the generator's state at the call and of i alone (generator.h).
#pragma once

#include <cstdint>

#include "pellucid/generator.h"
#include "pellucid/tensor.h"

namespace pel {

// Uniform in [0, 1), and standard normal. Floating dtypes.
PEL_API Tensor rand(Dims size, TensorOptions options = {}, Generator& generator = default_generator(),
                    Site site = Site::current());
PEL_API Tensor randn(Dims size, TensorOptions options = {}, Generator& generator = default_generator(),
                     Site site = Site::current());
PEL_API Tensor rand_like(const Tensor& self, TensorOptions options = {},
                         Generator& generator = default_generator(), Site site = Site::current());
PEL_API Tensor randn_like(const Tensor& self, TensorOptions options = {},
                          Generator& generator = default_generator(), Site site = Site::current());
// Integers from low to high - 1; i64 without a dtype.
PEL_API Tensor randint(const Scalar& low, const Scalar& high, Dims size, TensorOptions options = {},
                       Generator& generator = default_generator(), Site site = Site::current());
// 0 … n - 1 in random order; i64 without a dtype.
PEL_API Tensor randperm(Dim n, TensorOptions options = {}, Generator& generator = default_generator(),
                        Site site = Site::current());

// Normal, with tensors of means and standard deviations, which broadcast, or with one of each.
PEL_API Tensor normal(const Tensor& mean, const Tensor& std, Generator& generator = default_generator(),
                      Site site = Site::current());
PEL_API Tensor normal(double mean, double std, Dims size, TensorOptions options = {},
                      Generator& generator = default_generator(), Site site = Site::current());
// 1 with the probabilities in `self`, or with probability p and the sizes of `self`; else 0.
PEL_API Tensor bernoulli(const Tensor& self, Generator& generator = default_generator(),
                         Site site = Site::current());
PEL_API Tensor bernoulli(const Tensor& self, double p, Generator& generator = default_generator(),
                         Site site = Site::current());
// Indices drawn with the probabilities in each row of `self`, which need not add up to 1.
enum class Replacement : bool { No, Yes };
PEL_API Tensor multinomial(const Tensor& self, Dim num_samples, Replacement replacement = Replacement::No,
                           Generator& generator = default_generator(), Site site = Site::current());

// Elements dropped with probability p, the others divided by 1 - p. Outside training the result is `input`.
enum class Training : bool { No, Yes };
PEL_API Tensor dropout(const Tensor& input, double p = 0.5, Training training = Training::Yes,
                       Generator& generator = default_generator(), Site site = Site::current());

// Written to `self`. The exponential distribution has the density lambd e^(-lambd x).
PEL_API const Tensor& uniform_(const Tensor& self, double from = 0, double to = 1,
                               Generator& generator = default_generator(), Site site = Site::current());
PEL_API const Tensor& normal_(const Tensor& self, double mean = 0, double std = 1,
                              Generator& generator = default_generator(), Site site = Site::current());
PEL_API const Tensor& exponential_(const Tensor& self, double lambd = 1,
                                   Generator& generator = default_generator(), Site site = Site::current());
PEL_API const Tensor& bernoulli_(const Tensor& self, double p = 0.5,
                                 Generator& generator = default_generator(), Site site = Site::current());

}  // namespace pel
