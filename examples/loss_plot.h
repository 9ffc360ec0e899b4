// A progress bar, and a curve drawn with characters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <unistd.h>

inline void show_progress(std::int64_t done, std::int64_t all, double loss) {
  // In a file or a pipe it prints a line now and then instead.
  const bool is_terminal = isatty(1) != 0;
  if (!is_terminal && done % std::max<std::int64_t>(1, all / 4) != 0) return;
  constexpr int kWidth = 40;
  const int filled = static_cast<int>(kWidth * done / all);
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < filled ? "█" : "·";
  std::printf("%s%s step %lld of %lld, loss %.3f%s", is_terminal ? "\r" : "", bar.c_str(),
              static_cast<long long>(done), static_cast<long long>(all), loss,
              is_terminal && done < all ? "" : "\n");
  std::fflush(stdout);
}

inline void plot(const std::vector<double>& values, int width = 72, int height = 12) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double range = std::max(*high - *low, 1e-9);
  width = std::min(width, static_cast<int>(values.size()));
  std::vector<std::string> rows(static_cast<std::size_t>(height),
                                std::string(static_cast<std::size_t>(width), ' '));
  for (int x = 0; x < width; ++x) {
    const std::size_t begin = values.size() * static_cast<std::size_t>(x) / static_cast<std::size_t>(width);
    const std::size_t end = std::max(
        begin + 1, values.size() * static_cast<std::size_t>(x + 1) / static_cast<std::size_t>(width));
    double mean = 0;
    for (std::size_t i = begin; i < end; ++i) mean += values[i] / static_cast<double>(end - begin);
    const int y = static_cast<int>((*high - mean) / range * (height - 1) + 0.5);
    rows[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = '*';
  }
  for (int y = 0; y < height; ++y) {
    std::string& row = rows[static_cast<std::size_t>(y)];
    row.erase(row.find_last_not_of(' ') + 1);
    std::printf("%7.3f │%s\n", *high - range * y / (height - 1), row.c_str());
  }
  std::string line;
  for (int x = 0; x < width; ++x) line += "─";
  std::printf("        └%s\n         loss over %zu steps\n", line.c_str(), values.size());
}
