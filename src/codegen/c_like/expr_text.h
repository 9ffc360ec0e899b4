// Scalar expressions as statements of the C-like language.
#pragma once

#include <string>
#include <string_view>

#include "pellucid/dtype.h"

#include "ir/scalar.h"

namespace pel::codegen {

// Whether an expression has a form of kVectorLanes elements. Divisions of integers and remainders of floats
// run element by element.
bool has_vector_form(const scalar::ScalarExpr& expr);

// Returns the value of type `from` converted to `to`, as ScalarOp::Cast does.
std::string cast_text(const std::string& value, DType from, DType to, int lanes);

// Returns call.number[i], which has the bits of a value, as a value of its type.
std::string number_text(std::size_t i, DType type, int lanes);

// Statements that compute all nodes: node i is the constant `<prefix>i`. Input k is `in<k>` and param k
// `param<k>`. Tables are appended to `tables`, with names that begin with `name`. Integer divisions by zero
// set the variable `failed`.
std::string expr_statements(const scalar::ScalarExpr& expr, int lanes, std::string_view prefix,
                            std::string_view name, std::string& tables);

// The same as an inline function of one of the results: `T name(inputs…, params…)`, for expressions without
// divisions of integers.
std::string expr_function(const scalar::ScalarExpr& expr, std::string_view name, std::size_t result = 0);

}  // namespace pel::codegen
