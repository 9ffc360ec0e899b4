// One rank of the tests in check_ranks.py: ranks SCENARIO [ARGUMENTS].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <pellucid/pellucid.h>

using namespace pel;

namespace {

using Arguments = std::vector<std::string>;

void say(const std::string& line) { std::cout << line << std::endl; }

std::uint64_t hash_of(ArrayView<Tensor> tensors) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const Tensor& t : tensors) {
    const Tensor dense = t.contiguous();
    const auto* bytes = static_cast<const unsigned char*>(dense.raw_data());
    const std::int64_t count = dense.numel().value() * size_bytes(dense.dtype());
    for (std::int64_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  }
  return hash;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && to_string(a.sizes()) == to_string(b.sizes()) &&
         hash_of({a}) == hash_of({b});
}

// What the documentation promises, written another way: the left half of the tree is the largest power of two
// below the number of addends.
Tensor tree(ArrayView<Tensor> addends) {
  if (addends.size() == 1) return addends[0];
  std::size_t half = 1;
  while (2 * half < addends.size()) half *= 2;
  return tree({addends.data(), half}) + tree({addends.data() + half, addends.size() - half});
}
Tensor expected_sum(const std::vector<Tensor>& addends) {
  const DType dtype = addends[0].dtype();
  if (dtype != kF16 && dtype != kBF16) return tree(addends);
  std::vector<Tensor> wide;
  for (const Tensor& t : addends) wide.push_back(t.to(kF32));
  return tree(wide).to(dtype);
}

// The tensor of a rank: the same numbers wherever they are drawn.
Tensor drawn(std::uint64_t seed, int rank, Dims sizes, DType dtype) {
  Generator generator(seed * 1000 + static_cast<std::uint64_t>(rank));
  if (is_floating(dtype)) return (randn(sizes, kF32, generator) * 100).to(dtype);
  return randint(-100, 100, sizes, kI32, generator).to(dtype);
}

class Differences {
 public:
  void expect(bool holds, const std::string& what) {
    ++checks_;
    if (!holds) say("DIFFERS " + what), ++found_;
  }
  int end() const {
    say(fmt::format("{} comparisons, {} differ", checks_, found_));
    return found_ == 0 ? 0 : 1;
  }

 private:
  int checks_ = 0, found_ = 0;
};

