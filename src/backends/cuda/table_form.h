// The form of a kernel that a captured graph has: it finds its addresses in a table.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace pel::cuda {

// Returns the PTX of `kernel` whose first `addresses` parameters are addresses of addresses: each is loaded
// once more, and nothing else differs. None: the PTX uses a parameter in a way that is not known.
std::optional<std::string> with_address_table(const std::string& ptx, const std::string& kernel,
                                              std::size_t addresses);

}  // namespace pel::cuda
