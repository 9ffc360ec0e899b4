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

constexpr std::uint32_t kMostAxesInGguf = 4;
constexpr int kMostNested = 8;                   // lists in lists
constexpr std::uint64_t kMostNameBytes = 65535;  // of a key or a tensor, as the format says of keys

enum ValueKind : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, List, U64, I64, F64, kKinds };

// Bytes that a value takes in the file: exact for numbers, the least for strings and lists.
constexpr std::uint64_t kLeastBytes[kKinds] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

// Reads from front to back. Nothing is taken before it is known to be there.
class Reader {
 public:
  explicit Reader(const FileBytes& file) : file_(file) {}

  std::uint64_t position() const { return at_; }
  std::uint64_t left() const { return file_.bytes.size() - at_; }
  const std::string& file() const { return file_.name; }

  std::string_view take(std::uint64_t size, std::string_view what) {
    PEL_CHECK(size <= left(), FileError, "{}: {} at byte {} takes {} bytes, but {} are left", file(), what,
              at_, size, left());
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
  // How many there are of something that takes at least `least_bytes`: never more than the file can hold.
  std::uint64_t count(std::uint64_t least_bytes, std::string_view what) {
    const std::uint64_t begin = at_;
    const auto value = number<std::uint64_t>(what);
    PEL_CHECK(value <= left() / least_bytes, FileError,
              "{}: {} at byte {} is {}, but the {} bytes left hold at most {}", file(), what, begin, value,
              left(), left() / least_bytes);
    return value;
  }
  std::string_view string(std::string_view what) { return take(count(1, what), what); }
  std::string_view name(std::string_view what) {
    const std::string_view text = string(what);
    PEL_CHECK(text.size() <= kMostNameBytes, FileError, "{}: {} has {} bytes, more than {}", file(), what,
              text.size(), kMostNameBytes);
    return text;
  }

 private:
  const FileBytes& file_;
  std::uint64_t at_ = 0;
};

std::uint32_t kind_of(Reader& reader, const std::string& what) {
  const auto kind = reader.number<std::uint32_t>(what);
  PEL_CHECK(kind < kKinds, FileError, "{}: {} is of the unknown type {}", reader.file(), what, kind);
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
      PEL_CHECK(std::in_range<std::int64_t>(value), FileError, "{}: {}, {}, does not fit 63 bits",
                reader.file(), what, value);
      return static_cast<std::int64_t>(value);
  }
}

double read_floating(Reader& reader, std::uint32_t kind, const std::string& what) {
  return kind == F32 ? reader.number<float>(what) : reader.number<double>(what);
}

bool read_bool(Reader& reader, const std::string& what) {
  const auto value = reader.number<std::uint8_t>(what);
  PEL_CHECK(value <= 1, FileError, "{}: {}: a bool is 0 or 1, not {}", reader.file(), what, value);
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
  PEL_CHECK(depth < kMostNested, FileError, "{}: {} nests lists deeper than {}", reader.file(), what,
            kMostNested);
  const std::uint32_t kind = kind_of(reader, what);
  const std::uint64_t count = reader.count(kLeastBytes[kind], what);
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

struct Place {
  const GgufType* type = nullptr;  // null: a type we do not know
  std::uint64_t begin = 0;         // in the data; in the file once that begins
};

void read_tensor_info(Reader& reader, std::uint64_t alignment, GgufFile::Info& info, Place& place) {
  info.name = reader.name("the name of a tensor");
  const std::string what = "tensor " + in_quotes(info.name);
  const auto axes = reader.number<std::uint32_t>(what);
  PEL_CHECK(axes <= kMostAxesInGguf, FileError, "{}: {} has {} axes, more than {}", reader.file(), what, axes,
            kMostAxesInGguf);
  for (std::uint32_t axis = 0; axis < axes; ++axis)
    info.sizes.push_back(read_integer(reader, U64, "a size of " + what));
  const auto code = reader.number<std::uint32_t>(what);
  place.begin = reader.number<std::uint64_t>(what);
  PEL_CHECK(place.begin % alignment == 0, FileError,
            "{}: {} begins at byte {} of the data, which must be a multiple of {}", reader.file(), what,
            place.begin, alignment);
  const std::optional<std::uint64_t> count = count_elements(info.sizes);
  PEL_CHECK(count, FileError, "{}: {} has too many elements: the product of its sizes exceeds 2^56",
            reader.file(), what);
  place.type = find_gguf_type(code);
  info.type = place.type ? std::string(place.type->name) : fmt::format("type {}", code);
  if (place.type) {
    const std::uint64_t inner = info.sizes.empty() ? 1 : static_cast<std::uint64_t>(info.sizes.front());
    PEL_CHECK(inner % place.type->block_elements == 0, FileError,
              "{}: {} has rows of {} elements, and {} is made of blocks of {}", reader.file(), what, inner,
              info.type, place.type->block_elements);
    info.bytes = *count / place.type->block_elements * place.type->block_bytes;
  }
  std::reverse(info.sizes.begin(), info.sizes.end());
}

}  // namespace