// Random sizes, dtypes and layouts against references; each case by its number.
int values(const Arguments& arguments) {
  const dist::Group world = dist::init();
  const auto seed = std::stoull(arguments.at(0));
  const int cases = std::stoi(arguments.at(1)), ranks = world.size(), own = world.rank();
  constexpr DType kSummed[] = {kF32, kF64, kF16, kBF16, kI8, kI16, kI32, kI64, kU8};
  Differences differences;
  for (int number = 0; number < cases; ++number) {
    Generator choices(seed + static_cast<std::uint64_t>(number));
    const auto choose = [&](std::int64_t below) {
      return static_cast<std::int64_t>(randint(0, below, {1}, {}, choices).item().to_double());
    };
    const DType dtype = kSummed[choose(std::size(kSummed))];
    const std::int64_t rows = ranks * (1 + choose(5));
    const std::int64_t columns = choose(4) == 0 ? 1 + choose(70'000) : 1 + choose(50);
    const bool is_transposed = choose(3) == 0;
    const std::uint64_t case_seed = seed * 7919 + static_cast<std::uint64_t>(number);
    std::vector<Tensor> all;
    for (int r = 0; r < ranks; ++r)
      all.push_back(is_transposed ? drawn(case_seed, r, {columns, rows}, dtype).t()
                                  : drawn(case_seed, r, {rows, columns}, dtype));
    const Tensor& mine = all[static_cast<std::size_t>(own)];
    const std::string what = fmt::format("case {}: {} [{}, {}]{}", number, name(dtype), rows, columns,
                                         is_transposed ? " transposed" : "");
    const Tensor sum = expected_sum(all);
    const std::int64_t part = rows / ranks;
    differences.expect(same_bits(all_reduce(mine, world), sum), "all_reduce, " + what);
    differences.expect(same_bits(reduce_scatter(mine, world), sum.narrow(0, own * part, part)),
                       "reduce_scatter, " + what);
    differences.expect(same_bits(all_gather(mine, world), cat(all)), "all_gather, " + what);
    const std::int64_t source = choose(ranks);
    differences.expect(same_bits(broadcast(mine, source, world), all[static_cast<std::size_t>(source)]),
                       "broadcast, " + what);
    std::vector<Tensor> parts;
    for (const Tensor& t : all) parts.push_back(t.narrow(0, own * part, part));
    differences.expect(same_bits(all_to_all(mine, world), cat(parts)), "all_to_all, " + what);
    // Around the ring; one rank receives first, so that large messages are taken.
    if (ranks > 1) {
      const int next = (own + 1) % ranks, before = (own + ranks - 1) % ranks;
      Tensor got;
      if (own != 0) got = recv(mine, before, world);
      send(mine, next, world);
      if (own == 0) got = recv(mine, before, world);
      differences.expect(same_bits(got, all[static_cast<std::size_t>(before)]), "send and recv, " + what);
    }
  }
  return differences.end();
}

// Gradients through each collective, against those of the whole computed in this process.
int gradients(const Arguments&) {
  const dist::Group world = dist::init();
  const int ranks = world.size(), own = world.rank();
  const std::int64_t rows = 2 * ranks;
  Differences differences;
  std::vector<Tensor> xs, weights;
  for (int r = 0; r < ranks; ++r) {
    xs.push_back(drawn(1, r, {rows, 3}, kF64).requires_grad_());
    weights.push_back(drawn(2, r, {rows, 3}, kF64));
  }
  const auto mine = static_cast<std::size_t>(own);
  const auto compare = [&](const std::string& what, const Tensor& y, const Tensor& weight,
                           const std::vector<Tensor>& whole, const std::vector<Tensor>& whole_weights) {
    const Tensor given = grad({(y * weight).sum()}, {xs[mine]})[0];
    Tensor loss = (whole[0] * whole_weights[0]).sum();
    for (std::size_t r = 1; r < whole.size(); ++r) loss = loss + (whole[r] * whole_weights[r]).sum();
    const Tensor wanted = grad({loss}, {xs[mine]}, {.retain_graph = true, .allow_unused = true})[0];
    const Tensor distance = (given - (wanted.defined() ? wanted : zeros_like(given))).abs().amax();
    differences.expect(distance.item().to_double() < 1e-9, what);
  };
  const auto each = [&](const std::function<Tensor(int)>& f) {
    std::vector<Tensor> list;
    for (int r = 0; r < ranks; ++r) list.push_back(f(r));
    return list;
  };
  const std::int64_t part = rows / ranks;
  const Tensor sum = tree(xs);
  compare("all_reduce", all_reduce(xs[mine], world), weights[mine], each([&](int) { return sum; }), weights);
  const auto part_of = [&](const Tensor& t, int r) { return t.narrow(0, r * part, part); };
  const auto part_weights = each([&](int r) { return part_of(weights[static_cast<std::size_t>(r)], 0); });
  compare("reduce_scatter", reduce_scatter(xs[mine], world), part_weights[mine],
          each([&](int r) { return part_of(sum, r); }), part_weights);
  const auto tall = each([&](int r) { return drawn(3, r, {rows * ranks, 3}, kF64); });
  const Tensor gathered = cat(xs);
  compare("all_gather", all_gather(xs[mine], world), tall[mine], each([&](int) { return gathered; }), tall);
  const int source = ranks - 1;
  compare("broadcast", broadcast(xs[mine], source, world), weights[mine],
          each([&](int) { return xs[static_cast<std::size_t>(source)]; }), weights);
  compare("all_to_all", all_to_all(xs[mine], world), weights[mine], each([&](int r) {
            std::vector<Tensor> parts;
            for (const Tensor& x : xs) parts.push_back(part_of(x, r));
            return cat(parts);
          }),
          weights);
  return differences.end();
}

// A function with collectives has the bits of eager calls when it is compiled, at several sizes, and all
// ranks make the same calls, also those whose results nobody reads.
int compiled(const Arguments&) {
  const dist::Group world = dist::init();
  Differences differences;
  const Tensor weight = drawn(5, world.rank(), {16, 16}, kF32);
  const auto f = [&](const Tensor& x) {
    all_reduce(x * 3, world);  // its result is not used
    const Tensor constant = all_reduce(ones({4}), world);
    const Tensor first = all_reduce(gelu(linear(x, weight)), world), again = all_reduce(x, world);
    const Tensor same = all_reduce(x, world);
    return all_gather(first + again * same + constant.sum(), world).sum(0);
  };
  const auto fast = compile(f);
  for (const int rows : {3, 8, 40}) {
    const Tensor x = drawn(6, world.rank(), {rows, 16}, kF32);
    const NoGrad no_grad;
    differences.expect(same_bits(fast(x), f(x)), fmt::format("{} rows", rows));
  }
  const std::vector<std::string> recent = world.recent();
  differences.expect(recent.size() == 36, fmt::format("{} calls, not 36", recent.size()));
  for (std::size_t i = 0; i < recent.size(); ++i) {  // compiled and eager calls, from the same lines
    const auto without_number = [](const std::string& line) {
      const std::size_t begin = line.find(' ');
      return line.substr(begin, line.rfind(',') - begin);
    };
    const std::size_t other = i % 12 < 6 ? i + 6 : i - 6;
    differences.expect(without_number(recent[i]) == without_number(recent[other]),
                       recent[i] + " against " + recent[other]);
  }
  return differences.end();
}

// Groups of some of the ranks.
int groups(const Arguments&) {
  const dist::Group world = dist::init();
  Differences differences;
  std::vector<int> even, odd;
  for (int r = 0; r < world.size(); ++r) (r % 2 == 0 ? even : odd).push_back(r);
  const dist::Group evens = dist::new_group("even", even), odds = dist::new_group("odd", odd);
  const dist::Group mine = world.rank() % 2 == 0 ? evens : odds, other = world.rank() % 2 == 0 ? odds : evens;
  differences.expect(!other.is_member() && mine.rank() == world.rank() / 2, "ranks of groups");
  std::vector<Tensor> all;
  for (const int r : world.rank() % 2 == 0 ? even : odd) all.push_back(drawn(1, r, {1000}, kF32));
  const Tensor own = drawn(1, world.rank(), {1000}, kF32);
  for (int i = 0; i < 5; ++i)
    differences.expect(same_bits(all_reduce(own, mine), expected_sum(all)), "a sum");
  try {
    all_reduce(own, other);
    differences.expect(false, "a group that this rank is not in");
  } catch (const ValueError&) {
  }
  all_reduce(own, world);
  return differences.end();
}

// One rank makes another call than the others. The lines of its calls are what the test looks for.
int mismatch(const Arguments& arguments) {
  const dist::Group world = dist::init();
  const std::string& kind = arguments.at(0);
  const bool is_odd_one = world.rank() == world.size() - 1;
  for (int i = 0; i < 3; ++i) all_reduce(ones({10}), world);
  const auto began = std::chrono::steady_clock::now();
  const auto after = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  };
  const auto run = [&](const std::function<void()>& f) {
    try {
      f();
      say("no error");
    } catch (const CommunicationError& error) {
      say(fmt::format("{:.1f} ms: {}", after(), error.what()));
    }
  };
  const Tensor x = ones({1000});
  if (kind == "op") {
    run([&] { is_odd_one ? all_gather(x, world) : all_reduce(x, world); });
  } else if (kind == "dtype") {
    run([&] { all_reduce(is_odd_one ? x.to(kF64) : x, world); });
  } else if (kind == "size") {
    run([&] { all_reduce(is_odd_one ? ones({2000}) : x, world); });
  } else if (kind == "large") {
    run([&] { all_reduce(is_odd_one ? ones({3'000'000}) : ones({2'000'000}), world); });
  } else if (kind == "shape") {
    run([&] { all_reduce(is_odd_one ? x.view({10, 100}) : x, world); });
  } else if (kind == "source") {
    run([&] { broadcast(x, is_odd_one ? 0 : 1, world); });
  } else if (kind == "order") {
    run([&] {
      if (is_odd_one) all_reduce(ones({5}), world);
      all_reduce(x, world);
      if (!is_odd_one) all_reduce(ones({5}), world);
    });
  } else if (kind == "message") {
    run([&] {
      if (world.rank() == 0) send(ones({7}), 1, world);
      if (world.rank() == 1) recv(ones({8}), 0, world);
      all_reduce(x, world);
    });
  } else if (kind == "deadlock") {
    run([&] { world.rank() == 0 ? recv(ones({8}), 1, world) : all_reduce(x, world); });
  } else if (kind == "compiled") {
    const auto fast = compile([&](const Tensor& t) { return all_reduce(t, world) * 2; });
    run([&] { fast(is_odd_one ? ones({2000}) : x); });
  } else if (kind == "backward") {
    const Tensor leaf = ones({1000}).requires_grad_();
    const Tensor y = is_odd_one ? leaf * 2 : all_reduce(leaf, world);
    if (is_odd_one) all_reduce(x, world);
    run([&] { (is_odd_one ? all_gather(leaf, world) : y).sum().backward(); });
  } else {
    return 2;
  }
  run([&] { all_reduce(x, world); });  // the group has failed for good
  return 0;
}

