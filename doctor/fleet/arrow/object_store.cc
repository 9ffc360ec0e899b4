#include "doctor/fleet/arrow/object_store.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <arrow/api.h>
#include <arrow/filesystem/filesystem.h>
#include <arrow/io/file.h>
#include <dlfcn.h>

#include "doctor/fleet/parquet_file.h"

namespace pel::fleet {
namespace {

constexpr std::string_view kScheme = "s3://";

// libarrow_s3.so.2600, next to libarrow.so.2600.
arrow::Result<std::string> library_of_s3() {
  Dl_info arrow_library{};
  if (dladdr(reinterpret_cast<const void*>(&arrow::fs::EnsureFinalized), &arrow_library) == 0)
    return arrow::Status::Invalid("the library of Arrow was not found");
  std::string path = arrow_library.dli_fname;
  constexpr std::string_view kName = "libarrow.so";
  const std::size_t at = path.rfind(kName);
  if (at == std::string::npos) return arrow::Status::Invalid(path, " is not called libarrow.so");
  return path.replace(at, kName.size(), "libarrow_s3.so");
}

class Stores {
 public:
  static Stores& get() {
    static Stores& stores = *new Stores();  // not destroyed: close() ends them, while Arrow is still there
    return stores;
  }

  // Of s3://bucket and its options.
  arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> of(const std::string& uri) {
    const std::scoped_lock lock(mutex_);
    if (!is_loaded_) {
      ARROW_ASSIGN_OR_RAISE(const std::string library, library_of_s3());
      ARROW_RETURN_NOT_OK(arrow::fs::LoadFileSystemFactories(library.c_str()));
      is_loaded_ = true;
    }
    std::shared_ptr<arrow::fs::FileSystem>& store = stores_[uri];
    if (store != nullptr) return store;
    auto opened = arrow::fs::FileSystemFromUri(uri);
    // The first store starts the library for S3, whose objects end at exit. They crash if they were not
    // closed, so this is done before: what is registered later runs earlier.
    if (!std::exchange(closes_at_exit_, true)) std::atexit([] { get().close(); });
    ARROW_ASSIGN_OR_RAISE(store, std::move(opened));
    return store;
  }

 private:
  void close() {
    const std::scoped_lock lock(mutex_);
    stores_.clear();
    arrow::fs::EnsureFinalized();
  }

  std::mutex mutex_;
  bool is_loaded_ = false, closes_at_exit_ = false;
  std::map<std::string, std::shared_ptr<arrow::fs::FileSystem>> stores_;
};

struct StoredPath {
  std::shared_ptr<arrow::fs::FileSystem> store;
  std::string path;  // within it, with the bucket
};

bool is_in_object_store(const std::string& path) { return path.starts_with(kScheme); }

arrow::Result<StoredPath> stored_path(const std::string& uri) {
  // As other programs for S3 read such paths: %20 in the name of an object is not a space.
  const std::size_t options = std::min(uri.find('?'), uri.size());
  const std::string path = uri.substr(kScheme.size(), options - kScheme.size());
  const std::string bucket = path.substr(0, path.find('/'));
  if (bucket.empty()) return arrow::Status::Invalid("it names no bucket: expected s3://bucket/folder");
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::fs::FileSystem> store,
                        Stores::get().of(std::string(kScheme) + bucket + uri.substr(options)));
  return StoredPath{std::move(store), path};
}

arrow::Status list(const std::string& folder, std::vector<StoredFile>& files) {
  ARROW_ASSIGN_OR_RAISE(const StoredPath at, stored_path(folder));
  arrow::fs::FileSelector selector;
  selector.base_dir = at.path;
  selector.allow_not_found = true;
  ARROW_ASSIGN_OR_RAISE(const std::vector<arrow::fs::FileInfo> found, at.store->GetFileInfo(selector));
  for (const arrow::fs::FileInfo& file : found)
    files.push_back({file.base_name(), file.IsFile() ? static_cast<std::uint64_t>(file.size()) : 0});
  return arrow::Status::OK();
}

arrow::Status remove(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(const StoredPath at, stored_path(path));
  ARROW_ASSIGN_OR_RAISE(const arrow::fs::FileInfo file, at.store->GetFileInfo(at.path));
  return file.IsFile() ? at.store->DeleteFile(at.path) : arrow::Status::OK();
}

std::string said(const arrow::Status& status) { return status.ok() ? "" : status.message(); }

}  // namespace

arrow::Result<std::shared_ptr<arrow::io::OutputStream>> opened_to_write(const std::string& path) {
  if (!is_in_object_store(path)) return arrow::io::FileOutputStream::Open(path);
  ARROW_ASSIGN_OR_RAISE(const StoredPath at, stored_path(path));
  return at.store->OpenOutputStream(at.path);
}

arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> opened_to_read(const std::string& path) {
  if (!is_in_object_store(path)) return arrow::io::ReadableFile::Open(path);
  ARROW_ASSIGN_OR_RAISE(const StoredPath at, stored_path(path));
  return at.store->OpenInputFile(at.path);
}

extern "C" __attribute__((visibility("default"))) std::string pellucid_list_stored(
    const std::string& folder, std::vector<StoredFile>& files) {
  return said(list(folder, files));
}

extern "C" __attribute__((visibility("default"))) std::string pellucid_remove_stored(
    const std::string& path) {
  return said(remove(path));
}

}  // namespace pel::fleet
