// WordPiece as in BERT: cleans the text, splits it at spaces and punctuation, and takes the longest known
// piece each time.
#include <algorithm>

#include "base/check.h"
#include "io/tokenizer_model.h"
#include "io/unicode.h"

namespace pel::io {
namespace {

constexpr std::size_t kMaxWord = 100;  // in characters; longer ones are [UNK]
constexpr std::string_view kInside = "##";

bool is_chinese(char32_t c) {
  struct Block {
    char32_t first, last;
  };
  constexpr Block kBlocks[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                               {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                               {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  return std::any_of(std::begin(kBlocks), std::end(kBlocks),
                     [&](const Block& block) { return c >= block.first && c <= block.last; });
}

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Splits the characters of a text into words: in lower case, without accents.
class WordReader {
 public:
  explicit WordReader(FunctionRef<void(std::string_view, std::size_t)> word) : word_(word) {}

  void read(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = code_point_at(text, at);
      at += c.size;
      if (c.value < 128) {
        read_ascii(c.value);
      } else {
        read_other(c.value);
      }
    }
    end_word();
  }

 private:
  void read_ascii(char32_t c) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      end_word();
    } else if (c > ' ' && c != 0x7f) {
      if (!marks_.empty()) place_marks();
      append(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
  }

  void read_other(char32_t c) {
    if (c == 0xfffd || is_control_or_format(c)) return;
    if (is_space(c)) return end_word();
    const bool alone = is_chinese(c);
    if (alone) end_word();
    decomposed_.clear();
    append_decomposed(c, decomposed_);
    for (const char32_t part : decomposed_) {
      if (is_nonspacing_mark(part)) continue;
      if (combining_class(part) != 0) {  // its position depends on its neighbours
        marks_.push_back(part);
        continue;
      }
      place_marks();
      append(to_lower(part));
    }
    if (alone) end_word();
  }

  void place_marks() {
    order_marks(marks_);
    for (const char32_t mark : marks_) append(to_lower(mark));
    marks_.clear();
  }

  void append(char32_t c) {
    const bool alone = c < 128 ? is_ascii_punctuation(c) : is_punctuation(c);
    if (alone) hand_on();
    append_utf8(c, characters_);
    ++length_;
    if (alone) hand_on();
  }

  void end_word() {
    if (!marks_.empty()) place_marks();
    hand_on();
  }

  void hand_on() {
    if (length_ > 0) word_(characters_, length_);
    characters_.clear();
    length_ = 0;
  }

  FunctionRef<void(std::string_view, std::size_t)> word_;
  std::string characters_;
  std::size_t length_ = 0;  // of characters_, in characters
  std::u32string marks_, decomposed_;
};

class WordPiece final : public Tokenizer::Model {
 public:
  WordPiece(Vocabulary vocabulary, TokenId unknown) : Model(std::move(vocabulary)), unknown_(unknown) {}

  std::string bytes_of(TokenId id) const override {
    const std::string& piece = token(id);
    return piece.starts_with(kInside) ? piece.substr(kInside.size()) : " " + piece;
  }

 protected:
  void encode_part(std::string_view text, std::vector<std::int64_t>& ids) const override {
    const auto take = [&](std::string_view word, std::size_t length) { encode_word(word, length, ids); };
    WordReader(take).read(text);
  }

  std::string join(const std::vector<TokenId>& ids) const override;

 private:
  void encode_word(std::string_view word, std::size_t length, std::vector<std::int64_t>& ids) const {
    if (length > kMaxWord) return ids.push_back(unknown_);
    if (const std::optional<TokenId> whole = find(word)) return ids.push_back(*whole);
    const std::size_t before = ids.size();
    for (std::size_t at = 0; at < word.size();) {
      const auto piece = table().longest(word.substr(at), at == 0 ? "" : kInside);
      if (!piece) {
        ids.resize(before);
        return ids.push_back(unknown_);
      }
      ids.push_back(piece->id);
      at += piece->size;
    }
  }

  TokenId unknown_;
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Attaches English punctuation to the word before it, as Hugging Face's decoder does: in each token
// separately.
void tidy(std::string& piece) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) replace_all(piece, from, to);
}

std::string WordPiece::join(const std::vector<TokenId>& ids) const {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::string piece = i == 0 ? token(ids[i]) : bytes_of(ids[i]);
    tidy(piece);
    text += piece;
  }
  return text;
}

}  // namespace

std::shared_ptr<const Tokenizer::Model> make_wordpiece(Vocabulary vocabulary) {
  const auto unknown = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), "[UNK]");
  PEL_CHECK(unknown != vocabulary.tokens.end(), FileError,
            "{}: a WordPiece vocabulary needs the token [UNK], which is not among its {}", vocabulary.origin,
            vocabulary.tokens.size());
  const auto id = static_cast<TokenId>(unknown - vocabulary.tokens.begin());
  return std::make_shared<WordPiece>(std::move(vocabulary), id);
}

}  // namespace pel::io