// Collectives until something happens: for ranks that are killed or stopped.
int endless(const Arguments& arguments) {
  const dist::Group world = dist::init();
  const std::int64_t elements = std::stoll(arguments.at(0));
  const Tensor x = ones({elements});
  try {
    for (int i = 0;; ++i) {
      all_reduce(x, world);
      if (i == 20) say(fmt::format("started {}", getpid()));
    }
  } catch (const CommunicationError& error) {
    say(error.what());
    return 3;
  }
}

// One rank ends before the others.
int leaves(const Arguments&) {
  const dist::Group world = dist::init();
  all_reduce(ones({10}), world);
  if (world.rank() == 1) return 0;
  try {
    all_reduce(ones({10}), world);
  } catch (const CommunicationError& error) {
    say(error.what());
    return 3;
  }
  return 1;
}

// A small GPT with dropout, clipping and AdamW: "eager", "compiled", or "zero" with the sharded optimizer.
class Training {
 public:
  Training(const dist::Group& world, std::string how, std::int64_t microbatches)
      : world_(world), how_(std::move(how)), microbatches_(microbatches) {
    constexpr optim::AdamOptions kOptions{.lr = 1e-3, .weight_decay = 0.01};
    if (how_ == "zero") {
      zero_.emplace(model_, world_,
                    [&](nn::Module& own) { return std::make_unique<optim::AdamW>(own, kOptions); });
    } else {
      plain_.emplace(model_, kOptions);
    }
    fast_ = compile([this](const Tensor& x, const Tensor& y) { return gradient(x, y); });
  }

