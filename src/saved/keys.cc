// Keys as hexadecimal text.
#include <array>
#include <string_view>

#include "pellucid/signing.h"

#include "base/check.h"

namespace pel {
namespace {

using KeyBytes = std::array<std::uint8_t, 32>;

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

KeyBytes key_in(std::string_view text) {
  KeyBytes bytes{};
  // The text is not shown: it may be secret.
  PEL_CHECK(text.size() == 2 * bytes.size(), ValueError, "a key has {} hexadecimal digits, got {} characters",
            2 * bytes.size(), text.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
    PEL_CHECK(high >= 0 && low >= 0, ValueError, "a key has hexadecimal digits alone");
    bytes[i] = static_cast<std::uint8_t>(16 * high + low);
  }
  return bytes;
}

std::string text_of(const KeyBytes& bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

PublicKey PublicKey::from_hex(std::string_view text, Site site) {
  return as_call("PublicKey::from_hex", site, [&] { return PublicKey{key_in(text)}; });
}
std::string PublicKey::hex() const { return text_of(bytes); }
SigningKey SigningKey::from_hex(std::string_view text, Site site) {
  return as_call("SigningKey::from_hex", site, [&] { return SigningKey{key_in(text)}; });
}
std::string SigningKey::hex() const { return text_of(secret); }

}  // namespace pel
