// The files of this folder, as CMake put them into the library.
#pragma once

#include <span>
#include <string_view>

namespace pel::compiler {

std::string_view page_html();  // the frame, with {{marks}} for what goes into it
std::string_view page_css();
std::span<const std::string_view> page_scripts();  // in the order in which they stand on the page

}  // namespace pel::compiler
