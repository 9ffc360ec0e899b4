#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "doctor/diagnosis/diagnose.h"
#include "doctor/model/devices.h"
#include "doctor/prescriptions/prescribe.h"
#include "doctor/report/prescription_text.h"
#include "doctor/report/text.h"
#include "doctor/tests/made_program.h"
#include "doctor/tests/real_traces.h"

namespace pel::doctor {
namespace {

using test::MadeProgram;

constexpr int kSteps = 4;
const std::string kGemm = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas";
const std::string kGemmF32 = "ampere_sgemm_128x64_tn";
const std::string kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, "
    "at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";
const std::string kFill =
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, "
    "1ul> >(int, "
    "at::native::FillFunctor<float>, std::array<char*, 1ul>)";
const std::string kReduce =
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>(int)";
const std::string kSoftmax =
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>(int)";

std::string matmul(int m, int n, int k, const char* type = "c10::BFloat16") {
  return fmt::format(R"("Input Dims": [[{}, {}], [{}, {}]], "Input type": ["{}", "{}"])", m, k, k, n, type,
                     type);
}
// Inputs of an elementwise op.
std::string inputs(int rows, std::vector<int> columns) {
  std::string sizes, types;
  for (const int size : columns) {
    sizes += fmt::format("{}[{}, {}]", sizes.empty() ? "" : ", ", rows, size);
    types += types.empty() ? R"("c10::BFloat16")" : R"(, "c10::BFloat16")";
  }
  return fmt::format(R"("Input Dims": [{}], "Input type": [{}])", sizes, types);
}

// Matmuls that keep the device busy while the host is far ahead: nothing is wrong with these.
void matmuls(MadeProgram& p, int count, double duration = 40) {
  for (int i = 0; i < count; ++i) p.op("aten::mm", kGemm, duration, matmul(4096, 4096, 4096));
}

// A run of elementwise ops at one speed, which takes 1 µs for `n` elements of each tensor that is read or
// written.
struct Elementwise {
  const char* op;
  int reads;
};
void chain(MadeProgram& p, const std::vector<Elementwise>& ops, double passes_us) {
  for (const Elementwise& e : ops)
    p.op(std::string("aten::") + e.op, kAdd, passes_us * (e.reads + 1),
         inputs(8192, std::vector<int>(static_cast<std::size_t>(e.reads), 4096)));
}

struct Planted {
  const char* mistake;
  const char* remedy;
  // The steps of the program, with the mistake or without it.
  std::function<void(MadeProgram&, bool)> step;
  int batches = 1;  // of the run without it
};

const std::vector<Planted>& planted() {
  static const std::vector<Planted> kPlanted{
      {"reads the loss in every layer", "remove_sync",
       [](MadeProgram& p, bool wrong) {
         for (int i = 0; i < 8; ++i) {
           matmuls(p, 3);
           if (wrong) p.in_function("train.py(31): log_loss", [&] { p.item(); });
         }
       }},
      {"synchronizes for timing", "remove_sync",
       [](MadeProgram& p, bool wrong) {
         for (int i = 0; i < 8; ++i) {
           matmuls(p, 2);
           if (wrong) p.wait();
         }
       }},
      {"indexes by a mask", "remove_sync",
       [](MadeProgram& p, bool wrong) {
         for (int i = 0; i < 6; ++i) {
           matmuls(p, 3);
           if (wrong) p.around("aten::nonzero", [&] { p.wait(); });
         }
       }},
      {"launches tiny kernels one by one", "cuda_graph",
       [](MadeProgram& p, bool wrong) {
         if (!wrong) p.launch_graph();
         for (int i = 0; i < 60; ++i) {
           if (wrong) {
             p.op("aten::mm", kGemm, 4, matmul(256, 512, 512), 20);
           } else {
             p.graph_kernel(kGemm, 4);
           }
         }
       }},
      {"leaves a chain of elementwise ops to eager mode", "compile",
       [](MadeProgram& p, bool wrong) {
         for (int i = 0; i < 6; ++i) {
           matmuls(p, 1);
           if (wrong) {
             chain(p, {{"add", 2}, {"sigmoid", 1}, {"mul", 2}, {"tanh", 1}}, 10);
           } else {
             chain(p, {{"fused", 3}}, 10);  // three tensors come from outside
           }
           matmuls(p, 1);
         }
       }},
      {"writes RMSNorm op by op", "tuned_kernel",
       [](MadeProgram& p, bool wrong) {
         for (int i = 0; i < 6; ++i) {
           matmuls(p, 1);
           if (wrong) {
             p.op("aten::pow", kAdd, 20, inputs(8192, {4096}));
             p.op("aten::mean", kReduce, 10, inputs(8192, {4096}));
             p.op("aten::rsqrt", kAdd, 1, inputs(8192, {1}));
             p.op("aten::mul", kAdd, 20, inputs(8192, {4096, 1}));
             p.op("aten::mul", kAdd, 20, inputs(8192, {4096}));
           } else {
             p.op("aten::rms_norm", kAdd, 20, inputs(8192, {4096}));
           }
         }
       }},
      {"writes SwiGLU op by op", "tuned_kernel",
       [](MadeProgram& p, bool wrong) {
         for (int i = 0; i < 6; ++i) {
           matmuls(p, 1);
           if (wrong) {
             chain(p, {{"silu", 1}, {"mul", 2}}, 15);
           } else {
             chain(p, {{"swiglu", 2}}, 15);
           }
           matmuls(p, 1);
         }
       }},
      {"lets logits pass through memory", "tuned_kernel",
       [](MadeProgram& p, bool wrong) {
         matmuls(p, 2);
         const std::string logits = inputs(8192, {32000});
         if (wrong) {
           p.op("aten::_log_softmax", kSoftmax, 200, logits);
           p.op("aten::nll_loss_forward", kReduce, 3, logits);
           p.op("aten::nll_loss_backward", kFill, 100, logits);
           p.op("aten::_log_softmax_backward_data", kSoftmax, 300, logits);
         } else {
           p.op("LigerCrossEntropyFunction", "liger_cross_entropy_kernel", 200, logits);
         }
         matmuls(p, 2);
       }},
      {"writes attention op by op", "flash_attention",
       [](MadeProgram& p, bool wrong) {
         for (int i = 0; i < 6; ++i) {
           p.op("aten::bmm", kGemm, 40);
           if (wrong) {
             p.op("aten::div", kAdd, 30, inputs(8192, {2048}));
             p.op("aten::_softmax", kSoftmax, 30, inputs(8192, {2048}));
           }
           p.op("aten::bmm", kGemm, 40);
           matmuls(p, 1);
         }
       }},
      {"updates parameters one by one", "fused_optimizer",
       [](MadeProgram& p, bool wrong) {
         matmuls(p, 10);
         p.within("Optimizer.step#AdamW.step", [&] {
           if (!wrong) return p.op("aten::_fused_adamw_", kAdd, 20 * 40 * 7.0 / 20);
           for (int i = 0; i < 20; ++i) {
             for (const auto& [name, passes] :
                  {std::pair("aten::mul_", 2), std::pair("aten::lerp_", 3), std::pair("aten::mul_", 2),
                   std::pair("aten::addcmul_", 3), std::pair("aten::sqrt", 2), std::pair("aten::div_", 2),
                   std::pair("aten::add_", 2), std::pair("aten::addcdiv_", 4)})
               p.op(name, kAdd, 2 * passes, inputs(1024, {1024}));
           }
         });
       }},
      {"updates all parameters in many passes", "fused_optimizer",
       [](MadeProgram& p, bool wrong) {
         matmuls(p, 10);
         p.within("Optimizer.step#Adam.step", [&] {
           if (!wrong) return p.op("aten::_fused_adam_", kAdd, 600 * 7.0 / 20);
           for (const char* name : {"mul_", "lerp_", "mul_", "addcmul_", "sqrt", "div_", "add_", "addcdiv_"})
             p.op(std::string("aten::_foreach_") + name, kAdd, 75);
         });
       }},
      {"sets gradients to zero", "set_to_none",
       [](MadeProgram& p, bool wrong) {
         p.within("Optimizer.zero_grad#SGD.zero_grad", [&] {
           for (int i = 0; wrong && i < 20; ++i) p.op("aten::zero_", kFill, 15);
         });
         for (int i = 0; i < 20; ++i) {
           matmuls(p, 1);
           if (wrong)
             p.around("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
                      [&] { p.op("aten::add_", kAdd, 20, inputs(4096, {4096})); });
         }
       }},
      {"copies inputs from pageable memory", "pin_memory",
       [](MadeProgram& p, bool wrong) {
         for (int i = 0; i < 4; ++i) {
           p.copy_to_device(60, wrong);
           matmuls(p, 4, 20);
         }
       }},
      {"loads data in the step", "load_ahead",
       [](MadeProgram& p, bool wrong) {
         if (wrong)
           p.within("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", [&] { p.host(900); });
         matmuls(p, 20);
       }},
      {"runs matmuls in float32", "narrow_matmuls",
       [](MadeProgram& p, bool wrong) {
         const double tf32 = find_device("NVIDIA H100 80GB HBM3")->dense.f32 /
                             find_device("NVIDIA H100 80GB HBM3")->dense.tf32;
         for (int i = 0; i < 10; ++i)
           p.op("aten::mm", wrong ? kGemmF32 : kGemm, wrong ? 400 : 400 * tf32,
                matmul(4096, 4096, 1024, "float"));
       }},
      {"converts the layout of images", "channels_last",
       [](MadeProgram& p, bool wrong) {
         for (int i = 0; i < 8; ++i) {
           const std::string to =
               "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>(int)";
           if (wrong) p.op("aten::cudnn_convolution", to, 20);
           p.op("aten::cudnn_convolution",
                "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64", 50);
           if (wrong)
             p.op("aten::cudnn_convolution",
                  "void cudnn::ops::nhwcToNchwKernel<__half, __half, float, false, true>(int)", 20);
         }
       }},
      {"has a vocabulary that does not fit", "pad_sizes",
       [](MadeProgram& p, bool wrong) {
         matmuls(p, 6);
         // As fast as the others: 40 µs for each 4096 x 4096 x 4096.
         const double fit = 40.0 * 8192 / 4096;
         for (int i = 0; i < 3; ++i)
           p.op("aten::mm", kGemm, wrong ? 3 * fit : fit, matmul(4096, wrong ? 8191 : 8192, 4096));
       }},
      {"has a batch that fills an eighth of the device", "larger_batch",
       [](MadeProgram& p, bool) {
         p.launch_graph();
         for (int i = 0; i < 40; ++i) p.graph_kernel(kGemm, 12, 16);
       },
       2},
      {"waits for each collective", "overlap_collectives",
       [](MadeProgram& p, bool wrong) {
         for (int i = 0; i < 8; ++i) {
           matmuls(p, 2);
           p.send(60);
           if (wrong || i == 7) p.wait_for_sent();
         }
         matmuls(p, 1);
       }},
      {"sends gradients one by one", "larger_buckets",
       [](MadeProgram& p, bool wrong) {
         matmuls(p, 10);
         for (int i = 0; i < (wrong ? 40 : 1); ++i) p.send(20, 1000);
         p.wait_for_sent();
         matmuls(p, 1);
       }},
      {"compiles again in each step", "dynamic_shapes",
       [](MadeProgram& p, bool wrong) {
         if (wrong) p.within("_compile.compile_inner", [&] { p.host(3000); });
         p.within("Torch-Compiled Region: 0/1", [&] { matmuls(p, 20); });
       }},
      {"breaks the graph in each layer", "graph_breaks",
       [](MadeProgram& p, bool wrong) {
         for (int i = 0; i < 10; ++i) {
           if (wrong || i == 0) p.within("TorchDynamo Cache Lookup", [&] { p.host(150); });
           p.within(fmt::format("Torch-Compiled Region: {}/0", wrong ? i : 0), [&] { matmuls(p, 2); });
         }
       }},
      {"empties the cache in each step", "steady_memory",
       [](MadeProgram& p, bool wrong) {
         matmuls(p, 10);
         for (int i = 0; wrong && i < 4; ++i) p.call("cudaFree", 100, true);
         for (int i = 0; wrong && i < 4; ++i) p.call("cudaMalloc", 150);
         matmuls(p, 10);
       }},
      {"writes a checkpoint between steps", "host_pauses",
       [](MadeProgram& p, bool wrong) {
         matmuls(p, 20);
         if (wrong) p.in_function("train.py(77): save_checkpoint", [&] { p.host(4000); });
       }},
      {"is recorded by a profiler that pauses it", "lighter_profile",
       [](MadeProgram& p, bool wrong) {
         matmuls(p, 10);
         if (wrong) p.overhead("Buffer Flush", 700);
         matmuls(p, 10);
       }},
  };
  return kPlanted;
}

// Without a device, times are those of the host.
class HostProgram {
 public:
  template <class Body>
  void step(Body body) {
    const double begin = now_;
    body();
    trace_.annotation(1, "ProfilerStep#" + std::to_string(steps_++), begin, now_ - begin);
  }
  void op(const std::string& name, double duration, const std::string& args = "") {
    trace_.op(1, "aten::" + name, now_, duration, args);
    now_ += duration + kPython;
  }
  void load(double duration) {
    trace_.annotation(1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", now_, duration);
    now_ += duration;
  }
  const test::TraceText& trace() const { return trace_; }
  double span() const { return now_ - 1000; }

 private:
  static constexpr double kPython = 3;  // from one op to the next
  test::TraceText trace_;
  double now_ = 1000;
  int steps_ = 0;
};

struct PlantedOnHost {
  const char* mistake;
  const char* remedy;
  std::function<void(HostProgram&, bool)> step;
  int batches = 1;
};

const std::vector<PlantedOnHost>& planted_on_host() {
  static const std::vector<PlantedOnHost> kPlanted{
      {"loads data in the step", "load_ahead",
       [](HostProgram& p, bool wrong) {
         if (wrong) p.load(5000);
         for (int i = 0; i < 10; ++i) p.op("mm", 800, matmul(512, 512, 512, "float"));
       }},
      {"reads values one by one", "remove_sync",
       [](HostProgram& p, bool wrong) {
         for (int i = 0; i < 10; ++i) p.op("mm", 800, matmul(512, 512, 512, "float"));
         for (int i = 0; wrong && i < 1000; ++i) p.op("item", 2);
       }},
      {"leaves a chain of elementwise ops to eager mode", "compile",
       [](HostProgram& p, bool wrong) {
         for (int i = 0; i < 5; ++i) {
           p.op("mm", 800, matmul(512, 512, 512, "float"));
           if (wrong) {
             p.op("add", 900, inputs(8192, {4096, 4096}));
             p.op("relu", 600, inputs(8192, {4096}));
             p.op("mul", 900, inputs(8192, {4096, 4096}));
           } else {
             p.op("fused", 1200, inputs(8192, {4096, 4096, 4096}));
           }
         }
       }},
      {"has a batch of one", "larger_batch",
       [](HostProgram& p, bool wrong) {  // an op costs 5 µs, and 1 µs for each sample
         for (int i = 0; i < 40; ++i) p.op(i % 2 == 0 ? "addmm" : "relu", i % 10 == 0 ? 5 : wrong ? 6 : 13);
       },
       8},
      {"loops over small ops", "vectorise_loop",
       [](HostProgram& p, bool wrong) {
         p.op("mm", 800, matmul(512, 512, 512, "float"));
         for (int i = 0; i < (wrong ? 400 : 1); ++i) {
           p.op("select", 2);
           p.op("mul", 4);
           p.op("add", 4);
         }
       }},
  };
  return kPlanted;
}

HostProgram run(const PlantedOnHost& planted, bool wrong) {
  HostProgram program;
  for (int step = 0; step < kSteps; ++step) program.step([&] { planted.step(program, wrong); });
  return program;
}

MadeProgram run(const Planted& planted, bool wrong) {
  MadeProgram program;
  for (int step = 0; step < kSteps; ++step) program.step([&] { planted.step(program, wrong); });
  return program;
}

struct Treated {
  Model model;
  KernelCatalog kernels{model};
  DeviceTime time{model, kernels};
  Prescriptions prescriptions = prescribe(Examined{model, kernels, time});

