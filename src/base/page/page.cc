#include "base/page/page.h"

#include <algorithm>

namespace pel {

std::string filled_page(std::string_view frame, std::initializer_list<PagePart> parts) {
  std::size_t bytes = frame.size();
  for (const PagePart& part : parts)
    for (const std::string_view text : part.texts) bytes += text.size();
  std::string page;
  page.reserve(bytes);
  for (const PagePart& part : parts) {
    const std::size_t at = frame.find(part.mark);
    page += frame.substr(0, at);
    frame.remove_prefix(std::min(at + part.mark.size(), frame.size()));
    for (const std::string_view text : part.texts) page += text;
  }
  page += frame;
  return page;
}

std::vector<std::string_view> page_scripts_with(std::span<const std::string_view> own) {
  const std::span<const std::string_view> shared = shared_page_scripts();
  std::vector<std::string_view> all(shared.begin(), shared.end());
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

void append_escaped_html(std::string& to, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '<':
        to += "&lt;";
        break;
      case '>':
        to += "&gt;";
        break;
      case '&':
        to += "&amp;";
        break;
      case '"':
        to += "&quot;";
        break;
      default:
        to += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
}

}  // namespace pel