  // Returns the losses.
  Tensor step() {
    const std::int64_t tokens = 16, rows = 2;
    const Tensor batch = randint(0, 64, {microbatches_ * rows, tokens + 1});
    const dist::AccumulateOptions options{.microbatches = microbatches_};
    const auto loss_of = [&](std::int64_t m) {
      const Tensor part = batch.narrow(0, m * rows, rows);
      const Tensor x = part.narrow(1, 0, tokens).contiguous(), y = part.narrow(1, 1, tokens).contiguous();
      return how_ == "compiled" ? fast_(x, y) : gradient(x, y);
    };
    Tensor losses;
    if (zero_) {
      losses = dist::accumulate(*zero_, options, loss_of);
      zero_->clip_grad_norm_(1.0);
      zero_->step();
    } else {
      losses = dist::accumulate(model_.parameters(), world_, options, loss_of);
      optim::clip_grad_norm_(model_, 1.0);
      plain_->step();
    }
    return losses;
  }
  void save(const std::string& path, std::int64_t step) const {
    const dist::Progress progress{.step = step, .microbatches = microbatches_};
    zero_ ? dist::save_checkpoint(path, progress, *zero_)
          : dist::save_checkpoint(path, progress, model_, *plain_, world_);
  }
  std::optional<dist::Progress> load(const std::string& path) {
    return zero_ ? dist::load_checkpoint(path, *zero_) : dist::load_checkpoint(path, model_, *plain_, world_);
  }
  std::string hash() const { return fmt::format("{:016x}", hash_of(model_.parameters())); }

 private:
  Tensor gradient(const Tensor& x, const Tensor& y) {
    const Tensor loss = cross_entropy(model_(x).flatten(0, 1), y.reshape({-1}));
    loss.backward();
    return loss.detach();
  }

  dist::Group world_;
  std::string how_;
  std::int64_t microbatches_;
  nn::GPT model_{{.vocabulary = 64, .context = 32, .layers = 2, .heads = 2, .width = 32, .dropout = 0.1}};
  std::optional<optim::AdamW> plain_;
  std::optional<dist::ZeroRedundancyOptimizer> zero_;
  std::function<Tensor(const Tensor&, const Tensor&)> fast_;
};

// Trains, and prints a hash of the parameters: train eager|compiled|zero MICROBATCHES.
int train(const Arguments& arguments) {
  const dist::Group world = dist::init();
  manual_seed(1);
  Training training(world, arguments.at(0), std::stoll(arguments.at(1)));
  Tensor losses;
  for (int step = 0; step < 4; ++step) losses = training.step();
  say(fmt::format("losses {:016x}", hash_of({losses})));
  say("parameters " + training.hash());
  return 0;
}

