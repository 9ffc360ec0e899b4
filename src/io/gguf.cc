// The format: a magic word, a version, two counts; then keys with values, then names of tensors with sizes,
// type and offset, then, at the next multiple of the alignment, their bytes. All numbers are little endian.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "pellucid/io.h"

#include "base/check.h"
#include "io/file_tensor.h"
#include "io/gguf_unpack.h"

namespace pel::io {
namespace {

constexpr std::uint32_t kMaxAxesInGguf = 4;
constexpr int kMaxNesting = 8;                  // lists in lists
constexpr std::uint64_t kMaxNameBytes = 65535;  // of a key or a tensor, as the format says of keys

enum ValueKind : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, List, U64, I64, F64, kKinds };

// Bytes that a value takes in the file: exact for numbers, the minimum for strings and lists.
constexpr std::uint64_t kMinBytes[kKinds] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

// Reads from front to back. Checks the length before each read.
class Reader {
 public:
  explicit Reader(const FileBytes& file) : file_(file) {}

  std::uint64_t position() const { return at_; }
  std::uint64_t left() const { return file_.bytes.size() - at_; }
  const std::string& file() const { return file_.name; }

  std::string_view take(std::uint64_t size, std::string_view what) {
    PEL_CHECK(size <= left(), FileError, "{}: {} at byte {} takes {} bytes, but only {} are left", file(),
              what, at_, size, left());
    const std::string_view taken = file_.bytes.substr(at_, size);
    at_ += size;
    return taken;
  }
  template <class T>
  T number(std::string_view what) {
    T value;
    const std::string_view bytes = take(sizeof(T), what);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&value));
    return value;
  }
  // Reads the number of items that take at least `min_bytes` each: never more than the file can hold.
  std::uint64_t count(std::uint64_t min_bytes, std::string_view what) {
    const std::uint64_t begin = at_;
    const auto value = number<std::uint64_t>(what);
    PEL_CHECK(value <= left() / min_bytes, FileError,
              "{}: {} at byte {} is {}, but the {} bytes left hold at most {}", file(), what, begin, value,
              left(), left() / min_bytes);
    return value;
  }
  std::string_view string(std::string_view what) { return take(count(1, what), what); }
  std::string_view name(std::string_view what) {
    const std::string_view text = string(what);
    PEL_CHECK(text.size() <= kMaxNameBytes, FileError, "{}: {} has {} bytes, but at most {} are allowed",
              file(), what, text.size(), kMaxNameBytes);
    return text;
  }

 private:
  const FileBytes& file_;
  std::uint64_t at_ = 0;
};

std::uint32_t kind_of(Reader& reader, const std::string& what) {
  const auto kind = reader.number<std::uint32_t>(what);
  PEL_CHECK(kind < kKinds, FileError, "{}: {} has the unknown type {}", reader.file(), what, kind);
  return kind;
}

std::int64_t read_integer(Reader& reader, std::uint32_t kind, const std::string& what) {
  switch (kind) {
    case U8:
      return reader.number<std::uint8_t>(what);
    case I8:
      return reader.number<std::int8_t>(what);
    case U16:
      return reader.number<std::uint16_t>(what);
    case I16:
      return reader.number<std::int16_t>(what);
    case U32:
      return reader.number<std::uint32_t>(what);
    case I32:
      return reader.number<std::int32_t>(what);
    case I64:
      return reader.number<std::int64_t>(what);
    default:
      const auto value = reader.number<std::uint64_t>(what);
      PEL_CHECK(std::in_range<std::int64_t>(value), FileError, "{}: {} is {}, which does not fit 63 bits",
                reader.file(), what, value);
      return static_cast<std::int64_t>(value);
  }
}

double read_floating(Reader& reader, std::uint32_t kind, const std::string& what) {
  return kind == F32 ? reader.number<float>(what) : reader.number<double>(what);
}

bool read_bool(Reader& reader, const std::string& what) {
  const auto value = reader.number<std::uint8_t>(what);
  PEL_CHECK(value <= 1, FileError, "{}: {}: a bool must be 0 or 1, got {}", reader.file(), what, value);
  return value == 1;
}

template <class T, class F>
GgufValue read_all(std::uint64_t count, F&& read_one) {
  std::vector<T> values;
  values.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(read_one());
  return values;
}

GgufValue read_list(Reader& reader, const std::string& what, int depth) {
  PEL_CHECK(depth < kMaxNesting, FileError, "{}: {} nests lists more than {} deep", reader.file(), what,
            kMaxNesting);
  const std::uint32_t kind = kind_of(reader, what);
  const std::uint64_t count = reader.count(kMinBytes[kind], what);
  switch (kind) {
    case Bool:
      return read_all<bool>(count, [&] { return read_bool(reader, what); });
    case F32:
    case F64:
      return read_all<double>(count, [&] { return read_floating(reader, kind, what); });
    case String:
      return read_all<std::string>(count, [&] { return std::string(reader.string(what)); });
    case List:
      for (std::uint64_t i = 0; i < count; ++i) read_list(reader, what, depth + 1);
      return {};
    default:
      return read_all<std::int64_t>(count, [&] { return read_integer(reader, kind, what); });
  }
}

