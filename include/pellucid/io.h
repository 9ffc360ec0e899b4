// Weight files: safetensors and GGUF.
//
//   const io::SafetensorsFile file("model.safetensors");
//   const Tensor w = file.tensor("embeddings.word_embeddings.weight");  // memory-mapped, not copied
//
//   const io::GgufFile gguf("model.gguf");
//   const Tensor q = gguf.tensor("blk.0.attn_q.weight", kBF16);  // dequantized from blocks of 4 bits
//
// Files are not trusted: every size, offset, count and name is checked before it is used, and a malformed
// file is a FileError with the position.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pellucid/named_tensor.h"

namespace pel::io {

class PEL_API SafetensorsFile {
 public:
  // A file `….safetensors`, or the index `….safetensors.index.json` of several in the same folder. A file
  // must not be truncated while it is in use; replacing it with another is fine.
  explicit SafetensorsFile(const std::string& path, Site site = Site::current());
  // The same from memory, which must outlive the file and every tensor of it.
  static SafetensorsFile from_memory(std::string_view bytes, Site site = Site::current());

  const std::vector<std::string>& names() const;  // sorted
  bool has(std::string_view name) const;
  // Read-only, in the mapped file, which is unmapped after its last tensor.
  Tensor tensor(std::string_view name, Site site = Site::current()) const;
  std::vector<NamedTensor> all(Site site = Site::current()) const;  // for Module::load and Optimizer::load
  const std::map<std::string, std::string>& metadata() const;       // of several files, that of the first

 private:
  struct Parts;
  explicit SafetensorsFile(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

// Writes row-major copies of the tensors to a temporary file in the same folder, then renames it.
PEL_API void save_safetensors(const std::string& path, ArrayView<NamedTensor> tensors,
                              const std::map<std::string, std::string>& metadata = {},
                              Site site = Site::current());

// Writes `path`, an index ….safetensors.index.json, for files in its folder: which of them has which tensor.
// To a temporary file, then renames it.
PEL_API void save_safetensors_index(const std::string& path, const std::vector<std::string>& files,
                                    Site site = Site::current());

// Numbers of all widths become i64 or f64. A list of lists is skipped, and is monostate.
using GgufValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<bool>,
                               std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

class PEL_API GgufFile {
 public:
  explicit GgufFile(const std::string& path, Site site = Site::current());
  static GgufFile from_memory(std::string_view bytes, Site site = Site::current());

  const std::map<std::string, GgufValue, std::less<>>& metadata() const;
  // Throw a FileError that names the key if it is absent or of another kind.
  std::int64_t integer(std::string_view key, Site site = Site::current()) const;
  double number(std::string_view key, Site site = Site::current()) const;  // an integer will do
  const std::string& text(std::string_view key, Site site = Site::current()) const;
  const std::vector<std::string>& texts(std::string_view key, Site site = Site::current()) const;
  bool has_key(std::string_view key) const { return metadata().contains(key); }

  struct Info {
    std::string name;
    std::vector<std::int64_t> sizes;  // the outermost first; the file has them reversed
    std::string type;                 // "Q4_1"; "type 99" if it is unknown
    std::uint64_t bytes = 0;          // in the file; 0 for an unknown type
  };
  const std::vector<Info>& tensors() const;  // in the file's order
  bool has(std::string_view name) const;
  // Dequantized to f32, f16 or bf16: through f32, rounded once. An F32, F16 or BF16 tensor in its own dtype
  // is read-only memory of the mapped file; others are copies.
  Tensor tensor(std::string_view name, DType dtype = kF32, Site site = Site::current()) const;

 private:
  struct Parts;
  explicit GgufFile(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace pel::io
