// Ops with hand-written kernels produce the same bits for every layout, number of threads and instruction
// set. tests/conformance covers elementwise and row ops.
//
// Source provides the same values in either layout. Each family below is a table of cases by op. One test
// checks that every hand-written kernel has a case, one compares layouts and prints hashes, and one compares
// the hashes of child processes with other thread counts and instruction sets.
#include <algorithm>
#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/ops/internal.h"
#include "pellucid/pellucid.h"

#include "dispatch/op_table.h"
#include "dispatch/record.h"
#include "support/bytes.h"

namespace pel {
namespace {

enum class Order : std::uint8_t { RowMajor, Transposed };

// Large enough to be split among threads.
constexpr std::int64_t kRows = 130, kColumns = 517;

// The same values in either layout.
class Source {
 public:
  explicit Source(Order order) : order_(order) {}

  Tensor floats(DType dtype = kF32) const {
    Generator generator(7);
    return laid_out(randn({kRows, kColumns}, dtype, generator));
  }
  Tensor probabilities() const {
    Generator generator(8);
    return laid_out(rand({kRows, kColumns}, {}, generator));
  }
  Tensor indices(std::int64_t below) const {
    Generator generator(9);
    return laid_out(randint(0, below, {kRows, kColumns}, {}, generator));
  }
  Tensor few_indices(std::int64_t below, std::int64_t count) const {
    Generator generator(10);
    return randint(0, below, {count}, {}, generator);
  }
  Tensor empty() const { return laid_out(zeros({kRows, kColumns})); }

 private:
  Tensor laid_out(const Tensor& t) const { return order_ == Order::RowMajor ? t : t.t().contiguous().t(); }
  Order order_;
};

using Results = std::vector<Tensor>;
Results both(std::tuple<Tensor, Tensor> results) { return {std::get<0>(results), std::get<1>(results)}; }

using Case = Results (*)(const Source&);
using Cases = std::map<std::string, Case, std::less<>>;

// Runs an op along both axes.
template <class F>
Results on_both_axes(F f) {
  Results all;
  for (const std::int64_t axis : {0, 1}) {
    for (Tensor& t : f(axis)) all.push_back(std::move(t));
  }
  return all;
}

Cases scans_and_sorting() {
  return {
      {"cumsum",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) {
           return Results{cumsum(s.floats(), axis), cumsum(s.floats(kBF16), axis)};
         });
       }},
      {"cumprod",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) { return Results{cumprod(s.floats(), axis)}; });
       }},
      {"logcumsumexp",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) { return Results{logcumsumexp(s.floats(), axis)}; });
       }},
      {"cummax",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) { return both(cummax(s.floats(), axis)); });
       }},
      {"cummin",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) { return both(cummin(s.floats(), axis)); });
       }},
      {"sort",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) { return both(sort(s.floats(kBF16), axis)); });
       }},
      {"topk",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) { return both(topk(s.floats(kBF16), 9, axis)); });
       }},
      {"kthvalue",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) { return both(kthvalue(s.floats(kBF16), 9, axis)); });
       }},
      {"median_dim",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) { return both(median_dim(s.floats(kBF16), axis)); });
       }},
      {"unique",
       [](const Source& s) {
         auto [values, inverse, counts] =
             unique(s.indices(99), Sorted::Yes, ReturnInverse::Yes, ReturnCounts::Yes);
         return Results{values, inverse, counts};
       }},
      {"searchsorted",
       [](const Source& s) { return Results{searchsorted(linspace(-2, 2, 77), s.floats())}; }},
      {"bincount",
       [](const Source& s) {
         return Results{bincount(s.few_indices(50, 40000), s.floats().flatten().slice(0, 0, 40000))};
       }},
      {"histc",
       [](const Source& s) { return Results{histc(s.floats(), 40, -2, 2), histc(s.floats(kBF16))}; }},
      {"grouped_mm",
       [](const Source& s) {
         const Tensor ends = from_data(std::vector<std::int32_t>{70, 70, 130}, {3}), x = s.floats();
         Generator generator(11);
         const Tensor experts = randn({3, kColumns, 40}, kF32, generator);
         return Results{grouped_mm(x, experts, ends), grouped_mm(x.t(), s.floats(), ends)};
       }},
  };
}

