// Collectives in a process that no launcher has started, and the parts that need no other process.
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/pellucid.h"

#include "distributed/announcement.h"
#include "distributed/partition.h"
#include "distributed/tree_sum.h"
#include "support/bytes.h"

namespace pel {
namespace {

TEST(GroupOfOne, CollectivesCopy) {
  const Tensor x = arange(12, kF32).view({3, 4}).t();
  for (const Tensor& y :
       {all_reduce(x), all_gather(x), reduce_scatter(x), broadcast(x), all_to_all(x), recv(x, 0)}) {
    EXPECT_EQ(test::bytes_of(y), test::bytes_of(x));
    EXPECT_FALSE(y.shares_storage(x));
    EXPECT_TRUE(y.is_contiguous());
  }
  EXPECT_EQ(to_string(all_gather(ones({})).sizes()), "[1]");
  EXPECT_EQ(send(x, 0).dtype(), kI64);
}

TEST(GroupOfOne, IsTheWorldWithoutALauncher) {
  const dist::Group world = dist::init();
  EXPECT_EQ(world.name(), "world");
  EXPECT_EQ(world.rank(), 0);
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(world.engine(), "none");
  EXPECT_EQ(dist::local_rank(), 0);
  EXPECT_TRUE(world.is_member());
}

// What a call throws, without the line.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return std::string(error_code_name(error.code())) + ": " + error.op() + ": " + error.message();
  }
  return "no error";
}

TEST(CollectiveErrors, SayWhatIsWrong) {
  const Tensor x = ones({3});
  EXPECT_EQ(error_of([&] { all_reduce(x, "tp"); }),
            "E04 value: all_reduce: there is no group tp: make it by pel::dist::new_group");
  EXPECT_EQ(error_of([&] { broadcast(x, 1); }),
            "E04 value: broadcast: the source is 1; the ranks of group world are 0 to 0");
  EXPECT_EQ(error_of([&] { send(x, -1); }),
            "E04 value: send: the destination is -1; the ranks of group world are 0 to 0");
  EXPECT_EQ(error_of([&] { all_to_all(ones({})); }),
            "E01 shape: all_to_all: axis 0 is cut into parts for 1 ranks; got a tensor without axes");
  EXPECT_EQ(error_of([&] { all_reduce(x.to(kBool)); }).substr(0, 9), "E02 dtype");
  EXPECT_EQ(error_of([&] { dist::new_group("two", {0, 1}); }),
            "E04 value: dist::new_group: the ranks of a group are given in ascending order, from 0 to 0; got "
            "[0, 1]");
  EXPECT_EQ(error_of([&] { dist::new_group("world", {0}); }),
            "E04 value: dist::new_group: a group needs a name that no other has; got \"world\"");
}

TEST(CollectiveErrors, NoCollectiveUnderCheckpoint) {
  const Tensor x = ones({3}).requires_grad_();
  const std::string error = error_of(
      [&] { checkpoint([](ArrayView<Tensor> in) { return all_reduce(in[0] * 2); }, {x}).sum().backward(); });
  EXPECT_NE(error.find("a region under checkpoint() runs again in backward"), std::string::npos) << error;
}

TEST(TreeSum, AddsNeighboursAndMovesOneWithoutANeighbourUp) {
  // 1 is lost next to 2^24, unless it is added to another 1 first.
  const float big = 16777216;
  const auto sum = [](std::vector<float> addends) {
    std::vector<const std::byte*> srcs;
    for (const float& addend : addends) srcs.push_back(reinterpret_cast<const std::byte*>(&addend));
    float result = 0;
    dist::tree_sum(kF32, reinterpret_cast<std::byte*>(&result), srcs, 1);
    return result;
  };
  EXPECT_EQ(sum({1, 1, big}), big + 2);     // (1 + 1) + big
  EXPECT_EQ(sum({big, 1, 1}), big);         // (big + 1) + 1
  EXPECT_EQ(sum({big, 1, 1, 1}), big + 2);  // (big + 1) + (1 + 1)
  EXPECT_EQ(sum({big, 1, 0, 0, 1}), big);   // ((big + 1) + (0 + 0)) + 1
}

