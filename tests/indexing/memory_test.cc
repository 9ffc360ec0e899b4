// An index out of range is detected before memory is accessed: an inaccessible page is on each side of the
// tensor.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/threads.h"

#include "support/errors.h"

namespace pel {
namespace {

class GuardedPage {
 public:
  GuardedPage() {
    base_ = static_cast<char*>(
        mmap(nullptr, static_cast<std::size_t>(3 * page_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(base_ + page_, static_cast<std::size_t>(page_), PROT_READ | PROT_WRITE), 0);
    auto* values = reinterpret_cast<float*>(base_ + page_);
    for (std::int64_t i = 0; i < page_ / 4; ++i) values[i] = static_cast<float>(i);
  }
  ~GuardedPage() { munmap(base_, static_cast<std::size_t>(3 * page_)); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;

  // Returns the whole page, as rows of 16.
  Tensor tensor() const {
    External memory;
    memory.data = base_ + page_;
    memory.sizes = {page_ / 64, 16};
    return from_external(memory);
  }

 private:
  std::int64_t page_ = sysconf(_SC_PAGESIZE);
  char* base_ = nullptr;
};

const std::vector<std::int64_t> kOutside = {-1,      64,         65,        -64,       -65,
                                            1 << 20, -(1 << 20), INT64_MAX, INT64_MIN, INT64_MAX / 64};

TEST(OutOfRange, IsAnErrorAndNeverAFault) {
  const GuardedPage page;
  const Tensor x = page.tensor();
  const std::int64_t rows = x.size(0).value();
  for (const std::int64_t at : kOutside) {
    if (at >= 0 && at < rows) continue;
    const Tensor one = tensor({at}, kI64), matrix = one.view({1, 1}), wide = matrix.expand({1, 16});
    const bool wraps = at < 0 && at >= -rows;
    EXPECT_THROW(index_select(x, 0, one), IndexError) << at;
    EXPECT_THROW(embedding(x, one), IndexError) << at;
    EXPECT_THROW(gather(x, 0, wide), IndexError) << at;
    EXPECT_THROW(gather(x, 1, matrix), IndexError) << at;
    EXPECT_THROW(scatter_(x, 0, wide, 1), IndexError) << at;
    EXPECT_THROW(scatter_add_(x, 1, matrix, ones({1, 1})), IndexError) << at;
    if (wraps) continue;
    EXPECT_THROW(index(x, {one}), IndexError) << at;
    EXPECT_THROW(index(x, {one, one}), IndexError) << at;
    EXPECT_THROW(index_put_(x, {one}, ones({})), IndexError) << at;
    EXPECT_THROW(index_put_(x, {one}, ones({}), Accumulate::Yes, {0}), IndexError) << at;
    EXPECT_THROW(take_along_dim(x, wide, 0), IndexError) << at;
  }
}

TEST(OutOfRange, IsFoundOnAnyThread) {
  const Tensor x = ones({64, 700});
  Tensor index = zeros({64, 700}, kI64);
  index.data<std::int64_t>()[63 * 700 + 699] = 700;
  const Tensor before = x.clone();
  const int threads = thread_count();
  for (const int count : {1, 3}) {
    set_thread_count(count);
    EXPECT_EQ(test::thrown_by<IndexError>([&] { gather(x, 1, index); }).message(),
              "index 700 is out of range for axis 1 of size 700");
  }
  set_thread_count(threads);
}

}  // namespace
}  // namespace pel
