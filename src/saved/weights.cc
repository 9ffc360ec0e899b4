#include "saved/weights.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "base/checksum.h"
#include "io/file_tensor.h"
#include "tensor/layout.h"
#include "tensor/make.h"

namespace pel::saved {
namespace {

std::string_view bytes_of(const Tensor& dense) {
  const auto count = static_cast<std::size_t>((dense.numel() * size_bytes(dense.dtype())).value());
  return {static_cast<const char*>(dense.raw_data()), count};
}

// The tensor of these files that has the same bytes.
struct Found {
  std::string file, tensor;
};
class WeightFiles {
 public:
  explicit WeightFiles(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      const std::string name = std::filesystem::path(path).filename().string();
      const io::SafetensorsFile file(path);
      for (const std::string& tensor : file.names()) {
        Tensor dense = file.tensor(tensor);
        const std::size_t size = bytes_of(dense).size();
        by_size_.emplace(size, Entry{{name, tensor}, std::move(dense)});
      }
    }
  }
  const Found* find(std::string_view bytes) const {
    const auto [begin, end] = by_size_.equal_range(bytes.size());
    const auto found =
        std::find_if(begin, end, [&](const auto& entry) { return bytes_of(entry.second.dense) == bytes; });
    return found == end ? nullptr : &found->second.name;
  }

 private:
  struct Entry {
    Found name;
    Tensor dense;
  };
  std::multimap<std::size_t, Entry> by_size_;
};

// Memory that constants of a file are views of, as bytes.
Tensor writable_copy(std::string_view bytes) {
  Tensor copy = make_dense({bytes.size()}, kU8, kCpu);
  if (!bytes.empty()) std::memcpy(copy.raw_data(), bytes.data(), bytes.size());
  return copy;
}

Tensor tensor_of(const SavedMemory& memory, const std::string& folder,
                 std::map<std::string, io::SafetensorsFile>& open, CheckWeights check) {
  // Only files of this folder: a plan must not read others.
  PEL_CHECK(!memory.file.empty() && std::filesystem::path(memory.file).filename() == memory.file, FileError,
            "its weights are in {}, which must be the name of a file", io::in_quotes(memory.file));
  const std::string path = (std::filesystem::path(folder) / memory.file).string();
  auto file = open.find(path);
  if (file == open.end()) file = open.emplace(path, io::SafetensorsFile(path)).first;
  Tensor tensor = file->second.tensor(memory.tensor);
  const std::string_view bytes = bytes_of(tensor);
  PEL_CHECK(static_cast<std::int64_t>(bytes.size()) == memory.bytes, FileError,
            "tensor {} of {} has {} bytes, and had {} when the plan was saved", io::in_quotes(memory.tensor),
            path, bytes.size(), memory.bytes);
  PEL_CHECK(check == CheckWeights::No || static_cast<std::int64_t>(checksum(bytes)) == memory.checksum,
            FileError, "tensor {} of {} has other values than when the plan was saved",
            io::in_quotes(memory.tensor), path);
  return tensor;
}

}  // namespace

SavedConstant WeightsToSave::add(const Tensor& constant, bool is_written) {
  const detail::StorageHeader& storage = *constant.header()->storage;
  const auto [known, is_new] = numbers_.emplace(&storage, static_cast<std::uint32_t>(memories_.size()));
  if (is_new) memories_.push_back({storage.data, storage.size_bytes, 0, false});
  Memory& memory = memories_[known->second];
  memory.is_written = memory.is_written || is_written;

  SavedConstant saved{known->second, constant.dtype(), {}, {}, constant.storage_offset().value()};
  std::int64_t last = saved.offset;
  bool is_empty = false;
  for (std::size_t axis = 0; axis < constant.sizes().size(); ++axis) {
    saved.sizes.push_back(constant.sizes()[axis].value());
    saved.strides.push_back(constant.strides()[axis].value());
    is_empty = is_empty || saved.sizes.back() == 0;
    last += (saved.sizes.back() - 1) * saved.strides.back();
  }
  const std::int64_t element = size_bytes(saved.dtype);
  constexpr std::int64_t kWidest = 8;  // offsets of constants of all dtypes stay whole
  const std::int64_t begin = saved.offset * element;
  memory.begin = std::min(memory.begin, begin - begin % kWidest);
  memory.end = std::max(memory.end, is_empty ? begin : (last + 1) * element);
  return saved;
}

