#include "io/token_table.h"

#include <algorithm>

#include "base/check.h"

namespace pel::io {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t i) { return static_cast<std::uint8_t>(text[i]); }

}  // namespace

TokenTable::TokenTable(std::vector<Entry> entries, std::string_view what) : entries_(std::move(entries)) {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.text < b.text; });
  const auto twin = std::adjacent_find(entries_.begin(), entries_.end(),
                                       [](const Entry& a, const Entry& b) { return a.text == b.text; });
  PEL_CHECK(twin == entries_.end(), FileError, "{}: tokens {} and {} are both \"{}\"", what, twin->id,
            std::next(twin)->id, twin->text.substr(0, 100));
  for (const Entry& entry : entries_) {
    if (!entry.text.empty()) ++by_first_[byte_at(entry.text, 0) + 1];
  }
  by_first_[0] = !entries_.empty() && entries_.front().text.empty() ? 1 : 0;
  for (std::size_t byte = 0; byte < 256; ++byte) by_first_[byte + 1] += by_first_[byte];
}

std::optional<TokenId> TokenTable::find(std::string_view text) const {
  auto begin = entries_.begin(), end = entries_.end();
  if (!text.empty()) {
    end = begin + by_first_[byte_at(text, 0) + 1];
    begin += by_first_[byte_at(text, 0)];
  }
  const auto found = std::lower_bound(
      begin, end, text, [](const Entry& entry, std::string_view wanted) { return entry.text < wanted; });
  if (found == end || found->text != text) return std::nullopt;
  return found->id;
}

TokenTable::Range TokenTable::narrowed(Range within, std::size_t depth, std::uint8_t byte) const {
  if (depth == 0) return {by_first_[byte], by_first_[byte + 1]};
  const auto begin = entries_.begin() + within.begin, end = entries_.begin() + within.end;
  // A token that ends here sorts before longer ones.
  const auto before = [&](int limit) {
    return [depth, limit](const Entry& entry) {
      return entry.text.size() <= depth || byte_at(entry.text, depth) < limit;
    };
  };
  const auto first = std::partition_point(begin, end, before(byte));
  const auto last = std::partition_point(first, end, before(byte + 1));
  return {static_cast<std::uint32_t>(first - entries_.begin()),
          static_cast<std::uint32_t>(last - entries_.begin())};
}

std::optional<TokenTable::Match> TokenTable::longest(std::string_view text, std::string_view prefix) const {
  Range range{0, static_cast<std::uint32_t>(entries_.size())};
  std::size_t depth = 0;
  for (; depth < prefix.size() && range.begin < range.end; ++depth) {
    range = narrowed(range, depth, byte_at(prefix, depth));
  }
  std::optional<Match> best;
  for (std::size_t i = 0; i < text.size() && range.begin < range.end;) {
    range = narrowed(range, depth++, byte_at(text, i++));
    if (range.begin == range.end) break;
    const Entry& shortest = entries_[range.begin];
    if (shortest.text.size() == depth) best = Match{shortest.id, i};
  }
  return best;
}

}  // namespace pel::io
