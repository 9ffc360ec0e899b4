// Checkpoints of several ranks, which any number of ranks can load.
//
//   PATH.safetensors.index.json             which part has which tensor; the checkpoint is what it names
//   PATH-SAVE-00001-of-00004.safetensors    the elements that one rank wrote; SAVE counts the saves
//
// A tensor of a part is a range of elements, with one axis: "model.wte.weight[64, 32] elements 0 to 1024".
// Each part also has "checkpoint 1 of 4": the numbers of Facts, which are the same in all parts of one save,
// and the number of its pieces.
//
// Parts of a new save have new names, so the old index names whole files until the new one replaces it.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pellucid/autograd.h"
#include "pellucid/extend/keys.h"
#include "pellucid/generator.h"
#include "pellucid/io.h"
#include "pellucid/ops.h"

#include "base/check.h"
#include "base/function_ref.h"
#include "distributed/partition.h"
#include "sharded/zero_redundancy.h"

namespace pel::dist {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kVersion = 1;  // of the contents of parts
constexpr std::string_view kOfModel = "model.", kOfOptimizer = "optimizer.";

// What the parts of one save have in common. The seed and the draws are those of the default generator.
struct Facts {
  std::int64_t version = kVersion, save = 0, step = 0, microbatches = 0, seed = 0, draws = 0;