Cases gather_and_scatter() {
  return {
      {"cat",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) { return Results{cat({s.floats(), s.floats()}, axis)}; });
       }},
      {"index_select",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) {
           return Results{index_select(s.floats(), axis, s.few_indices(kRows, 300))};
         });
       }},
      {"gather",
       [](const Source& s) {
         return on_both_axes(
             [&](std::int64_t axis) { return Results{gather(s.floats(), axis, s.indices(kRows))}; });
       }},
      {"take_along_dim",
       [](const Source& s) { return Results{take_along_dim(s.floats(), s.indices(9), 0)}; }},
      {"embedding",
       [](const Source& s) { return Results{embedding(s.floats(), s.few_indices(kRows, 500))}; }},
      {"index", [](const Source& s) { return Results{index(s.floats(), {s.few_indices(kRows, 500)})}; }},
      {"masked_select",
       [](const Source& s) { return Results{masked_select(s.floats(), gt(s.floats(), 0))}; }},
      {"nonzero", [](const Source& s) { return Results{nonzero(gt(s.floats(), 0))}; }},
      {"scatter_",
       [](const Source& s) {
         return Results{scatter_(s.empty(), 1, s.indices(20), s.floats(), ScatterMode::Add)};
       }},
      {"scatter_add_",
       [](const Source& s) {
         return on_both_axes([&](std::int64_t axis) {
           return Results{scatter_add_(s.empty(), axis, s.indices(20), s.floats())};
         });
       }},
      {"scatter_reduce_",
       [](const Source& s) {
         Results all;
         for (const ScatterReduce reduce : {ScatterReduce::Sum, ScatterReduce::Prod, ScatterReduce::Mean,
                                            ScatterReduce::Amax, ScatterReduce::Amin}) {
           for (const IncludeSelf include_self : {IncludeSelf::No, IncludeSelf::Yes})
             all.push_back(scatter_reduce_(s.empty(), 1, s.indices(20), s.floats(), reduce, include_self));
         }
         return all;
       }},
      {"index_put_",
       [](const Source& s) {
         return Results{index_put_(s.empty(), {s.indices(kRows), s.indices(40)}, s.floats(), Accumulate::Yes),
                        index_put_(s.empty(), {s.few_indices(20, kRows)}, s.floats(), Accumulate::Yes),
                        index_put_(s.empty(), {s.few_indices(20, kRows)}, s.floats())};
       }},
      {"one_hot", [](const Source& s) { return Results{one_hot(s.indices(5), 6)}; }},
      {"repeat", [](const Source& s) { return Results{repeat(s.floats(), {2, 3})}; }},
      {"repeat_interleave",
       [](const Source& s) { return Results{repeat_interleave(s.floats(), s.few_indices(3, kRows), 0)}; }},
      {"flip", [](const Source& s) { return Results{flip(s.floats(), {0, 1})}; }},
      {"roll", [](const Source& s) { return Results{roll(s.floats(), {3, 5}, {0, 1})}; }},
      {"constant_pad_nd",
       [](const Source& s) { return Results{constant_pad_nd(s.floats(), {1, 2, 3, 4}, 9)}; }},
      {"pad",
       [](const Source& s) {
         return Results{pad(s.floats(), {3, 4}, PadMode::Reflect),
                        pad(s.floats(), {3, 4}, PadMode::Circular)};
       }},
      {"tril", [](const Source& s) { return Results{tril(s.floats(), 3)}; }},
      {"triu", [](const Source& s) { return Results{triu(s.floats(), -3)}; }},
  };
}

// [2, 5, 13, 517]: rows are strided in one of the layouts.
Tensor images(const Source& s, DType dtype = kF32) { return s.floats(dtype).unflatten(0, {2, 5, 13}); }
// The same with channels last: [2, 517, 13, 5], reversed in memory.
Tensor deep_images(const Source& s) { return images(s).permute({0, 3, 2, 1}); }

