// Ed25519 keys: who may write the plans that load_compiled() loads.
//
//   const SigningKey key = SigningKey::generate();                      // once; keep key.hex() secret
//   fast.save("model.pel", {.signing_key = key});
//   load_compiled("model.pel", {.trusted_keys = {key.public_key()}});   // any other file is refused
//
// In a library built without libsodium these functions throw a ValueError.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "pellucid/api.h"

namespace pel {

struct PublicKey {
  std::array<std::uint8_t, 32> bytes{};

  // 64 hexadecimal digits.
  PEL_API static PublicKey from_hex(std::string_view text, Site site = Site::current());
  PEL_API std::string hex() const;
  bool operator==(const PublicKey&) const = default;
};

struct SigningKey {
  std::array<std::uint8_t, 32> secret{};

  PEL_API static SigningKey generate(Site site = Site::current());
  PEL_API static SigningKey from_hex(std::string_view text, Site site = Site::current());
  PEL_API std::string hex() const;
  PEL_API PublicKey public_key(Site site = Site::current()) const;
};

}  // namespace pel
