// Builds weight files in memory, byte by byte, valid or invalid.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

namespace pel::test {

// Returns the bytes of a number as stored in memory.
template <class T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::string safetensors(std::string_view header, std::string_view data = {}) {
  return raw(std::uint64_t{header.size()}).append(header).append(data);
}

// The types of values in GGUF.
struct GgufKind {
  enum : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, List, U64, I64, F64 };
};

inline std::string gguf_string(std::string_view text) { return raw(std::uint64_t{text.size()}).append(text); }
inline std::string gguf_key(std::string_view key, std::uint32_t kind, std::string_view value) {
  return gguf_string(key).append(raw(kind)).append(value);
}
inline std::string gguf_list(std::uint32_t kind, std::uint64_t count, std::string_view values) {
  return raw(kind).append(raw(count)).append(values);
}
// Sizes, innermost first, as in the file.
inline std::string gguf_tensor(std::string_view name, std::initializer_list<std::uint64_t> sizes,
                               std::uint32_t type, std::uint64_t offset) {
  std::string bytes = gguf_string(name) + raw(static_cast<std::uint32_t>(sizes.size()));
  for (const std::uint64_t size : sizes) bytes += raw(size);
  return bytes + raw(type) + raw(offset);
}

// Keys, tensors and data at the offsets in the header.
struct GgufBytes {
  std::string keys{}, tensors{}, data{};
  std::uint64_t key_count = 0, tensor_count = 0;
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;

  GgufBytes& key(std::string_view name, std::uint32_t kind, std::string_view value) {
    keys += gguf_key(name, kind, value);
    ++key_count;
    return *this;
  }
  GgufBytes& tensor(std::string_view name, std::initializer_list<std::uint64_t> sizes, std::uint32_t type,
                    std::uint64_t offset) {
    tensors += gguf_tensor(name, sizes, type, offset);
    ++tensor_count;
    return *this;
  }
  // Also appends the tensor's bytes to those of the previous tensor.
  GgufBytes& tensor_with(std::string_view name, std::initializer_list<std::uint64_t> sizes,
                         std::uint32_t type, std::string_view bytes) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    tensor(name, sizes, type, data.size());
    data += bytes;
    return *this;
  }
  std::string file() const {
    std::string bytes = "GGUF" + raw(version) + raw(tensor_count) + raw(key_count) + keys + tensors;
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    return bytes + data;
  }
};

}  // namespace pel::test