Cases pooling() {
  return {
      {"max_pool2d_with_indices",
       [](const Source& s) {
         Results all = both(max_pool2d_with_indices(images(s), {3}, {2}, {1}));
         for (const Tensor& t : both(max_pool2d_with_indices(deep_images(s), {2, 3}, {1, 2}, {1})))
           all.push_back(t);
         return all;
       }},
      {"max_pool3d_with_indices",
       [](const Source& s) { return both(max_pool3d_with_indices(images(s), {2, 3, 4}, {1, 2, 2}, {1})); }},
      {"adaptive_max_pool2d", [](const Source& s) { return both(adaptive_max_pool2d(images(s), {3, 9})); }},
      {"avg_pool2d",
       [](const Source& s) {
         return Results{avg_pool2d(images(s), {3}, {2}, {1}), avg_pool2d(deep_images(s), {3}, {1}, {1}),
                        avg_pool2d(images(s, kBF16), {3}, {2})};
       }},
      {"avg_pool3d", [](const Source& s) { return Results{avg_pool3d(images(s), {3}, {2}, {1})}; }},
      {"adaptive_avg_pool2d",
       [](const Source& s) {
         return Results{adaptive_avg_pool2d(images(s), {3, 9}), adaptive_avg_pool2d(images(s), {1, 1}),
                        adaptive_avg_pool2d(deep_images(s), {1, 1}),
                        adaptive_avg_pool2d(deep_images(s), {2, 2})};
       }},
      {"adaptive_avg_pool3d",
       [](const Source& s) { return Results{adaptive_avg_pool3d(images(s), {1, 2, 3})}; }},
      {"max_pool2d_with_indices_backward",
       [](const Source& s) {
         const Tensor x = images(s);
         const auto [values, indices] = max_pool2d_with_indices(x, {3}, {1}, {1});
         return Results{internal::max_pool2d_with_indices_backward(values, x, {3}, {1}, {1}, {1},
                                                                   CeilMode::No, indices)};
       }},
      {"avg_pool2d_backward",
       [](const Source& s) {
         const Tensor x = images(s);
         return Results{internal::avg_pool2d_backward(avg_pool2d(x, {3}, {1}, {1}), x, {3}, {1}, {1},
                                                      CeilMode::No, CountIncludePad::Yes)};
       }},
      {"adaptive_avg_pool2d_backward",
       [](const Source& s) {
         const Tensor x = images(s);
         return Results{internal::adaptive_avg_pool2d_backward(adaptive_avg_pool2d(x, {5, 100}), x)};
       }},
      {"upsample_nearest2d",
       [](const Source& s) { return Results{upsample_nearest2d(images(s), {20, 400})}; }},
      {"upsample_bilinear2d",
       [](const Source& s) {
         return Results{upsample_bilinear2d(images(s), {20, 400}, AlignCorners::No),
                        upsample_bilinear2d(deep_images(s), {20, 9}, AlignCorners::Yes)};
       }},
      {"upsample_bicubic2d",
       [](const Source& s) { return Results{upsample_bicubic2d(images(s), {20, 400}, AlignCorners::No)}; }},
  };
}

Cases random_numbers() {
  static const auto kSeeded = [](auto f) {
    Generator generator(3);
    return Results{f(generator), f(generator)};  // the second call continues where the first ended
  };
  return {
      {"rand",
       [](const Source&) { return kSeeded([](Generator& g) { return rand({kRows, kColumns}, {}, g); }); }},
      {"randn",
       [](const Source&) { return kSeeded([](Generator& g) { return randn({kRows, kColumns}, {}, g); }); }},
      {"rand_like",
       [](const Source& s) { return kSeeded([&](Generator& g) { return rand_like(s.floats(), {}, g); }); }},
      {"randn_like",
       [](const Source& s) { return kSeeded([&](Generator& g) { return randn_like(s.floats(), {}, g); }); }},
      {"randint",
       [](const Source&) {
         return kSeeded([](Generator& g) { return randint(-5, 1000, {kRows, kColumns}, {}, g); });
       }},
      {"randperm",
       [](const Source&) { return kSeeded([](Generator& g) { return randperm(40000, {}, g); }); }},
      {"normal",
       [](const Source& s) {
         return kSeeded([&](Generator& g) { return normal(s.floats(), s.probabilities(), g); });
       }},
      {"bernoulli",
       [](const Source& s) {
         return kSeeded([&](Generator& g) { return bernoulli(s.probabilities(), g); });
       }},
      {"multinomial",
       [](const Source& s) {
         return kSeeded([&](Generator& g) {
           return cat({multinomial(s.probabilities(), 60, Replacement::No, g),
                       multinomial(s.probabilities(), 60, Replacement::Yes, g)});
         });
       }},
      {"native_dropout",
       [](const Source& s) {
         Generator generator(3);
         return both(internal::native_dropout(s.floats(), 0.3, Training::Yes, generator));
       }},
      {"adam_step_",
       [](const Source& s) {
         const Tensor step = zeros({}), lr = full({}, 0.1);
         const Results params = {s.floats().clone(), s.floats().clone()}, grads = {s.floats(), s.floats()};
         const Results first = {zeros_like(params[0]), zeros_like(params[1])},
                       second = {zeros_like(params[0]), zeros_like(params[1])};
         internal::adam_step_(step, params, first, second, grads, lr);
         return Results{params[0], params[1], first[0], second[1]};
       }},
      {"sgd_step_",
       [](const Source& s) {
         const Tensor step = zeros({}), lr = full({}, 0.1);
         const Results params = {s.floats().clone()}, momenta = {zeros_like(params[0])};
         internal::sgd_step_(step, params, momenta, {s.floats()}, lr, 0.9);
         return Results{params[0], momenta[0]};
       }},
      {"uniform_",
       [](const Source& s) { return kSeeded([&](Generator& g) { return uniform_(s.empty(), 2, 5, g); }); }},
      {"normal_",
       [](const Source& s) { return kSeeded([&](Generator& g) { return normal_(s.empty(), 2, 5, g); }); }},
      {"exponential_",
       [](const Source& s) { return kSeeded([&](Generator& g) { return exponential_(s.empty(), 2, g); }); }},
      {"bernoulli_",
       [](const Source& s) { return kSeeded([&](Generator& g) { return bernoulli_(s.empty(), 0.2, g); }); }},
  };
}

