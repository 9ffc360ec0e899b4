// Pages of explanations in docs/explanations. Their times are of the machine that wrote them, so a test only
// compares the code of the page.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/page.h"

namespace pel::test {

// The text of the element that begins with `tag`, which is a script or the part for browsers without scripts.
inline std::string element_of(const std::string& html, std::string_view tag,
                              std::string_view end = "</script>") {
  const std::size_t begin = html.find(tag);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + tag.size();
  return html.substr(from, html.find(end, from) - from);
}
inline constexpr std::string_view kPageTexts = "<script type=\"application/json\" id=\"texts\">";
inline constexpr std::string_view kPageData = "<script type=\"application/json\" id=\"data\">";

// With PELLUCID_WRITE_DOCS=1 writes docs/explanations/NAME; else checks that the page there has the code of
// this one. `filter` selects the test.
inline void expect_explanation(const std::string& name, const std::string& html, const std::string& filter) {
  EXPECT_LT(html.size(), 300'000u);
  const std::string path = PELLUCID_SOURCE_DIR "/docs/explanations/" + name;
  if (std::getenv("PELLUCID_WRITE_DOCS") != nullptr) {
    std::filesystem::create_directories(PELLUCID_SOURCE_DIR "/docs/explanations");
    std::ofstream(path, std::ios::binary) << html;
    return;
  }
  const auto code_of = [](std::string page) {
    for (const auto& [tag, end] :
         {std::pair{kPageTexts, "</script>"}, {kPageData, "</script>"}, {"<noscript>", "</noscript>"}}) {
      const std::string own = element_of(page, tag, end);
      if (!own.empty()) page.erase(page.find(own), own.size());
    }
    return page;
  };
  EXPECT_TRUE(code_of(read_file(path)) == code_of(html))
      << path << " is out of date: PELLUCID_WRITE_DOCS=1 ./dev test " << filter;
}

}  // namespace pel::test
