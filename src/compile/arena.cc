#include "compile/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace pel::compiler {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr int kMaxTries = 24;  // of orders in which the arena is filled

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

using Order = std::vector<std::size_t>;

// For each piece the others that are in use at one of its steps. Found once: an arena is filled in many
// orders, and most pieces of a long plan meet few others.
class Overlaps {
 public:
  explicit Overlaps(const std::vector<ArenaPiece>& pieces) : begins_(pieces.size() + 1) {
    Order by_first(pieces.size());
    std::iota(by_first.begin(), by_first.end(), std::size_t{0});
    std::ranges::sort(by_first, {}, [&](std::size_t piece) { return std::pair(pieces[piece].first, piece); });
    // f(a, b) for each pair that overlaps.
    const auto for_pairs = [&](auto&& f) {
      Order in_use;
      for (const std::size_t piece : by_first) {
        std::erase_if(in_use, [&](std::size_t other) { return pieces[other].last < pieces[piece].first; });
        for (const std::size_t other : in_use) f(piece, other);
        in_use.push_back(piece);
      }
    };
    for_pairs([&](std::size_t a, std::size_t b) { ++begins_[a + 1], ++begins_[b + 1]; });
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    others_.resize(begins_.back());
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    for_pairs([&](std::size_t a, std::size_t b) {
      others_[next[a]++] = static_cast<std::uint32_t>(b);
      others_[next[b]++] = static_cast<std::uint32_t>(a);
    });
  }
  std::span<const std::uint32_t> operator[](std::size_t piece) const {
    return std::span(others_).subspan(begins_[piece], begins_[piece + 1] - begins_[piece]);
  }

 private:
  std::vector<std::size_t> begins_;  // by piece, in others_
  std::vector<std::uint32_t> others_;
};

// Pieces that have their offsets in one memory.
class Filling {
 public:
  Filling(std::vector<ArenaPiece>& pieces, const Overlaps& overlaps)
      : pieces_(pieces), overlaps_(overlaps), is_placed_(pieces.size()) {}

  // The lowest offset that is free while the piece is in use.
  std::int64_t lowest(std::size_t piece) {
    taken_.clear();
    for (const std::uint32_t other : overlaps_[piece])
      if (is_placed_[other]) taken_.emplace_back(pieces_[other].offset, pieces_[other].bytes);
    std::ranges::sort(taken_);
    std::int64_t offset = 0;
    for (const auto& [begin, bytes] : taken_) {
      if (offset + pieces_[piece].bytes <= begin) break;
      offset = std::max(offset, aligned(begin + bytes));
    }
    return offset;
  }
  void place(std::size_t piece, std::int64_t offset) {
    pieces_[piece].offset = offset;
    is_placed_[piece] = 1;
    if (offset + pieces_[piece].bytes > end_) {
      end_ = offset + pieces_[piece].bytes;
      highest_ = piece;
    }
  }
  std::int64_t end() const { return end_; }
  std::size_t highest() const { return highest_; }  // the piece that reaches to the end

 private:
  std::vector<ArenaPiece>& pieces_;
  const Overlaps& overlaps_;
  std::vector<char> is_placed_;  // by piece
  std::vector<std::pair<std::int64_t, std::int64_t>> taken_;
  std::int64_t end_ = 0;
  std::size_t highest_ = 0;
};

Filling filled(std::vector<ArenaPiece>& pieces, const Overlaps& overlaps, const Order& order) {
  Filling arena(pieces, overlaps);
  for (const std::size_t piece : order) arena.place(piece, arena.lowest(piece));
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
Order fill_hosts(std::vector<ArenaPiece>& pieces, const Overlaps& overlaps,
                 const std::vector<ArenaHost>& hosts, const Order& largest) {
  Order smallest_host(hosts.size());
  std::iota(smallest_host.begin(), smallest_host.end(), std::size_t{0});
  std::ranges::sort(smallest_host, {}, [&](std::size_t host) { return std::pair(hosts[host].bytes, host); });
  std::vector<Filling> inside(hosts.size(), Filling(pieces, overlaps));
  const auto finds_host = [&](std::size_t piece) {
    ArenaPiece& p = pieces[piece];
    for (const std::size_t host : smallest_host) {
      if (p.last >= hosts[host].first || p.bytes > hosts[host].bytes) continue;
      const std::int64_t offset = inside[host].lowest(piece);
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
  const Overlaps overlaps(pieces);
  Order order = fill_hosts(pieces, overlaps, hosts, sorted(pieces, all, bytes));
  std::vector<ArenaPiece> in_arena;
  for (const std::size_t piece : order) in_arena.push_back(pieces[piece]);
  const std::int64_t lower_bound = max_in_use(in_arena);

  // Largest first, then other orders if that leaves gaps; then, repeatedly, the piece at the end first.
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  Order best_order;
  std::size_t highest = 0;
  const auto attempt = [&](const Order& tried) {
    const Filling arena = filled(pieces, overlaps, tried);
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
    highest = filled(pieces, overlaps, order = best_order).highest();
  }
  for (int tries = 0; best > lower_bound && tries < kMaxTries; ++tries) {
    std::erase(order, highest);
    order.insert(order.begin(), highest);
    attempt(order);
  }
  return filled(pieces, overlaps, best_order).end();
}

}  // namespace pel::compiler
