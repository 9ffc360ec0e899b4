// Contractions by letters: each pair of operands becomes one batched matmul.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "pellucid/ops.h"
#include "pellucid/ops/linalg.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/reductions.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/layout.h"
#include "tensor/make.h"

namespace pel {
namespace {

// An operand with one letter for each axis. The axes of an ellipsis have the digits that follow '9', from the
// last.
struct Lettered {
  std::string letters;
  Tensor tensor;
};

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

constexpr char kEllipsisEnd = '9';

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

std::vector<std::string> cut(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// `axes`: those that the letters of an operand do not name.
std::string with_ellipsis(const std::string& letters, std::int64_t axes) {
  const std::size_t dots = letters.find("...");
  if (dots == std::string::npos) return letters;
  std::string named;
  for (std::int64_t i = axes; i-- > 0;) named += static_cast<char>(kEllipsisEnd - i);
  return letters.substr(0, dots) + named + letters.substr(dots + 3);
}

void check_letters(const std::string& letters) {
  std::string plain = letters;
  if (const std::size_t dots = plain.find("..."); dots != std::string::npos) plain.erase(dots, 3);
  for (const char c : plain)
    PEL_CHECK((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), ValueError,
              "axes are named by letters, or by one '...'; '{}' has '{}'", letters, c);
}

Equation parse(std::string_view text, ArrayView<Tensor> tensors) {
  std::string equation;
  std::copy_if(text.begin(), text.end(), std::back_inserter(equation), [](char c) { return c != ' '; });
  const std::size_t arrow = equation.find("->");
  Equation parsed{cut(equation.substr(0, arrow), ','), ""};
  PEL_CHECK(parsed.operands.size() == tensors.size(), ValueError, "'{}' names {} operands; there are {}",
            text, parsed.operands.size(), tensors.size());
  std::int64_t most = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::string& letters = parsed.operands[i];
    check_letters(letters);
    const bool dots = letters.find("...") != std::string::npos;
    const auto named = static_cast<std::int64_t>(letters.size()) - (dots ? 3 : 0);
    const std::int64_t more = tensors[i].dim() - named;
    PEL_CHECK(dots ? more >= 0 : more == 0, ShapeError, "'{}' names {} axes{}; operand {} is {}", letters,
              named, dots ? " and more" : "", i, describe(tensors[i]));
    PEL_CHECK(more <= 9, ShapeError, "'...' stands for at most 9 axes; operand {} is {}", i,
              describe(tensors[i]));
    letters = with_ellipsis(letters, more);
    most = std::max(most, dots ? more : 0);
  }
  if (arrow != std::string::npos) {
    const std::string result = equation.substr(arrow + 2);
    check_letters(result);
    parsed.result = with_ellipsis(result, most);
    for (const char c : parsed.result) {
      PEL_CHECK(std::count(parsed.result.begin(), parsed.result.end(), c) == 1, ValueError,
                "the result names '{}' twice", c);
      PEL_CHECK(std::any_of(parsed.operands.begin(), parsed.operands.end(),
                            [&](const std::string& letters) { return has(letters, c); }),
                ValueError, "no operand has the '{}' of the result", c);
    }
    return parsed;
  }
  // Without an arrow: the ellipsis, then every letter that stands once, in the order of letters.
  std::map<char, int> counts;
  for (const std::string& letters : parsed.operands)
    for (const char c : letters) ++counts[c];
  parsed.result = with_ellipsis("...", most);
  for (const auto& [c, count] : counts)
    if (c > kEllipsisEnd && count == 1) parsed.result += c;
  return parsed;
}

// A letter that stands twice in one operand means its diagonal.
Lettered without_repeats(Lettered x) {
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    const std::size_t again = x.letters.find(x.letters[i], i + 1);
    if (again == std::string::npos) continue;
    const auto axis = static_cast<std::int64_t>(i), other = static_cast<std::int64_t>(again);
    PEL_CHECK(x.tensor.sizes()[i] == x.tensor.sizes()[again], ShapeError, "'{}' has sizes {} and {}",
              x.letters[i], to_string(x.tensor.sizes()[i]), to_string(x.tensor.sizes()[again]));
    x.tensor = x.tensor.diagonal(0, axis, other);  // its axis comes last
    x.letters = x.letters.substr(0, again) + x.letters.substr(again + 1);
    const char letter = x.letters[i];
    x.letters.erase(i, 1);
    x.letters += letter;
    return without_repeats(std::move(x));
  }
  return x;
}

// Axes in the order of `letters`; those it lacks have size 1.
Tensor in_order(const Lettered& x, const std::string& letters) {
  std::vector<std::int64_t> order;
  for (const char c : letters)
    if (has(x.letters, c)) order.push_back(static_cast<std::int64_t>(x.letters.find(c)));
  Tensor t = x.tensor.permute(order);
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (!has(x.letters, letters[i])) t = t.unsqueeze(static_cast<std::int64_t>(i));
  return t;
}

Lettered summed_to(const Lettered& x, const std::string& keep) {
  std::vector<std::int64_t> axes;
  std::string letters;
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    if (has(keep, x.letters[i])) {
      letters += x.letters[i];
    } else {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (axes.empty()) return x;
  return {letters, sum(x.tensor, axes, KeepDims::No, x.tensor.dtype())};
}

Dim size_of(const Lettered& x, char letter) { return x.tensor.sizes()[x.letters.find(letter)]; }

// `later`: letters that are needed after this matmul.
Lettered multiplied(Lettered a, Lettered b, const std::string& later) {
  a = summed_to(a, later + b.letters);
  b = summed_to(b, later + a.letters);
  std::string batch, rows, columns, inner;
  for (const char c : a.letters) {
    if (!has(b.letters, c)) {
      rows += c;
      continue;
    }
    const Dim left = size_of(a, c), right = size_of(b, c);
    PEL_CHECK(left == right || left == 1 || right == 1, ShapeError, "'{}' has sizes {} and {}", c,
              to_string(left), to_string(right));
    (has(later, c) ? batch : inner) += c;
  }
  for (const char c : b.letters)
    if (!has(a.letters, c)) columns += c;
  const std::string letters = batch + rows + columns;
  // A size of 1 broadcasts: plain multiplication does that, and the sum comes after.
  bool broadcasts = false;
  for (const char c : batch + inner) broadcasts = broadcasts || !(size_of(a, c) == size_of(b, c));
  if (broadcasts || inner.empty()) {
    const std::string all = letters + inner;
    return summed_to({all, mul(in_order(a, all), in_order(b, all))}, letters);
  }
  DimVector sizes;
  const auto sizes_of = [&](const Lettered& x, const std::string& names) {
    Dim count = 1;
    for (const char c : names) count = count * size_of(x, c);
    return count;
  };
  for (const char c : batch + rows) sizes.push_back(size_of(a, c));
  for (const char c : columns) sizes.push_back(size_of(b, c));
  const Dim count = sizes_of(a, batch), k = sizes_of(a, inner);
  const Tensor left = in_order(a, batch + rows + inner).reshape({count, sizes_of(a, rows), k});
  const Tensor right = in_order(b, batch + inner + columns).reshape({count, k, sizes_of(b, columns)});
  return {letters, bmm(left, right).reshape(sizes)};
}

Tensor einsum_body(std::string_view equation, ArrayView<Tensor> tensors) {
  PEL_CHECK(!tensors.empty(), ValueError, "there are no operands");
  const Equation parsed = parse(equation, tensors);
  Lettered x = without_repeats({parsed.operands[0], tensors[0]});
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    std::string later = parsed.result;
    for (std::size_t j = i + 1; j < tensors.size(); ++j) later += parsed.operands[j];
    x = multiplied(std::move(x), without_repeats({parsed.operands[i], tensors[i]}), later);
  }
  return in_order(summed_to(x, parsed.result), parsed.result);
}

}  // namespace

namespace ops {
OpDef define_einsum() {
  return define_op<einsum_body>(OpKind::Composite, "einsum(str equation, Tensor[] tensors) -> Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{{std::string("bij,bjk->bik"), std::vector<Tensor>{s({2, 2, 3}), s({2, 3, 2})}},
                           {std::string("ii,...i->..."), std::vector<Tensor>{s({3, 3}), s({2, 3})}},
                           {std::string("ij,jk,k"), std::vector<Tensor>{s({2, 3}), s({3, 2}), s({2})}}};
      });
}
}  // namespace ops

Tensor einsum(std::string_view equation, ArrayView<Tensor> tensors, Site site) {
  return call<"einsum", einsum_body>(site, equation, tensors);
}

}  // namespace pel
