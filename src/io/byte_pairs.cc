// Byte-pair encoding as in GPT-2: splits the text into words, and in each word merges the pair of tokens that
// the file lists first.
#include <algorithm>
#include <array>
#include <limits>

#include "base/check.h"
#include "io/tokenizer_model.h"
#include "io/unicode.h"

namespace pel::io {
namespace {

constexpr TokenId kNone = -1;
constexpr std::size_t kMaxCachedBytes = 256;  // longer tokens are not words: they are merged again each time

// The files write each byte as a printable character: itself if it is printable in Latin-1, else from U+0100
// on.
class ByteAlphabet {
 public:
  ByteAlphabet() {
    bytes_.fill(kUnused);
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      bytes_[printable ? static_cast<char32_t>(byte) : next++] = static_cast<std::int16_t>(byte);
    }
  }

  // Returns the bytes that a token represents; none if it has other characters.
  std::optional<std::string> bytes_of(std::string_view token) const {
    std::string bytes;
    for (std::size_t at = 0; at < token.size();) {
      const CodePoint c = code_point_at(token, at);
      if (c.value >= bytes_.size() || bytes_[c.value] == kUnused) return std::nullopt;
      bytes.push_back(static_cast<char>(bytes_[c.value]));
      at += c.size;
    }
    return bytes;
  }

 private:
  static constexpr std::int16_t kUnused = -1;
  std::array<std::int16_t, 0x144> bytes_;
};

struct Merge {
  TokenId left, right, result;
  std::uint32_t rank;  // the lower is merged first
};

// Sorted by left and right, so that a file cannot make lookups slow.
class Merges {
 public:
  Merges() = default;
  Merges(const Vocabulary& vocabulary, const TokenTable& table) {
    merges_.reserve(vocabulary.merges.size());
    for (const std::string& line : vocabulary.merges) merges_.push_back(parse(line, vocabulary, table));
    std::sort(merges_.begin(), merges_.end(), before);
    const auto twin = std::adjacent_find(merges_.begin(), merges_.end(), [](const Merge& a, const Merge& b) {
      return a.left == b.left && a.right == b.right;
    });
    PEL_CHECK(twin == merges_.end(), FileError, "{}: merges {} and {} are both \"{}\"", vocabulary.origin,
              twin->rank, std::next(twin)->rank, vocabulary.merges[twin->rank].substr(0, 100));
    begin_.assign(vocabulary.tokens.size() + 1, 0);
    for (const Merge& merge : merges_) ++begin_[static_cast<std::size_t>(merge.left) + 1];
    for (std::size_t id = 1; id < begin_.size(); ++id) begin_[id] += begin_[id - 1];
  }

  const Merge* find(TokenId left, TokenId right) const {
    const Merge* first = merges_.data() + begin_[static_cast<std::size_t>(left)];
    const Merge* last = merges_.data() + begin_[static_cast<std::size_t>(left) + 1];
    const Merge* found = std::lower_bound(
        first, last, right, [](const Merge& merge, TokenId wanted) { return merge.right < wanted; });
    return found != last && found->right == right ? found : nullptr;
  }

 private:
  static bool before(const Merge& a, const Merge& b) {
    return std::pair(a.left, a.right) < std::pair(b.left, b.right);
  }

  Merge parse(const std::string& line, const Vocabulary& vocabulary, const TokenTable& table) const {
    const std::size_t rank = merges_.size(), space = line.find(' ');
    const auto shown = [&] { return std::string_view(line).substr(0, 100); };
    PEL_CHECK(space != std::string::npos && line.find(' ', space + 1) == std::string::npos, FileError,
              "{}: merge {} is \"{}\", not two tokens with a space between", vocabulary.origin, rank,
              shown());
    std::string joined = line;
    joined.erase(space, 1);
    const auto id_of = [&](std::string_view token) {
      const std::optional<TokenId> id = table.find(token);
      PEL_CHECK(id, FileError, "{}: merge {} is \"{}\", but \"{}\" is not a token", vocabulary.origin, rank,
                shown(), token.substr(0, 100));
      return *id;
    };
    const std::string_view both = line;
    return {id_of(both.substr(0, space)), id_of(both.substr(space + 1)), id_of(joined),
            static_cast<std::uint32_t>(rank)};
  }

  std::vector<Merge> merges_;
  std::vector<std::uint32_t> begin_;  // where the merges of a left token begin
};

// The tokens of one word, as a linked list from which merged ones are removed. A heap finds the next merge,
// so that a word of n bytes takes n log n. Reused from word to word.
class Word {
 public:
  void clear() { symbols_.clear(); }
  void add(TokenId id) {
    const auto at = static_cast<std::uint32_t>(symbols_.size());
    symbols_.push_back({id, at - 1, at + 1});
  }

