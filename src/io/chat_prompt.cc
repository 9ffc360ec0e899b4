#include "base/check.h"
#include "io/tokenizer_model.h"

namespace pel::io {
namespace {

constexpr std::string_view kBegin = "<|im_start|>", kEnd = "<|im_end|>";

// Returns the default system message of a template: the first one that it contains as a literal, not as an
// expression.
std::string_view default_system(std::string_view chat_template) {
  for (std::size_t at = 0; (at = chat_template.find(kBegin, at)) != std::string_view::npos;) {
    at += kBegin.size();
    std::string_view rest = chat_template.substr(at);
    for (const std::string_view opening : {"system\n", "system\\n"}) {
      if (!rest.starts_with(opening)) continue;
      rest.remove_prefix(opening.size());
      rest = rest.substr(0, rest.find(kEnd));
      if (rest.find_first_of("'\"{}") == std::string_view::npos) return rest;
    }
  }
  return {};
}

}  // namespace

std::string fill_chat_template(std::string_view chat_template, ArrayView<ChatMessage> messages) {
  PEL_CHECK(!chat_template.empty(), ValueError, "the file of the tokenizer has no chat template");
  PEL_CHECK(chat_template.find(kBegin) != std::string_view::npos, ValueError,
            "expected a ChatML template, which contains {}; this one begins with \"{}\"", kBegin,
            chat_template.substr(0, 200));
  PEL_CHECK(!messages.empty(), ValueError, "a chat needs at least one message");
  std::string prompt;
  const auto say = [&](std::string_view role, std::string_view content) {
    prompt += fmt::format("{}{}\n{}{}\n", kBegin, role, content, kEnd);
  };
  const std::string_view system = default_system(chat_template);
  if (messages[0].role != "system" && !system.empty()) say("system", system);
  for (const ChatMessage& message : messages) say(message.role, message.content);
  prompt += fmt::format("{}assistant\n", kBegin);
  return prompt;
}

}  // namespace pel::io
