// By libsodium: Ed25519ph, which reads the message once, in pieces.
#include "saved/signature.h"

#include <sodium.h>

#include "base/check.h"

namespace pel {
namespace {

static_assert(crypto_sign_PUBLICKEYBYTES == sizeof(PublicKey::bytes));
static_assert(crypto_sign_SEEDBYTES == sizeof(SigningKey::secret));
static_assert(crypto_sign_BYTES == saved::kSignatureBytes);

void initialize() {
  // 1: it was before. Any number of threads may call it.
  PEL_CHECK(sodium_init() >= 0, InternalError, "libsodium cannot be initialized");
}

const unsigned char* data_of(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

struct KeyPair {
  unsigned char secret[crypto_sign_SECRETKEYBYTES];
  PublicKey public_key;
  explicit KeyPair(const SigningKey& key) {
    initialize();
    crypto_sign_seed_keypair(public_key.bytes.data(), secret, key.secret.data());
  }
  ~KeyPair() { sodium_memzero(secret, sizeof(secret)); }
  KeyPair(const KeyPair&) = delete;
  KeyPair& operator=(const KeyPair&) = delete;
};

crypto_sign_state state_after(ArrayView<std::string_view> pieces) {
  crypto_sign_state state;
  crypto_sign_init(&state);
  for (const std::string_view piece : pieces) crypto_sign_update(&state, data_of(piece), piece.size());
  return state;
}

}  // namespace

SigningKey SigningKey::generate(Site) {
  initialize();
  SigningKey key;
  randombytes_buf(key.secret.data(), key.secret.size());
  return key;
}

PublicKey SigningKey::public_key(Site) const { return KeyPair(*this).public_key; }

namespace saved {

std::string sign(ArrayView<std::string_view> pieces, const SigningKey& key) {
  const KeyPair pair(key);
  crypto_sign_state state = state_after(pieces);
  std::string signature(kSignatureBytes, '\0');
  crypto_sign_final_create(&state, reinterpret_cast<unsigned char*>(signature.data()), nullptr, pair.secret);
  return signature;
}

bool is_signature(std::string_view signature, ArrayView<std::string_view> pieces, const PublicKey& key) {
  initialize();
  if (signature.size() != kSignatureBytes) return false;
  crypto_sign_state state = state_after(pieces);
  return crypto_sign_final_verify(&state, data_of(signature), key.bytes.data()) == 0;
}

}  // namespace saved
}  // namespace pel
