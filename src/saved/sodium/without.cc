// Replaces signature.cc if the library is built without libsodium.
#include "base/check.h"
#include "saved/signature.h"

namespace pel {
namespace {

[[noreturn]] void refuse() {
  throw ValueError("this build of the library has no libsodium, so it neither signs nor checks signatures");
}

}  // namespace

SigningKey SigningKey::generate(Site site) {
  return as_call("SigningKey::generate", site, [&]() -> SigningKey { refuse(); });
}
PublicKey SigningKey::public_key(Site site) const {
  return as_call("SigningKey::public_key", site, [&]() -> PublicKey { refuse(); });
}

namespace saved {

std::string sign(ArrayView<std::string_view>, const SigningKey&) { refuse(); }
bool is_signature(std::string_view, ArrayView<std::string_view>, const PublicKey&) { refuse(); }

}  // namespace saved
}  // namespace pel
