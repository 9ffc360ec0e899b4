// What tril and triu share.
#pragma once

#include "pellucid/extend/op.h"

namespace pel {

enum class Triangle : bool { Lower, Upper };
Tensor make_triangle(const Op& op, const Tensor& self, std::int64_t diagonal, Triangle triangle);
const Tensor& keep_triangle(const Op& op, const Tensor& self, std::int64_t diagonal, Triangle triangle);

}  // namespace pel
