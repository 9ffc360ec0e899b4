// Replaces kernel_cache.cc if the library is built without LLVM: it compiles nothing, so it keeps nothing.
#include "pellucid/cache.h"

#include "codegen/cache/kernel_cache.h"

namespace pel {

std::optional<codegen::CachedBinary> codegen::find_cached_binary(std::string_view) { return std::nullopt; }
void codegen::store_cached_binary(std::string_view, const CachedBinary&) {}

std::optional<std::string> KernelCache::directory() { return std::nullopt; }
std::int64_t KernelCache::limit() { return 0; }
std::vector<CacheEntry> KernelCache::entries() { return {}; }
std::int64_t KernelCache::clear() { return 0; }
CacheCounts KernelCache::counts() { return {}; }

}  // namespace pel
