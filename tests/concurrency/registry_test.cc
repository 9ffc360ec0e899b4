// Ops registered, found and called from several threads at once.
#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/extend/op.h"
#include "pellucid/ops.h"

namespace pel {
namespace {

constexpr int kThreads = 8;

// Names stay taken for the life of the process; a repeated test needs fresh ones.
int next_number() {
  static std::atomic<int> next = 0;
  return next++;
}

Tensor same_body(const Tensor& self) { return self; }

OpDef definition(const std::string& name) {
  return define_op<same_body>(OpKind::Composite, name + "(Tensor(a) self) -> Tensor(a)");
}

TEST(Registry, DifferentOpsAreRegisteredFoundAndCalledAtOnce) {
  constexpr int kOps = 30;
  const int run = next_number();
  const std::size_t before = all_ops().size();
  std::barrier start(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        start.arrive_and_wait();
        const Tensor x = ones({2});
        for (int i = 0; i < kOps; ++i) {
          const std::string name = fmt::format("run{}::same{}_{}", run, t, i);
          const Op& op = register_op(definition(name));
          EXPECT_EQ(find_op(name), &op);
          const Op* other = find_op(fmt::format("run{}::same{}_{}", run, (t + 1) % kThreads, i));
          EXPECT_TRUE(call<same_body>(op, Site::current(), x).is_same(x));
          if (other) {
            EXPECT_TRUE(std::get<Tensor>(call_boxed(*other, {x}).at(0)).is_same(x));
          }
          EXPECT_NE(find_op("view"), nullptr);
          EXPECT_EQ(find_op("run::none"), nullptr);
        }
        EXPECT_GE(all_ops().size(), before + kOps);
      });
    }
  }
  EXPECT_EQ(all_ops().size(), before + kThreads * kOps);
}

TEST(Registry, OneNameRegisteredByManyThreadsIsTakenOnce) {
  for (int round = 0; round < 200; ++round) {
    const std::string name = fmt::format("contested::same{}", next_number());
    std::barrier start(kThreads);
    std::atomic<int> taken = 0, refused = 0;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&] {
          OpDef def = definition(name);
          start.arrive_and_wait();
          try {
            register_op(std::move(def));
            ++taken;
          } catch (const RegistryError&) {
            ++refused;
          }
        });
      }
    }
    ASSERT_EQ(taken, 1) << name;
    ASSERT_EQ(refused, kThreads - 1);
  }
}

TEST(Registry, ARefusedDefinitionLosesNoMemory) {  // LeakSanitizer would tell
  EXPECT_THROW(register_op(define_op<same_body>(OpKind::Composite, "refused::same(int self) -> Tensor")),
               RegistryError);
  EXPECT_EQ(find_op("refused::same"), nullptr);
}

}  // namespace
}  // namespace pel