  using Numbers = std::array<std::int64_t, 6>;
  Numbers numbers() const { return {version, save, step, microbatches, seed, draws}; }
  static Facts of(const Numbers& n) { return {n[0], n[1], n[2], n[3], n[4], n[5]}; }
  bool operator==(const Facts&) const = default;
};

Tensor as_tensor(const Facts& facts) {
  const Facts::Numbers numbers = facts.numbers();
  return from_bytes(numbers.data(), kI64, {std::ssize(numbers)});
}
Facts facts_of(const Tensor& tensor) {
  Facts::Numbers numbers{};
  std::copy_n(tensor.data<const std::int64_t>(), numbers.size(), numbers.begin());
  return Facts::of(numbers);
}

// The facts that each rank says, by rank.
std::vector<Facts> gather(const Facts& own, const Group& group) {
  const Tensor all = all_gather(as_tensor(own), group);
  const std::int64_t each = all.numel().value() / group.size();
  std::vector<Facts> found;
  for (int r = 0; r < group.size(); ++r) found.push_back(facts_of(all.narrow(0, r * each, each)));
  return found;
}

// Runs f on each rank, and throws on all of them if it throws on one. No rank then waits for one that has
// given up.
template <class F>
void on_all_ranks(const Group& group, std::string_view what, F&& f) {
  std::exception_ptr failure;
  try {
    f();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::vector<Facts> said = gather({.step = failure ? 1 : 0}, group);
  if (failure) std::rethrow_exception(failure);
  for (int r = 0; r < group.size(); ++r)
    PEL_CHECK(said[static_cast<std::size_t>(r)].step == 0, FileError,
              "rank {} could not {}: its error says why", r, what);
}

std::string index_of(const std::string& path) { return path + ".safetensors.index.json"; }
std::string part_name(std::string_view name, std::int64_t save, int part, int parts) {
  return fmt::format("{}-{}-{:05}-of-{:05}.safetensors", name, save, part, parts);
}

// The save that a file of the folder belongs to, or -1 if it is not part of a checkpoint of this name. Ends
// of processes leave parts and temporary files.
std::int64_t save_of(std::string_view name, const std::string& file) {
  if (!file.starts_with(name) || file.size() <= name.size()) return -1;
  long long save = 0;
  int part = 0, parts = 0;
  if (std::sscanf(file.c_str() + name.size(), "-%lld-%d-of-%d", &save, &part, &parts) != 3) return -1;
  const std::string whole = part_name(name, save, part, parts);
  const bool is_part = file == whole || (file.starts_with(whole + ".") && file.ends_with(".tmp"));
  return is_part ? static_cast<std::int64_t>(save) : -1;
}

struct Names {
  explicit Names(const std::string& path)
      : index(index_of(path)),
        folder(fs::path(path).parent_path()),
        name(fs::path(path).filename().string()) {
    PEL_CHECK(!name.empty(), ValueError,
              "a checkpoint is a folder and a name, such as \"runs/small\"; got \"{}\"", path);
  }
  template <class F>
  void for_each_file(F&& f) const {
    std::error_code error;
    for (fs::directory_iterator at(folder.empty() ? fs::path(".") : folder, error), end; !error && at != end;
         at.increment(error))
      f(at->path().filename().string(), at->path());
  }
  std::int64_t next_save() const {
    std::int64_t last = 0;
    for_each_file(
        [&](const std::string& file, const fs::path&) { last = std::max(last, save_of(name, file)); });
    return last + 1;
  }
  // What earlier saves, and processes that ended in the midst of one, have left.
  void remove_others(std::int64_t save) const {
    std::vector<fs::path> others;
    const std::string index_name = index_of(name);
    for_each_file([&](const std::string& file, const fs::path& at) {
      const std::int64_t of = save_of(name, file);
      if ((of >= 0 && of != save) || (file.starts_with(index_name + ".") && file.ends_with(".tmp")))
        others.push_back(at);
    });
    std::error_code ignored;  // the next save tries again
    for (const fs::path& each : others) fs::remove(each, ignored);
  }

  std::string index;
  fs::path folder;
  std::string name;
};

// Some elements of a tensor, which this rank writes.
struct Piece {
  std::string tensor;  // "model.wte.weight"
  std::string sizes;   // of the whole tensor: "[64, 32]"
  std::int64_t begin;
  Tensor elements;  // with one axis
};

std::vector<NamedTensor> prefixed(std::string_view prefix, std::vector<NamedTensor> tensors) {
  for (NamedTensor& each : tensors) each.path.insert(0, prefix);
  return tensors;
}
std::vector<NamedTensor> contents_of(const nn::Module& module) {
  std::vector<NamedTensor> all = prefixed(kOfModel, module.named_parameters());
  for (NamedTensor& each : prefixed(kOfModel, module.named_buffers())) all.push_back(std::move(each));
  return all;
}

// Of tensors that all ranks have, those elements that this rank writes.
std::vector<Piece> divided(const std::vector<NamedTensor>& all, const Group& group) {
  std::vector<std::int64_t> counts;
  for (const NamedTensor& each : all) counts.push_back(each.tensor.numel().value());
  const Partition partition(counts, group.size());
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ElementRange range = partition.of_tensor(i, group.rank());
    if (range.size() == 0) continue;
    pieces.push_back({all[i].path, to_string(all[i].tensor.sizes()), range.begin,
                      reshape(all[i].tensor.detach(), {-1}).narrow(0, range.begin, range.size())});
  }
  return pieces;
}

void save(const std::string& path, const Progress& progress, const std::vector<Piece>& pieces,
          const Group& group) {
  PEL_CHECK(progress.step >= 0 && progress.microbatches > 0, ValueError,
            "the progress is step {} with {} microbatches; expected a step from 0 on, and at least one "
            "microbatch",
            progress.step, progress.microbatches);
  const Names names(path);
  const Generator::State generator = default_generator().state();
  Facts facts{.save = group.rank() == 0 ? names.next_save() : 0,
              .step = progress.step,
              .microbatches = progress.microbatches,
              .seed = std::bit_cast<std::int64_t>(generator.seed),
              .draws = std::bit_cast<std::int64_t>(generator.offset)};
  const std::vector<Facts> all = gather(facts, group);
  facts.save = all[0].save;
  for (int r = 1; r < group.size(); ++r) {
    const Facts& other = all[static_cast<std::size_t>(r)];
    const auto words = [](const Facts& f) {
      return fmt::format("step {}, {} microbatches, seed {} after {} draws", f.step, f.microbatches,
                         std::bit_cast<std::uint64_t>(f.seed), f.draws);
    };
    PEL_CHECK(
        words(other) == words(all[0]), ValueError,
        "rank {} saves {}, and rank 0 {}: all ranks of a checkpoint are at the same step, and draw the same "
        "random numbers",
        r, words(other), words(all[0]));
  }
  on_all_ranks(group, "write its part", [&] {
    std::vector<NamedTensor> own = {{fmt::format("checkpoint {} of {}", group.rank() + 1, group.size()),
                                     cat({as_tensor(facts), full({1}, std::ssize(pieces), kI64)})}};
    for (const Piece& each : pieces)
      own.push_back({fmt::format("{}{} elements {} to {}", each.tensor, each.sizes, each.begin,
                                 each.begin + each.elements.numel().value()),
                     each.elements});
    io::save_safetensors(
        (names.folder / part_name(names.name, facts.save, group.rank() + 1, group.size())).string(), own);
  });
  on_all_ranks(group, "write the index", [&] {
    if (group.rank() != 0) return;
    std::vector<std::string> files;
    for (int r = 0; r < group.size(); ++r)
      files.push_back(part_name(names.name, facts.save, r + 1, group.size()));
    io::save_safetensors_index(names.index, files);
  });
  if (group.rank() == 0) names.remove_others(facts.save);
}

// A tensor in the parts of a checkpoint.
struct Stored {
  std::string sizes;
  std::vector<std::pair<std::int64_t, Tensor>> pieces;  // by their first element

