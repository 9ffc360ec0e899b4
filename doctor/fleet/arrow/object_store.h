// Files of this machine and of object stores, by Arrow's file systems. That of S3 is a library of its own,
// which is loaded when a path needs it.
#pragma once

#include <memory>
#include <string>

namespace arrow {
template <class T>
class Result;
namespace io {
class OutputStream;
class RandomAccessFile;
}  // namespace io
}  // namespace arrow

namespace pel::fleet {

// Of s3://bucket/folder/file?region=…, where what follows ? are options of the store, or of a path.
arrow::Result<std::shared_ptr<arrow::io::OutputStream>> opened_to_write(const std::string& path);
arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> opened_to_read(const std::string& path);

}  // namespace pel::fleet