struct GgufFile::Parts {
  FileBytes file;
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<Info> tensors;
  std::vector<Place> places;                   // of the tensors
  std::map<std::string_view, std::size_t> at;  // by name; no hash, which a file could be made to defeat

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
  PEL_CHECK(magic == "GGUF", FileError, "{} begins with {}, not with GGUF", file.name, in_quotes(magic));
  const auto version = reader.number<std::uint32_t>("the version");
  PEL_CHECK(version == 0 || (version & 0xffff) != 0, FileError,
            "{} is big endian; we read GGUF that is little endian", file.name);
  PEL_CHECK(version == 2 || version == 3, FileError, "{} has version {} of GGUF; we read 2 and 3", file.name,
            version);
  // A tensor takes at least a name's length, a number of axes, a type and an offset; a key its length, a type
  // and a byte.
  const std::uint64_t tensor_count = reader.count(24, "the number of tensors");
  const std::uint64_t key_count = reader.count(13, "the number of keys");
  for (std::uint64_t i = 0; i < key_count; ++i) {
    const std::string key(reader.name("a key"));
    const std::string what = "key " + in_quotes(key);
    PEL_CHECK(metadata.emplace(key, read_value(reader, what)).second, FileError, "{}: {} stands there twice",
              file.name, what);
  }
  const std::uint64_t align = alignment();
  PEL_CHECK(tensor_count <= reader.left() / 24, FileError,
            "{}: the number of tensors is {}, but the {} bytes left hold at most {}", file.name, tensor_count,
            reader.left(), reader.left() / 24);
  tensors.resize(tensor_count);
  places.resize(tensor_count);
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    read_tensor_info(reader, align, tensors[i], places[i]);
    PEL_CHECK(at.emplace(tensors[i].name, i).second, FileError, "{}: tensor {} stands there twice", file.name,
              in_quotes(tensors[i].name));
  }
  place_tensors((reader.position() + align - 1) / align * align);
}

std::uint64_t GgufFile::Parts::alignment() const {
  constexpr std::string_view kKey = "general.alignment";
  if (!metadata.contains(kKey)) return 32;
  const auto value = value_of<std::int64_t>(kKey, "an integer");
  PEL_CHECK(value > 0 && value <= 1 << 30 && std::has_single_bit(static_cast<std::uint64_t>(value)),
            FileError, "{}: {} is {}, and must be a power of two up to 2^30", file.name, kKey, value);
  return static_cast<std::uint64_t>(value);
}

// Each tensor must lie in the file, and no two may share a byte.
void GgufFile::Parts::place_tensors(std::uint64_t data_begin) {
  const std::uint64_t data_bytes = file.bytes.size() - std::min<std::uint64_t>(data_begin, file.bytes.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    PEL_CHECK(places[i].begin <= data_bytes && tensors[i].bytes <= data_bytes - places[i].begin, FileError,
              "{}: tensor {} takes {} bytes at byte {} of the data, which has {}", file.name,
              in_quotes(tensors[i].name), tensors[i].bytes, places[i].begin, data_bytes);
    if (tensors[i].bytes != 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return places[a].begin < places[b].begin; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::size_t before = order[i - 1], after = order[i];
    PEL_CHECK(tensors[before].bytes <= places[after].begin - places[before].begin, FileError,
              "{}: tensors {} and {} overlap: {} bytes at byte {} of the data, and byte {}", file.name,
              in_quotes(tensors[before].name), in_quotes(tensors[after].name), tensors[before].bytes,
              places[before].begin, places[after].begin);
  }
  // Without a byte of data, the file may end before its place.
  for (Place& place : places)
    place.begin = std::min<std::uint64_t>(place.begin + data_begin, file.bytes.size());
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
              "tensors are unpacked to f32, f16 or bf16, not to {}", pel::name(dtype));
    const auto found = parts_->at.find(name);
    PEL_CHECK(found != parts_->at.end(), FileError, "{} has no tensor {}", parts_->file.name,
              in_quotes(name));
    const Info& info = parts_->tensors[found->second];
    const Place& place = parts_->places[found->second];
    PEL_CHECK(place.type && place.type->is_readable(), FileError,
              "{}: tensor {} is of type {}, and we read {}", parts_->file.name, in_quotes(name), info.type,
              readable_gguf_types());
    if (place.type->plain) {
      const Tensor view = tensor_over(parts_->file, place.begin, *place.type->plain, info.sizes);
      return view.dtype() == dtype ? view : view.to(dtype);
    }
    return unpack_gguf(*place.type, parts_->file.bytes.substr(place.begin, info.bytes), info.sizes, dtype);
  });
}

}  // namespace pel::io