GgufValue read_value(Reader& reader, const std::string& what) {
  const std::uint32_t kind = kind_of(reader, what);
  switch (kind) {
    case Bool:
      return read_bool(reader, what);
    case F32:
    case F64:
      return read_floating(reader, kind, what);
    case String:
      return std::string(reader.string(what));
    case List:
      return read_list(reader, what, 0);
    default:
      return read_integer(reader, kind, what);
  }
}

struct DataRange {
  const GgufType* type = nullptr;  // null: an unknown type
  std::uint64_t begin = 0;         // in the data; in the file once the start of the data is known
};

void read_tensor_info(Reader& reader, std::uint64_t alignment, GgufFile::Info& info, DataRange& range) {
  info.name = reader.name("the name of a tensor");
  const std::string what = "tensor " + in_quotes(info.name);
  const auto axes = reader.number<std::uint32_t>(what);
  PEL_CHECK(axes <= kMaxAxesInGguf, FileError, "{}: {} has {} axes, but GGUF allows {}", reader.file(), what,
            axes, kMaxAxesInGguf);
  for (std::uint32_t axis = 0; axis < axes; ++axis)
    info.sizes.push_back(read_integer(reader, U64, "a size of " + what));
  const auto code = reader.number<std::uint32_t>(what);
  range.begin = reader.number<std::uint64_t>(what);
  PEL_CHECK(range.begin % alignment == 0, FileError,
            "{}: {} begins at byte {} of the data, which is not a multiple of the alignment, {}",
            reader.file(), what, range.begin, alignment);
  const std::optional<std::uint64_t> count = count_elements(info.sizes);
  PEL_CHECK(count, FileError, "{}: {} has too many elements: the product of its sizes exceeds 2^56",
            reader.file(), what);
  range.type = find_gguf_type(code);
  info.type = range.type ? std::string(range.type->name) : fmt::format("type {}", code);
  if (range.type) {
    const std::uint64_t inner = info.sizes.empty() ? 1 : static_cast<std::uint64_t>(info.sizes.front());
    PEL_CHECK(inner % range.type->block_elements == 0, FileError,
              "{}: {} has rows of {} elements, but {} needs a multiple of its block size, {}", reader.file(),
              what, inner, info.type, range.type->block_elements);
    info.bytes = *count / range.type->block_elements * range.type->block_bytes;
  }
  std::reverse(info.sizes.begin(), info.sizes.end());
}

}  // namespace

struct GgufFile::Parts {
  FileBytes file;
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<Info> tensors;
  std::vector<DataRange> ranges;               // of the tensors
  std::map<std::string_view, std::size_t> at;  // by name; not hashed, because a file could force collisions

  static std::shared_ptr<const Parts> of(FileBytes file) {
    auto parts = std::make_shared<Parts>();
    parts->file = std::move(file);
    parts->read();
    return parts;
  }
  const GgufValue& value(std::string_view key) const {
    const auto found = metadata.find(key);
    PEL_CHECK(found != metadata.end(), FileError, "{} has no key {}", file.name, in_quotes(key));
    return found->second;
  }
  template <class T>
  const T& value_of(std::string_view key, std::string_view kind) const {
    const T* found = std::get_if<T>(&value(key));
    PEL_CHECK(found, FileError, "{}: the value of {} is not {}", file.name, in_quotes(key), kind);
    return *found;
  }

 private:
  void read();
  std::uint64_t alignment() const;
  void place_tensors(std::uint64_t data_begin);
};

void GgufFile::Parts::read() {
  Reader reader(file);
  const std::string_view magic = reader.take(4, "the word GGUF");
  PEL_CHECK(magic == "GGUF", FileError, "{} must begin with GGUF, but begins with {}", file.name,
            in_quotes(magic));
  const auto version = reader.number<std::uint32_t>("the version");
  PEL_CHECK(version == 0 || (version & 0xffff) != 0, FileError,
            "{} is big endian; only little-endian GGUF is supported", file.name);
  PEL_CHECK(version == 2 || version == 3, FileError,
            "{} has version {} of GGUF; versions 2 and 3 are supported", file.name, version);
  // A tensor takes at least a name's length, a number of axes, a type and an offset; a key its length, a type
  // and a byte.
  const std::uint64_t tensor_count = reader.count(24, "the number of tensors");
  const std::uint64_t key_count = reader.count(13, "the number of keys");
  for (std::uint64_t i = 0; i < key_count; ++i) {
    const std::string key(reader.name("a key"));
    const std::string what = "key " + in_quotes(key);
    PEL_CHECK(metadata.emplace(key, read_value(reader, what)).second, FileError, "{}: {} appears twice",
              file.name, what);
  }
  const std::uint64_t align = alignment();
  PEL_CHECK(tensor_count <= reader.left() / 24, FileError,
            "{}: the number of tensors is {}, but the {} bytes left hold at most {}", file.name, tensor_count,
            reader.left(), reader.left() / 24);
  tensors.resize(tensor_count);
  ranges.resize(tensor_count);
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    read_tensor_info(reader, align, tensors[i], ranges[i]);
    PEL_CHECK(at.emplace(tensors[i].name, i).second, FileError, "{}: tensor {} appears twice", file.name,
              in_quotes(tensors[i].name));
  }
  place_tensors((reader.position() + align - 1) / align * align);
}

