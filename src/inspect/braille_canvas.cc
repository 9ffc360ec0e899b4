#include "inspect/braille_canvas.h"

#include <algorithm>
#include <array>

namespace pel::inspect {

BrailleCanvas::Cell* BrailleCanvas::at(int x, int y) {
  if (x < 0 || y < 0 || x >= dots_across() || y >= dots_down()) return nullptr;
  return &cells_[static_cast<std::size_t>((rows_ - 1 - y / 4) * columns_ + x / 2)];
}

void BrailleCanvas::dot(int x, int y, Layer layer) {
  // Unicode numbers the dots by columns, except for the last row. From the bottom:
  constexpr std::array<std::array<unsigned char, 2>, 4> kDots = {
      {{0x40, 0x80}, {0x04, 0x20}, {0x02, 0x10}, {0x01, 0x08}}};
  Cell* cell = at(x, y);
  if (cell == nullptr) return;
  cell->dots |= kDots[static_cast<std::size_t>(y % 4)][static_cast<std::size_t>(x % 2)];
  cell->layer = std::max(cell->layer, layer);
}

void BrailleCanvas::label(int x, int y, std::string_view letters) {
  Cell* cell = at(x, y);
  if (cell == nullptr || x / 2 + static_cast<int>(letters.size()) > columns_) return;
  for (const char letter : letters) (cell++)->letter = letter;
}

void BrailleCanvas::mark(int x, int y, std::string_view sign) {
  x = std::clamp(x, 0, dots_across() - 1);
  y = std::clamp(y, 0, dots_down() - 1);
  while (x + 2 < dots_across() && !at(x, y)->mark.empty()) x += 2;
  at(x, y)->mark = sign;
}

std::string BrailleCanvas::row(int number, const Terminal& terminal) const {
  std::string text;
  for (int column = 0; column < columns_; ++column) {
    const Cell& cell = cells_[static_cast<std::size_t>(number * columns_ + column)];
    if (!cell.mark.empty()) {
      text += terminal.yellow(terminal.bold(cell.mark));
      continue;
    }
    if (cell.letter != 0) {
      text += terminal.dim(std::string(1, cell.letter));
      continue;
    }
    if (cell.dots == 0) {
      text += ' ';
      continue;
    }
    std::string sign = "\u2800";
    sign[1] = static_cast<char>(sign[1] + (cell.dots >> 6));
    sign[2] = static_cast<char>(sign[2] + (cell.dots & 0x3f));
    text += cell.layer == Layer::Frame   ? terminal.dim(sign)
            : cell.layer == Layer::Lower ? terminal.green(sign)
                                         : terminal.cyan(sign);
  }
  if (!terminal.has_color) text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace pel::inspect
