// Errors of indexing and movement ops: the op, the rule, the values.
#include "support/errors.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/extend/op.h"
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

namespace pel {
namespace {

struct Refusal {
  std::string message;  // code, op, rule and values
  std::function<void()> call;
};

// Returns the message up to the source location.
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string text = error.what();
    return text.substr(0, text.find(" [called at"));
  }
  return "nothing was thrown";
}

void expect_refusals(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) EXPECT_EQ(message_of(refusal.call), refusal.message);
}

Tensor i64(const NestedData& values) { return tensor(values, kI64); }

TEST(IndexingErrors, AnIndexOutOfRangeIsNamedWithItsAxisAndSize) {
  const Tensor x = ones({3, 4});
  expect_refusals({
      {"E03 index: index_select: index 3 is out of range for axis 0 of size 3",
       [&] { index_select(x, 0, i64({0, 3})); }},
      {"E03 index: index_select: index -1 is out of range for axis 1 of size 4",
       [&] { index_select(x, 1, i64({-1})); }},
      {"E03 index: gather: index 4 is out of range for axis 1 of size 4", [&] { gather(x, 1, i64({{4}})); }},
      {"E03 index: gather: index -2 is out of range for axis 0 of size 3",
       [&] { gather(x, 0, i64({{-2}})); }},
      {"E03 index: take_along_dim: index -5 is out of range for axis 1 of size 4",
       [&] { take_along_dim(x, i64({{-5}}), 1); }},
      {"E03 index: embedding: index 7 is out of range for axis 0 of size 3", [&] { embedding(x, i64({7})); }},
      {"E03 index: index: index 4 is out of range for axis 1 of size 4",
       [&] { index(x, {i64({0, 0}), i64({1, 4})}); }},
      {"E03 index: index: index -5 is out of range for axis 1 of size 4",
       [&] { index(x, {i64({-5})}, {1}); }},
      {"E03 index: index_put_: index 3 is out of range for axis 0 of size 3",
       [&] { index_put_(x.clone(), {i64({3})}, ones({})); }},
      {"E03 index: scatter_: index 9 is out of range for axis 0 of size 3",
       [&] { scatter_(x.clone(), 0, i64({{9}}), 1); }},
      {"E03 index: scatter_add > scatter_add_: index -1 is out of range for axis 1 of size 4",
       [&] { scatter_add(x, 1, i64({{-1}}), x); }},
  });
}

TEST(IndexingErrors, IndicesAreIntegersOfThirtyTwoOrSixtyFourBits) {
  const Tensor x = ones({3, 4});
  const Tensor narrow = zeros({1, 1}, kI16), real = zeros({1}, kF32);
  expect_refusals({
      {"E02 dtype: gather: an index is i64 or i32, not i16[1, 1]", [&] { gather(x, 0, narrow); }},
      {"E02 dtype: scatter_: an index is i64 or i32, not i16[1, 1]",
       [&] { scatter_(x.clone(), 0, narrow, x); }},
      {"E02 dtype: index_select: an index is i64 or i32, not f32[1]", [&] { index_select(x, 0, real); }},
      {"E02 dtype: index: an index is i64 or i32, not f32[1]", [&] { index(x, {real}); }},
      {"E02 dtype: embedding: an index is i64 or i32, not f32[1]", [&] { embedding(x, real); }},
      {"E02 dtype: take_along_dim: the indices are i64, not i32[1, 1]",
       [&] { take_along_dim(x, zeros({1, 1}, kI32), 0); }},
      {"E02 dtype: one_hot: classes are i64, not f32[1]", [&] { one_hot(real); }},
      {"E02 dtype: masked_select: the mask is bool, not f32[3, 4]", [&] { masked_select(x, x); }},
      {"E02 dtype: repeat_interleave: the repeats are integers, not f32[1]",
       [&] { repeat_interleave(x, real, 0); }},
  });
}

