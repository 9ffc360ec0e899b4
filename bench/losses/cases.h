// The cases of both sides: an Api has Tensor, dtypes and the calls, each side's own.
#pragma once

#include <string>
#include <vector>

#include "../support/lazy.h"
#include "../support/server.h"

namespace bench {

template <class Api>
std::vector<Case> losses_cases() {
  constexpr std::int64_t kRows = 256, kBatch = 8;
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, auto call) { add_by_threads<Api>(cases, name, call); };
  for (const auto& [suffix, dtype] : {std::pair{"f32", Api::kFloat}, std::pair{"bf16", Api::kBfloat}}) {
    for (const std::int64_t classes : {32000, 128000}) {
      const std::string at = "_" + std::to_string(classes) + "_" + suffix;
      const Lazy x([classes, dtype = dtype] { return Api::noise({kRows, classes}, dtype); });
      const Lazy target([classes] { return Api::ids(classes, kRows); });
      add("cross_entropy" + at, [x, target] { return Api::cross_entropy(x(), target(), 0); });
      if (classes == 32000)
        add("cross_entropy_smooth" + at, [x, target] { return Api::cross_entropy(x(), target(), 0.1); });
    }
    // As in ResNet-50.
    struct Shape {
      std::int64_t channels, side;
    };
    for (const auto [channels, side] : {Shape{64, 56}, Shape{256, 56}, Shape{512, 28}, Shape{2048, 7}}) {
      const std::string at = "_" + std::to_string(channels) + "x" + std::to_string(side) + "_" + suffix;
      const Lazy x([channels = channels, side = side, dtype = dtype] {
        return Api::noise({kBatch, channels, side, side}, dtype);
      });
      const Lazy vector([channels = channels] { return Api::noise_f32_above_one(channels); });
      const Lazy running([channels = channels] { return Api::noise_f32_above_one(channels); });
      add("batch_norm" + at,
          [x, vector, running] { return Api::batch_norm(x(), vector(), running(), false); });
      add("batch_norm_training" + at,
          [x, vector, running] { return Api::batch_norm(x(), vector(), running(), true); });
      add("group_norm" + at, [x, vector] { return Api::group_norm(x(), 32, vector()); });
    }
    const Lazy last([dtype = dtype] { return Api::channels_last(Api::noise({kBatch, 64, 56, 56}, dtype)); });
    const Lazy vector([] { return Api::noise_f32_above_one(64); });
    const Lazy running([] { return Api::noise_f32_above_one(64); });
    add(std::string("batch_norm_channels_last_64x56_") + suffix,
        [last, vector, running] { return Api::batch_norm(last(), vector(), running(), false); });
    add(std::string("batch_norm_training_channels_last_64x56_") + suffix,
        [last, vector, running] { return Api::batch_norm(last(), vector(), running(), true); });
  }
  return cases;
}

}  // namespace bench
