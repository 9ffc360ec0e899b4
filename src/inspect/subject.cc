#include "inspect/subject.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pellucid/ops/internal.h"
#include "pellucid/ops/reductions.h"
#include "pellucid/pellucid.h"

namespace pel::inspect {
namespace {

struct SubjectBuilder {
  SubjectSizes sizes;
  Recorded recorded;

  Tensor input(Dims size) const { return randn(size); }
  Tensor trained(Dims size) const {
    Tensor t = randn(size);
    return recorded == Recorded::Yes ? t.requires_grad_() : t;
  }
};

std::string shown(const char* name, const Tensor& t) {
  std::vector<std::int64_t> sizes;
  for (const Dim& size : t.sizes()) sizes.push_back(size.value());
  return fmt::format("{} {}[{}]", name, pel::name(t.dtype()), fmt::join(sizes, ", "));
}

// The analyzer does not see that a std::function frees the closure that it stores on the heap.
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDeleteLeaks)

// An op that calls no other op.
template <class Call>
Subject single(const char* op, std::string arguments, Call call) {
  Subject subject{std::move(arguments), loop_of(call), {}};
  subject.parts.push_back({op, loop_of(call)});
  return subject;
}

Subject make_linear(const SubjectBuilder& m) {
  const Tensor x = m.input({m.sizes.rows, m.sizes.in}), weight = m.trained({m.sizes.out, m.sizes.in}),
               bias = m.trained({m.sizes.out}), transposed = weight.t();
  Subject subject{fmt::format("{}, {}, {}", shown("x", x), shown("weight", weight), shown("bias", bias)),
                  loop_of([=] { return linear(x, weight, bias); }),
                  {}};
  subject.parts.push_back({"t", loop_of([=] { return t(weight); })});
  subject.parts.push_back({"addmm", loop_of([=] { return addmm(bias, x, transposed); })});
  return subject;
}
Subject make_mm(const SubjectBuilder& m) {
  const Tensor x = m.input({m.sizes.rows, m.sizes.in}), w = m.trained({m.sizes.in, m.sizes.out});
  return single("mm", shown("a", x) + ", " + shown("b", w), [=] { return mm(x, w); });
}
Subject make_matmul(const SubjectBuilder& m) {
  const Tensor x = m.input({m.sizes.rows, m.sizes.in}), w = m.trained({m.sizes.in, m.sizes.out});
  Subject subject{shown("a", x) + ", " + shown("b", w), loop_of([=] { return matmul(x, w); }), {}};
  subject.parts.push_back({"mm", loop_of([=] { return mm(x, w); })});
  return subject;
}
Subject make_add(const SubjectBuilder& m) {
  const Tensor a = m.trained({m.sizes.rows, m.sizes.in}), b = m.input({m.sizes.rows, m.sizes.in});
  return single("add", shown("a", a) + ", " + shown("b", b), [=] { return add(a, b); });
}
Subject make_gelu(const SubjectBuilder& m) {
  const Tensor x = m.trained({m.sizes.rows, m.sizes.in});
  return single("gelu", shown("x", x), [=] { return gelu(x); });
}
Subject make_softmax(const SubjectBuilder& m) {
  const Tensor x = m.trained({m.sizes.rows, m.sizes.in});
  return single("softmax", shown("x", x), [=] { return softmax(x, -1); });
}
Subject make_layer_norm(const SubjectBuilder& m) {
  const Tensor x = m.trained({m.sizes.rows, m.sizes.in}), weight = m.trained({m.sizes.in}),
               bias = m.trained({m.sizes.in});
  const std::int64_t width = m.sizes.in;
  Subject subject{fmt::format("{}, {}, {}", shown("x", x), shown("weight", weight), shown("bias", bias)),
                  loop_of([=] { return layer_norm(x, {width}, weight, bias); }),
                  {}};
  subject.parts.push_back({"native_layer_norm", loop_of([=] {
                             return internal::native_layer_norm(x, {width}, weight, bias, 1e-5);
                           })});
  return subject;
}
Subject make_t(const SubjectBuilder& m) {
  const Tensor x = m.trained({m.sizes.rows, m.sizes.in});
  return single("t", shown("x", x), [=] { return t(x); });
}

// NOLINTEND(clang-analyzer-cplusplus.NewDeleteLeaks)

struct Named {
  std::string_view name;
  Subject (*make)(const SubjectBuilder&);
};
// bench/anatomy/peer_anatomy.torch.cc has the same.
constexpr std::array<Named, 8> kSubjects = {{{"linear", make_linear},
                                             {"add", make_add},
                                             {"mm", make_mm},
                                             {"matmul", make_matmul},
                                             {"softmax", make_softmax},
                                             {"layer_norm", make_layer_norm},
                                             {"gelu", make_gelu},
                                             {"t", make_t}}};

}  // namespace

std::vector<std::string_view> subject_names() {
  std::vector<std::string_view> names;
  for (const Named& subject : kSubjects) names.push_back(subject.name);
  return names;
}

Subject make_subject(std::string_view op, const SubjectSizes& sizes, Recorded recorded) {
  for (const Named& subject : kSubjects) {
    if (subject.name == op) return subject.make({sizes, recorded});
  }
  throw ValueError(
      fmt::format("anatomy: '{}' is not supported; choose one of: {}", op, fmt::join(subject_names(), ", ")));
}

}  // namespace pel::inspect