Cases creation_and_copies() {
  return {
      {"arange", [](const Source&) { return Results{arange(0, 4000, 0.1)}; }},
      {"linspace",
       [](const Source&) { return Results{linspace(-1, 1, 40001), linspace(0, 3, 40001, kBF16)}; }},
      {"eye", [](const Source&) { return Results{eye(300, 200)}; }},
      {"full", [](const Source&) { return Results{full({kRows, kColumns}, 0.1)}; }},
      {"full_like", [](const Source& s) { return Results{full_like(s.floats(), 0.1)}; }},
      {"fill_", [](const Source& s) { return Results{s.empty().fill_(0.1)}; }},
      {"copy_", [](const Source& s) { return Results{s.empty().copy_(s.floats(kBF16))}; }},
      {"clone", [](const Source& s) { return Results{s.floats().clone()}; }},
      {"to_copy", [](const Source& s) { return Results{to_copy(s.floats(), kF16)}; }},
      {"to_device", [](const Source& s) { return Results{s.floats().to(kQueue)}; }},
  };
}

// In a group of one they copy; tests/distributed compares them between processes.
Cases collectives() {
  return {
      {"all_reduce", [](const Source& s) { return Results{all_reduce(s.floats())}; }},
      {"all_gather", [](const Source& s) { return Results{all_gather(s.floats(kBF16))}; }},
      {"reduce_scatter", [](const Source& s) { return Results{reduce_scatter(s.floats())}; }},
      {"broadcast", [](const Source& s) { return Results{broadcast(s.floats())}; }},
      {"all_to_all", [](const Source& s) { return Results{all_to_all(s.floats(kF64))}; }},
      {"send", [](const Source& s) { return Results{send(s.floats(), 0)}; }},
      {"recv", [](const Source& s) { return Results{recv(s.floats(), 0)}; }},
  };
}

Cases attention_cases() {
  return {{"attention", [](const Source& s) {
             Results results;
             for (const DType dtype : {kF32, kBF16, kF64}) {
               const Tensor x = s.floats(dtype).unsqueeze(0).unsqueeze(0);
               for (const Causal causal : {Causal::No, Causal::Yes}) {
                 for (const Tensor& part :
                      both(internal::attention(x.slice(3, 0, 64), x.slice(3, 64, 128), x.slice(3, 128, 199),
                                               std::nullopt, causal)))
                   results.push_back(part);
               }
             }
             return results;
           }}};
}