  std::int64_t count() const {
    return pieces.empty() ? 0 : pieces.back().first + pieces.back().second.numel().value();
  }
  DType dtype() const { return pieces[0].second.dtype(); }
  // The elements of a range, with one axis; a view where one piece has all of them.
  Tensor elements(ElementRange range) const {
    std::vector<Tensor> parts;
    for (const auto& [begin, piece] : pieces) {
      const std::int64_t from = std::max(range.begin, begin);
      const std::int64_t to = std::min(range.end, begin + piece.numel().value());
      if (from < to) parts.push_back(piece.narrow(0, from - begin, to - from));
    }
    if (parts.empty()) return zeros({0}, dtype());
    return parts.size() == 1 ? parts[0] : cat(parts);
  }
  std::vector<std::int64_t> dims() const {
    std::vector<std::int64_t> dims;
    for (const char *at = sizes.data(), *end = at + sizes.size(); at != end;) {
      std::int64_t size = 0;
      const auto [next, error] = std::from_chars(at, end, size);
      if (error == std::errc()) dims.push_back(size);
      at = error == std::errc() ? next : at + 1;
    }
    return dims;
  }
  Tensor whole() const {
    const std::vector<std::int64_t> own = dims();
    return reshape(elements({0, count()}), std::vector<Dim>(own.begin(), own.end()));
  }
};

struct Contents {
  Facts facts;
  std::map<std::string, Stored> tensors;
};

// The name of a piece in its parts: "model.wte.weight", "[64, 32]", 0, 1024.
void add_piece(Contents& to, const NamedTensor& piece) {
  constexpr std::string_view kElements = " elements ";
  const std::string_view name = piece.path;
  const std::size_t elements = name.rfind(kElements), sizes = name.substr(0, elements).rfind('[');
  long long begin = -1, end = -1;
  int length = 0;
  if (elements != name.npos && sizes != name.npos)
    std::sscanf(piece.path.c_str() + elements, " elements %lld to %lld%n", &begin, &end, &length);
  PEL_CHECK(begin >= 0 && end > begin && elements + static_cast<std::size_t>(length) == name.size() &&
                piece.tensor.dim() == 1 && piece.tensor.numel() == static_cast<std::int64_t>(end) - begin,
            FileError, "{} with sizes {} is not a piece of a checkpoint", name,
            to_string(piece.tensor.sizes()));
  Stored& stored = to.tensors[std::string(name.substr(0, sizes))];
  const std::string_view own_sizes = name.substr(sizes, elements - sizes);
  PEL_CHECK(stored.pieces.empty() || (stored.sizes == own_sizes && stored.dtype() == piece.tensor.dtype()),
            FileError, "the pieces of {} differ in sizes or dtype", name.substr(0, sizes));
  stored.sizes = own_sizes;
  stored.pieces.emplace_back(begin, piece.tensor);
}

Contents read(const Names& names) {
  const io::SafetensorsFile file(names.index);
  Contents contents;
  std::vector<Facts> facts;
  int parts = 0;
  std::int64_t pieces = 0;
  for (const NamedTensor& each : file.all()) {
    int part = 0, of = 0;
    if (std::sscanf(each.path.c_str(), "checkpoint %d of %d", &part, &of) != 2) {
      add_piece(contents, each);
      continue;
    }
    PEL_CHECK(each.tensor.dtype() == kI64 && each.tensor.dim() == 1 && each.tensor.numel() >= 1 &&
                  each.tensor.data<const std::int64_t>()[0] == kVersion &&
                  each.tensor.numel() == std::ssize(Facts::Numbers()) + 1,
              FileError, "{} is of another version than {}, which this library reads", each.path, kVersion);
    facts.push_back(facts_of(each.tensor));
    PEL_CHECK(facts.back() == facts[0] && (parts == 0 || parts == of), FileError,
              "part {} is of another save than the first part", part);
    parts = of;
    pieces += each.tensor.data<const std::int64_t>()[std::ssize(Facts::Numbers())];
  }
  PEL_CHECK(!facts.empty(), FileError, "{} has no part of a checkpoint", names.index);
  PEL_CHECK(std::ssize(facts) == parts, FileError, "{} names {} of {} parts", names.index, facts.size(),
            parts);
  contents.facts = facts[0];
  std::int64_t found = 0;
  for (auto& [name, stored] : contents.tensors) {
    std::ranges::sort(stored.pieces, {}, [](const auto& piece) { return piece.first; });
    std::int64_t expected = 0, whole = 1;
    for (const auto& [begin, piece] : stored.pieces) {
      PEL_CHECK(begin == expected, FileError, "elements of {} are {} from {} on", name,
                begin > expected ? "missing" : "there twice", std::min(begin, expected));
      expected = begin + piece.numel().value();
    }
    for (const std::int64_t size : stored.dims())
      PEL_CHECK(size > 0 && !__builtin_mul_overflow(whole, size, &whole), FileError, "{} has the sizes {}",
                name, stored.sizes);
    PEL_CHECK(expected == whole, FileError, "{} has {} elements of {}", name, expected, whole);
    found += std::ssize(stored.pieces);
  }
  PEL_CHECK(found == pieces, FileError, "{} names {} of {} pieces of tensors", names.index, found, pieces);
  return contents;
}

// Throws where a tensor of the module is not stored as it is, or the other way round.
void check_module(const Contents& contents, const nn::Module& module) {
  constexpr std::string_view kAdvice = "build the module as it was when it was saved";
  std::map<std::string, Tensor> own;
  for (NamedTensor& each : contents_of(module)) own.emplace(std::move(each.path), std::move(each.tensor));
  for (const auto& [name, tensor] : own) {
    const auto found = contents.tensors.find(name);
    const std::string_view path = std::string_view(name).substr(kOfModel.size());
    if (tensor.numel() == 0) continue;
    PEL_CHECK(found != contents.tensors.end(), ValueError,
              "the checkpoint is of another module: it has no {}; {}", path, kAdvice);
    PEL_CHECK(found->second.sizes == to_string(tensor.sizes()) && found->second.count() == tensor.numel(),
              ShapeError, "the checkpoint is of another module: {} has sizes {} there, and {} here; {}", path,
              found->second.sizes, to_string(tensor.sizes()), kAdvice);
    PEL_CHECK(found->second.dtype() == tensor.dtype(), DTypeError,
              "the checkpoint is of another module: {} is {} there, and {} here; {}", path,
              pel::name(found->second.dtype()), pel::name(tensor.dtype()), kAdvice);
  }
  for (const auto& each : contents.tensors)
    PEL_CHECK(!each.first.starts_with(kOfModel) || own.contains(each.first), ValueError,
              "the checkpoint is of another module: this one has no {}; {}",
              std::string_view(each.first).substr(kOfModel.size()), kAdvice);
}

// The same for the state of an optimizer: that of a parameter has its sizes, the rest is one number.
void check_state(const Contents& contents, const nn::Module& module) {
  std::map<std::string, Tensor> own;
  for (NamedTensor& each : module.named_parameters())
    own.emplace(std::move(each.path), std::move(each.tensor));
  for (const auto& [name, stored] : contents.tensors) {
    if (!name.starts_with(kOfOptimizer)) continue;
    const std::string path = name.substr(kOfOptimizer.size());
    const auto of = own.find(path.substr(0, path.rfind('.')));
    const std::string sizes = of == own.end() ? "[]" : to_string(of->second.sizes());
    const DType dtype = of != own.end() && of->second.dtype() == kF64 ? kF64 : kF32;
    PEL_CHECK(stored.sizes == sizes && stored.dtype() == dtype, ValueError,
              "the checkpoint is of another optimizer: {} is {}{} there; expected {}{}", path,
              pel::name(stored.dtype()), stored.sizes, pel::name(dtype), sizes);
  }
}

// What Module::load takes.
std::vector<NamedTensor> values_of(const Contents& contents, const nn::Module& module) {
  std::vector<NamedTensor> values;
  for (NamedTensor& each : contents_of(module)) {
    const auto found = contents.tensors.find(each.path);
    values.push_back({each.path.substr(kOfModel.size()),
                      found == contents.tensors.end() ? each.tensor : found->second.whole()});
  }
  return values;
}

// Which elements of an optimizer's state this rank takes: all, or a range with one axis.
using TakeState = FunctionRef<Tensor(const std::string& name, const Stored& stored)>;

std::optional<Progress> load(const std::string& path, nn::Module& module, optim::Optimizer& optimizer,
                             const Group& group, TakeState take) {
  const Names names(path);
  std::optional<Contents> contents;
  on_all_ranks(group, "read the checkpoint", [&] {
    std::error_code error;
    if (!fs::exists(names.index, error) && !error) return;
    try {
      contents = read(names);
    } catch (const FileError& failure) {
      throw FileError(
          fmt::format("{}; a checkpoint needs its index and every part that this names: restore them, or "
                      "remove {} to start without a checkpoint",
                      failure.message(), names.index));
    }
  });
  const Facts own = contents ? contents->facts : Facts{.save = -1};
  const std::vector<Facts> all = gather(own, group);
  for (int r = 1; r < group.size(); ++r) {
    const auto words = [&](const Facts& f) {
      return f.save < 0 ? std::string("no checkpoint") : fmt::format("save {} of step {}", f.save, f.step);
    };
    PEL_CHECK(all[static_cast<std::size_t>(r)] == all[0], FileError,
              "rank {} finds {}, and rank 0 {}, at {}: all ranks must see the same folder", r,
              words(all[static_cast<std::size_t>(r)]), words(all[0]), path);
  }
  if (!contents) return std::nullopt;

  on_all_ranks(group, "load the checkpoint", [&] {
    check_module(*contents, module);
    check_state(*contents, module);
    std::vector<NamedTensor> state;
    for (const auto& [name, stored] : contents->tensors) {
      if (!name.starts_with(kOfOptimizer)) continue;
      std::string own_name = name.substr(kOfOptimizer.size());
      const Tensor value = take(own_name, stored);
      state.push_back({std::move(own_name), value});
    }
    try {
      optimizer.load(state);
    } catch (const Error& failure) {
      throw ValueError(fmt::format(
          "the checkpoint is of another optimizer: {}; make the optimizer and its groups as they were "
          "when it was saved",
          failure.message()));
    }
    module.load(values_of(*contents, module));
  });
  default_generator().set_state(
      {std::bit_cast<std::uint64_t>(own.seed), std::bit_cast<std::uint64_t>(own.draws)});
  return Progress{.step = own.step, .microbatches = own.microbatches};
}

// Where the state of a parameter is in its parts: "wte.weight.first" is of "wte.weight".
struct OwnRange {
  std::string sizes;
  ElementRange range;
};
std::map<std::string, OwnRange> own_ranges(const ZeroRedundancyOptimizer::State& state) {
  std::map<std::string, OwnRange> ranges;
  for (const GradientBucket& bucket : state.buckets) {
    for (std::size_t k = 0; k < bucket.of.size(); ++k) {
      const NamedTensor& parameter = state.parameters[bucket.of[k]];
      ranges[parameter.path] = {to_string(parameter.tensor.sizes()),
                                bucket.partition.of_tensor(k, state.group.rank())};
    }
  }
  return ranges;
}
const OwnRange* range_of(const std::map<std::string, OwnRange>& ranges, const std::string& name) {
  const auto found = ranges.find(name.substr(0, name.rfind('.')));
  return found == ranges.end() ? nullptr : &found->second;
}

}  // namespace