TEST(IndexingErrors, ErrorsShowSizesThatDoNotMatch) {
  const Tensor x = ones({3, 4});
  const Tensor zero = i64({0});
  expect_refusals({
      {"E01 shape: cat: the tensors differ at axis 1, which is not the one joined: f32[3, 4] and f32[4, 3]",
       [&] { cat({x, x.t()}); }},
      {"E01 shape: cat: a tensor without axes cannot be joined; stack makes an axis",
       [&] { cat({ones({}), ones({})}); }},
      {"E04 value: cat: there are no tensors to join", [&] { cat({}); }},
      {"E01 shape: stack: the tensors have the sizes [3, 4] and [4, 3], and must have the same",
       [&] { stack({x, x.t()}); }},
      {"E01 shape: gather: the index has 1 axes and the tensor 2: i64[1] for f32[3, 4]",
       [&] { gather(x, 0, zero); }},
      {"E01 shape: gather: the index has size 5 at axis 1, more than the tensor's 4: i64[1, 5] for f32[3, 4]",
       [&] { gather(x, 0, zeros({1, 5}, kI64)); }},
      {"E01 shape: scatter_: the index has size 2 at axis 0, more than src's 1: i64[2, 1] for f32[1, 4]",
       [&] { scatter_(x.clone(), 0, zeros({2, 1}, kI64), ones({1, 4})); }},
      {"E03 index: index: the mask has size 2 and the tensor 3 at axis 0: bool[2] against f32[3, 4]",
       [&] { index(x, {ones({2}, kBool)}); }},
      {"E03 index: index: an index at axis 2 is too many for f32[3, 4]",
       [&] { index(x, {zero, zero, zero}); }},
      {"E03 index: index: the indices have sizes [2] and [3], which do not broadcast",
       [&] { index(x, {zeros({2}, kI64), zeros({3}, kI64)}); }},
      {"E04 value: index: 1 axes are given for 2 indices", [&] { index(x, {zero, zero}, {0}); }},
      {"E03 index: index: the axes of indices ascend, and one tensor indexes each: axis 0 comes after 1",
       [&] { index(x, {zero, zero}, {1, 0}); }},
      {"E02 dtype: index_put_: the values are i64[] and self f32[3, 4]; convert one of them",
       [&] { index_put_(x.clone(), {zero}, ones({}, kI64)); }},
      {"E01 shape: embedding: the table has two axes, not 1 as f32[3]", [&] { embedding(ones({3}), zero); }},
      {"E01 shape: repeat: 1 repeats are given for the 2 axes of f32[3, 4]", [&] { repeat(x, {2}); }},
      {"E01 shape: repeat_interleave: 2 repeats are given for the 3 slices of axis 0",
       [&] { repeat_interleave(x, i64({1, 2}), 0); }},
      {"E04 value: repeat_interleave: the number of repeats -1 is negative",
       [&] { repeat_interleave(x, i64({1, -1, 1}), 0); }},
      {"E04 value: flip: axis -2 is named twice", [&] { flip(x, {0, -2}); }},
      {"E04 value: roll: 2 shifts are given for 1 axes; one shift without axes moves the flat tensor",
       [&] { roll(x, {1, 2}, {0}); }},
      {"E01 shape: tril: a matrix has two axes or more, not 1 as f32[3]", [&] { tril(ones({3})); }},
      {"E01 shape: pad: padding 4 and 0 at axis 1 of size 4: a reflection is shorter than the axis",
       [&] { pad(x, {4, 0}, PadMode::Reflect); }},
      {"E01 shape: pad: padding 5 and 0 at axis 1 of size 4: it wraps round more than once",
       [&] { pad(x, {5, 0}, PadMode::Circular); }},
      {"E01 shape: constant_pad_nd: padding -5 and 0 at axis 1 of size 4: more is cut than there is",
       [&] { constant_pad_nd(x, {-5, 0}); }},
      {"E04 value: pad: the mode \"reflect\" takes no value", [&] { pad(x, {1, 1}, PadMode::Reflect, 1); }},
      {"E04 value: one_hot: class 5 is out of range [0, 3); pass a larger number of classes",
       [&] { one_hot(i64({5}), 3); }},
      {"E04 value: one_hot: class -1 is negative", [&] { one_hot(i64({-1})); }},
      {"E04 value: scatter_: reduce is \"add\" or \"multiply\", not \"mean\"",
       [&] {
         call_boxed(*find_op("scatter_"), {x.clone(), Dim(0), zeros({1, 1}, kI64), x, std::string("mean")});
       }},
      {"E04 value: meshgrid: indexing is \"ij\" or \"xy\", not \"yx\"",
       [&] { call_boxed(*find_op("meshgrid"), {std::vector<Tensor>{zero}, std::string("yx")}); }},
      {"E04 value: pad: mode is \"constant\", \"reflect\", \"replicate\" or \"circular\", not \"mirror\"",
       [&] { call_boxed(*find_op("pad"), {x, std::vector<Dim>{1, 1}, std::string("mirror")}); }},
      {"E04 value: scatter_reduce: reduce is \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\", not \"add\"",
       [&] {
         call_boxed(*find_op("scatter_reduce"), {x, Dim(0), zeros({1, 1}, kI64), x, std::string("add")});
       }},
      {"E04 value: div: rounding_mode is \"floor\" or \"trunc\", not \"up\"",
       [&] { call_boxed(*find_op("div"), {x, x, std::string("up")}); }},
      {"E04 value: gelu: approximate is \"none\" or \"tanh\", not \"erf\"",
       [&] { call_boxed(*find_op("gelu"), {x, std::string("erf")}); }},
  });
}

