#include "pellucid/extend/site.h"

#include <bit>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace pel {
namespace {

// What a std::source_location points to, in libstdc++ and libc++. The standard has no way to make one from a
// file and a line; a Site that stored both itself would double the size of an argument of every call.
struct LocationRecord {
  const char* file;
  const char* function;
  unsigned line, column;
};
static_assert(sizeof(Site) == sizeof(LocationRecord*) && std::is_trivially_copyable_v<Site>);

Site site_of(const LocationRecord* record) { return std::bit_cast<Site>(record); }

// Whether this standard library has that layout: compares what a forged Site returns.
bool has_expected_layout() {
  static const LocationRecord kProbe = {"file", "function", 3, 4};
  const Site site = site_of(&kProbe);
  return site.file_name() == kProbe.file && site.function_name() == kProbe.function && site.line() == 3 &&
         site.column() == 4;
}

struct Records {
  std::mutex mutex;
  std::set<std::string, std::less<>> files;
  std::map<std::pair<const char*, std::uint32_t>, LocationRecord> by_line;  // the address of a file's text
};

}  // namespace

Site make_site(std::string_view file, std::uint32_t line) {
  static const bool is_supported = has_expected_layout();
  if (!is_supported) return {};
  static Records& records = *new Records();  // never freed: events of profiles refer to it until exit
  const std::lock_guard lock(records.mutex);
  auto name = records.files.find(file);
  if (name == records.files.end()) name = records.files.emplace(file).first;
  const auto [at, is_new] =
      records.by_line.try_emplace({name->c_str(), line}, LocationRecord{name->c_str(), "", line, 0});
  return site_of(&at->second);
}

}  // namespace pel
