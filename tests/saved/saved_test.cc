// Compiled functions in files: the same bits at all sizes, what is refused, and that no damage is loaded.
#include <cstdio>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/equal_bits.h"
#include "saved/files.h"
#include "support/errors.h"

namespace pel {
namespace {

void expect_same(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_TRUE(test::equal_bits_and_strides(actual[i], expected[i])) << "result " << i;
}

TEST(SavedPlan, HasTheBitsOfTheFunctionAtAllSizes) {
  const NoGrad no_grad;
  const test::Folder folder;
  for (const DType dtype : {kF32, kBF16, kF16, kF64}) {
    SCOPED_TRACE(name(dtype));
    const Tensor gate = randn({64, 32}).to(dtype), up = randn({64, 32}).to(dtype),
                 down = randn({32, 64}).to(dtype);
    const auto fast = compile([=](const Tensor& x, const Tensor& mask) {
      const Tensor h = mul(gelu(linear(x, gate)), linear(x, up));
      const Tensor y = add(linear(h, down), x);
      const Tensor p = softmax(y * 0.5 + mask, -1);
      return std::tuple(y, p, sum(fmod(p, 0.7), {0}));
    });
    const auto call = [&](const auto& f, std::int64_t rows) {
      manual_seed(static_cast<std::uint64_t>(rows));
      return f(randn({rows, 32}).to(dtype), randn({32}).to(dtype));
    };
    call(fast, 8);
    fast.save(folder / "mlp.pel");
    const LoadedFunction loaded = load_compiled(folder / "mlp.pel");
    EXPECT_EQ(loaded.graphs(), 1u);
    for (const std::int64_t rows : {8, 1, 33, 100}) {
      const auto [y, p, s] = call(fast, rows);
      expect_same(call(loaded, rows), {y, p, s});
    }
    EXPECT_EQ(loaded.plans(), 4u);
    EXPECT_EQ(fast.compiles(), 1u);
    EXPECT_EQ(loaded.graph(), fast.graph());
  }
}

TEST(SavedPlan, RunsTheSameKernelsAndExplainsThem) {
  const NoGrad no_grad;
  const test::Folder folder;
  const nn::GEGLU mlp(64, 128);
  const auto fast = compile(mlp);
  const Tensor x = randn({8, 64});
  fast(x);
  fast.save(folder / "mlp.pel");
  const LoadedFunction loaded = load_compiled(folder / "mlp.pel");
  EXPECT_TRUE(test::equal_bits(loaded.call<Tensor>(x), mlp(x)));
  EXPECT_EQ(loaded.kernels({x}), fast.kernels(x));
  const CompileExplanation::Graph was = fast.explain().graphs.at(0), is = loaded.explain().graphs.at(0);
  ASSERT_EQ(is.decisions.size(), was.decisions.size());
  for (std::size_t i = 0; i < is.decisions.size(); ++i) {
    EXPECT_EQ(is.decisions[i].reason, was.decisions[i].reason);
    EXPECT_EQ(is.decisions[i].location, was.decisions[i].location);
  }
  ASSERT_EQ(is.kernels.size(), was.kernels.size());
  for (std::size_t i = 0; i < is.kernels.size(); ++i) {
    ASSERT_FALSE(is.kernels[i].calls.empty());
    EXPECT_EQ(is.kernels[i].calls[0].location, was.kernels[i].calls[0].location);
  }
  ASSERT_EQ(is.guards.size(), was.guards.size());
  EXPECT_EQ(is.guards.at(0).words, was.guards.at(0).words);
}

TEST(SavedPlan, ServesEachClassOfInputsThatWasCaptured) {
  const NoGrad no_grad;
  const test::Folder folder;
  const auto fast = compile([](const Tensor& x) { return add(mul(x, 2), tanh(x)); });
  const Tensor vector = randn({5}), matrix = randn({3, 4}), transposed = randn({3, 4}).t();
  for (const Tensor& x : {vector, matrix, transposed}) fast(x);
  ASSERT_EQ(fast.compiles(), 3u);
  fast.save(folder / "f.pel");
  const LoadedFunction loaded = load_compiled(folder / "f.pel");
  for (const Tensor& x : {transposed, vector, matrix}) expect_same(loaded(x), {fast(x)});
}

TEST(SavedPlan, SaysWhichGuardDoesNotHold) {
  const NoGrad no_grad;
  const test::Folder folder;
  const Tensor weight = randn({6, 4});
  const auto fast = compile([=](const Tensor& x) { return relu(linear(x, weight)); });
  fast(randn({3, 4}));
  fast.save(folder / "f.pel");
  const LoadedFunction loaded = load_compiled(folder / "f.pel");
  const auto text = [&](const std::vector<Tensor>& inputs) {
    return test::thrown_by<ValueError>([&] { loaded(inputs); }).message();
  };
  const std::string sizes = text({randn({3, 5})});
  EXPECT_NE(sizes.find("f.pel has no graph for (f32[3, 5])"), std::string::npos) << sizes;
  EXPECT_NE(sizes.find("axis 1 of input 0 must be 4: weight of linear at saved_test.cc:"), std::string::npos)
      << sizes;
  EXPECT_NE(text({randn({3, 4}).to(kF64)}).find("input 0 is f64, captured as f32"), std::string::npos);
  EXPECT_NE(text({randn({4})}).find("input 0 has rank 1, captured with 2"), std::string::npos);
  EXPECT_NE(text({}).find("0 inputs, captured with 1"), std::string::npos);
  EXPECT_NE(text({randn({3, 4}), randn({3, 4})}).find("2 inputs, captured with 1"), std::string::npos);
  {
    const Autocast autocast(kBF16);
    EXPECT_NE(text({randn({3, 4})}).find("autocast"), std::string::npos);
  }
  EXPECT_NO_THROW(loaded(randn({7, 4})));
}

TEST(SavedPlan, NeedsNoNoGradIfNoInputRequiresAGradient) {
  const test::Folder folder;
  const nn::Linear layer(4, 3);
  const auto fast = compile(layer);
  {
    const NoGrad no_grad;
    fast(randn({2, 4}));
    fast.save(folder / "f.pel");
  }
  const LoadedFunction loaded = load_compiled(folder / "f.pel");
  const Tensor x = randn({5, 4});
  const Tensor y = loaded.call<Tensor>(x);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(test::equal_bits(y, layer(x).detach()));
  EXPECT_NE(test::thrown_by<ValueError>([&] { loaded(randn({5, 4}).requires_grad_()); })
                .message()
                .find("requires a gradient"),
            std::string::npos);
}

TEST(SavedPlan, KeepsWhatTheFunctionWritesToItsTensors) {
  const NoGrad no_grad;
  const test::Folder folder;
  const Tensor count = zeros({1}), row = count.view({1, 1});
  const auto fast = compile([=](const Tensor& x) {
    count.add_(1);
    return mul(x, row);
  });
  const Tensor x = ones({2, 3});
  fast(x), fast(x);
  fast.save(folder / "f.pel");
  const LoadedFunction one = load_compiled(folder / "f.pel"), other = load_compiled(folder / "f.pel");
  EXPECT_EQ(one.call<Tensor>(x).select(0, 0).select(0, 0).item().to_double(), 3);
  EXPECT_EQ(one.call<Tensor>(x).select(0, 0).select(0, 0).item().to_double(), 4);
  EXPECT_EQ(other.call<Tensor>(x).select(0, 0).select(0, 0).item().to_double(), 3);
}

TEST(SavedPlan, WritesToItsInputsAndReturnsThem) {
  const NoGrad no_grad;
  const test::Folder folder;
  const auto fast = compile([](const Tensor& cache, const Tensor& x) {
    cache.narrow(0, 1, 2).copy_(x);
    return std::pair(cache, cache.sum());
  });
  const auto fresh = [] { return zeros({4, 3}); };
  fast(fresh(), ones({2, 3}));
  fast.save(folder / "f.pel");
  const LoadedFunction loaded = load_compiled(folder / "f.pel");
  const Tensor cache = fresh();
  const auto [same, total] = loaded.call<std::pair<Tensor, Tensor>>(cache, ones({2, 3}));
  EXPECT_TRUE(same.is_same(cache));
  EXPECT_EQ(total.item().to_double(), 6);
}

TEST(SavedPlan, DrawsTheNumbersOfTheGenerator) {
  const NoGrad no_grad;
  const test::Folder folder;
  const auto fast = compile([](const Tensor& x) { return mul(dropout(x, 0.5), randn({3})); });
  const Tensor x = ones({4, 3});
  fast(x);
  fast.save(folder / "f.pel");
  const LoadedFunction loaded = load_compiled(folder / "f.pel");
  manual_seed(7);
  const Tensor expected = fast(x);
  manual_seed(7);
  EXPECT_TRUE(test::equal_bits(loaded.call<Tensor>(x), expected));
}

TEST(SavedPlan, IsRefusedBeforeTheFirstCallAndForGradientsOfLeaves) {
  const test::Folder folder;
  const auto not_called = compile([](const Tensor& x) { return relu(x); });
  EXPECT_NE(test::thrown_by<ValueError>([&] { not_called.save(folder / "f.pel"); })
                .message()
                .find("has no graph yet"),
            std::string::npos);
  const Tensor weight = randn({3}).requires_grad_();
  const auto step = compile([=](const Tensor& x) {
    const Tensor loss = sum(mul(x, weight));
    loss.backward();
    return loss.detach();
  });
  step(ones({3}));
  EXPECT_NE(
      test::thrown_by<ValueError>([&] { step.save(folder / "f.pel"); }).message().find("gradients of leaves"),
      std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "f.pel"));
  const auto inside = compile([](const Tensor& x) { return mul(relu(x), 2); });
  const NoGrad no_grad;
  inside(ones({3}));
  EXPECT_THROW(inside.save(folder / "f.pel", {.instruction_sets = {}}), ValueError);
  EXPECT_THROW(inside.save(folder / "no such folder/f.pel"), FileError);
}

TEST(SavedPlan, CannotBePartOfAnotherFunction) {
  const NoGrad no_grad;
  const test::Folder folder;
  const auto fast = compile([](const Tensor& x) { return mul(relu(x), 2); });
  fast(ones({3}));
  fast.save(folder / "f.pel");
  const LoadedFunction loaded = load_compiled(folder / "f.pel");
  const auto outer = compile([=](const Tensor& x) { return loaded.call<Tensor>(x); });
  EXPECT_THROW(outer(ones({3})), CaptureError);
  EXPECT_THROW((loaded.call<std::pair<Tensor, Tensor>>(ones({3}))), ValueError);
}

// Weights of a model in a safetensors file, and one that is in no file.
struct Referring {
  Referring() {
    io::save_safetensors(
        folder / "w.safetensors",
        ArrayView<NamedTensor>{{"a", randn({16, 8})}, {"b", randn({16, 8})}, {"c", ones({3})}});
    const io::SafetensorsFile file(folder / "w.safetensors");
    const Tensor a = file.tensor("a"), b = file.tensor("b").clone(), own = randn({16});
    fast.emplace([=](const Tensor& x) { return add(mul(linear(x, a), linear(x, b)), own); },
                 CompileOptions{});
    x = randn({2, 8});
    (*fast)(x);
    fast->save(folder / "f.pel", {.weights = {folder / "w.safetensors"}});
    fast->save(folder / "inside.pel");
  }
  using F = std::function<Tensor(const Tensor&)>;
  test::Folder folder;
  std::optional<Compiled<F>> fast;
  Tensor x;
};

TEST(SavedPlan, ReadsWeightsFromTheirFile) {
  const NoGrad no_grad;
  const Referring plans;
  const auto size = [&](const std::string& name) { return std::filesystem::file_size(plans.folder / name); };
  EXPECT_EQ(size("inside.pel") - size("f.pel") > 2 * 16 * 8 * 4 - 200, true);
  expect_same(load_compiled(plans.folder / "f.pel")(plans.x), {(*plans.fast)(plans.x)});

  std::filesystem::create_directory(plans.folder / "moved");
  std::filesystem::rename(plans.folder / "w.safetensors", plans.folder / "moved/w.safetensors");
  EXPECT_THROW(load_compiled(plans.folder / "f.pel"), FileError);
  const LoadOptions moved{.weights_folder = plans.folder / "moved"};
  expect_same(load_compiled(plans.folder / "f.pel", moved)(plans.x), {(*plans.fast)(plans.x)});
}

TEST(SavedPlan, RefusesWeightsThatHaveChanged) {
  const NoGrad no_grad;
  const Referring plans;
  const std::string path = plans.folder / "w.safetensors";
  const auto refusal = [&](bool checks_weights = true) {
    const LoadOptions options{.checks_weights = checks_weights};
    return test::thrown_by<FileError>([&] { load_compiled(plans.folder / "f.pel", options); }).message();
  };
  const std::string bytes = test::read_file(path);
  std::string changed = bytes;
  changed[bytes.size() - 300] ^= 1;
  test::write_file(path, changed);
  EXPECT_NE(refusal().find("has other values than when the plan was saved"), std::string::npos) << refusal();
  EXPECT_NO_THROW(load_compiled(plans.folder / "f.pel", {.checks_weights = false}));
  io::save_safetensors(path, ArrayView<NamedTensor>{{"a", randn({16, 8})}});
  EXPECT_NE(refusal(false).find("has no tensor \"b\""), std::string::npos) << refusal(false);
  io::save_safetensors(path, ArrayView<NamedTensor>{{"a", randn({8})}, {"b", randn({8})}});
  EXPECT_NE(refusal().find("has 32 bytes, and had 512"), std::string::npos) << refusal();
}

// Each byte of a file, changed; and the file cut at each byte.
TEST(SavedPlan, IsNotLoadedIfAnyByteIsDamaged) {
  const NoGrad no_grad;
  const test::Folder folder;
  const Tensor weight = randn({4, 3});
  const auto fast = compile([=](const Tensor& x) { return mul(gelu(linear(x, weight)), 2); });
  const Tensor x = randn({2, 3});
  const Tensor expected = fast(x);
  fast.save(folder / "f.pel");
  const std::string bytes = test::read_file(folder / "f.pel");
  const char* const share = std::getenv("PELLUCID_TEST_SHARE");
  const std::size_t step = share == nullptr ? 1 : static_cast<std::size_t>(std::atoi(share));
  std::size_t refused = 0, tried = 0;
  const auto try_load = [&](std::string_view content) {
    test::write_file(folder / "g.pel", content);
    ++tried;
    try {
      load_compiled(folder / "g.pel");
    } catch (const FileError&) {
      ++refused;
    }
  };
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    try_load(damaged);
    try_load(std::string_view(bytes).substr(0, at));
  }
  try_load(bytes + '\0');
  EXPECT_EQ(refused, tried);
  std::printf("%zu damaged files of %zu bytes\n", tried, bytes.size());
  test::write_file(folder / "g.pel", bytes);
  expect_same(load_compiled(folder / "g.pel")(x), {expected});
}

TEST(SavedPlan, SaysThatAFileIsNotOne) {
  const test::Folder folder;
  const auto message = [&](std::string_view content) {
    test::write_file(folder / "f.pel", content);
    return test::thrown_by<FileError>([&] { load_compiled(folder / "f.pel"); }).message();
  };
  EXPECT_NE(message("").find("does not begin as a saved plan"), std::string::npos);
  EXPECT_NE(message("a text that is longer than a header").find("does not begin"), std::string::npos);
  EXPECT_NE(message(std::string("PELPLAN\n\x63\0\0\0\0\0\0\0", 16)).find("version 99"), std::string::npos);
  EXPECT_THROW(load_compiled(folder / "none.pel"), FileError);
  EXPECT_THROW(load_compiled(folder / "."), FileError);
}

}  // namespace
}  // namespace pel
