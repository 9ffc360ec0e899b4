// The forms in which an elementwise op is declared:
//   PEL_UNARY(exp)   Tensor exp(self);  exp_(self), which writes to self;  exp_out(out, self)
//   PEL_BINARY(add)  the same with a second argument, a tensor or a number
// "Floating" ops compute integers and bool in f32; comparisons and predicates return bool.
#pragma once

#include "pellucid/tensor.h"

#define PEL_UNARY_PLAIN(name) PEL_API Tensor name(const Tensor& self, Site site = Site::current());
#define PEL_UNARY_OUT(name) \
  PEL_UNARY_PLAIN(name)     \
  PEL_API const Tensor& name##_out(const Tensor& out, const Tensor& self, Site site = Site::current());
#define PEL_UNARY(name) \
  PEL_UNARY_OUT(name)   \
  PEL_API const Tensor& name##_(const Tensor& self, Site site = Site::current());
#define PEL_BINARY_PLAIN(name)                                                               \
  PEL_API Tensor name(const Tensor& self, const Tensor& other, Site site = Site::current()); \
  PEL_API Tensor name(const Tensor& self, const Scalar& other, Site site = Site::current());
#define PEL_BINARY_OUT(name)                                                                   \
  PEL_BINARY_PLAIN(name)                                                                       \
  PEL_API const Tensor& name##_out(const Tensor& out, const Tensor& self, const Tensor& other, \
                                   Site site = Site::current());                               \
  PEL_API const Tensor& name##_out(const Tensor& out, const Tensor& self, const Scalar& other, \
                                   Site site = Site::current());
#define PEL_BINARY(name)                                                                               \
  PEL_BINARY_OUT(name)                                                                                 \
  PEL_API const Tensor& name##_(const Tensor& self, const Tensor& other, Site site = Site::current()); \
  PEL_API const Tensor& name##_(const Tensor& self, const Scalar& other, Site site = Site::current());