TEST(TreeSum, HalvesAreRoundedOnce) {
  const auto sum = [](std::vector<BFloat16> addends) {
    std::vector<const std::byte*> srcs;
    for (const BFloat16& addend : addends) srcs.push_back(reinterpret_cast<const std::byte*>(&addend));
    BFloat16 result;
    dist::tree_sum(kBF16, reinterpret_cast<std::byte*>(&result), srcs, 1);
    return static_cast<float>(result);
  };
  const BFloat16 one(1.F), eighth(0.00390625F);              // half of the last place of 1
  EXPECT_EQ(sum({one, eighth, eighth, eighth}), 1.015625F);  // rounded after each addition: 1.0078125
}

TEST(CallText, NumbersAndSizesInWords) {
  EXPECT_EQ(dist::ordinal(1), "1st");
  EXPECT_EQ(dist::ordinal(2), "2nd");
  EXPECT_EQ(dist::ordinal(13), "13th");
  EXPECT_EQ(dist::ordinal(23), "23rd");
  EXPECT_EQ(dist::ordinal(111), "111th");
  EXPECT_EQ(dist::text_of(dist::Collective::AllReduce, kF32, {2, 3}, -1), "all_reduce f32[2, 3]");
  EXPECT_EQ(dist::text_of(dist::Collective::Send, kBF16, {}, 3), "send bf16[] to 3");
}

TEST(Accumulate, IsTheMeanGradientOfTheMicrobatches) {
  const Tensor w = ones({3}).requires_grad_(), batch = arange(12, kF32).view({4, 3});
  const Tensor losses = dist::accumulate({w}, dist::world(), {.microbatches = 4},
                                         [&](std::int64_t m) { return (batch.select(0, m) * w).sum(); });
  EXPECT_EQ(test::bytes_of(losses), test::bytes_of(batch.sum(1)));
  EXPECT_EQ(test::bytes_of(w.grad()), test::bytes_of(batch.mean(0)));
}

TEST(Accumulate, SaysWhatIsWrong) {
  const Tensor w = ones({3}).requires_grad_();
  const auto world = dist::world();
  const auto error = [&](const Tensor& parameter, std::int64_t microbatches, const Tensor& loss) {
    return error_of([&] {
      dist::accumulate({parameter}, world, {.microbatches = microbatches},
                       [&](std::int64_t) { return loss; });
    });
  };
  EXPECT_EQ(error(ones({3}), 2, w.sum()),
            "E04 value: dist::accumulate: parameter 0 does not require a gradient");
  EXPECT_EQ(error(w, 0, w.sum()),
            "E04 value: dist::accumulate: 0 microbatches are too few for 1 ranks: each needs one at least");
  EXPECT_EQ(error(w, 2, w * 2),
            "E04 value: dist::accumulate: the loss of microbatch 0 is not one number, but f32[3]");
}

TEST(Accumulate, LeavesTheGeneratorAsAfterOneDraw) {
  const Tensor w = ones({3}).requires_grad_();
  manual_seed(3);
  rand({1});
  const Tensor wanted = rand({5});
  manual_seed(3);
  dist::accumulate({w}, dist::world(), {.microbatches = 3},
                   [&](std::int64_t) { return (w * rand({3})).sum(); });
  EXPECT_EQ(test::bytes_of(rand({5})), test::bytes_of(wanted));
}

