// Files of weights.
//
//   const io::SafetensorsFile file("model.safetensors");
//   const Tensor w = file.tensor("embeddings.word_embeddings.weight");  // in the file's memory, not copied
//
//   const io::GgufFile gguf("model.gguf");
//   const Tensor q = gguf.tensor("blk.0.attn_q.weight", kBF16);  // unpacked from its blocks of 4 bits
//
// A file is taken for hostile: every size, offset, count and name is checked against the file before it is
// used, and what is broken is a FileError that says where.
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
  // A file `….safetensors`, or the index `….safetensors.index.json` of one that lies in several beside it.
  // A file must not be made shorter while it is in use; replacing it by another is fine.
  explicit SafetensorsFile(const std::string& path, Site site = Site::current());
  // The same from memory, which must outlive the file and every tensor of it.
  static SafetensorsFile from_memory(std::string_view bytes, Site site = Site::current());

  const std::vector<std::string>& names() const;  // sorted
  bool has(std::string_view name) const;
  // Read-only, in the file's memory, which lives as long as its last tensor.
  Tensor tensor(std::string_view name, Site site = Site::current()) const;
  std::vector<NamedTensor> all(Site site = Site::current()) const;  // for Module::load and Optimizer::load
  const std::map<std::string, std::string>& metadata() const;  // of several files, what the first one says

 private:
  struct Parts;
  explicit SafetensorsFile(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

// Row-major copies of the tensors are written to a file beside it, which then takes its name.
PEL_API void save_safetensors(const std::string& path, ArrayView<NamedTensor> tensors,
                              const std::map<std::string, std::string>& metadata = {},
                              Site site = Site::current());

// Numbers of all widths are one of two kinds. A list inside a list is passed over, and is monostate.
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
    std::vector<std::int64_t> sizes;  // the outermost first, as ours are; the file has them reversed
    std::string type;                 // "Q4_1"; "type 99" if we do not know it
    std::uint64_t bytes = 0;          // in the file; 0 for a type that we do not know
  };
  const std::vector<Info>& tensors() const;  // in the file's order
  bool has(std::string_view name) const;
  // Unpacked to f32, f16 or bf16: by way of f32, rounded once. An F32, F16 or BF16 tensor that is asked for
  // in its own dtype lies in the file's memory, read-only; others are copies.
  Tensor tensor(std::string_view name, DType dtype = kF32, Site site = Site::current()) const;

 private:
  struct Parts;
  explicit GgufFile(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace pel::io