// A sum over the batch is one chain for any number of threads, also where logits are computed in blocks.
Cases linear_and_losses() {
  constexpr std::int64_t kClasses = 5000;
  return {
      {"native_fused_linear",
       [](const Source& s) {
         Results results;
         for (const DType dtype : {kF32, kBF16, kF64}) {
           const Tensor x = s.floats(dtype);
           for (Tensor& t :
                both(internal::native_fused_linear(x, x.slice(0, 0, 77), std::nullopt, LinearActivation::Gelu,
                                                   std::nullopt, internal::SavesLinear::Yes)))
             results.push_back(std::move(t));
         }
         return results;
       }},
      {"native_softmax_cross_entropy",
       [](const Source& s) {
         return both(internal::native_softmax_cross_entropy(s.floats(), s.few_indices(kColumns, kRows)));
       }},
      {"softmax_cross_entropy_backward",
       [](const Source& s) {
         const Tensor target = s.few_indices(kColumns, kRows);
         const Tensor count = std::get<1>(internal::native_softmax_cross_entropy(s.floats(), target));
         return Results{internal::softmax_cross_entropy_backward(ones({}), s.floats(), target, count)};
       }},
      {"native_linear_cross_entropy",
       [](const Source& s) {
         Generator generator(11);
         const auto [loss, count, largest, scale] = internal::native_linear_cross_entropy(
             s.floats(), randn({kClasses, kColumns}, {}, generator), s.few_indices(kClasses, kRows));
         return Results{loss, count, largest, scale};
       }},
      {"linear_cross_entropy_backward",
       [](const Source& s) {
         Generator generator(11);
         const Tensor weight = randn({kClasses, kColumns}, {}, generator), x = s.floats(),
                      target = s.few_indices(kClasses, kRows);
         const auto [loss, count, largest, scale] = internal::native_linear_cross_entropy(x, weight, target);
         return both(
             internal::linear_cross_entropy_backward(ones({}), x, weight, target, count, largest, scale));
       }},
  };
}

Cases all_cases() {
  Cases all;
  for (Cases part : {scans_and_sorting(), gather_and_scatter(), pooling(), random_numbers(),
                     creation_and_copies(), collectives(), attention_cases(), linear_and_losses()})
    all.merge(part);
  return all;
}

std::uint64_t hash_of(const Results& results) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const Tensor& result : results) {
    for (const char byte : test::bytes_of(result))
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

TEST(Bits, EveryHandWrittenKernelIsTried) {
  const Cases cases = all_cases();
  for (const Op* op : all_ops()) {
    const bool runs = op->kind() == OpKind::Kernel || op->kind() == OpKind::Sync;
    if (!runs || !op->record().is_builtin || op->pointwise() != nullptr || op->rows() != nullptr) continue;
    // GEMM and convolutions are excluded: oneDNN guarantees less; tests/gemm and tests/convolution cover
    // them.
    const KernelList kernels = op->kernels(DeviceType::Cpu);
    if (!kernels.empty() && kernels[0].predict != nullptr) continue;
    // `item` returns a scalar; `empty` and similar ops have no defined values.
    if (op->name() == "item" || op->name().starts_with("empty")) continue;
    // One variant of an op covers all: they share kernels.
    std::string base(op->name());
    if (base.ends_with(".out")) base.resize(base.size() - 4);
    if (base.ends_with("_")) base.pop_back();
    EXPECT_TRUE(cases.contains(base) || cases.contains(base + "_")) << op->name() << " has no case here";
  }
}

// Prints the hashes that the next test compares between processes.
TEST(Bits, LayoutsProduceTheSameBits) {
  for (const auto& [name, run] : all_cases()) {
    const std::uint64_t dense = hash_of(run(Source(Order::RowMajor)));
    EXPECT_EQ(dense, hash_of(run(Source(Order::Transposed)))) << name;
    std::printf("bits %s %016lx\n", name.c_str(), dense);
  }
}

std::string printed_with(const std::string& environment) {
  const std::string command = environment + " /proc/" + std::to_string(getpid()) +
                              "/exe --gtest_filter=Bits.LayoutsProduceTheSameBits 2>&1";
  std::FILE* child = popen(command.c_str(), "r");
  std::string lines;
  char buffer[256];
  while (std::fgets(buffer, sizeof(buffer), child) != nullptr) {
    if (std::string_view(buffer).starts_with("bits ")) lines += buffer;
  }
  EXPECT_EQ(pclose(child), 0) << command;
  return lines;
}

TEST(Bits, ThreadsAndInstructionSetsProduceTheSameBits) {
  const std::string one = printed_with("PELLUCID_THREADS=1");
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), static_cast<std::int64_t>(all_cases().size()));
  EXPECT_EQ(one, printed_with("PELLUCID_THREADS=2"));
  EXPECT_EQ(one, printed_with("PELLUCID_THREADS=3 PELLUCID_ISA=avx2"));
}

}  // namespace
}  // namespace pel
