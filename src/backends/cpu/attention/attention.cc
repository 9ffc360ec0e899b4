// Attention over tiles of keys (as in FlashAttention). GEMM tiles compute the scores of some queries and
// keys, generated loops turn them into weights, and GEMM tiles sum the weighted values. The full score matrix
// never exists.
//
// Tiles of keys begin at key 0 and have kTileKeys keys. For each tile, in order: the scores are one chain of
// products over the columns; the running max is updated; weights are e^(score - max); the previous sums are
// rescaled to the new max; and the weighted values are added, key after key. So a row of the result depends
// only on its own query and the keys that it attends to: not on the other rows or on how many keys follow.
//
// Threads take blocks of rows (run_blocks). Where there are few, as in decoding, they take keys and columns
// (run_by_keys), with the same bits: a score is a chain of its own, and so is a column of the values.
#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "pellucid/threads.h"

#include "backends/cpu/attention/attention_block.h"
#include "backends/cpu/attention/attention_call.h"
#include "tensor/make.h"

namespace pel::cpu {
namespace {

constexpr std::int64_t kPartKeys = 256;  // that one thread scores at a time, if keys are split

// The size of the packed keys and values; they are packed once if several blocks of queries read them.
template <class T>
std::int64_t scratch_bytes(const AttentionCall<T>& call) {
  if (call.rows <= kMaxBlockRows) return 0;
  return call.batch * call.key_heads * ceil_div(call.keys, kTileKeys) *
         (call.key_bytes() + call.value_bytes());
}

template <class T>
void pack_tiles(const AttentionCall<T>& call, char* to) {
  const std::int64_t tiles = ceil_div(call.keys, kTileKeys);
  const std::int64_t key_bytes = call.key_bytes(), value_bytes = call.value_bytes();
  // Keys and values of a tile in turns.
  parallel_for(2 * call.batch * call.key_heads * tiles,
               Grain::of(kCopyGrainBytes, (key_bytes + value_bytes) / 2),
               [&](std::int64_t begin, std::int64_t end) {
                 const DefaultFloatMode mode;
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t tile = i / 2, first = tile % tiles * kTileKeys,
                                      count = std::min(kTileKeys, call.keys - first);
                   const std::int64_t b = tile / tiles / call.key_heads, h = tile / tiles % call.key_heads;
                   char* const packed = to + tile * (key_bytes + value_bytes);
                   if (i % 2 == 0) {
                     call.pack_keys(b, h, first, count, packed);
                   } else {
                     call.pack_values(b, h, first, count, 0, call.value_width, packed + key_bytes);
                   }
                 }
               });
}

template <class T>
void run_blocks(const AttentionCall<T>& call, char* scratch) {
  const std::int64_t heads = call.batch * call.key_heads, tiles = ceil_div(call.keys, kTileKeys);
  // Smaller blocks, if there would be few for each thread: what they read of the keys stays in L2.
  std::int64_t block_rows = kMaxBlockRows;
  while (block_rows > kMinBlockRows && heads * ceil_div(call.rows, block_rows) < 4 * thread_count())
    block_rows /= 2;
  const std::int64_t blocks = ceil_div(call.rows, block_rows);
  std::optional<Tensor> allocated;
  const char* packed = nullptr;
  if (const std::int64_t bytes = scratch_bytes(call); bytes != 0) {
    if (scratch == nullptr) {
      allocated = make_dense({bytes}, kU8, kCpu);
      scratch = static_cast<char*>(allocated->raw_data());
    }
    pack_tiles(call, scratch);
    packed = scratch;
  }
  const std::int64_t head_bytes = tiles * (call.key_bytes() + call.value_bytes());
  const double ns =
      call.nanoseconds(std::min(call.rows, block_rows), call.keys, call.width + call.value_width);
  parallel_for(heads * blocks, Grain::of(kGrainNs, static_cast<std::int64_t>(ns)),
               [&](std::int64_t begin, std::int64_t end) {
                 const TileMode mode(call.tiles);
                 AttentionScratch& own = AttentionScratch::of_thread();
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t head = i / blocks, first = i % blocks * block_rows,
                                      rows = std::min(block_rows, call.rows - first);
                   AttentionBlock<T> block(call, head / call.key_heads, head % call.key_heads, first, rows,
                                           own.queries.take(AttentionBlock<T>::queries_bytes(call, rows)),
                                           own.sums.take(AttentionBlock<T>::sums_bytes(call, rows)));
                   block.run(mode, packed != nullptr ? packed + head * head_bytes : nullptr);
                 }
               });
}

