// The format: 8 bytes of header length, a header in JSON, then the tensors' bytes, which the header must
// cover without overlap or gap.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "pellucid/io.h"

#include "base/check.h"
#include "io/file_tensor.h"
#include "io/json.h"
#include "io/safetensors_format.h"

namespace pel::io {
namespace {

struct Entry {
  std::size_t file = 0;  // of Parts::files
  std::string dtype;
  std::vector<std::int64_t> sizes;
  std::uint64_t begin = 0, end = 0;  // in the file
};
using Entries = std::map<std::string, Entry, std::less<>>;
using Metadata = std::map<std::string, std::string>;

// Returns the value of a field of `object`, which must appear once and be a T.
template <class T>
T field(const simdjson::dom::object& object, std::string_view name, std::string_view kind,
        const std::string& where) {
  std::optional<T> found;
  for (const auto& [key, value] : object) {
    if (key != name) continue;
    PEL_CHECK(!found, FileError, "{} has two fields {}", where, name);
    T read{};
    PEL_CHECK(value.get(read) == simdjson::SUCCESS, FileError, "{}: {} must be {}", where, name, kind);
    found = read;
  }
  PEL_CHECK(found, FileError, "{} has no field {}", where, name);
  return *found;
}

std::uint64_t offset_of(const simdjson::dom::element& value, const std::string& where) {
  std::uint64_t number = 0;
  PEL_CHECK(value.get(number) == simdjson::SUCCESS, FileError,
            "{}: data_offsets must be two non-negative integers", where);
  return number;
}

Entry read_entry(const simdjson::dom::object& object, std::uint64_t data_begin, std::uint64_t data_bytes,
                 const std::string& where) {
  Entry entry;
  entry.dtype = field<std::string_view>(object, "dtype", "a string", where);
  const auto shape = field<simdjson::dom::array>(object, "shape", "a list", where);
  for (const simdjson::dom::element size : shape) {
    std::int64_t number = 0;
    PEL_CHECK(size.get(number) == simdjson::SUCCESS && number >= 0, FileError,
              "{}: sizes must be non-negative integers", where);
    PEL_CHECK(entry.sizes.size() < kMaxAxes, FileError, "{} has more than {} axes", where, kMaxAxes);
    entry.sizes.push_back(number);
  }
  const auto offsets = field<simdjson::dom::array>(object, "data_offsets", "a list", where);
  PEL_CHECK(offsets.size() == 2, FileError, "{}: data_offsets must be two integers, got {}", where,
            offsets.size());
  const std::uint64_t begin = offset_of(offsets.at(0), where), end = offset_of(offsets.at(1), where);
  PEL_CHECK(begin <= end && end <= data_bytes, FileError,
            "{}: data_offsets [{}, {}] must be increasing and end inside the {} bytes of data", where, begin,
            end, data_bytes);
  const std::optional<std::uint64_t> count = count_elements(entry.sizes);
  PEL_CHECK(count, FileError, "{} has too many elements: the product of its sizes exceeds 2^56", where);
  if (const SafetensorsDType* dtype = find_safetensors_dtype(entry.dtype)) {
    // At most 2^56 elements of 2^6 bits: no overflow.
    PEL_CHECK(*count * dtype->bits == (end - begin) * 8, FileError,
              "{}: {} elements of {} take {} bits, but data_offsets [{}, {}] hold {}", where, *count,
              entry.dtype, *count * dtype->bits, begin, end, (end - begin) * 8);
  }
  entry.begin = data_begin + begin;
  entry.end = data_begin + end;
  return entry;
}

void read_metadata(const simdjson::dom::element& value, const std::string& file, Metadata& metadata) {
  simdjson::dom::object object;
  PEL_CHECK(value.get(object) == simdjson::SUCCESS, FileError, "{}: __metadata__ must be an object", file);
  for (const simdjson::dom::key_value_pair field : object) {
    const std::string_view key = field.key;
    std::string_view read;
    PEL_CHECK(field.value.get(read) == simdjson::SUCCESS, FileError, "{}: __metadata__: {} must be a string",
              file, in_quotes(key));
    PEL_CHECK(metadata.emplace(key, read).second, FileError, "{}: __metadata__ has two values {}", file,
              in_quotes(key));
  }
}

// Checks that the tensors cover the data from the first byte to the last, without gaps.
void check_no_holes(const Entries& entries, std::uint64_t data_begin, const FileBytes& file) {
  std::vector<const Entries::value_type*> order;
  order.reserve(entries.size());
  for (const auto& each : entries) order.push_back(&each);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t expected = data_begin;
  for (const auto* each : order) {
    PEL_CHECK(
        each->second.begin == expected, FileError,
        "{}: tensor {} begins at byte {} of the data, {} byte {}, where the tensor before it ends", file.name,
        in_quotes(each->first), each->second.begin - data_begin,
        each->second.begin < expected ? "and overlaps the tensor that ends at" : "and leaves a gap after",
        expected - data_begin);
    expected = each->second.end;
  }
  PEL_CHECK(expected == file.bytes.size(), FileError,
            "{}: {} bytes after the last tensor belong to no tensor", file.name,
            file.bytes.size() - expected);
}

Entries read_header(const FileBytes& file, Metadata& metadata) {
  const std::uint64_t size = file.bytes.size();
  PEL_CHECK(size >= 8, FileError, "{} has {} bytes, but a safetensors file has at least 8", file.name, size);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.bytes.data(), 8);  // both are little endian
  PEL_CHECK(header_bytes <= kMaxHeaderBytes, FileError,
            "{}: the header's length, {} bytes, exceeds the format's limit of {}", file.name, header_bytes,
            kMaxHeaderBytes);
  PEL_CHECK(header_bytes <= size - 8, FileError,
            "{}: the header's length, {} bytes, exceeds the {} bytes of the file after it", file.name,
            header_bytes, size - 8);
  const std::string_view header = file.bytes.substr(8, header_bytes);
  PEL_CHECK(header.starts_with('{'), FileError, "{}: the header must begin with {{", file.name);
  JsonDocument json;
  parse_json(header, "the header of " + file.name, json);
  simdjson::dom::object object;
  PEL_CHECK(json.root.get(object) == simdjson::SUCCESS, FileError, "{}: the header must be an object",
            file.name);

