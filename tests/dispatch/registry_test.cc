// What every op promises by its record, tried on each op of the registry.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "pellucid/ops.h"
#include "pellucid/profile.h"

#include "dispatch/pointwise.h"
#include "dispatch/record.h"

namespace pel {
namespace {

std::vector<const Op*> builtin() {
  std::vector<const Op*> ops = all_ops();
  std::erase_if(ops, [](const Op* op) { return !op->record().is_builtin; });
  return ops;
}

DType pointwise_dtype(const Pointwise& facts, const std::string& arg) {
  if (arg == "condition" || arg == "mask") return kBool;
  if (arg == "out" && facts.gives == Pointwise::Gives::Bool) return kBool;
  return facts.computes.contains(kF32) ? kF32 : facts.computes.contains(kF64) ? kF64 : kI64;
}

// Convolutions, pooling, resampling.
bool is_spatial(const Op& op) {
  const std::string_view name = op.name();
  return name.starts_with("conv") || name.find("_pool") != name.npos || name.starts_with("upsample");
}
Tensor spatial_tensor(const Op& op, const SchemaArg& arg) {
  const std::string name(op.name());
  const std::size_t dim = name.find_first_of("123");
  const int axes = dim == name.npos ? 2 : name[dim] - '0';
  if (arg.name == "bias") return ones({1});
  std::vector<Dim> sizes = {1, 1};
  for (int i = 0; i < axes; ++i) sizes.emplace_back(1);
  return arg.name == "indices" ? zeros(sizes, kI64) : ones(sizes);
}

// Of ops that take indices, masks and lists.
Value sample_tensor(const Op& op, const SchemaArg& arg) {
  if (arg.name == "tensors") {
    const Tensor t = op.name() == "meshgrid" ? ones({2}) : ones({2, 2});
    return std::vector<Tensor>{t, t.clone()};
  }
  if (op.name() == "einsum") return std::vector<Tensor>{ones({2, 2}), ones({2, 2})};
  if (arg.type.is_list) return std::vector<Tensor>{zeros({2}, kI64)};
  if (op.name() == "attention") return ones({2, 2, 2, 2});
  if (op.name() == "rotary_embedding" && arg.name != "self") return ones({1});
  if (op.name() == "bmm" || op.name() == "baddbmm") return ones({2, 2, 2});
  if (op.name() == "dot" || op.name() == "outer" || arg.name == "vec") return ones({2});
  if ((arg.name == "index" || arg.name == "indices") && !is_spatial(op))
    return op.name() == "index_select" || op.name() == "_embedding_bag" ? zeros({2}, kI64)
                                                                        : zeros({2, 2}, kI64);
  if (is_spatial(op)) return spatial_tensor(op, arg);
  if (arg.name == "repeats" || op.name() == "one_hot") return ones({1}, kI64);
  if (op.name() == "nll_loss" && arg.name == "target") return zeros({2}, kI64);
  if (op.name() == "cosine_embedding_loss" && arg.name == "target") return ones({2});
  if (arg.name == "mean" || arg.name == "scale" || arg.name.starts_with("running_"))
    return op.name() == "native_group_norm_backward" ? ones({2, 1}) : ones({2});
  if (op.name() == "native_group_norm_backward" && arg.name == "rstd") return ones({2, 1});
  if (op.name() == "select_scatter" && arg.name == "src") return ones({2});
  if (op.name() == "col2im") return ones({1, 1, 4});
  if (op.name() == "grid_sampler_2d") return arg.name == "grid" ? ones({1, 1, 2, 2}) : ones({1, 1, 2, 2});
  if (op.name() == "_embedding_bag" && arg.name != "weight") return zeros({2}, kI64);
  if (op.name() == "embedding_dense_backward" && arg.name == "grad") return ones({2, 2, 3});
  if (arg.name == "mask") return ones({1}, kBool);
  return op.kind() == OpKind::Sync ? ones({1}) : ones({2, 2});
}

// Values for arguments without a default, by schema name.
Value sample(const Op& op, const SchemaArg& arg) {
  static const std::map<std::string, Value> kByName = {{"dim", Dim(0)},
                                                       {"dim0", Dim(0)},
                                                       {"dim1", Dim(1)},
                                                       {"index", Dim(1)},
                                                       {"start", Dim(0)},
                                                       {"length", Dim(1)},
                                                       {"chunks", Dim(2)},
                                                       {"split_size", Dim(1)},
                                                       {"steps", Dim(3)},
                                                       {"n", Dim(2)},
                                                       {"k", Dim(1)},
                                                       {"num_samples", Dim(1)},
                                                       {"p", 0.5},
                                                       {"equation", std::string("ij,jk->ik")},
                                                       {"train", false},
                                                       {"low", Scalar(0)},
                                                       {"high", Scalar(3)},
                                                       {"end", Scalar(3)},
                                                       {"dtype", kF32},
                                                       {"device", kCpu},
                                                       {"value", Scalar(1)},
                                                       {"threshold", Scalar(1)},
                                                       {"fill_value", Scalar(1)},
                                                       {"size", std::vector<Dim>{2, 2}},
                                                       {"shape", std::vector<Dim>{4}},
                                                       {"sizes", std::vector<Dim>{1, 2}},
                                                       {"stride", std::vector<Dim>{2, 1}},
                                                       {"physical_layout", std::vector<Dim>{1, 0}},
                                                       {"dims", std::vector<Dim>{1, 0}},
                                                       {"repeats", std::vector<Dim>{1, 2}},
                                                       {"shifts", std::vector<Dim>{1}},
                                                       {"pad", std::vector<Dim>{1, 0}},
                                                       {"num_classes", Dim(3)},
                                                       {"training", true},
                                                       {"split_sizes", std::vector<Dim>{1, 1}},
                                                       {"output_size", std::vector<Dim>{2, 2}},
                                                       {"kernel_size", std::vector<Dim>{1, 1}},
                                                       {"dilation", std::vector<Dim>{1, 1}},
                                                       {"padding", std::vector<Dim>{0, 0}},
                                                       {"num_weights", Dim(2)},
                                                       {"reduce", std::string("sum")},
                                                       {"N", Dim(2)},
                                                       {"C", Dim(2)},
                                                       {"HxW", Dim(1)},
                                                       {"group", Dim(1)},
                                                       {"num_groups", Dim(1)},
                                                       {"normalized_shape", std::vector<Dim>{2}},
                                                       {"source", std::vector<Dim>{0}},
                                                       {"destination", std::vector<Dim>{1}}};
  if (arg.type.is_optional && !arg.default_value) return {};
  if (arg.type.base == ArgType::Base::Tensor) {
    if (op.pointwise() != nullptr) return ones({2, 2}, pointwise_dtype(*op.pointwise(), arg.name));
    if (op.name().starts_with("float_power")) return ones({2, 2}, kF64);  // what it writes
    if (op.name() == "bincount") return ones({1}, kI64);
    return sample_tensor(op, arg);
  }
  if (op.name() == "linspace" || op.name() == "arange") {
    if (arg.name == "start") return Scalar(0);
  }
  if (op.name() == "col2im" && arg.name == "stride") return std::vector<Dim>{1, 1};
  if (arg.name == "dim" && arg.type.is_list) return std::vector<Dim>{0};
  if (is_spatial(op)) {
    if (arg.name == "padding" || arg.name == "output_padding") return std::vector<Dim>{0};
    if (arg.name == "output_size")
      return std::vector<Dim>(op.name() == "adaptive_avg_pool1d"   ? 1
                              : op.name() == "adaptive_avg_pool3d" ? 3
                                                                   : 2,
                              Dim(1));
    if (arg.type.is_list) return std::vector<Dim>{1};
    if (arg.type.base == ArgType::Base::Bool) return false;
    if (arg.name == "groups") return Dim(1);
  }
  const auto found = kByName.find(arg.name);
  EXPECT_NE(found, kByName.end()) << op.name() << " needs a sample for " << arg.name;
  return found == kByName.end() ? Value() : found->second;
}

struct TensorArg {
  const SchemaArg& schema;
  Tensor tensor;
  std::uint32_t version_before;
};
struct Called {
  std::vector<Value> args;
  std::vector<TensorArg> tensor_args;  // those of `args` that are tensors
  std::vector<Tensor> results;
  std::uint64_t launches;
};

// The first of the record's own samples, or else values by the names and types of arguments.
Called call_with_samples(const Op& op) {
  Called called;
  if (op.record().sample_calls && op.pointwise() == nullptr) {
    Sampler sampler(1);
    called.args = op.record().sample_calls(sampler)[0];
  }
  const std::size_t passed = called.args.size();
  for (std::size_t i = 0; i < op.record().schema.args.size(); ++i) {
    const SchemaArg& arg = op.record().schema.args[i];
    // clamp may go without either bound, not without both. one_hot without classes reads data.
    const bool has_default =
        arg.default_value && (passed > 0 || (arg.name != "min" && arg.name != "num_classes"));
    if (i >= passed) called.args.push_back(has_default ? *arg.default_value : sample(op, arg));
  }
  for (std::size_t i = 0; i < called.args.size(); ++i) {
    const SchemaArg& arg = op.record().schema.args[i];
    if (const Tensor* t = std::get_if<Tensor>(&called.args[i])) {
      called.tensor_args.push_back({arg, *t, t->version()});
    }
  }
  const auto before = launch_count();
  for (Value& value : call_boxed(op, called.args)) {
    if (Tensor* t = std::get_if<Tensor>(&value)) called.results.push_back(*t);
    if (auto* list = std::get_if<std::vector<Tensor>>(&value)) {
      called.results.insert(called.results.end(), list->begin(), list->end());
    }
  }
  called.launches = launch_count() - before;
  return called;
}

TEST(Registry, ViewsLaunchNothingAndKernelsOne) {
  for (const Op* op : builtin()) {
    const Called called = call_with_samples(*op);
    // What a sync reads back, a kernel may have to find first.
    if (op->kind() == OpKind::Composite || op->kind() == OpKind::Sync) continue;
    // Gradients of rows and of the weights that all rows share are folded along different axes.
    if (op->name().ends_with("_norm_backward")) continue;
    EXPECT_EQ(called.launches, op->kind() == OpKind::Kernel ? 1u : 0u) << op->name();
  }
}

TEST(Registry, ResultsShareMemoryAsTheSchemaSays) {
  for (const Op* op : builtin()) {
    const Called called = call_with_samples(*op);
    const char result_set = op->record().schema.results[0].alias.set;
    for (const TensorArg& arg : called.tensor_args) {
      const bool marked = arg.schema.alias.set != '\0' && arg.schema.alias.set == result_set;
      for (const Tensor& result : called.results)
        EXPECT_EQ(result.shares_storage(arg.tensor), marked) << op->name();
    }
  }
}

TEST(Registry, OnlyArgumentsMarkedAsWrittenGetANewVersion) {
  for (const Op* op : builtin()) {
    const Called called = call_with_samples(*op);
    for (const TensorArg& arg : called.tensor_args) {
      const std::uint32_t writes = arg.schema.alias.is_written ? 1 : 0;
      EXPECT_EQ(arg.tensor.version(), arg.version_before + writes) << op->name();
    }
    const bool writes = op->name().ends_with('_') || op->name().ends_with(".out");
    const auto& args = op->record().schema.args;
    EXPECT_EQ(writes, !args.empty() && args[0].alias.is_written) << op->name();
  }
}

TEST(Registry, ShapeRulesAreTheSameOnTheMetaDevice) {
  for (const Op* op : builtin()) {
    if (op->kind() == OpKind::Sync) continue;
    const Called real = call_with_samples(*op);
    std::vector<Value> args = real.args;
    const Schema& schema = op->record().schema;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (const Tensor* t = std::get_if<Tensor>(&args[i])) args[i] = empty_like(*t, kMeta);
      if (auto* list = std::get_if<std::vector<Tensor>>(&args[i])) {
        for (Tensor& t : *list) t = empty_like(t, kMeta);
      }
      if (schema.args[i].type.base == ArgType::Base::Device) args[i] = kMeta;
    }
    const auto before = launch_count();
    const std::vector<Value> results = call_boxed(*op, args);
    EXPECT_EQ(launch_count(), before) << op->name();
    const Tensor* meta = std::get_if<Tensor>(&results[0]);
    if (!meta) meta = &std::get<std::vector<Tensor>>(results[0]).front();
    EXPECT_FALSE(meta->has_data()) << op->name();
    EXPECT_EQ(to_string(meta->sizes()), to_string(real.results[0].sizes())) << op->name();
    EXPECT_EQ(to_string(meta->strides()), to_string(real.results[0].strides())) << op->name();
    EXPECT_EQ(meta->dtype(), real.results[0].dtype()) << op->name();
  }
}

// The text of all headers of ops.
std::string public_headers() {
  std::stringstream text;
  for (const auto& entry : std::filesystem::directory_iterator(PELLUCID_SOURCE_DIR "/include/pellucid/ops"))
    text << std::ifstream(entry.path()).rdbuf();
  return text.str();
}

// Folders of src/ops match headers of include/pellucid/ops, except for those that hold no declarations of
// ops.
TEST(Registry, EveryFamilyHasAHeaderAndAFolder) {
  std::set<std::string> folders, headers;
  for (const auto& entry : std::filesystem::directory_iterator(PELLUCID_SOURCE_DIR "/src/ops"))
    if (entry.is_directory()) folders.insert(entry.path().filename().string());
  for (const auto& entry : std::filesystem::directory_iterator(PELLUCID_SOURCE_DIR "/include/pellucid/ops"))
    headers.insert(entry.path().stem().string());
  EXPECT_EQ(folders.erase("shared"), 1U);
  for (const char* name : {"internal", "pointwise", "pointwise_forms", "operators"})
    EXPECT_EQ(headers.erase(name), 1U) << name;
  EXPECT_EQ(folders, headers);
}

TEST(Registry, EveryPublicOpTakesTheCallersSourceLocation) {
  const std::string header = public_headers();
  const std::regex declaration(R"(PEL_API [^;]*;)");
  int count = 0;
  for (std::sregex_iterator it(header.begin(), header.end(), declaration), end; it != end; ++it, ++count) {
    if (it->str().find("operator") != std::string::npos) continue;  // an operand carries its source location
    EXPECT_TRUE(it->str().ends_with("Site site = Site::current());")) << it->str();
  }
  EXPECT_GT(count, 30);
}

TEST(Registry, ThePublicHeadersDeclareEveryOpAndNoOther) {
  std::set<std::string> declared, registered;
  const std::string header = public_headers();
  const std::regex declaration(R"(PEL_API [\w:<>&,\s]*?\b(\w+)\()");
  for (std::sregex_iterator it(header.begin(), header.end(), declaration), end; it != end; ++it) {
    if ((*it)[1] != "name") declared.insert((*it)[1]);  // `name` is the macros' own
  }
  // No function of ours is called std.
  if (declared.erase("stddev") == 1) declared.insert("std");
  // An overload of `to`; each signature of an op has a name of its own.
  if (header.find("Tensor to(const Tensor& self, Device device,") != std::string::npos)
    declared.insert("to_device");
  const std::regex forms(R"(\nPEL_(?:UNARY|BINARY)(_PLAIN|_OUT|)\((\w+)\))");
  for (std::sregex_iterator it(header.begin(), header.end(), forms), end; it != end; ++it) {
    const std::string name = (*it)[2], kind = (*it)[1];
    declared.insert(name);
    if (kind != "_PLAIN") declared.insert(name + "_out");
    if (kind.empty()) declared.insert(name + "_");
  }
  for (const Op* op : builtin()) {
    std::string name(op->name());
    if (const auto dot = name.find('.'); dot != std::string::npos) name[dot] = '_';
    registered.insert(name);
  }
  EXPECT_EQ(declared, registered);
}

}  // namespace
}  // namespace pel
