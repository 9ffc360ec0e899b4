// Text to tokens and back, with a vocabulary of eight tokens.
#include <filesystem>
#include <fstream>
#include <iostream>

#include <pellucid/pellucid.h>

int main() {
  using namespace pel;

  const std::string path = std::filesystem::temp_directory_path() / "pellucid_vocab.txt";
  std::ofstream(path) << "[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\ncafe\n!\n";
  const auto tokenizer = io::Tokenizer::wordpiece(path);
  std::filesystem::remove(path);

  const std::vector<std::int64_t> ids = tokenizer.encode("Unaffable café!");
  for (const std::int64_t id : ids) std::cout << id << " " << tokenizer.token(id) << "\n";
  std::cout << tokenizer.decode(ids) << "\n";
}