  Entries entries;
  const std::uint64_t data_begin = 8 + header_bytes;
  bool has_metadata = false;
  for (const auto& [key, value] : object) {
    if (key == "__metadata__") {
      PEL_CHECK(!std::exchange(has_metadata, true), FileError, "{} has two fields __metadata__", file.name);
      read_metadata(value, file.name, metadata);
      continue;
    }
    const std::string where = fmt::format("{}: tensor {}", file.name, in_quotes(key));
    simdjson::dom::object tensor;
    PEL_CHECK(value.get(tensor) == simdjson::SUCCESS, FileError, "{} must be an object", where);
    Entry entry = read_entry(tensor, data_begin, size - data_begin, where);
    PEL_CHECK(entries.emplace(key, std::move(entry)).second, FileError, "{} appears twice", where);
  }
  check_no_holes(entries, data_begin, file);
  return entries;
}

}  // namespace

struct SafetensorsFile::Parts {
  std::string name;  // as shown in errors
  std::vector<FileBytes> files;
  Entries entries;
  std::vector<std::string> names;
  Metadata metadata;

  static std::shared_ptr<const Parts> of(FileBytes file) {
    auto parts = std::make_shared<Parts>();
    parts->name = file.name;
    parts->entries = read_header(file, parts->metadata);
    parts->files.push_back(std::move(file));
    return with_names(std::move(parts));
  }
  static std::shared_ptr<const Parts> of_index(const std::string& path);
  static std::shared_ptr<const Parts> with_names(std::shared_ptr<Parts> parts) {
    for (const auto& each : parts->entries) parts->names.push_back(each.first);
    return parts;
  }
};

