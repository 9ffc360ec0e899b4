// A canvas of dots in a terminal: each character has 2 by 4 of them, or a letter.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"

namespace pel::inspect {

class BrailleCanvas {
 public:
  // The colour of a character; if it has several dots, the last of this list.
  enum class Layer : unsigned char { Frame, Lower, Upper };

  BrailleCanvas(int columns, int rows)
      : columns_(columns), rows_(rows), cells_(static_cast<std::size_t>(columns * rows)) {}
  int dots_across() const { return 2 * columns_; }
  int dots_down() const { return 4 * rows_; }
  // In dots from the lower left corner; outside, nothing is drawn.
  void dot(int x, int y, Layer layer);
  void label(int x, int y, std::string_view letters);           // over the dots; not drawn if it does not fit
  void mark(int x, int y, std::string_view sign);               // over labels; to the right of another mark
  std::string row(int number, const Terminal& terminal) const;  // 0 is the top row

 private:
  struct Cell {
    unsigned char dots = 0;
    Layer layer = Layer::Frame;
    char letter = 0;
    std::string mark;
  };
  Cell* at(int x, int y);
  int columns_, rows_;
  std::vector<Cell> cells_;
};

}  // namespace pel::inspect