// Whether heads of few rows are so few that threads would wait, longer than two more loops take.
template <class T>
bool has_few_heads(const AttentionCall<T>& call) {
  const int threads = thread_count();
  if (threads == 1 || call.rows > call.tiles.rows || detail::inside_piece) return false;
  const std::int64_t heads = call.batch * call.key_heads;
  const double each = call.nanoseconds(call.rows, call.keys, call.width + call.value_width);
  const double waits = static_cast<double>(ceil_div(heads, threads)) -
                       static_cast<double>(heads) / static_cast<double>(threads);
  constexpr double kTwoLoopsNs = 10'000;
  return waits * each > kTwoLoopsNs;
}

// A block for each head. All threads score its keys, then weigh its tiles, then sum columns of its values.
template <class T>
void run_by_keys(const AttentionCall<T>& call) {
  using Block = AttentionBlock<T>;
  struct TileState {
    typename Block::Change change;
    T sums[Block::kMaxTileRows];
  };
  const std::int64_t heads = call.batch * call.key_heads, rows = call.rows;
  const std::int64_t tiles = ceil_div(call.keys, kTileKeys), parts = ceil_div(call.keys, kPartKeys);
  const bool has_weights = call.tiles.is_amx();  // apart from the scores
  const std::int64_t queries_bytes = round_up(Block::queries_bytes(call, rows), 64),
                     sums_bytes = Block::sums_bytes(call, rows),
                     score_bytes = call.tiles.rows * call.score_row,
                     weight_bytes = has_weights ? call.tiles.rows * call.weight_row : 0;
  const std::int64_t head_bytes =
      round_up(queries_bytes + sums_bytes + tiles * (score_bytes + weight_bytes), 64);
  char* const memory = AttentionScratch::of_thread().parts.take(heads * head_bytes);
  std::vector<Block> blocks;
  std::vector<TileState> states(static_cast<std::size_t>(heads * tiles));
  std::vector<T> found(static_cast<std::size_t>(heads * parts * rows));
  const auto state_of = [&](std::int64_t i) -> TileState& { return states[static_cast<std::size_t>(i)]; };
  const auto found_by = [&](std::int64_t i) { return found.data() + i * rows; };
  blocks.reserve(static_cast<std::size_t>(heads));
  {
    const DefaultFloatMode mode;
    for (std::int64_t head = 0; head < heads; ++head) {
      char* const own = memory + head * head_bytes;
      blocks.emplace_back(call, head / call.key_heads, head % call.key_heads, 0, rows, own + sums_bytes, own);
    }
  }
  // Up to `keys` keys of a head from `first` on, which are of one tile.
  const auto tile_of = [&](std::int64_t head, std::int64_t first, std::int64_t keys) {
    const KeyRange seen = blocks[static_cast<std::size_t>(head)].seen();
    typename Block::Tile t;
    t.first = first;
    t.depth = t.count = std::min(keys, seen.end - first);
    if (first + t.count <= seen.first) t.depth = t.count = 0;
    char* const of_tile = memory + head * head_bytes + sums_bytes + queries_bytes +
                          first / kTileKeys * (score_bytes + weight_bytes);
    t.scores = of_tile + first % kTileKeys * static_cast<std::int64_t>(sizeof(T));
    t.weights = has_weights ? of_tile + score_bytes : t.scores;
    return t;
  };
  const auto grain = [&](double ns) { return Grain::of(kGrainNs, static_cast<std::int64_t>(ns)); };

  const std::int64_t part_keys = std::min(call.keys, kPartKeys), tile_keys = std::min(call.keys, kTileKeys);
  parallel_for(heads * parts, grain(call.nanoseconds(rows, part_keys, call.width)),
               [&](std::int64_t begin, std::int64_t end) {
                 const TileMode mode(call.tiles);
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t head = i / parts;
                   typename Block::Tile t = tile_of(head, i % parts * kPartKeys, kPartKeys);
                   const Block& block = blocks[static_cast<std::size_t>(head)];
                   if (t.count > 0) {
                     block.prepare_keys(t);
                     block.score(mode, t, 0, rows);
                   }
                   block.find_max(t, 0, rows, found_by(i));
                 }
               });
  {
    const DefaultFloatMode mode;
    for (std::int64_t i = 0; i < heads * tiles; ++i) {
      const std::int64_t head = i / tiles, first = head * parts + i % tiles * (kTileKeys / kPartKeys),
                         end = std::min(first + kTileKeys / kPartKeys, (head + 1) * parts);
      for (std::int64_t part = first + 1; part < end; ++part)
        for (std::int64_t r = 0; r < rows; ++r) Block::take_greater(found_by(first)[r], found_by(part)[r]);
      blocks[static_cast<std::size_t>(head)].join_max(0, rows, found_by(first), state_of(i).change);
    }
  }
  parallel_for(heads * tiles, grain(static_cast<double>(rows * tile_keys) / 2),
               [&](std::int64_t begin, std::int64_t end) {
                 const DefaultFloatMode mode;
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t head = i / tiles;
                   const typename Block::Tile t = tile_of(head, i % tiles * kTileKeys, kTileKeys);
                   if (t.count > 0)
                     blocks[static_cast<std::size_t>(head)].weigh(t, 0, rows, state_of(i).change,
                                                                  state_of(i).sums);
                 }
               });
  // Columns of the values, a multiple of the tiles' unit: as many as there may be, since less than a cache
  // line or two of each row wastes what is read with it.
  std::int64_t columns = call.value_width;
  const auto share_out = [&](std::int64_t items) {
    return items % thread_count() == 0 || items >= 4 * thread_count();
  };
  while (columns > call.tiles.unit && !share_out(heads * ceil_div(call.value_width, columns)))
    columns = round_up(ceil_div(columns, 2), call.tiles.unit);
  const std::int64_t splits = ceil_div(call.value_width, columns);
  parallel_for(heads * splits, grain(call.nanoseconds(rows, call.keys, columns)),
               [&](std::int64_t begin, std::int64_t end) {
                 const TileMode mode(call.tiles);
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t head = i / splits, column = i % splits * columns,
                                      width = std::min(columns, call.value_width - column);
                   const Block& block = blocks[static_cast<std::size_t>(head)];
                   for (std::int64_t tile = 0; tile < tiles; ++tile) {
                     typename Block::Tile t = tile_of(head, tile * kTileKeys, kTileKeys);
                     if (t.count <= 0) continue;
                     block.rescale(t, 0, rows, state_of(head * tiles + tile).change, column, width);
                     block.prepare_values(t, column, width);
                     block.add_values(mode, t, 0, rows, column, width);
                   }
                 }
               });
  const DefaultFloatMode mode;
  for (std::int64_t head = 0; head < heads; ++head) {
    Block& block = blocks[static_cast<std::size_t>(head)];
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const TileState& state = state_of(head * tiles + tile);
      block.join_sums(tile_of(head, tile * kTileKeys, kTileKeys), 0, rows, state.change, state.sums);
    }
    block.finish();
  }
}

