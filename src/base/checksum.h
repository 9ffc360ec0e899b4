// A checksum that finds damage: XXH64, with the seed 0. It is not for authentication.
#pragma once

#include <cstdint>
#include <string_view>

namespace pel {

std::uint64_t checksum(std::string_view bytes);

}  // namespace pel
