// Constants of graphs as blocks of memory: gathered when a file is written, made again when it is read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pellucid/io.h"
#include "pellucid/tensor.h"

#include "io/mapped_file.h"
#include "saved/container.h"
#include "saved/plan_file.h"

namespace pel::saved {

class WeightsToSave {
 public:
  // Returns where the constant is. Its tensor must live as long as this.
  SavedConstant add(const Tensor& constant, bool is_written);
  // After all of them: the memories, with those that are tensors of these files as references, whose bytes
  // are appended to `referred`. Other memories are appended to `sections`.
  std::vector<SavedMemory> finish(const std::vector<std::string>& files, std::vector<Section>& sections,
                                  std::vector<std::string_view>& referred, std::vector<SavedGraph>& graphs);

 private:
  // The part of a storage that constants lie in, in bytes.
  struct Memory {
    const std::byte* data = nullptr;
    std::int64_t begin = 0, end = 0;
    bool is_written = false;
  };
  std::vector<Memory> memories_;
  std::map<const void*, std::uint32_t> numbers_;  // by storage
};

// The memories of a file as tensors of bytes.
class LoadedWeights {
 public:
  // `folder` has the safetensors files.
  LoadedWeights(const io::FileBytes& file, ArrayView<Section> sections, ArrayView<SavedMemory> memories,
                const std::string& folder, CheckWeights check);
  Tensor constant(const SavedConstant& constant) const;
  const std::vector<std::string_view>& referred() const { return referred_; }  // tensors of other files

 private:
  std::vector<Tensor> memories_;
  std::vector<std::string_view> referred_;
  std::vector<Tensor> kept_;  // what referred() is in
};

}  // namespace pel::saved
