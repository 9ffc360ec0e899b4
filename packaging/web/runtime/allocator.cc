// The operators new and delete of the program as WebAssembly. Its memory only grows and is never returned to
// the system, so freed memory has to be used again. zig's libc rounds up to powers of two, and took 4.1 GB
// for a trace of 5 GB.
//
//   up to 32 KB   size classes, four to a doubling, each cut out of pages of 64 KB; freed cells are in a list
//   for each class above         runs of pages: the smallest free run that is long enough; a freed run is
//   joined with its free neighbours
//
// There is one thread. libc's malloc, which few call, grows the memory by itself: its pages are not marked as
// ours.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

namespace {

using Page = std::uint32_t;  // its number; all 4 GB have 65,536

constexpr std::size_t kPageBytes = 64 << 10;
constexpr Page kPages = 1 << 16;
constexpr Page kNoPage = kPages;
constexpr std::uint32_t kMinGrowthPages = 16;
constexpr std::size_t kMaxSmallBytes = 32 << 10;
constexpr std::size_t kMinAlignment = 16;

// Sizes are 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320 … 32768. Powers of two are among them:
// a page starts at a multiple of 64 KB, so cells of such a size are aligned to it.
constexpr std::size_t kExactClasses = 4;  // of 16, 32, 48 and 64 bytes
constexpr std::size_t kClasses = kExactClasses + 4 * 9;

constexpr std::size_t class_of(std::size_t bytes) {
  if (bytes <= 64) return (bytes + 15) / 16 - 1;
  const auto doubling = static_cast<std::size_t>(std::bit_width(bytes - 1));  // 7 for 65 … 128
  const std::size_t quarter = std::size_t{1} << (doubling - 3);
  return kExactClasses + 4 * (doubling - 7) + (bytes - 1) / quarter - 4;
}
constexpr std::size_t bytes_of(std::size_t size_class) {
  if (size_class < kExactClasses) return 16 * (size_class + 1);
  const std::size_t above = size_class - kExactClasses;
  return (std::size_t{64} << (above / 4)) * (5 + above % 4) / 4;
}
static_assert(class_of(1) == 0 && class_of(64) == 3 && class_of(65) == 4 && class_of(80) == 4 &&
              class_of(81) == 5);
static_assert(bytes_of(class_of(128)) == 128 && bytes_of(class_of(129)) == 160 &&
              bytes_of(class_of(4096)) == 4096);
static_assert(class_of(kMaxSmallBytes) == kClasses - 1 && bytes_of(kClasses - 1) == kMaxSmallBytes);

// What a page is used for: one of these, or cells of a size class, whose number is stored plus one.
enum Use : std::uint8_t { kNotOurs = 0, kFree = 254, kRun = 255 };

struct Cell {
  Cell* next;
};

struct Heap {
  std::array<std::uint8_t, kPages> use{};  // inside of a run only its first and last page are right
  std::array<std::uint32_t, kPages>
      run_pages{};  // at the first page of a run, and at the last one of a free run
  std::array<Page, kPages> next{}, previous{};  // free runs, at their first pages
  Page first_free = kNoPage;
  std::array<Cell*, kClasses> cells{};
  std::size_t failed_bytes = 0;
};
constinit Heap heap;

Page page_of(const void* address) {
  return static_cast<Page>(reinterpret_cast<std::uintptr_t>(address) / kPageBytes);
}
void* address_of(Page page) { return reinterpret_cast<void*>(std::uintptr_t{page} * kPageBytes); }

void unlink_free(Page run) {
  const Page next = heap.next[run], previous = heap.previous[run];
  (previous == kNoPage ? heap.first_free : heap.next[previous]) = next;
  if (next != kNoPage) heap.previous[next] = previous;
}

// Joins the pages with free neighbours.
void add_free(Page run, std::uint32_t pages) {
  if (run > 0 && heap.use[run - 1] == kFree) {
    const std::uint32_t before = heap.run_pages[run - 1];
    run -= before;
    pages += before;
    unlink_free(run);
  }
  if (const Page after = run + pages; after < kPages && heap.use[after] == kFree) {
    pages += heap.run_pages[after];
    unlink_free(after);
  }
  heap.use[run] = heap.use[run + pages - 1] = kFree;
  heap.run_pages[run] = heap.run_pages[run + pages - 1] = pages;
  heap.next[run] = heap.first_free;
  heap.previous[run] = kNoPage;
  if (heap.first_free != kNoPage) heap.previous[heap.first_free] = run;
  heap.first_free = run;
}

// Adds only what is missing after the free run at the end of memory, so that there is a free run of so many
// pages.
bool grow(std::uint32_t pages) {
  const Page end = static_cast<Page>(__builtin_wasm_memory_size(0));
  const std::uint32_t free_at_end = heap.use[end - 1] == kFree ? heap.run_pages[end - 1] : 0;
  const std::uint32_t missing = pages - free_at_end;
  for (const std::uint32_t count : {missing < kMinGrowthPages ? kMinGrowthPages : missing, missing}) {
    const std::size_t before = __builtin_wasm_memory_grow(0, count);
    if (before == SIZE_MAX) continue;
    add_free(static_cast<Page>(before), count);
    return true;
  }
  return false;
}

Page find_free(std::uint32_t pages) {
  Page best = kNoPage;
  for (Page run = heap.first_free; run != kNoPage; run = heap.next[run]) {
    if (heap.run_pages[run] == pages) return run;
    if (heap.run_pages[run] > pages && (best == kNoPage || heap.run_pages[run] < heap.run_pages[best]))
      best = run;
  }
  return best;
}

// Returns kNoPage if there is no more memory.
Page take_run(std::uint32_t pages) {
  Page run = find_free(pages);
  if (run == kNoPage) {
    if (!grow(pages)) return kNoPage;
    run = find_free(pages);
  }
  const std::uint32_t rest = heap.run_pages[run] - pages;
  unlink_free(run);
  heap.use[run] = heap.use[run + pages - 1] = kRun;
  heap.run_pages[run] = pages;
  if (rest != 0) add_free(run + pages, rest);
  return run;
}

bool cut_page(std::size_t size_class) {
  const Page page = take_run(1);
  if (page == kNoPage) return false;
  heap.use[page] = static_cast<std::uint8_t>(size_class + 1);
  const std::size_t bytes = bytes_of(size_class);
  char* const begin = static_cast<char*>(address_of(page));
  for (std::size_t at = kPageBytes / bytes * bytes;
       at != 0;) {  // backwards: the lowest address is used first
    at -= bytes;
    heap.cells[size_class] = new (begin + at) Cell{heap.cells[size_class]};
  }
  return true;
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (alignment > kMinAlignment) bytes = std::bit_ceil(bytes > alignment ? bytes : alignment);
  if (bytes <= kMaxSmallBytes) {
    const std::size_t size_class = class_of(bytes == 0 ? 1 : bytes);
    if (heap.cells[size_class] != nullptr || cut_page(size_class)) {
      Cell* const cell = heap.cells[size_class];
      heap.cells[size_class] = cell->next;
      return cell;
    }
  } else if (alignment <= kPageBytes && bytes <= SIZE_MAX - kPageBytes) {
    const Page run = take_run(static_cast<std::uint32_t>((bytes + kPageBytes - 1) / kPageBytes));
    if (run != kNoPage) return address_of(run);
  }
  heap.failed_bytes = bytes;
  return nullptr;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment = kMinAlignment) {
  void* const address = allocate(bytes, alignment);
  if (address == nullptr) throw std::bad_alloc();
  return address;
}

void release(void* address) noexcept {
  if (address == nullptr) return;
  const Page page = page_of(address);
  if (heap.use[page] == kRun) {
    add_free(page, heap.run_pages[page]);
    return;
  }
  const std::size_t size_class = heap.use[page] - std::size_t{1};
  heap.cells[size_class] = new (address) Cell{heap.cells[size_class]};
}

}  // namespace

// Returns the bytes of an allocation that failed, 0 if none did. wasi.js calls it after the program has
// ended.
extern "C" __attribute__((export_name("failed_allocation_bytes"))) std::size_t failed_allocation_bytes();
extern "C" std::size_t failed_allocation_bytes() { return heap.failed_bytes; }

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, kMinAlignment);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, kMinAlignment);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}

void operator delete(void* address) noexcept { release(address); }
void operator delete[](void* address) noexcept { release(address); }
void operator delete(void* address, std::size_t) noexcept { release(address); }
void operator delete[](void* address, std::size_t) noexcept { release(address); }
void operator delete(void* address, const std::nothrow_t&) noexcept { release(address); }
void operator delete[](void* address, const std::nothrow_t&) noexcept { release(address); }
void operator delete(void* address, std::align_val_t) noexcept { release(address); }
void operator delete[](void* address, std::align_val_t) noexcept { release(address); }
void operator delete(void* address, std::size_t, std::align_val_t) noexcept { release(address); }
void operator delete[](void* address, std::size_t, std::align_val_t) noexcept { release(address); }