TEST(Partition, CutsAtBlocksNearEqualParts) {
  const dist::Partition three({5000, 3, 700, 9000, 0, 1}, 3);
  std::int64_t before = 0;
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(three.of_rank(r).begin, before);
    before = three.of_rank(r).end;
    EXPECT_NEAR(static_cast<double>(three.of_rank(r).size()), 14704 / 3.0, 1024);
  }
  EXPECT_EQ(before, three.count());
  for (const std::size_t tensor : {0, 1, 2, 3, 4, 5}) {
    std::int64_t end = 0;
    for (int r = 0; r < 3; ++r) {
      const dist::ElementRange range = three.of_tensor(tensor, r);
      if (range.size() == 0) continue;
      EXPECT_EQ(range.begin, end);
      EXPECT_EQ(range.begin % 1024, 0);
      end = range.end;
    }
    EXPECT_EQ(end, (std::vector<std::int64_t>{5000, 3, 700, 9000, 0, 1})[tensor]);
  }
}

TEST(Partition, OfFewElementsLeavesRanksWithout) {
  const dist::Partition four({5, 6}, 4);
  std::int64_t elements = 0;
  for (int r = 0; r < 4; ++r) elements += four.of_rank(r).size();
  EXPECT_EQ(elements, 11);
  EXPECT_EQ(dist::Partition({}, 3).largest(), 0);
  EXPECT_EQ(dist::Partition({0}, 2).of_tensor(0, 1).size(), 0);
}

TEST(Checkpoint, OfAProcessAloneGoesOnWithTheSameNumbers) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("pellucid_checkpoint_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "run").string();
  manual_seed(5);
  nn::Linear first(7, 3), second(7, 3);
  optim::AdamW optimizer(first), other(second);
  EXPECT_FALSE(dist::load_checkpoint(path, second, other, dist::world()));
  const auto step = [](nn::Linear& model, optim::Optimizer& with) {
    model.zero_grad();
    model(randn({4, 7})).square().mean().backward();
    with.step();
  };
  for (int i = 0; i < 3; ++i) step(first, optimizer);
  dist::save_checkpoint(path, {.step = 3, .microbatches = 2}, first, optimizer, dist::world());
  step(first, optimizer);
  manual_seed(6);
  const auto progress = dist::load_checkpoint(path, second, other, dist::world());
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->step, 3);
  EXPECT_EQ(progress->microbatches, 2);
  step(second, other);
  EXPECT_EQ(test::bytes_of(first.weight.detach()), test::bytes_of(second.weight.detach()));
  EXPECT_EQ(test::bytes_of(first.bias.detach()), test::bytes_of(second.bias.detach()));
  EXPECT_EQ(
      error_of([&] { dist::save_checkpoint(path, {.step = -1}, first, optimizer, dist::world()); }),
      "E04 value: dist::save_checkpoint: the progress is step -1 with 8 microbatches; expected a step from 0 "
      "on, and at least one microbatch");
  EXPECT_EQ(
      error_of([&] { dist::save_checkpoint("runs/", {}, first, optimizer, dist::world()); }),
      "E04 value: dist::save_checkpoint: a checkpoint is a folder and a name, such as \"runs/small\"; got "
      "\"runs/\"");
  std::filesystem::remove_all(folder);
}

TEST(ZeroRedundancy, SaysWhatIsWrong) {
  nn::Linear model(7, 3);
  const auto make = [](nn::Module& own) { return std::make_unique<optim::AdamW>(own); };
  dist::ZeroRedundancyOptimizer optimizer(model, dist::world(), make);
  EXPECT_EQ(error_of([&] { optimizer.clip_grad_norm_(1); }),
            "E04 value: clip_grad_norm_: parameter weight has no gradient: call dist::accumulate with this "
            "optimizer before");
  model.to(kBF16);
  EXPECT_EQ(
      error_of([&] { optimizer.step(); }),
      "E04 value: step: parameter weight is another tensor than when the optimizer was made: make it after "
      "Module::to and Module::adopt");
  EXPECT_EQ(error_of([&] {
              dist::ZeroRedundancyOptimizer none(
                  model, dist::world(), [](nn::Module&) { return std::unique_ptr<optim::Optimizer>(); });
            }),
            "E04 value: dist::ZeroRedundancyOptimizer: the function has made no optimizer");
}

}  // namespace
}  // namespace pel