// Goes on from the checkpoint PATH, if there is one, up to STEPS, with a save after each EVERY steps:
// resume PATH STEPS EVERY eager|compiled|zero [until_killed]. Rank 0 prints the hash of each step.
int resume(const Arguments& arguments) {
  const dist::Group world = dist::init();
  const std::string& path = arguments.at(0);
  const std::int64_t steps = std::stoll(arguments.at(1)), every = std::stoll(arguments.at(2));
  manual_seed(1);
  Training training(world, arguments.at(3), 8);
  if (world.rank() != 0) manual_seed(99);  // the checkpoint has the numbers of rank 0
  const std::optional<dist::Progress> found = training.load(path);
  if (!found) manual_seed(2);
  if (found && found->microbatches != 8) return 1;
  std::int64_t step = found ? found->step : 0;
  const auto say_step = [&](const char* what) {
    if (world.rank() == 0) say(fmt::format("{} {} {}", what, step, training.hash()));
  };
  say_step("begins");
  while (step < steps) {
    training.step();
    ++step;
    say_step("step");
    if (step % every == 0) training.save(path, step);
  }
  while (arguments.size() > 4) all_reduce(ones({1}), world);
  return 0;
}

// A parameter and its state, all of whose elements are the number of the save.
struct Counted : nn::Module {
  explicit Counted(std::int64_t elements, DType dtype = kF32) {
    add_parameter("weight", weight, zeros({elements}, dtype));
  }
  Tensor weight;
};

// Saves again and again, until it is killed: saves PATH ELEMENTS.
int saves(const Arguments& arguments) {
  const dist::Group world = dist::init();
  Counted model(std::stoll(arguments.at(1)));
  optim::SGD optimizer(model, {.lr = 1, .momentum = 0.5});
  const auto found = dist::load_checkpoint(arguments.at(0), model, optimizer, world);
  const NoGrad no_grad;
  for (std::int64_t step = found ? found->step + 1 : 1;; ++step) {
    const auto number = static_cast<double>(step);
    optimizer.load(
        {{"weight.momentum", full_like(model.weight, number)}, {"group.0.step", full({}, number)}});
    model.weight.detach().fill_(number);
    if (world.rank() == 0) say(fmt::format("saves {}", step));
    dist::save_checkpoint(arguments.at(0), {.step = step}, model, optimizer, world);
    if (world.rank() == 0) say(fmt::format("saved {}", step));
  }
}

// Loads what `saves` has left, and compares every element with the step: check_saved PATH ELEMENTS.
int check_saved(const Arguments& arguments) {
  const dist::Group world = dist::init();
  Counted model(std::stoll(arguments.at(1)));
  optim::SGD optimizer(model, {.lr = 1, .momentum = 0.5});
  const auto found = dist::load_checkpoint(arguments.at(0), model, optimizer, world);
  const double step = found ? static_cast<double>(found->step) : 0;
  Differences differences;
  const auto is_step = [&](const Tensor& t) {
    return t.amin().item().to_double() == step && t.amax().item().to_double() == step;
  };
  differences.expect(is_step(model.weight.detach()), "the parameter");
  for (const NamedTensor& each : optimizer.state()) {
    if (each.path != "group.0.lr") differences.expect(is_step(each.tensor), each.path);
  }
  say(fmt::format("step {}", step));
  return differences.end();
}

// The error of a checkpoint that does not fit: misfit PATH save|same|sizes|dtype|name|optimizer|zero.
int misfit(const Arguments& arguments) {
  const dist::Group world = dist::init();
  const std::string &path = arguments.at(0), &kind = arguments.at(1);
  struct Other : nn::Module {
    Other() { add_parameter("other", weight, zeros({3000})); }
    Tensor weight;
  } other;
  Counted counted(kind == "sizes" ? 2999 : 3000, kind == "dtype" ? kBF16 : kF32);
  nn::Module& model = kind == "name" ? static_cast<nn::Module&>(other) : counted;
  for (const Tensor& each : model.parameters()) each.set_grad(ones_like(each));
  optim::SGD sgd(model, {.momentum = 0.5});
  optim::Adam adam(model);
  if (kind == "save") sgd.step();
  try {
    if (kind == "save") {
      dist::save_checkpoint(path, {.step = 7}, model, sgd, world);
    } else if (kind == "zero") {
      dist::ZeroRedundancyOptimizer zero(model, world,
                                         [](nn::Module& own) { return std::make_unique<optim::Adam>(own); });
      dist::load_checkpoint(path, zero);
    } else {
      optim::Optimizer& optimizer = kind == "optimizer" ? static_cast<optim::Optimizer&>(adam) : sgd;
      const auto found = dist::load_checkpoint(path, model, optimizer, world);
      say(found ? fmt::format("step {}", found->step) : "no checkpoint");
    }
  } catch (const Error& error) {
    say(error.what());
  }
  all_reduce(ones({1}), world);  // the group goes on
  return 0;
}

