// Bytes in less memory, for code that is linked and unpacked by the processes that need it. Finds repeats at
// any distance, which is what generated code has most of, and unpacks a gigabyte in a second with forty
// lines.
//
// A sequence of copies, each preceded by bytes that are not copied. Each begins with a byte of three fields:
//   bits 5 to 7  the number of bytes that are not copied; 7: more, see below
//   bits 2 to 4  the length of the copy, less kMinCopy; 7: more
//   bits 0 to 1  how many bytes the distance of the copy has; 0: it is that of the copy before
// Then follow the rest of the first number, the bytes themselves, the distance, and the rest of the second
// number. The rest of a number is a sum of bytes, of which all but the last are 255. The last sequence has no
// copy.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pel {

// For programs that run while the library is built: takes a second for a megabyte.
std::string compressed(std::string_view bytes);

// Returns nothing if these are not compressed bytes, or if they do not become `size` bytes.
std::optional<std::string> decompressed(std::string_view bytes, std::size_t size);

}  // namespace pel