template <class F>
auto with_call(const KernelArgs& args, F&& f) {
  return static_cast<DType>(input(args, 0).dtype) == kF64 ? f(AttentionCall<double>(args))
                                                          : f(AttentionCall<float>(args));
}

void run_attention(Stream&, const KernelArgs& args) {
  with_call(args, [&](const auto& call) {
    if (has_few_heads(call)) {
      run_by_keys(call);
    } else {
      run_blocks(call, static_cast<char*>(args.scratch));
    }
  });
}
std::uint64_t scratch_of_attention(const KernelArgs& args) {
  return with_call(args, [](const auto& call) { return static_cast<std::uint64_t>(scratch_bytes(call)); });
}

std::string describe(const KernelArgs& args) {
  const auto dtype = static_cast<DType>(input(args, 0).dtype);
  const TileFamily& family = tiles_for(dtype);
  return fmt::format("pellucid_{}_{}_attention_{}x{}", isa_name(family), name(dtype), family.rows, kTileKeys);
}

// Counts both GEMMs, as if every query attended to every key.
std::uint64_t flops(const KernelArgs& args) {
  const std::int64_t* q = input(args, 0).sizes;
  const std::int64_t keys = input(args, 1).sizes[2], value_width = input(args, 2).sizes[3];
  return static_cast<std::uint64_t>(2 * q[0] * q[1] * q[2] * keys * (q[3] + value_width));
}

}  // namespace

KernelLists attention_kernels() {
  static const std::vector<Kernel> kList = [] {
    Kernel tiles{"cpu_attention_tiles", supports_any, run_attention};
    tiles.describe = describe;
    tiles.flops = flops;
    tiles.scratch_bytes = scratch_of_attention;
    return std::vector{tiles};
  }();
  static const auto kLists = std::to_array<BackendKernels>({{"attention", kList}});
  return kLists;
}

}  // namespace pel::cpu
