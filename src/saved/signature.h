// Ed25519 signatures of a message in pieces.
#pragma once

#include <string>
#include <string_view>

#include "pellucid/array_view.h"
#include "pellucid/signing.h"

namespace pel::saved {

inline constexpr std::size_t kSignatureBytes = 64;

std::string sign(ArrayView<std::string_view> pieces, const SigningKey& key);
bool is_signature(std::string_view signature, ArrayView<std::string_view> pieces, const PublicKey& key);

}  // namespace pel::saved
