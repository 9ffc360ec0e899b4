#include "pellucid/tokenizer.h"

#include <limits>

#include "base/check.h"
#include "io/tokenizer_model.h"
#include "io/unicode.h"

namespace pel::io {
namespace {

// Each position of a text is compared with the special tokens; this bounds the length. Models have up to 40.
constexpr std::size_t kMaxSpecialBytes = 128;

TokenTable table_of(const Vocabulary& vocabulary) {
  std::vector<TokenTable::Entry> entries;
  entries.reserve(vocabulary.tokens.size());
  for (const std::string& token : vocabulary.tokens) {
    entries.push_back({token, static_cast<TokenId>(entries.size())});
  }
  return TokenTable(std::move(entries), vocabulary.origin);
}

TokenTable specials_of(const Vocabulary& vocabulary) {
  std::vector<TokenTable::Entry> entries;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& token = vocabulary.tokens[id];
    if (vocabulary.kinds[id] == TokenKind::Normal || token.empty()) continue;
    PEL_CHECK(token.size() <= kMaxSpecialBytes, FileError,
              "{}: a special token may have at most {} bytes, but token {} has {}", vocabulary.origin,
              kMaxSpecialBytes, id, token.size());
    entries.push_back({token, static_cast<TokenId>(id)});
  }
  return TokenTable(std::move(entries), vocabulary.origin);
}

}  // namespace

Tokenizer::Model::Model(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  const std::size_t size = vocabulary_.tokens.size();
  const std::string& origin = vocabulary_.origin;
  PEL_CHECK(size > 0, FileError, "{}: the vocabulary has no tokens", origin);
  PEL_CHECK(size <= std::numeric_limits<TokenId>::max(), FileError,
            "{}: the vocabulary has too many tokens: {}", origin, size);
  if (vocabulary_.kinds.empty()) vocabulary_.kinds.assign(size, TokenKind::Normal);
  PEL_CHECK(vocabulary_.kinds.size() == size, FileError,
            "{}: the vocabulary has {} tokens, but {} token types", origin, size, vocabulary_.kinds.size());
  const auto check = [&](std::int64_t id, std::string_view what) {
    PEL_CHECK(id >= 0 && id < static_cast<std::int64_t>(size), FileError,
              "{}: the id of the {} is {}, but there are {} tokens", origin, what, id, size);
  };
  for (const std::int64_t id : vocabulary_.before) check(id, "token before each text");
  for (const std::int64_t id : vocabulary_.after) check(id, "token after each text");
  if (vocabulary_.end_of_text) check(*vocabulary_.end_of_text, "end-of-text token");
  table_ = table_of(vocabulary_);
  special_ = specials_of(vocabulary_);
  for (std::size_t id = 0; id < size; ++id) {
    const std::string& token = vocabulary_.tokens[id];
    if (vocabulary_.kinds[id] != TokenKind::Normal && !token.empty()) {
      special_first_.set(static_cast<unsigned char>(token[0]));
    }
  }
}

TokenId Tokenizer::Model::checked(std::int64_t id) const {
  PEL_CHECK(id >= 0 && id < static_cast<std::int64_t>(vocabulary_.tokens.size()), IndexError,
            "id {} is not one of the {} tokens of {}", id, vocabulary_.tokens.size(), vocabulary_.origin);
  return static_cast<TokenId>(id);
}

std::vector<std::int64_t> Tokenizer::Model::encode(std::string_view text, SpecialTokens around) const {
  PEL_CHECK(text.size() <= std::numeric_limits<std::uint32_t>::max() / 3, ValueError,
            "a text of {} bytes is too long: encode it in parts", text.size());
  std::string storage;
  text = replace_invalid(text, storage);
  std::vector<std::int64_t> ids;
  ids.reserve(text.size() / 4 + 8);
  if (around == SpecialTokens::Yes) ids = vocabulary_.before;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::optional<TokenTable::Match> special;
    if (special_first_[static_cast<unsigned char>(text[at])]) special = special_.longest(text.substr(at));
    if (!special) {
      ++at;
      continue;
    }
    if (begin < at) encode_part(text.substr(begin, at - begin), ids);
    ids.push_back(special->id);
    begin = at += special->size;
  }
  if (begin < text.size()) encode_part(text.substr(begin), ids);
  if (around == SpecialTokens::Yes) ids.insert(ids.end(), vocabulary_.after.begin(), vocabulary_.after.end());
  return ids;
}

std::string Tokenizer::Model::decode(ArrayView<std::int64_t> ids, SpecialTokens shown) const {
  std::vector<TokenId> shown_ids;
  shown_ids.reserve(ids.size());
  for (const std::int64_t each : ids) {
    const TokenId id = checked(each);
    if (shown == SpecialTokens::Yes || !is(id, TokenKind::Control)) shown_ids.push_back(id);
  }
  std::string storage;
  const std::string joined = join(shown_ids);
  return std::string(replace_invalid(joined, storage));
}

std::vector<std::int64_t> Tokenizer::encode(std::string_view text, SpecialTokens around, Site site) const {
  return as_call("Tokenizer::encode", site, [&] { return model_->encode(text, around); });
}
std::string Tokenizer::decode(ArrayView<std::int64_t> ids, SpecialTokens shown, Site site) const {
  return as_call("Tokenizer::decode", site, [&] { return model_->decode(ids, shown); });
}
std::string Tokenizer::bytes_of(std::int64_t id, Site site) const {
  return as_call("Tokenizer::bytes_of", site, [&] { return model_->bytes_of(model_->checked(id)); });
}
const std::string& Tokenizer::token(std::int64_t id, Site site) const {
  return as_call("Tokenizer::token", site,
                 [&]() -> const std::string& { return model_->token(model_->checked(id)); });
}
bool Tokenizer::is_special(std::int64_t id, Site site) const {
  return as_call("Tokenizer::is_special", site,
                 [&] { return model_->is(model_->checked(id), TokenKind::Control); });
}
std::string Tokenizer::chat_prompt(ArrayView<ChatMessage> messages, Site site) const {
  return as_call("Tokenizer::chat_prompt", site,
                 [&] { return fill_chat_template(model_->vocabulary().chat_template, messages); });
}

std::int64_t Tokenizer::size() const { return static_cast<std::int64_t>(model_->vocabulary().tokens.size()); }
std::optional<std::int64_t> Tokenizer::id_of(std::string_view token) const { return model_->find(token); }
std::optional<std::int64_t> Tokenizer::end_of_text() const { return model_->vocabulary().end_of_text; }

}  // namespace pel::io