  void merge(const Merges& merges) {
    heap_.clear();
    for (std::uint32_t at = 0; at + 1 < symbols_.size(); ++at) offer(merges, at);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const Candidate best = heap_.back();
      heap_.pop_back();
      Symbol& left = symbols_[best.at];
      if (left.id != best.merge->left || left.next >= symbols_.size()) continue;  // merged since
      Symbol& right = symbols_[left.next];
      if (right.id != best.merge->right) continue;
      left.id = best.merge->result;
      right.id = kNone;
      left.next = right.next;
      if (left.next < symbols_.size()) {
        symbols_[left.next].previous = best.at;
        offer(merges, best.at);
      }
      if (left.previous < symbols_.size()) offer(merges, left.previous);
    }
  }

  template <class F>
  void each(F&& f) const {
    for (std::size_t at = 0; at < symbols_.size(); at = symbols_[at].next) f(symbols_[at].id);
  }

 private:
  struct Symbol {
    TokenId id;                    // kNone once it is part of its left neighbour
    std::uint32_t previous, next;  // past the end: none
  };
  struct Candidate {
    const Merge* merge;
    std::uint32_t at;
  };
  static bool later(const Candidate& a, const Candidate& b) {
    return std::pair(a.merge->rank, a.at) > std::pair(b.merge->rank, b.at);
  }
  void offer(const Merges& merges, std::uint32_t at) {
    const Merge* merge = merges.find(symbols_[at].id, symbols_[symbols_[at].next].id);
    if (!merge) return;
    heap_.push_back({merge, at});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

class BytePairs final : public Tokenizer::Model {
 public:
  explicit BytePairs(Vocabulary source)
      : Model(std::move(source)),
        pattern_(word_pattern(vocabulary().words, vocabulary().origin)),
        merges_(vocabulary(), table()) {
    read_bytes();
    find_whole_words();
  }

  std::string bytes_of(TokenId id) const override { return bytes_[static_cast<std::size_t>(id)]; }

 protected:
  void encode_part(std::string_view text, std::vector<std::int64_t>& ids) const override {
    std::string normal;
    if (pattern_.composes) text = composed(text, normal);
    Word scratch;
    split_words(pattern_, text, [&](std::string_view word) {
      if (const std::optional<TokenId> whole = whole_words_.find(word)) return ids.push_back(*whole);
      merge_bytes(word, scratch);
      scratch.each([&](TokenId id) { ids.push_back(id); });
    });
  }

  std::string join(const std::vector<TokenId>& ids) const override {
    std::string text;
    for (const TokenId id : ids) text += bytes_[static_cast<std::size_t>(id)];
    return text;
  }

 private:
  void read_bytes() {
    const ByteAlphabet alphabet;
    byte_ids_.fill(kNone);
    bytes_.reserve(vocabulary().tokens.size());
    for (std::size_t id = 0; id < vocabulary().tokens.size(); ++id) {
      const std::string& token = vocabulary().tokens[id];
      std::optional<std::string> bytes;
      if (vocabulary().kinds[id] == TokenKind::Normal) bytes = alphabet.bytes_of(token);
      if (bytes && bytes->size() == 1) {
        byte_ids_[static_cast<unsigned char>((*bytes)[0])] = static_cast<TokenId>(id);
      }
      mergeable_.push_back(bytes.has_value());
      bytes_.push_back(std::move(bytes).value_or(token));
    }
  }

  // Collects the tokens that their own bytes merge into. A word that is one of them needs no merging, which
  // holds for most words of a text: a cache that never grows.
  void find_whole_words() {
    std::vector<TokenTable::Entry> entries;
    Word scratch;
    for (std::size_t id = 0; id < bytes_.size(); ++id) {
      if (!mergeable_[id] || bytes_[id].empty()) continue;
      bool whole = pattern_.whole_words;
      if (!whole && bytes_[id].size() <= kMaxCachedBytes) {
        merge_bytes(bytes_[id], scratch);
        std::size_t count = 0;
        scratch.each([&](TokenId part) { whole = ++count == 1 && part == static_cast<TokenId>(id); });
      }
      if (whole) entries.push_back({bytes_[id], static_cast<TokenId>(id)});
    }
    whole_words_ = TokenTable(std::move(entries), vocabulary().origin);
  }

  // Skips a byte that is not a token, as Hugging Face's library does.
  void merge_bytes(std::string_view bytes, Word& word) const {
    word.clear();
    for (const char byte : bytes) {
      const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
      if (id != kNone) word.add(id);
    }
    word.merge(merges_);
  }

  const WordPattern& pattern_;
  Merges merges_;
  std::vector<std::string> bytes_;  // by id; of special tokens, their text
  std::vector<bool> mergeable_;     // written in the alphabet of bytes
  std::array<TokenId, 256> byte_ids_;
  TokenTable whole_words_;  // over bytes_
};

}  // namespace

std::shared_ptr<const Tokenizer::Model> make_byte_pairs(Vocabulary vocabulary) {
  return std::make_shared<BytePairs>(std::move(vocabulary));
}

}  // namespace pel::io
