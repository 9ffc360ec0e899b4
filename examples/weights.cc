// Weight files: write one, map it into memory, and see the error of an invalid file.
#include <filesystem>
#include <iostream>

#include <pellucid/pellucid.h>

int main() {
  using namespace pel;
  const std::string path = (std::filesystem::temp_directory_path() / "pellucid_weights.safetensors").string();

  const Tensor w = arange(6, kF32).view({2, 3});
  io::save_safetensors(path, {{"layer.weight", w}, {"layer.bias", zeros({2}, kBF16)}});

  Tensor read;
  {
    const io::SafetensorsFile file(path);
    for (const std::string& name : file.names()) std::cout << name << "\n";
    read = file.tensor("layer.weight");
  }
  std::filesystem::remove(path);  // the tensor keeps the mapping alive
  std::cout << read << (read.is_read_only() ? ", read-only\n" : "\n");

  const std::string broken = std::string("\2\0\0\0\0\0\0\0", 8) + "{}" + "more";
  try {
    io::SafetensorsFile::from_memory(broken);
  } catch (const Error& error) {
    std::cout << error.what() << "\n";
  }
}
