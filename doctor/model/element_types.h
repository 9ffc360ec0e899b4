// The element types of collectives: names of at::ScalarType, as NCCL's arguments have them.
#pragma once

#include <string_view>

namespace pel::doctor {

// 0: not known.
constexpr int bytes_of_element(std::string_view type) {
  struct Element {
    std::string_view name;
    int bytes;
  };
  constexpr Element kElements[] = {{"Byte", 1},        {"Char", 1},  {"Bool", 1}, {"Float8_e4m3fn", 1},
                                   {"Float8_e5m2", 1}, {"Short", 2}, {"Half", 2}, {"BFloat16", 2},
                                   {"Int", 4},         {"Float", 4}, {"Long", 8}, {"Double", 8}};
  for (const Element& element : kElements) {
    if (element.name == type) return element.bytes;
  }
  return 0;
}

}  // namespace pel::doctor
