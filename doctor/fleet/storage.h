// Where the tables of ranks lie: in a folder of this machine, or of an object store, s3://bucket/folder. Of
// the second the module with Arrow knows how.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/fleet/parquet_file.h"

namespace pel::fleet {

bool is_in_store(std::string_view path);

// The path of a file or folder in a folder. What follows ? in that of a store stays at the end.
std::string path_in(const std::string& folder, std::string_view name);

// Each throws a FileError that names the path.
void make_folder(const std::string& folder);  // and those around it; stores have none
std::vector<StoredFile> files_in(const std::string& folder);
void remove_file(const std::string& path);

}  // namespace pel::fleet