// Ranks that save or load different things: apart PATH folder|step|load.
int apart(const Arguments& arguments) {
  const dist::Group world = dist::init();
  const std::string& kind = arguments.at(1);
  std::string path = arguments.at(0);
  Counted model(3000);
  optim::SGD optimizer(model, {.momentum = 0.5});
  const bool is_odd_one = world.rank() == 1;
  try {
    if (kind == "load") {
      dist::save_checkpoint(path, {.step = 7}, model, optimizer, world);
      dist::load_checkpoint(is_odd_one ? path + "_elsewhere" : path, model, optimizer, world);
    } else {
      if (kind == "folder" && is_odd_one) path += "/missing/folder";
      dist::save_checkpoint(path, {.step = kind == "step" && is_odd_one ? 8 : 7}, model, optimizer, world);
    }
    say("no error");
  } catch (const Error& error) {
    say(error.what());
  }
  all_reduce(ones({1}), world);
  return 0;
}

// Parameters of several dtypes and sizes, stepped by an optimizer alone and by a sharded one.
struct Mixed : nn::Module {
  Mixed() {
    add_parameter("f32", f32, drawn(1, 0, {30, 100}, kF32));
    add_parameter("few", few, drawn(1, 1, {5}, kF32));
    add_parameter("bf16", bf16, drawn(1, 2, {2500}, kBF16));
    add_parameter("f64", f64, drawn(1, 3, {1500}, kF64));
    add_parameter("number", number, drawn(1, 4, {}, kF32));
  }
  Tensor f32, few, bf16, f64, number;
};
int zero(const Arguments&) {
  const dist::Group world = dist::init();
  Differences differences;
  using Make = dist::ZeroRedundancyOptimizer::Make;
  const std::vector<optim::Group> groups = {{[](std::string_view path) { return path == "few"; }, 0.5, 0.0},
                                            {}};
  const std::vector<std::pair<std::string, Make>> kinds = {
      {"AdamW",
       [&](nn::Module& own) {
         return std::make_unique<optim::AdamW>(own, optim::AdamOptions{.lr = 0.1}, groups);
       }},
      {"Adam", [](nn::Module& own) { return std::make_unique<optim::Adam>(own); }},
      {"SGD",
       [](nn::Module& own) {
         return std::make_unique<optim::SGD>(own, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
       }},
      {"SGD without momentum", [](nn::Module& own) { return std::make_unique<optim::SGD>(own); }},
  };
  const dist::AccumulateOptions options{.microbatches = 2 * world.size() + 1};
  for (const auto& [name, make] : kinds) {
    Mixed plain_model, zero_model;
    const std::unique_ptr<optim::Optimizer> plain = make(plain_model);
    dist::ZeroRedundancyOptimizer sharded(zero_model, world, make);
    for (int step = 0; step < 3; ++step) {
      const auto loss_of = [&](const Mixed& model) {
        return [&, step](std::int64_t m) {
          Tensor loss = zeros({}, kF64);
          for (const Tensor& p : model.parameters())
            loss = loss + (p.to(kF64) * drawn(step + 2, static_cast<int>(m), p.sizes(), kF64)).sum();
          return loss;
        };
      };
      const Tensor losses = dist::accumulate(plain_model.parameters(), world, options, loss_of(plain_model));
      differences.expect(same_bits(losses, dist::accumulate(sharded, options, loss_of(zero_model))),
                         name + ": losses");
      differences.expect(same_bits(optim::clip_grad_norm_(plain_model, 3.0), sharded.clip_grad_norm_(3.0)),
                         name + ": norm");
      plain->step();
      sharded.step();
      differences.expect(sharded.local().steps() == step + 1, name + ": steps");
      for (std::size_t i = 0; i < plain_model.parameters().size(); ++i)
        differences.expect(
            same_bits(plain_model.parameters()[i].detach(), zero_model.parameters()[i].detach()),
            fmt::format("{}: parameter {} after step {}", name, i, step));
    }
  }
  return differences.end();
}

// How many elements of state a rank has, and how many elements its calls move, by an optimizer alone and by a
// sharded one: share.
int share(const Arguments&) {
  const dist::Group world = dist::init();
  nn::GPT model({.vocabulary = 256, .context = 64, .layers = 2, .heads = 4, .width = 128});
  const auto make = [](nn::Module& own) { return std::make_unique<optim::AdamW>(own); };
  dist::ZeroRedundancyOptimizer sharded(model, world, make);
  const auto plain = make(model);
  const Tensor tokens = randint(0, 256, {1, 8});
  const auto loss_of = [&](std::int64_t) { return model(tokens).square().mean(); };
  const auto count = [](const optim::Optimizer& optimizer) {
    std::int64_t elements = 0;
    for (const NamedTensor& each : optimizer.state()) elements += each.tensor.numel().value();
    return elements;
  };
  const dist::AccumulateOptions options{.microbatches = world.size()};
  all_reduce(ones({}), world);
  dist::accumulate(sharded, options, loss_of);
  sharded.clip_grad_norm_(1.0);
  sharded.step();
  all_reduce(ones({}), world);
  dist::accumulate(model.parameters(), world, options, loss_of);
  optim::clip_grad_norm_(model, 1.0);
  plain->step();
  say(fmt::format("state {} of {}", count(sharded.local()), count(*plain)));
  for (const std::string& line : world.recent()) say(line);
  return 0;
}

// Models that are divided among the ranks, against the whole ones: shard FOLDER.
int shard(const Arguments& arguments) {
  const dist::Group world = dist::init();
  Differences differences;
  const NoGrad no_grad;
  const int ranks = world.size();
  const Tensor tokens = randint(0, 70, {2, 9}, kI64);
  const std::vector<std::vector<std::int64_t>> prompts = {{1, 2, 3, 4, 5}, {69}, {7, 8}};
  const auto texts_of = [&](const auto& model) {
    std::vector<Tensor> logits;
    nn::GenerateOptions options{.max_tokens = 12};
    options.on_logits = [&](std::size_t, const Tensor& row) { logits.push_back(row.clone()); };
    std::string texts;
    for (const auto& text : nn::generate(model, prompts, options)) {
      for (const std::int64_t token : text) texts += fmt::format("{} ", token);
    }
    return fmt::format("{}{:016x}", texts, hash_of(logits));
  };
  const auto has_its_part = [&](const Tensor& weight, std::int64_t rows) {
    const std::int64_t begin = rows * world.rank() / ranks, end = rows * (world.rank() + 1) / ranks;
    return weight.size(0) == end - begin;
  };
  for (const DType dtype : {kF32, kBF16}) {
    for (const bool ties_weights : {true, false}) {
      const std::string what = fmt::format("Llama, {}{}", name(dtype), ties_weights ? "" : ", with a head");
      const nn::LlamaConfig config{.vocabulary = 70,
                                   .context = 64,
                                   .layers = 2,
                                   .heads = 6,
                                   .kv_heads = 3,
                                   .width = 96,
                                   .hidden = 130,
                                   .ties_weights = ties_weights};
      manual_seed(3);
      nn::Llama whole(config), divided(config);
      divided.load(whole.named_parameters());
      whole.to(dtype), divided.to(dtype);
      divided.shard(world);
      differences.expect(has_its_part(divided.layers[1].mlp.gate.weight, 130), what + ": rows of a gate");
      differences.expect(
          divided.layers[0].attention.kv_heads() == 3 * (world.rank() + 1) / ranks - 3 * world.rank() / ranks,
          what + ": heads");
      differences.expect(same_bits(whole(tokens), divided(tokens)), what + ": logits");
      const std::string file = fmt::format("{}/rank{}.safetensors", arguments.at(0), world.rank());
      io::save_safetensors(file, whole.named_parameters());
      nn::Llama mapped(config);
      mapped.adopt(io::SafetensorsFile(file).all());
      mapped.shard(world);
      differences.expect(mapped.layers[0].mlp.down.weight.is_read_only(), what + ": rows of the mapped file");
      differences.expect(same_bits(whole(tokens), mapped(tokens)), what + ": logits from a file");
      const std::string texts = texts_of(whole);
      differences.expect(texts == texts_of(divided), what + ": texts");
      differences.expect(texts == texts_of(nn::CompiledLlama(divided)), what + ": compiled");
    }
    const nn::GPTConfig config{.vocabulary = 70, .context = 32, .layers = 2, .heads = 4, .width = 64};
    nn::GPT whole(config), divided(config);
    divided.load(whole.named_parameters());
    whole.to(dtype), divided.to(dtype);
    divided.shard(world);
    const std::string what = fmt::format("GPT, {}", name(dtype));
    differences.expect(has_its_part(divided.h[0].mlp.fc.weight, 256), what + ": rows of fc");
    differences.expect(same_bits(whole(tokens), divided(tokens)), what + ": logits");
    const auto fast = compile([&](const Tensor& t) { return divided(t); });
    differences.expect(same_bits(whole(tokens), fast(tokens)), what + ": compiled");
    nn::KVCaches of_whole = whole.make_caches(), of_divided = divided.make_caches();
    for (int i = 0; i < 4; ++i)
      differences.expect(
          same_bits(whole(tokens.narrow(1, i, 1), &of_whole), divided(tokens.narrow(1, i, 1), &of_divided)),
          what + ": decoding");
  }
  const auto refused = [&](const std::function<void()>& f, const std::string& rule) {
    try {
      f();
      differences.expect(ranks == 1, rule);
    } catch (const ValueError& error) {
      differences.expect(error.message() == rule, error.message());
    }
  };
  nn::GPT few({.vocabulary = 70, .context = 32, .layers = 1, .heads = 1, .width = 32});
  refused([&] { few.shard(world); },
          fmt::format("the model has 1 heads of keys for {} ranks: each rank needs one at least", ranks));
  nn::GPT twice({.vocabulary = 70, .context = 32, .layers = 1, .heads = 4, .width = 32});
  twice.shard(world);
  refused([&] { twice.shard(world); }, "the model is divided already: shard() is called once");
  return differences.end();
}

// What a real model says, and a hash of its logits: texts GGUF.
int texts(const Arguments& arguments) {
  const dist::Group world = dist::init();
  const auto model = io::load_llama(io::GgufFile(arguments.at(0)), kBF16);
  model->shard(world);
  std::vector<Tensor> logits;
  nn::GenerateOptions options{.max_tokens = 16};
  options.on_logits = [&](std::size_t, const Tensor& row) { logits.push_back(row.clone()); };
  const auto said = nn::generate(nn::CompiledLlama(*model), {{504, 2365, 282, 4649, 314}, {28, 7}}, options);
  for (const auto& text : said) {
    std::string line;
    for (const std::int64_t token : text) line += fmt::format("{} ", token);
    say(line);
  }
  say(fmt::format("logits {:016x}", hash_of(logits)));
  return 0;
}

// A trace of steps in which the last rank is late: trace FOLDER.
int trace(const Arguments& arguments) {
  const dist::Group world = dist::init();
  const Tensor x = ones({64, 64}), y = ones({50'000});
  all_reduce(y, world);
  Profile profile;
  for (int step = 0; step < 12; ++step) {
    const Range range("ProfilerStep");
    Tensor z = matmul(x, x);
    if (world.rank() == world.size() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    all_reduce(y, world);
    all_gather(z, world);
  }
  profile.stop();
  profile.write_trace(fmt::format("{}/rank{}.json", arguments.at(0), world.rank()));
  return 0;
}

// What the launcher's variables mean: start.
int start(const Arguments&) {
  const dist::Group world = dist::init();
  say(fmt::format("rank {} of {}, local rank {}, engine {}", world.rank(), world.size(), dist::local_rank(),
                  world.engine()));
  return all_reduce(ones({}), world).item().to_double() == world.size() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<int(const Arguments&)>> scenarios = {{"values", values},
                                                                                 {"gradients", gradients},
                                                                                 {"compiled", compiled},
                                                                                 {"groups", groups},
                                                                                 {"mismatch", mismatch},
                                                                                 {"endless", endless},
                                                                                 {"leaves", leaves},
                                                                                 {"train", train},
                                                                                 {"trace", trace},
                                                                                 {"start", start},
                                                                                 {"resume", resume},
                                                                                 {"saves", saves},
                                                                                 {"check_saved", check_saved},
                                                                                 {"misfit", misfit},
                                                                                 {"apart", apart},
                                                                                 {"shard", shard},
                                                                                 {"texts", texts},
                                                                                 {"zero", zero},
                                                                                 {"share", share}};
  const auto scenario = scenarios.find(argc < 2 ? "" : argv[1]);
  if (scenario == scenarios.end()) return 2;
  try {
    return scenario->second(Arguments(argv + 2, argv + argc));
  } catch (const Error& error) {
    std::cout << error.what() << std::endl;
    return 4;
  }
}
