#include "codegen/cache/kernel_cache.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <tuple>

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/random.h>

#include "pellucid/cache.h"

#include "base/check.h"
#include "base/environment.h"
#include "codegen/cache/cache_folder.h"

namespace pel::codegen {
namespace {

constexpr std::string_view kFirstBytes = "PELKERN1", kFirstOfBinaries = "PELBINA1";
static_assert(kFirstBytes.size() == kFirstOfBinaries.size());
constexpr std::string_view kEnding = ".kernels";
constexpr const char* kKeyName = "key";
constexpr std::size_t kMaxEntryBytes = std::size_t{64} << 20;
constexpr std::int64_t kDefaultLimit = std::int64_t{256} << 20;

std::atomic<std::int64_t> loaded{0}, compiled{0}, stored{0};

void log(std::string_view text) {
  if (log_wants("cache")) log_line("cache", text);
}

struct Settings {
  std::optional<std::string> directory;
  std::int64_t limit = kDefaultLimit;
};

Settings read_settings() {
  Settings settings;
  std::string folder;
  const std::string text = environment_text("PELLUCID_CACHE");
  bool is_off = getauxval(AT_SECURE) != 0;  // a set-user-id program must not trust its environment
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (part == "off") {
      is_off = true;
    } else if (const std::optional<std::int64_t> bytes = byte_count(part)) {
      settings.limit = *bytes;
    } else {
      folder = part;
    }
  }
  if (folder.empty()) folder = user_cache_folder();
  if (!is_off && !folder.empty() && settings.limit > 0) settings.directory = folder + "/kernels";
  return settings;
}
// Read once, as all settings are.
const Settings& settings() {
  static const Settings* const read = new Settings(read_settings());
  return *read;
}

std::string_view view(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string entry_name(const Digest& key) {
  std::string name;
  for (std::size_t i = 0; i < 20; ++i) name += fmt::format("{:02x}", key[i]);
  return name.append(kEnding);
}

std::optional<Digest> key_in(const CacheFile& file) {
  Digest key{};
  if (!file.content || file.content->size() != key.size()) return std::nullopt;
  std::memcpy(key.data(), file.content->data(), key.size());
  return key;
}

// The key of this folder. A process that can read it can write entries that are loaded.
std::optional<Digest> secret(const CacheFolder& folder, bool create, std::string& problem) {
  const CacheFile file = folder.read(kKeyName, kMaxEntryBytes);
  if (const std::optional<Digest> key = key_in(file)) return key;
  if (!file.problem.empty() || file.content)
    problem = "the key is not used: " + (file.problem.empty() ? "its size is wrong" : file.problem);
  if (!create) return std::nullopt;
  if (!problem.empty()) log(problem + "; a new key replaces it, and earlier entries are compiled again");
  Digest fresh{};
  if (::getrandom(fresh.data(), fresh.size(), 0) != static_cast<ssize_t>(fresh.size())) {
    problem = "the system gave no random bytes";
    return std::nullopt;
  }
  const bool replace = !problem.empty();
  problem = folder.write(kKeyName, view(fresh), replace);
  // Another process may have been first.
  const std::optional<Digest> key = key_in(folder.read(kKeyName, kMaxEntryBytes));
  if (key) problem.clear();
  return key;
}

std::string to_bytes(const CachedBinary& binary) {
  std::string bytes;
  const auto add = [&](std::string_view text) {
    const auto size = static_cast<std::uint64_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
  };
  add(std::to_string(binary.kernels.size()));
  for (const std::string& kernel : binary.kernels) add(kernel);
  add(binary.bytes);
  return bytes;
}
std::optional<CachedBinary> binary_from(std::string_view bytes) {
  const auto next = [&]() -> std::optional<std::string> {
    std::uint64_t size = 0;
    if (bytes.size() < sizeof size) return std::nullopt;
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    if (size > bytes.size()) return std::nullopt;
    std::string text(bytes.substr(0, size));
    bytes.remove_prefix(size);
    return text;
  };
  CachedBinary binary;
  const std::optional<std::string> count = next();
  for (unsigned long left = count ? std::strtoul(count->c_str(), nullptr, 10) : 0; left > 0; --left) {
    std::optional<std::string> kernel = next();
    if (!kernel) return std::nullopt;
    binary.kernels.push_back(std::move(*kernel));
  }
  std::optional<std::string> content = next();
  if (!count || !content || !bytes.empty()) return std::nullopt;
  binary.bytes = std::move(*content);
  return binary;
}

std::string entry_bytes(const Digest& secret, const Digest& key, std::string_view first,
                        std::string_view content) {
  std::string bytes = std::string(first).append(view(key)).append(content);
  return bytes.append(view(keyed_digest(secret, bytes)));
}

// What is in a file: code of this process, or a binary of a driver.
struct Entry {
  std::optional<CodeImage> image;
  std::optional<CachedBinary> binary;
  std::vector<std::string> kernels() const {
    if (binary) return binary->kernels;
    std::vector<std::string> names;
    for (const CodeImage::Function& function : image->functions) names.push_back(function.name);
    return names;
  }
};

// Checks the code of the whole file before anything in it is looked at.
std::optional<Entry> entry_in(std::string_view bytes, const Digest& secret, const std::string& name,
                              std::string& problem) {
  constexpr std::size_t kDigest = sizeof(Digest);
  if (bytes.size() < kFirstBytes.size() + 2 * kDigest) {
    problem = "it is too short";
    return std::nullopt;
  }
  const std::string_view code = bytes.substr(bytes.size() - kDigest);
  bytes.remove_suffix(kDigest);
  const Digest expected = keyed_digest(secret, bytes);
  if (std::memcmp(code.data(), expected.data(), kDigest) != 0) {
    problem = "it is damaged, or another key wrote it";
    return std::nullopt;
  }
  Digest key{};
  std::memcpy(key.data(), bytes.data() + kFirstBytes.size(), kDigest);
  const bool is_binary = bytes.starts_with(kFirstOfBinaries);
  if ((!bytes.starts_with(kFirstBytes) && !is_binary) || entry_name(key) != name) {
    problem = "it is the entry of other kernels";
    return std::nullopt;
  }
  const std::string_view content = bytes.substr(kFirstBytes.size() + kDigest);
  Entry entry;
  if (is_binary) {
    entry.binary = binary_from(content);
  } else {
    entry.image = image_from(content);
  }
  if (entry.image || entry.binary) return entry;
  problem = "it has another format";
  return std::nullopt;
}

// Returns nothing without a problem if there is no entry.
std::optional<Entry> read_entry(const CacheFolder& folder, const Digest& secret, const std::string& name,
                                std::string& problem) {
  const CacheFile file = folder.read(name, kMaxEntryBytes);
  problem = file.problem;
  if (!file.content) return std::nullopt;
  return entry_in(*file.content, secret, name, problem);
}

bool is_entry(const CacheFolder::File& file) { return file.name.ends_with(kEnding); }

// Entries, the last used first.
std::vector<CacheFolder::File> entries_of(const CacheFolder& folder) {
  std::vector<CacheFolder::File> files = folder.files();
  std::erase_if(files, [](const CacheFolder::File& file) { return !is_entry(file); });
  std::ranges::sort(files, [](const CacheFolder::File& a, const CacheFolder::File& b) {
    return std::tie(b.used, a.name) < std::tie(a.used, b.name);
  });
  return files;
}

void remove_least_used(const CacheFolder& folder) {
  folder.remove_unfinished();
  std::int64_t bytes = 0;
  for (const CacheFolder::File& file : entries_of(folder)) {
    bytes += file.bytes;
    if (bytes <= settings().limit) continue;
    log(fmt::format("{} is removed: the cache would hold more than {} bytes", file.name, settings().limit));
    folder.remove(file.name);
  }
}

// Opens the folder and its key. `create`: both are made if they do not exist.
struct OpenCache {
  CacheFolder folder;
  Digest secret;
};
std::optional<OpenCache> open_cache(bool create, std::string& problem) {
  std::optional<CacheFolder> folder = CacheFolder::open(*settings().directory, create, problem);
  if (!folder) return std::nullopt;
  const std::optional<Digest> key = secret(*folder, create, problem);
  if (!key) return std::nullopt;
  return OpenCache{std::move(*folder), *key};
}

std::optional<Entry> find_entry(const Digest& key) {
  if (!settings().directory) return std::nullopt;
  const std::string name = entry_name(key);
  std::string problem;
  const std::optional<OpenCache> cache = open_cache(/*create=*/false, problem);
  std::optional<Entry> entry;
  if (cache) entry = read_entry(cache->folder, cache->secret, name, problem);
  if (entry) {
    ++loaded;
    cache->folder.touch(name);
    log(fmt::format("{} is loaded: {} kernels", name, entry->kernels().size()));
  } else {
    ++compiled;
    log(fmt::format("{} is compiled: {}", name, problem.empty() ? "there is no entry" : problem));
  }
  return entry;
}

void store_entry(const Digest& key, std::string_view first, std::string_view content) {
  if (!settings().directory) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const std::string name = entry_name(key);
  std::string problem;
  const std::optional<OpenCache> cache = open_cache(/*create=*/true, problem);
  if (cache) {
    const std::string bytes = entry_bytes(cache->secret, key, first, content);
    const bool is_too_large =
        bytes.size() > kMaxEntryBytes || static_cast<std::int64_t>(bytes.size()) > settings().limit;
    problem = is_too_large ? "it is too large" : cache->folder.write(name, bytes, /*replace=*/true);
  }
  if (!problem.empty()) {
    log(fmt::format("{} is not stored: {}", name, problem));
    return;
  }
  // Looking through the folder costs more than a write; so not every write does.
  constexpr std::int64_t kWritesPerLook = 32;
  if (stored++ % kWritesPerLook == 0) remove_least_used(cache->folder);
}

}  // namespace

std::optional<CodeImage> find_cached(const Digest& key) {
  std::optional<Entry> entry = find_entry(key);
  return entry ? std::move(entry->image) : std::nullopt;
}
void store_cached(const Digest& key, const CodeImage& image) {
  store_entry(key, kFirstBytes, to_bytes(image));
}

std::optional<CachedBinary> find_cached_binary(std::string_view content) {
  std::optional<Entry> entry = find_entry(digest(content));
  return entry ? std::move(entry->binary) : std::nullopt;
}
void store_cached_binary(std::string_view content, const CachedBinary& binary) {
  store_entry(digest(content), kFirstOfBinaries, to_bytes(binary));
}

}  // namespace pel::codegen