std::vector<SavedMemory> WeightsToSave::finish(const std::vector<std::string>& files,
                                               std::vector<Section>& sections,
                                               std::vector<std::string_view>& referred,
                                               std::vector<SavedGraph>& graphs) {
  const WeightFiles known(files);
  std::vector<SavedMemory> saved;
  for (Memory& memory : memories_) {
    memory.begin = std::min(memory.begin, memory.end);
    const std::string_view bytes(reinterpret_cast<const char*>(memory.data) + memory.begin,
                                 static_cast<std::size_t>(memory.end - memory.begin));
    SavedMemory& made = saved.emplace_back();
    made.bytes = memory.end - memory.begin;
    made.is_written = memory.is_written;
    if (const Found* const found = bytes.empty() ? nullptr : known.find(bytes)) {
      made.file = found->file;
      made.tensor = found->tensor;
      made.checksum = static_cast<std::int64_t>(checksum(bytes));
      referred.push_back(bytes);
    } else {
      made.section = static_cast<std::uint32_t>(sections.size());
      sections.push_back({SectionKind::Weights, bytes});
    }
  }
  for (SavedGraph& graph : graphs)
    for (SavedConstant& constant : graph.constants)
      constant.offset -= memories_[constant.memory].begin / size_bytes(constant.dtype);
  return saved;
}

LoadedWeights::LoadedWeights(const io::FileBytes& file, ArrayView<Section> sections,
                             ArrayView<SavedMemory> memories, const std::string& folder, CheckWeights check) {
  std::map<std::string, io::SafetensorsFile> open;
  for (const SavedMemory& memory : memories) {
    Tensor tensor;
    if (memory.section) {
      PEL_CHECK(*memory.section < sections.size(), FileError, "its weights are in a section that it lacks");
      const Section& section = sections[*memory.section];
      PEL_CHECK(section.kind == SectionKind::Weights &&
                    static_cast<std::int64_t>(section.bytes.size()) == memory.bytes,
                FileError, "section {} has other weights", *memory.section);
      tensor = io::tensor_over(file, static_cast<std::uint64_t>(section.bytes.data() - file.bytes.data()),
                               kU8, std::vector<std::int64_t>{memory.bytes});
    } else {
      tensor = tensor_of(memory, folder, open, check);
      referred_.push_back(bytes_of(tensor));
      kept_.push_back(tensor);
    }
    memories_.push_back(memory.is_written ? writable_copy(bytes_of(tensor)) : tensor);
  }
}

Tensor LoadedWeights::constant(const SavedConstant& saved) const {
  const Tensor& memory = memories_[saved.memory];
  const std::vector<Dim> sizes(saved.sizes.begin(), saved.sizes.end());
  const std::vector<Dim> strides(saved.strides.begin(), saved.strides.end());
  PEL_CHECK(sizes.size() == strides.size() && saved.offset >= 0, FileError, "a constant is not valid");
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    PEL_CHECK(saved.sizes[axis] >= 0 && saved.strides[axis] >= 0, FileError, "a constant is not valid");
  const Dim end = (Dim(saved.offset) + extent(sizes, strides)) * size_bytes(saved.dtype);
  PEL_CHECK(end.value() <= static_cast<std::int64_t>(bytes_of(memory).size()), FileError,
            "a constant reaches beyond its memory");
  Tensor view = make_view(memory, sizes, strides, saved.offset);
  view.header()->dtype = saved.dtype;
  view.header()->is_row_major = has_row_major_strides(sizes, strides);
  return view;
}

}  // namespace pel::saved
