#include "doctor/fleet/storage.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/check.h"

namespace pel::fleet {
namespace {

const ParquetModule& loaded_module() {
  const ParquetModule* const module = find_parquet_module();
  PEL_ASSERT(module != nullptr, "callers check can_write_parquet() first");
  return *module;
}

}  // namespace

bool is_in_store(std::string_view path) { return path.starts_with("s3://"); }

std::string path_in(const std::string& folder, std::string_view name) {
  const std::size_t options = is_in_store(folder) ? folder.find('?') : std::string::npos;
  std::string path = folder.substr(0, options);
  if (!path.ends_with('/')) path += '/';
  path += name;
  return options == std::string::npos ? path : path + folder.substr(options);
}

void make_folder(const std::string& folder) {
  if (is_in_store(folder)) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  PEL_CHECK(!error, FileError, "{} cannot be created: {}", folder, error.message());
}

std::vector<StoredFile> files_in(const std::string& folder) {
  std::vector<StoredFile> files;
  if (is_in_store(folder)) {
    const std::string wrong = loaded_module().list(folder, files);
    PEL_CHECK(wrong.empty(), FileError, "{} cannot be read: {}", folder, wrong);
    return files;
  }
  std::error_code error;
  for (std::filesystem::directory_iterator entries(folder, error);
       !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    std::error_code gone;
    const std::uintmax_t bytes = entries->is_regular_file(gone) ? entries->file_size(gone) : 0;
    files.push_back({entries->path().filename().string(), gone ? 0 : bytes});
  }
  PEL_CHECK(!error, FileError, "{} cannot be read: {}", folder, error.message());
  return files;
}

void remove_file(const std::string& path) {
  if (is_in_store(path)) {
    const std::string wrong = loaded_module().remove(path);
    PEL_CHECK(wrong.empty(), FileError, "{} cannot be removed: {}", path, wrong);
    return;
  }
  std::error_code error;
  std::filesystem::remove(path, error);
  PEL_CHECK(!error, FileError, "{} cannot be removed: {}", path, error.message());
}

}  // namespace pel::fleet
