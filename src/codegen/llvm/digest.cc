#include "codegen/llvm/digest.h"

#include <llvm-c/blake3.h>

namespace pel::codegen {
namespace {

Digest finish(llvm_blake3_hasher& hasher, std::string_view bytes) {
  llvm_blake3_hasher_update(&hasher, bytes.data(), bytes.size());
  Digest result{};
  llvm_blake3_hasher_finalize(&hasher, result.data(), result.size());
  return result;
}

}  // namespace

Digest digest(std::string_view bytes) {
  llvm_blake3_hasher hasher;
  llvm_blake3_hasher_init(&hasher);
  return finish(hasher, bytes);
}

Digest keyed_digest(const Digest& key, std::string_view bytes) {
  llvm_blake3_hasher hasher;
  llvm_blake3_hasher_init_keyed(&hasher, key.data());
  return finish(hasher, bytes);
}

}  // namespace pel::codegen
