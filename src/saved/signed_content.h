// What the signature of a file covers: kinds, lengths and bytes of all sections but its own, and the tensors
// of other files that it refers to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/signing.h"

#include "saved/container.h"

namespace pel::saved {

// The content of the last section, which is appended.
std::string signature_section(ArrayView<Section> sections, ArrayView<std::string_view> referred,
                              const SigningKey& key);

// Throws a FileError unless the last section is the signature of the others by one of these keys.
void check_signature(ArrayView<Section> sections, ArrayView<std::string_view> referred,
                     ArrayView<PublicKey> trusted);

}  // namespace pel::saved
