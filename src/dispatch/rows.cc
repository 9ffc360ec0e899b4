#include "dispatch/rows.h"

#include <limits>

#include "base/check.h"
#include "dispatch/pointwise.h"
#include "tensor/convert.h"

namespace pel {

using scalar::ScalarBuilder;
using scalar::ScalarExpr;
using scalar::Term;

std::string_view name(FoldKind kind) {
  constexpr std::string_view kNames[kFoldKindCount] = {"sum", "prod", "max", "min", "and", "or", "maxnum"};
  return kNames[static_cast<int>(kind)];
}

Term combine(FoldKind kind, Term a, Term b) {
  switch (kind) {
    case FoldKind::Sum:
      return a + b;
    case FoldKind::Product:
      return a * b;
    // Min and Max return their second operand if one is NaN: a, the value so far, which may be NaN itself.
    // The check of b does not read a, so that the dependency chain from value to value is short.
    case FoldKind::Max:
      return is_floating(a.type()) ? select(b != b, b, max(b, a)) : max(a, b);
    case FoldKind::Min:
      return is_floating(a.type()) ? select(b != b, b, min(b, a)) : min(a, b);
    case FoldKind::And:
      return a & b;
    case FoldKind::Or:
      return a | b;
    case FoldKind::MaxNumber:
      return max(b, a);
  }
  PEL_ASSERT(false, "a kind of fold");
}

std::uint64_t initial_bits(FoldKind kind, DType type) {
  std::uint64_t bits = 0;
  with_type(type, [&]<class T>(std::type_identity<T>) {
    using Limits = std::numeric_limits<std::conditional_t<std::is_integral_v<T>, T, double>>;
    const auto lowest = is_floating(type) ? -Limits::infinity() : Limits::lowest();
    const auto most = is_floating(type) ? Limits::infinity() : Limits::max();
    const bool is_one = kind == FoldKind::Product || kind == FoldKind::And;
    if (kind == FoldKind::Max || kind == FoldKind::MaxNumber) {
      store_as(&bits, convert<T>(lowest));
    } else if (kind == FoldKind::Min) {
      store_as(&bits, convert<T>(most));
    } else {
      store_as(&bits, convert<T>(is_one ? 1.0 : 0.0));
    }
  });
  return bits;
}

DType RowProgram::stored_output(std::size_t i, DType compute) const {
  const RowOutput& output = outputs[i];
  if (output.kind == RowOutput::Kind::Index) return kI64;
  return output.dtype ? output.dtype(compute) : compute;
}

namespace {

enum class Reads : std::uint8_t { Values, Elements, ElementsAndKept };

RowTerms make_terms(ScalarBuilder& builder, const RowProgram& rows, DType compute, Reads reads,
                    std::size_t values) {
  const DType type = rows.value_type(compute);
  std::vector<Term> in, folded, numbers, kept;
  if (reads != Reads::Values) {
    for (int i = 0; i < rows.input_count; ++i) {
      const DType stored = rows.stored_input(i, compute);
      in.push_back(cast(builder.input(stored), rows.casts_elements ? type : value_type(stored)));
    }
  }
  if (reads == Reads::ElementsAndKept && rows.keeps >= 0) kept.push_back(builder.input(type));
  for (std::size_t i = 0; i < values; ++i) folded.push_back(builder.input(type));
  const Term count = builder.param(type);
  for (int i = 0; i < rows.param_count; ++i) numbers.push_back(builder.param(type));
  return {std::move(in), std::move(folded), std::move(numbers), std::move(kept), count, compute};
}
ScalarExpr finished(ScalarBuilder& builder, Term result) { return builder.finish({&result, 1}); }

}  // namespace

ScalarExpr element_expr(const RowProgram& rows, std::size_t fold, DType compute) {
  ScalarBuilder builder;
  const RowTerms terms = make_terms(builder, rows, compute, Reads::Elements, fold);
  return finished(builder, rows.folds[fold].element(terms));
}

ScalarExpr accumulate_expr(const RowProgram& rows, std::size_t fold, DType compute) {
  ScalarBuilder builder;
  const Term before = builder.input(rows.value_type(compute));
  const RowTerms terms = make_terms(builder, rows, compute, Reads::Elements, fold);
  return finished(builder, combine(rows.folds[fold].kind, before, rows.folds[fold].element(terms)));
}

ScalarExpr finish_expr(const RowProgram& rows, std::size_t fold, DType compute) {
  ScalarBuilder builder;
  const RowTerms terms = make_terms(builder, rows, compute, Reads::Values, fold + 1);
  return finished(builder, rows.folds[fold].finish(terms));
}

ScalarExpr output_expr(const RowProgram& rows, std::size_t output, DType compute) {
  ScalarBuilder builder;
  const bool is_row = rows.outputs[output].kind == RowOutput::Kind::Row;
  const RowTerms terms =
      make_terms(builder, rows, compute, is_row ? Reads::ElementsAndKept : Reads::Values, rows.folds.size());
  return finished(builder, cast(rows.outputs[output].formula(terms), rows.stored_output(output, compute)));
}

ScalarExpr value_expr(DType type) {
  ScalarBuilder builder;
  return finished(builder, builder.input(type));
}

ScalarExpr combine_expr(FoldKind kind, DType type) {
  ScalarBuilder builder;
  const Term a = builder.input(type), b = builder.input(type);
  return finished(builder, combine(kind, a, b));
}

}  // namespace pel
