// Finds tokens by their text. Sorted, not hashed: a file cannot choose tokens that make lookups slow.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pel::io {

using TokenId = std::int32_t;

class TokenTable {
 public:
  struct Entry {
    std::string_view text;
    TokenId id;
  };
  struct Match {
    TokenId id;
    std::size_t size;  // in bytes
  };

  TokenTable() = default;
  // The texts must outlive the table. `what`, such as "vocab.txt", is
  // the name in the FileError about two equal tokens.
  TokenTable(std::vector<Entry> entries, std::string_view what);

  std::optional<TokenId> find(std::string_view text) const;
  // Returns the longest token, of at least one byte, that `text` begins with after `prefix`: with the prefix
  // "##",
  // "##ing" matches "ings" by 3 bytes.
  std::optional<Match> longest(std::string_view text, std::string_view prefix = "") const;

 private:
  struct Range {
    std::uint32_t begin, end;
  };
  // Returns those of the entries in `within`, which agree in their first `depth` bytes, that have `byte`
  // next.
  Range narrowed(Range within, std::size_t depth, std::uint8_t byte) const;

  std::vector<Entry> entries_;                 // by text
  std::array<std::uint32_t, 257> by_first_{};  // where the entries of a first byte begin
};

}  // namespace pel::io