namespace pel {

using namespace codegen;

std::optional<std::string> KernelCache::directory() { return settings().directory; }
std::int64_t KernelCache::limit() { return settings().limit; }

std::vector<CacheEntry> KernelCache::entries() {
  std::vector<CacheEntry> entries;
  if (!settings().directory) return entries;
  std::string problem;
  const std::optional<CacheFolder> folder = CacheFolder::open(*settings().directory, false, problem);
  PEL_CHECK(problem.empty(), FileError, "the kernel cache is not used: {}", problem);
  if (!folder) return entries;
  const std::optional<Digest> key = secret(*folder, /*create=*/false, problem);
  for (const CacheFolder::File& file : entries_of(*folder)) {
    CacheEntry& entry = entries.emplace_back(CacheEntry{file.name, file.bytes, file.used, {}, problem});
    if (!key) {
      if (problem.empty()) entry.problem = "the folder has no key";
      continue;
    }
    if (const std::optional<Entry> found = read_entry(*folder, *key, file.name, entry.problem))
      entry.kernels = found->kernels();
  }
  return entries;
}

std::int64_t KernelCache::clear() {
  if (!settings().directory) return 0;
  std::string problem;
  const std::optional<CacheFolder> folder = CacheFolder::open(*settings().directory, false, problem);
  PEL_CHECK(problem.empty(), FileError, "the kernel cache is not cleared: {}", problem);
  if (!folder) return 0;
  const std::vector<CacheFolder::File> files = entries_of(*folder);
  for (const CacheFolder::File& file : files) folder->remove(file.name);
  folder->remove(kKeyName);
  return static_cast<std::int64_t>(files.size());
}

CacheCounts KernelCache::counts() { return {loaded, compiled, stored}; }

}  // namespace pel
