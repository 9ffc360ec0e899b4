// Loads tokenizers from the files of their models.
#include <algorithm>
#include <fstream>

#include "base/check.h"
#include "io/json.h"
#include "io/tokenizer_model.h"

namespace pel::io {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  PEL_CHECK(file, FileError, "{} cannot be opened", path);
  std::string content(std::istreambuf_iterator<char>(file), {});
  PEL_CHECK(!file.bad(), FileError, "{} cannot be read", path);
  return content;
}

std::vector<std::string> lines_of(std::string_view content) {
  std::vector<std::string> lines;
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return lines;
}

// {"token": id, …}, with the ids 0, 1, … in any order.
std::vector<std::string> read_ids(const std::string& path) {
  const std::string content = read_file(path);
  JsonDocument json;
  parse_json(content, path, json);
  simdjson::dom::object object;
  PEL_CHECK(json.root.get(object) == simdjson::SUCCESS, FileError,
            "{} must be a JSON object that maps tokens to ids", path);
  std::size_t count = 0;  // not object.size(), which stops counting at 2^24
  for ([[maybe_unused]] const auto& each : object) ++count;
  std::vector<std::string> tokens(count);
  std::vector<bool> taken(count);
  for (const auto& [token, value] : object) {
    std::uint64_t id = 0;
    PEL_CHECK(value.get(id) == simdjson::SUCCESS && id < count && !taken[id], FileError,
              "{}: the ids of {} tokens must be 0 to {}, each once, but the id of \"{}\" is out of range or "
              "used twice",
              path, count, count - 1, token.substr(0, 100));
    taken[id] = true;
    tokens[id] = token;
  }
  return tokens;
}

}  // namespace

Tokenizer Tokenizer::wordpiece(const std::string& vocab_path, Site site) {
  return as_call("Tokenizer::wordpiece", site, [&] {
    Vocabulary vocabulary;
    vocabulary.origin = vocab_path;
    vocabulary.tokens = lines_of(read_file(vocab_path));
    vocabulary.kinds.assign(vocabulary.tokens.size(), TokenKind::Normal);
    const auto special = [&](std::string_view token) -> std::optional<std::int64_t> {
      const auto found = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), token);
      if (found == vocabulary.tokens.end()) return std::nullopt;
      vocabulary.kinds[found - vocabulary.tokens.begin()] = TokenKind::Control;
      return found - vocabulary.tokens.begin();
    };
    for (const std::string_view token : {"[PAD]", "[UNK]", "[MASK]"}) special(token);
    if (const auto id = special("[CLS]")) vocabulary.before = {*id};
    if (const auto id = special("[SEP]")) vocabulary.after = {*id};
    return Tokenizer(make_wordpiece(std::move(vocabulary)));
  });
}

Tokenizer Tokenizer::byte_pairs(const std::string& vocab_path, const std::string& merges_path, Site site) {
  return as_call("Tokenizer::byte_pairs", site, [&] {
    Vocabulary vocabulary;
    vocabulary.origin = vocab_path;
    vocabulary.tokens = read_ids(vocab_path);
    vocabulary.merges = lines_of(read_file(merges_path));
    auto& merges = vocabulary.merges;
    if (!merges.empty() && merges.front().starts_with("#version")) merges.erase(merges.begin());
    vocabulary.kinds.assign(vocabulary.tokens.size(), TokenKind::Normal);
    const auto end = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), "<|endoftext|>");
    if (end != vocabulary.tokens.end()) {
      vocabulary.end_of_text = end - vocabulary.tokens.begin();
      vocabulary.kinds[end - vocabulary.tokens.begin()] = TokenKind::Control;
    }
    return Tokenizer(make_byte_pairs(std::move(vocabulary)));
  });
}

}  // namespace pel::io
