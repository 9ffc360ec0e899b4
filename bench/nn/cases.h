// The cases of both sides: an Api has Tensor, dtypes and the calls, each side's own. A family of layers is
// one function that adds its cases.
#pragma once

#include <string>
#include <vector>

#include "../support/lazy.h"
#include "../support/server.h"

namespace bench {

struct ConvShape {
  std::string name;
  std::int64_t in, out, size, kernel, stride, groups;
  std::int64_t padding() const { return kernel / 2; }
};

// ResNet-50's, and the depthwise ones of MobileNetV2.
inline std::vector<ConvShape> conv_shapes() {
  return {{"stem7x7", 3, 64, 224, 7, 2, 1},
          {"1x1_64_64_56", 64, 64, 56, 1, 1, 1},
          {"3x3_64_56", 64, 64, 56, 3, 1, 1},
          {"1x1_64_256_56", 64, 256, 56, 1, 1, 1},
          {"1x1_256_64_56", 256, 64, 56, 1, 1, 1},
          {"1x1s2_256_512_56", 256, 512, 56, 1, 2, 1},
          {"3x3s2_128_56", 128, 128, 56, 3, 2, 1},
          {"3x3_128_28", 128, 128, 28, 3, 1, 1},
          {"1x1_512_128_28", 512, 128, 28, 1, 1, 1},
          {"3x3_256_14", 256, 256, 14, 3, 1, 1},
          {"1x1_1024_256_14", 1024, 256, 14, 1, 1, 1},
          {"3x3_512_7", 512, 512, 7, 3, 1, 1},
          {"1x1_512_2048_7", 512, 2048, 7, 1, 1, 1},
          {"depthwise_96s2_112", 96, 96, 112, 3, 2, 96},
          {"depthwise_144_56", 144, 144, 56, 3, 1, 144},
          {"depthwise_576_14", 576, 576, 14, 3, 1, 576}};
}

// Adds a case on one thread and on two.
template <class Api>
class NnCases {
 public:
  std::vector<Case> take() { return std::move(cases_); }

  template <class Call>
  void add(const std::string& name, Call call) {
    add_by_threads<Api>(cases_, name, call);
  }

 private:
  std::vector<Case> cases_;
};

template <class Api>
void add_convolutions(NnCases<Api>& cases) {
  struct Form {
    std::string name;
    decltype(Api::kFloat) dtype;
    bool channels_last;
  };
  for (const Form& form : {Form{"f32", Api::kFloat, false}, Form{"f32_nhwc", Api::kFloat, true},
                           Form{"bf16_nhwc", Api::kBfloat, true}}) {
    for (const std::int64_t batch : {1, 8}) {
      for (const ConvShape& shape : conv_shapes()) {
        const Lazy x([=] {
          return Api::image(batch, shape.in, shape.size, shape.size, form.dtype, form.channels_last);
        });
        const Lazy weight([=] {
          return Api::image(shape.out, shape.in / shape.groups, shape.kernel, shape.kernel, form.dtype,
                            false);
        });
        const Lazy bias([=] { return Api::vector(shape.out, form.dtype); });
        cases.add("conv_" + shape.name + "_b" + std::to_string(batch) + "_" + form.name, [=] {
          return Api::conv2d(x(), weight(), bias(), shape.stride, shape.padding(), shape.groups);
        });
      }
    }
  }
}

template <class Api>
void add_pooling(NnCases<Api>& cases) {
  for (const bool channels_last : {false, true}) {
    const std::string layout = channels_last ? "_f32_nhwc" : "_f32";
    for (const std::int64_t batch : {1, 8}) {
      const std::string at = "_b" + std::to_string(batch) + layout;
      const Lazy large([=] { return Api::image(batch, 64, 112, 112, Api::kFloat, channels_last); });
      const Lazy small([=] { return Api::image(batch, 2048, 7, 7, Api::kFloat, channels_last); });
      cases.add("max_pool3s2_64_112" + at, [=] { return Api::max_pool2d(large(), 3, 2, 1); });
      cases.add("avg_pool3s2_64_112" + at, [=] { return Api::avg_pool2d(large(), 3, 2, 1); });
      cases.add("avg_pool_all_2048_7" + at, [=] { return Api::adaptive_avg_pool2d(small(), 1); });
      cases.add("bilinear_64_112_224" + at, [=] { return Api::upsample_bilinear2d(large(), 224); });
    }
  }
}

template <class Api>
std::vector<Case> nn_cases() {
  NnCases<Api> cases;
  add_convolutions(cases);
  add_pooling(cases);
  return cases.take();
}

}  // namespace bench
