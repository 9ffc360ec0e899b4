// The calls of a roofline, and how they are timed.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "pellucid/pellucid.h"

#include "inspect/roofline.h"

namespace pel::inspect {
namespace {

struct Call {
  std::string name;
  DType dtype;
  std::function<Tensor()> run;
};

Tensor numbers(std::vector<Dim> sizes, DType dtype = DType::F32) { return to_copy(randn(sizes), dtype); }

Call matmul_call(std::int64_t size, DType dtype) {
  return {fmt::format("mm {}³", size), dtype,
          [a = numbers({size, size}, dtype), b = numbers({size, size}, dtype)] { return mm(a, b); }};
}

// From memory-bound to compute-bound; operands that fit in caches, and operands that do not.
std::vector<Call> calls_of_models() {
  std::vector<Call> calls;
  for (const std::int64_t count : {std::int64_t{1} << 16, std::int64_t{1} << 23}) {
    calls.push_back({fmt::format("add {}", count), DType::F32,
                     [a = numbers({count}), b = numbers({count})] { return add(a, b); }});
  }
  calls.push_back({"gelu 1024×3072", DType::F32, [x = numbers({1024, 3072})] { return gelu(x); }});
  calls.push_back({"softmax 1024×1024", DType::F32, [x = numbers({1024, 1024})] { return softmax(x, -1); }});
  calls.push_back(
      {"layer_norm 1024×768", DType::F32, [x = numbers({1024, 768}), w = numbers({768}), b = numbers({768})] {
         return layer_norm(x, {768}, w, b);
       }});
  // Several times the size of the caches: otherwise a part would stay cached between runs and count as memory
  // traffic.
  calls.push_back(
      {"mv 8192×8192", DType::F32, [a = ones({8192, 8192}), x = numbers({8192})] { return mv(a, x); }});
  for (const std::int64_t size : {64, 256, 1024}) calls.push_back(matmul_call(size, DType::F32));
  calls.push_back(matmul_call(1024, DType::BF16));
  calls.push_back({"attention 12×512×64", DType::F32,
                   [q = numbers({1, 12, 512, 64}), k = numbers({1, 12, 512, 64}),
                    v = numbers({1, 12, 512, 64})] { return scaled_dot_product_attention(q, k, v); }});
  calls.push_back({"conv2d 64×56×56, 3×3", DType::F32,
                   [x = numbers({1, 64, 56, 56}), w = numbers({64, 64, 3, 3})] { return conv2d(x, w); }});
  return calls;
}

// Returns the fastest launch of each kernel: interference makes a run longer, never shorter.
std::vector<RooflinePoint> time(const Call& call, int max_runs, double budget_ns) {
  call.run();
  std::vector<RooflinePoint> points;
  double spent = 0;
  for (int run = 0; run < max_runs && (run < 3 || spent < budget_ns); ++run) {
    ProfileOptions options;
    options.shapes = false;
    Profile profile(options);
    call.run();
    profile.stop();
    spent += static_cast<double>(profile.duration_ns());
    std::size_t at = 0;
    profile.each([&](const ProfileEvent& event) {
      if (event.kind != ProfileEvent::Kind::Kernel) return;
      const auto ns = static_cast<double>(std::max<std::uint64_t>(1, event.end_ns - event.begin_ns));
      if (at == points.size()) {
        points.push_back({call.name, event.name, call.dtype, event.bytes_read + event.bytes_written,
                          event.flops, ns, 0, ""});
      }
      points[at].ns = std::min(points[at].ns, ns);
      ++at;
    });
  }
  return points;
}

}  // namespace

Roofline measure_roofline(const Machine& machine, Thoroughness thoroughness,
                          const std::function<void(const std::string& what, double done)>& progress) {
  const bool is_quick = thoroughness == Thoroughness::Quick;
  Roofline roofline{machine, {}};
  const std::vector<Call> calls = calls_of_models();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (progress) progress(calls[i].name, static_cast<double>(i) / static_cast<double>(calls.size()));
    for (RooflinePoint& point : time(calls[i], is_quick ? 3 : 200, is_quick ? 0 : 300e6)) {
      const MemoryLevel& level = machine.level_of(point.bytes);
      point.roof_ns = machine.roof_ns(point.bytes, point.flops, point.dtype);
      point.bound =
          static_cast<double>(point.bytes) / level.gb_per_s < point.roof_ns ? "compute" : level.name;
      roofline.points.push_back(std::move(point));
    }
  }
  if (progress) progress("", 1);
  return roofline;
}

}  // namespace pel::inspect