void save_checkpoint(const std::string& path, const Progress& progress, const nn::Module& module,
                     const optim::Optimizer& optimizer, const Group& group, Site site) {
  as_call("dist::save_checkpoint", site, [&] {
    PEL_CHECK(group.is_member(), ValueError, "this process is not in the group {}", group.name());
    const detail::DeviceCall line(site);
    const NoGrad no_grad;
    std::vector<NamedTensor> all = contents_of(module);
    for (NamedTensor& each : prefixed(kOfOptimizer, optimizer.state())) all.push_back(std::move(each));
    save(path, progress, divided(all, group), group);
  });
}

void save_checkpoint(const std::string& path, const Progress& progress,
                     const ZeroRedundancyOptimizer& optimizer, Site site) {
  as_call("dist::save_checkpoint", site, [&] {
    const ZeroRedundancyOptimizer::State& state = optimizer.state();
    const detail::DeviceCall line(site);
    const NoGrad no_grad;
    const std::map<std::string, OwnRange> ranges = own_ranges(state);
    std::vector<NamedTensor> on_all = contents_of(state.module);
    std::vector<Piece> own;
    for (const NamedTensor& each : state.optimizer->state()) {
      std::string name = std::string(kOfOptimizer) + each.path;
      if (const OwnRange* const part = range_of(ranges, each.path); part == nullptr) {
        on_all.push_back({std::move(name), each.tensor});
      } else if (part->range.size() > 0) {
        own.push_back({std::move(name), part->sizes, part->range.begin, each.tensor});
      }
    }
    std::vector<Piece> pieces = divided(on_all, state.group);
    std::ranges::move(own, std::back_inserter(pieces));
    save(path, progress, pieces, state.group);
  });
}

std::optional<Progress> load_checkpoint(const std::string& path, nn::Module& module,
                                        optim::Optimizer& optimizer, const Group& group, Site site) {
  return as_call("dist::load_checkpoint", site, [&] {
    PEL_CHECK(group.is_member(), ValueError, "this process is not in the group {}", group.name());
    const detail::DeviceCall line(site);
    const NoGrad no_grad;
    return load(path, module, optimizer, group,
                [](const std::string&, const Stored& stored) { return stored.whole(); });
  });
}

std::optional<Progress> load_checkpoint(const std::string& path, ZeroRedundancyOptimizer& optimizer,
                                        Site site) {
  return as_call("dist::load_checkpoint", site, [&] {
    const ZeroRedundancyOptimizer::State& state = optimizer.state();
    const detail::DeviceCall line(site);
    const NoGrad no_grad;
    const std::map<std::string, OwnRange> ranges = own_ranges(state);
    return load(path, state.module, *state.optimizer, state.group,
                [&](const std::string& name, const Stored& stored) {
                  const OwnRange* const part = range_of(ranges, name);
                  return part == nullptr ? stored.whole() : stored.elements(part->range);
                });
  });
}

}  // namespace pel::dist
