#include "compile/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace pel::compiler {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr int kMaxTries = 24;  // of orders in which the arena is filled

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

using Order = std::vector<std::size_t>;

// Pieces that have their offsets in one memory.
class Filling {
 public:
  explicit Filling(std::vector<ArenaPiece>& pieces) : pieces_(pieces) {}

  // The lowest offset that is free while the piece is in use.
  std::int64_t lowest(const ArenaPiece& piece) {
    overlapping_.clear();
    for (const std::size_t other : placed_)
      if (pieces_[other].first <= piece.last && piece.first <= pieces_[other].last)
        overlapping_.push_back(other);
    std::ranges::sort(overlapping_, {}, [&](std::size_t other) { return pieces_[other].offset; });
    std::int64_t offset = 0;
    for (const std::size_t other : overlapping_) {
      if (offset + piece.bytes <= pieces_[other].offset) break;
      offset = std::max(offset, aligned(pieces_[other].offset + pieces_[other].bytes));
    }
    return offset;
  }
  void place(std::size_t piece, std::int64_t offset) {
    pieces_[piece].offset = offset;
    placed_.push_back(piece);
    if (offset + pieces_[piece].bytes > end_) {
      end_ = offset + pieces_[piece].bytes;
      highest_ = piece;
    }
  }
  std::int64_t end() const { return end_; }
  std::size_t highest() const { return highest_; }  // the piece that reaches to the end

 private:
  std::vector<ArenaPiece>& pieces_;
  std::vector<std::size_t> placed_, overlapping_;
  std::int64_t end_ = 0;
  std::size_t highest_ = 0;
};

Filling filled(std::vector<ArenaPiece>& pieces, const Order& order) {
  Filling arena(pieces);
  for (const std::size_t piece : order) arena.place(piece, arena.lowest(pieces[piece]));
  return arena;
}

// The largest key first; of equal ones the one that is used first.
template <class Key>
Order sorted(const std::vector<ArenaPiece>& pieces, Order order, Key key) {
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const auto of_a = key(pieces[a]), of_b = key(pieces[b]);
    return of_a != of_b ? of_a > of_b : std::pair(pieces[a].first, a) < std::pair(pieces[b].first, b);
  });
  return order;
}

// Bytes in use at each step.
std::vector<std::int64_t> in_use(const std::vector<ArenaPiece>& pieces) {
  std::size_t steps = 0;
  for (const ArenaPiece& piece : pieces) steps = std::max(steps, piece.last + 1);
  std::vector<std::int64_t> bytes(steps + 1);
  for (const ArenaPiece& piece : pieces) {
    bytes[piece.first] += piece.bytes;
    bytes[piece.last + 1] -= piece.bytes;
  }
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  return bytes;
}

// Moves pieces to hosts, the largest that are in use at the peak first, as long as that lowers the peak.
// Returns the others.
Order fill_hosts(std::vector<ArenaPiece>& pieces, const std::vector<ArenaHost>& hosts, const Order& largest) {
  Order smallest_host(hosts.size());
  std::iota(smallest_host.begin(), smallest_host.end(), std::size_t{0});
  std::ranges::sort(smallest_host, {}, [&](std::size_t host) { return std::pair(hosts[host].bytes, host); });
  std::vector<Filling> inside(hosts.size(), Filling(pieces));
  const auto finds_host = [&](std::size_t piece) {
    ArenaPiece& p = pieces[piece];
    for (const std::size_t host : smallest_host) {
      if (p.last >= hosts[host].first || p.bytes > hosts[host].bytes) continue;
      const std::int64_t offset = inside[host].lowest(p);
      if (offset + p.bytes > hosts[host].bytes) continue;
      inside[host].place(piece, offset);
      p.host = host;
      return true;
    }
    return false;
  };
  for (ArenaPiece& piece : pieces) piece.host.reset();
  std::vector<std::int64_t> bytes = in_use(pieces);
  Order others = largest;
  std::vector<bool> has_none(pieces.size());  // no host has space for it, and none will have
  for (bool is_less = !hosts.empty(); is_less;) {
    const auto top = static_cast<std::size_t>(std::ranges::max_element(bytes) - bytes.begin());
    is_less = false;
    for (auto piece = others.begin(); piece != others.end() && !is_less; ++piece) {
      const ArenaPiece& p = pieces[*piece];
      if (has_none[*piece] || p.first > top || p.last < top) continue;
      is_less = finds_host(*piece);
      has_none[*piece] = !is_less;
      if (!is_less) continue;
      for (std::size_t step = p.first; step <= p.last; ++step) bytes[step] -= p.bytes;
      others.erase(piece);
      break;
    }
  }
  return others;
}

}  // namespace

std::int64_t max_in_use(const std::vector<ArenaPiece>& pieces) { return std::ranges::max(in_use(pieces)); }

std::int64_t place_pieces(std::vector<ArenaPiece>& pieces, const std::vector<ArenaHost>& hosts) {
  Order all(pieces.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto bytes = [](const ArenaPiece& p) { return p.bytes; };
  const auto steps = [](const ArenaPiece& p) { return static_cast<std::int64_t>(p.last - p.first + 1); };
  Order order = fill_hosts(pieces, hosts, sorted(pieces, all, bytes));
  std::vector<ArenaPiece> in_arena;
  for (const std::size_t piece : order) in_arena.push_back(pieces[piece]);
  const std::int64_t lower_bound = max_in_use(in_arena);

  // Largest first, then other orders if that leaves gaps; then, repeatedly, the piece at the end first.
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  Order best_order;
  std::size_t highest = 0;
  const auto attempt = [&](const Order& tried) {
    const Filling arena = filled(pieces, tried);
    highest = arena.highest();
    if (arena.end() >= best) return;
    best = arena.end();
    best_order = tried;
  };
  attempt(order);
  if (best > lower_bound) {
    attempt(sorted(pieces, order, [&](const ArenaPiece& p) { return p.bytes * steps(p); }));
    attempt(sorted(pieces, order, steps));
    attempt(sorted(pieces, order, [](const ArenaPiece&) { return 0; }));
    highest = filled(pieces, order = best_order).highest();
  }
  for (int tries = 0; best > lower_bound && tries < kMaxTries; ++tries) {
    std::erase(order, highest);
    order.insert(order.begin(), highest);
    attempt(order);
  }
  return filled(pieces, best_order).end();
}

}  // namespace pel::compiler
