// Trains a linear model on all ranks that the launcher started; alone, it is an ordinary program. The last
// line is the same for any number of ranks: docs/distributed.md.
#include <cstdio>

#include <pellucid/pellucid.h>

int main() {
  using namespace pel;
  const dist::Group world = dist::init();

  manual_seed(0);  // the same on all ranks
  nn::Linear model(16, 1);
  optim::AdamW optimizer(model, {.lr = 0.05});
  const Tensor truth = randn({16, 1});
  for (int step = 0; step < 50; ++step) {
    const Tensor x = randn({32, 16});  // 8 microbatches of 4 rows
    const Tensor losses =
        dist::accumulate(model.parameters(), world, {.microbatches = 8}, [&](std::int64_t m) {
          const Tensor rows = x.narrow(0, 4 * m, 4);
          return mse_loss(model(rows), matmul(rows, truth));
        });
    optimizer.step();
    if (step == 49 && world.rank() == 0) std::printf("loss %a\n", losses.mean().item().to_double());
  }
}