// {"metadata": {"total_size": 12}, "weight_map": {"wte.weight": "model-00001-of-00002.safetensors"}}
std::shared_ptr<const SafetensorsFile::Parts> SafetensorsFile::Parts::of_index(const std::string& path) {
  const FileBytes index = map_file(path);
  PEL_CHECK(index.bytes.size() <= kMaxHeaderBytes, FileError, "{} has {} bytes, but at most {} are allowed",
            path, index.bytes.size(), kMaxHeaderBytes);
  JsonDocument json;
  parse_json(index.bytes, path, json);
  simdjson::dom::object object;
  PEL_CHECK(json.root.get(object) == simdjson::SUCCESS, FileError, "{} must be an object", path);
  const auto map = field<simdjson::dom::object>(object, "weight_map", "an object", path);

  auto parts = std::make_shared<Parts>();
  parts->name = path;
  std::map<std::string, std::pair<std::size_t, Entries>, std::less<>> shards;
  for (const simdjson::dom::key_value_pair pair : map) {
    const std::string_view key = pair.key;
    const simdjson::dom::element value = pair.value;
    std::string_view name;
    PEL_CHECK(value.get(name) == simdjson::SUCCESS, FileError, "{}: the file of {} must be a string", path,
              in_quotes(key));
    auto shard = shards.find(name);
    if (shard == shards.end()) {
      PEL_CHECK(!name.empty() && name != "." && name != ".." &&
                    name.find_first_of(std::string_view("/\0", 2)) == name.npos,
                FileError, "{}: {} must name a file in the same folder", path, in_quotes(name));
      FileBytes file = map_file((std::filesystem::path(path).parent_path() / name).string());
      Metadata metadata;
      Entries entries = read_header(file, metadata);
      parts->metadata.merge(metadata);
      shard = shards.emplace(name, std::pair(parts->files.size(), std::move(entries))).first;
      parts->files.push_back(std::move(file));
    }
    PEL_CHECK(!parts->entries.contains(key), FileError, "{}: tensor {} appears twice", path, in_quotes(key));
    auto& [number, entries] = shard->second;
    const auto entry = entries.find(key);
    PEL_CHECK(entry != entries.end(), FileError, "{}: tensor {} is not in {}", path, in_quotes(key),
              in_quotes(name));
    entry->second.file = number;
    parts->entries.insert(entries.extract(entry));
  }
  return with_names(std::move(parts));
}

SafetensorsFile::SafetensorsFile(const std::string& path, Site site) {
  as_call("SafetensorsFile", site,
          [&] { parts_ = path.ends_with(kIndexEnd) ? Parts::of_index(path) : Parts::of(map_file(path)); });
}

SafetensorsFile SafetensorsFile::from_memory(std::string_view bytes, Site site) {
  return as_call("SafetensorsFile::from_memory", site,
                 [&] { return SafetensorsFile(Parts::of({"memory", bytes, nullptr})); });
}

const std::vector<std::string>& SafetensorsFile::names() const { return parts_->names; }
bool SafetensorsFile::has(std::string_view name) const { return parts_->entries.contains(name); }
const std::map<std::string, std::string>& SafetensorsFile::metadata() const { return parts_->metadata; }

std::vector<NamedTensor> SafetensorsFile::all(Site site) const {
  std::vector<NamedTensor> found;
  for (const std::string& each : names()) found.push_back({each, tensor(each, site)});
  return found;
}

Tensor SafetensorsFile::tensor(std::string_view name, Site site) const {
  return as_call("SafetensorsFile::tensor", site, [&] {
    const auto found = parts_->entries.find(name);
    PEL_CHECK(found != parts_->entries.end(), FileError, "{} has no tensor {}", parts_->name,
              in_quotes(name));
    const Entry& entry = found->second;
    const FileBytes& file = parts_->files[entry.file];
    const SafetensorsDType* dtype = find_safetensors_dtype(entry.dtype);
    PEL_CHECK(dtype && dtype->ours, FileError, "{}: tensor {} has dtype {}; supported are {}", file.name,
              in_quotes(name), in_quotes(entry.dtype), readable_safetensors_dtypes());
    if (dtype->ours == kBool) {  // any other byte in a bool is undefined behaviour
      for (std::uint64_t at = entry.begin; at < entry.end; ++at) {
        const auto byte = static_cast<unsigned char>(file.bytes[at]);
        PEL_CHECK(byte <= 1, FileError, "{}: tensor {}: a bool must be 0 or 1, but byte {} is {}", file.name,
                  in_quotes(name), at - entry.begin, byte);
      }
    }
    return tensor_over(file, entry.begin, *dtype->ours, entry.sizes);
  });
}

}  // namespace pel::io