std::uint64_t GgufFile::Parts::alignment() const {
  constexpr std::string_view kKey = "general.alignment";
  if (!metadata.contains(kKey)) return 32;
  const auto value = value_of<std::int64_t>(kKey, "an integer");
  PEL_CHECK(value > 0 && value <= 1 << 30 && std::has_single_bit(static_cast<std::uint64_t>(value)),
            FileError, "{0}: {1} must be a power of two up to 2^30, but is {2}", file.name, kKey, value);
  return static_cast<std::uint64_t>(value);
}

// Checks that each tensor lies in the file and that no two share a byte.
void GgufFile::Parts::place_tensors(std::uint64_t data_begin) {
  const std::uint64_t data_bytes = file.bytes.size() - std::min<std::uint64_t>(data_begin, file.bytes.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    PEL_CHECK(ranges[i].begin <= data_bytes && tensors[i].bytes <= data_bytes - ranges[i].begin, FileError,
              "{}: tensor {} takes {} bytes at byte {} of the data, which has only {} bytes", file.name,
              in_quotes(tensors[i].name), tensors[i].bytes, ranges[i].begin, data_bytes);
    if (tensors[i].bytes != 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return ranges[a].begin < ranges[b].begin; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::size_t before = order[i - 1], after = order[i];
    PEL_CHECK(tensors[before].bytes <= ranges[after].begin - ranges[before].begin, FileError,
              "{}: tensors {} and {} overlap: the first takes {} bytes at byte {} of the data, the second "
              "begins at byte {}",
              file.name, in_quotes(tensors[before].name), in_quotes(tensors[after].name),
              tensors[before].bytes, ranges[before].begin, ranges[after].begin);
  }
  // A tensor without elements may have an offset past the end of the file.
  for (DataRange& range : ranges)
    range.begin = std::min<std::uint64_t>(range.begin + data_begin, file.bytes.size());
}

GgufFile::GgufFile(const std::string& path, Site site) {
  as_call("GgufFile", site, [&] { parts_ = Parts::of(map_file(path)); });
}

GgufFile GgufFile::from_memory(std::string_view bytes, Site site) {
  return as_call("GgufFile::from_memory", site,
                 [&] { return GgufFile(Parts::of({"memory", bytes, nullptr})); });
}

const std::map<std::string, GgufValue, std::less<>>& GgufFile::metadata() const { return parts_->metadata; }
const std::vector<GgufFile::Info>& GgufFile::tensors() const { return parts_->tensors; }
bool GgufFile::has(std::string_view name) const { return parts_->at.contains(name); }

std::int64_t GgufFile::integer(std::string_view key, Site site) const {
  return as_call("GgufFile::integer", site,
                 [&] { return parts_->value_of<std::int64_t>(key, "an integer"); });
}

double GgufFile::number(std::string_view key, Site site) const {
  return as_call("GgufFile::number", site, [&] {
    const auto* integer = std::get_if<std::int64_t>(&parts_->value(key));
    return integer ? static_cast<double>(*integer) : parts_->value_of<double>(key, "a number");
  });
}

const std::string& GgufFile::text(std::string_view key, Site site) const {
  return as_call("GgufFile::text", site,
                 [&]() -> const std::string& { return parts_->value_of<std::string>(key, "a text"); });
}

const std::vector<std::string>& GgufFile::texts(std::string_view key, Site site) const {
  return as_call("GgufFile::texts", site, [&]() -> const std::vector<std::string>& {
    return parts_->value_of<std::vector<std::string>>(key, "a list of texts");
  });
}

Tensor GgufFile::tensor(std::string_view name, DType dtype, Site site) const {
  return as_call("GgufFile::tensor", site, [&] {
    PEL_CHECK(dtype == kF32 || dtype == kF16 || dtype == kBF16, DTypeError,
              "tensors can be unpacked to f32, f16 or bf16, not to {}", pel::name(dtype));
    const auto found = parts_->at.find(name);
    PEL_CHECK(found != parts_->at.end(), FileError, "{} has no tensor {}", parts_->file.name,
              in_quotes(name));
    const Info& info = parts_->tensors[found->second];
    const DataRange& range = parts_->ranges[found->second];
    PEL_CHECK(range.type && range.type->is_readable(), FileError,
              "{}: tensor {} has type {}; supported are {}", parts_->file.name, in_quotes(name), info.type,
              readable_gguf_types());
    if (range.type->plain) {
      const Tensor view = tensor_over(parts_->file, range.begin, *range.type->plain, info.sizes);
      return view.dtype() == dtype ? view : view.to(dtype);
    }
    return unpack_gguf(*range.type, parts_->file.bytes.substr(range.begin, info.bytes), info.sizes, dtype);
  });
}

}  // namespace pel::io