  explicit Treated(const test::TraceText& trace) : model(trace.model()) {}
  std::string text() const {
    std::string all;
    for (const Prescription& p : prescriptions.list)
      all += fmt::format("  {} saves {} ns (bound {}): {} at {}\n", p.key, p.saved_ns, p.bound_ns, p.action,
                         p.where);
    return all;
  }
};

template <class Mistake>
void expect_first(const std::vector<Mistake>& mistakes) {
  for (const Mistake& one : mistakes) {
    SCOPED_TRACE(one.mistake);
    const auto wrong = run(one, true), right = run(one, false);
    const Treated treated(wrong.trace());
    ASSERT_FALSE(treated.prescriptions.list.empty());
    const Prescription& first = treated.prescriptions.list.front();
    EXPECT_EQ(first.key, one.remedy) << treated.text();
    const double truth = 1000 * (wrong.span() - right.span() / one.batches);
    EXPECT_NEAR(static_cast<double>(first.saved_ns), truth, 0.1 * truth) << treated.text();
  }
}

TEST(Prescriptions, TheRightActionIsFirstAndGainsWhatItSays) { expect_first(planted()); }
TEST(Prescriptions, TheRightActionIsFirstWithoutADevice) { expect_first(planted_on_host()); }

TEST(Prescriptions, ProgramsWithoutAMistakeGetNone) {
  MadeProgram healthy;
  for (int step = 0; step < kSteps; ++step) healthy.step([&] { matmuls(healthy, 20); });
  EXPECT_EQ(Treated(healthy.trace()).text(), "");
  for (const Planted& one : planted()) {
    if (one.batches != 1) continue;  // a larger batch is not the same program
    SCOPED_TRACE(one.mistake);
    const Treated treated(run(one, false).trace());
    EXPECT_TRUE(std::ranges::none_of(treated.prescriptions.list, [&](const Prescription& p) {
      return p.key == one.remedy;
    })) << treated.text();
  }
}

// What several gain at once is another number than their sum: without one, the next may count for more.
TEST(Prescriptions, TogetherAreReplayedOnce) {
  const auto run_all = [](bool wrong) {
    MadeProgram program;
    for (int step = 0; step < kSteps; ++step)
      program.step([&] {
        for (const std::size_t mistake : {0, 4, 13}) planted()[mistake].step(program, wrong);
      });
    return program;
  };
  const MadeProgram wrong = run_all(true), right = run_all(false);
  const Prescriptions given = Treated(wrong.trace()).prescriptions;
  ASSERT_EQ(given.together, 3u);
  const double truth = 1000 * (wrong.span() - right.span());
  EXPECT_NEAR(static_cast<double>(given.together_ns), truth, 0.1 * truth);
}

TEST(Prescriptions, ASourceLineIsNamedWhereTheTraceHasFrames) {
  const Treated treated(run(planted()[0], true).trace());
  ASSERT_FALSE(treated.prescriptions.list.empty());
  EXPECT_EQ(treated.prescriptions.list.front().where, "train.py(31): log_loss");
}

// Each prescription of each real trace was read and judged by eye. After its name stands why the first one is
// right, which is written by hand and kept. PELLUCID_WRITE_DOCS=1 writes the rest again.
TEST(Prescriptions, OfRealTracesWereJudged) {
  PEL_SKIP_WITHOUT_TRACE("EXPECTED.json");
  const std::string golden = PELLUCID_SOURCE_DIR "/doctor/tests/golden/real_prescriptions.txt";
  std::map<std::string, std::string> why;
  std::string judged, name;
  std::ifstream file(golden);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(' ')) name = line;
    if (line.starts_with("  because ")) why[name] = line;
    judged += line + '\n';
  }
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::real_trace()))
    if (entry.path().string().ends_with(".json.gz")) paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  std::string text;
  for (const std::string& path : paths) {
    const std::string short_name = path.substr(test::real_trace().size() + 1);
    const auto shown = shown_prescriptions(diagnose(path).findings);
    text += short_name + '\n';
    if (!shown) {
      text += "  nothing\n";
      continue;
    }
    text += why[short_name] + '\n';
    for (const ShownPrescription& p : shown->list)
      text += fmt::format("  - {}; {}\n    {}\n    {}\n", p.action, p.gain, p.how,
                          p.where.empty() ? p.needs : p.where + "; " + p.needs);
    if (!shown->together.empty()) text += "  " + shown->together + '\n';
    EXPECT_GT(why[short_name].size(), 20u)
        << short_name << ": write why its first prescription is right, after \"  because \"";
  }
  if (std::getenv("PELLUCID_WRITE_DOCS") != nullptr) std::ofstream(golden) << text;
  EXPECT_EQ(text, judged);
}

TEST(Prescriptions, FitOnOneScreen) {
  PEL_SKIP_WITHOUT_TRACE("EXPECTED.json");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::real_trace())) {
    if (!entry.path().string().ends_with(".json.gz")) continue;
    const std::string text =
        text_report(diagnose(entry.path().string()), Terminal{.columns = 100}, Detail::Short);
    EXPECT_LE(std::ranges::count(text, '\n'), 40) << entry.path();
  }
}

}  // namespace
}  // namespace pel::doctor