TEST(IndexingErrors, ReadingMemoryThatIsWrittenIsRefused) {
  const Tensor x = ones({3, 4});
  const Tensor y = x.clone();
  EXPECT_EQ(message_of([&] { scatter_(y, 0, zeros({1, 4}, kI64), y); }),
            "E06 alias: scatter_: f32[3, 4] is read while f32[3, 4], which shares its memory, is written; "
            "clone one "
            "of them");
  EXPECT_EQ(test::thrown_by<AliasError>([&] { index_put_(y, {i64({0, 1})}, y.narrow(0, 1, 2)); }).code(),
            ErrorCode::Alias);
  EXPECT_EQ(test::thrown_by<AliasError>([&] { tril_(ones({1}).expand({3, 3})); }).code(), ErrorCode::Alias);
}

TEST(IndexingErrors, AResultWhoseSizeDependsOnDataNeedsData) {
  const Tensor meta = empty({3, 4}, {kF32, kMeta});
  const Tensor mask = empty({3, 4}, {kBool, kMeta});
  const std::string rule = " depends on the values of ";
  const std::vector<std::function<void()>> calls = {
      [&] { nonzero(meta); },
      [&] { masked_select(meta, mask); },
      [&] { index(meta, {mask}); },
      [&] { one_hot(empty({2}, {kI64, kMeta})); },
      [&] { repeat_interleave(meta, empty({3}, {kI64, kMeta}), 0); },
  };
  for (const auto& call : calls) {
    const auto error = test::thrown_by<DeviceError>(call);
    EXPECT_NE(std::string(error.what()).find(rule), std::string::npos) << error.what();
  }
}

TEST(IndexingErrors, OtherResultsHaveTheirSizesOnTheMetaDevice) {
  const Tensor meta = empty({3, 4}, {kF32, kMeta}), ids = empty({2, 1}, {kI64, kMeta});
  EXPECT_EQ(to_string(cat({meta, meta}, 1).sizes()), "[3, 8]");
  EXPECT_EQ(to_string(embedding(meta, ids).sizes()), "[2, 1, 4]");
  EXPECT_EQ(to_string(index(meta, {ids}, {1}).sizes()), "[3, 2, 1]");
  EXPECT_EQ(to_string(scatter(meta, 0, ids, 2.0).sizes()), "[3, 4]");
  EXPECT_EQ(to_string(one_hot(ids, 5).sizes()), "[2, 1, 5]");
  EXPECT_EQ(to_string(repeat_interleave(meta, 2, 1).sizes()), "[3, 8]");
  EXPECT_EQ(to_string(pad(meta, {1, 2}).sizes()), "[3, 7]");
  EXPECT_EQ(to_string(roll(meta, {1}).sizes()), "[3, 4]");
}

}  // namespace
}  // namespace pel
