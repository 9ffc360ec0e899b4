// Self-contained HTML pages: the parts that they share, and how one is put together.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pel {

// The files of this folder, as CMake put them into the library. They come before those of a page.
std::string_view shared_page_css();
std::span<const std::string_view> shared_page_scripts();

// A mark in the frame of a page, such as {{title}}, and what replaces it.
struct PagePart {
  std::string_view mark;
  std::vector<std::string_view> texts;
};
// Returns the frame with its marks replaced. The parts are in the order of their marks.
std::string filled_page(std::string_view frame, std::initializer_list<PagePart> parts);

// Returns the scripts that all pages have, and after them those of one page.
std::vector<std::string_view> page_scripts_with(std::span<const std::string_view> own);

// Appends text that is neither markup nor the end of an attribute.
void append_escaped_html(std::string& to, std::string_view text);

}  // namespace pel
