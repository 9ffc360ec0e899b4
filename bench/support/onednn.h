// Plain oneDNN: one primitive, created before, in a loop over the same memory.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

extern "C" void omp_set_num_threads(int count);

namespace bench {

using dnnl::memory;

inline const dnnl::engine& engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

struct OneDnn {
  using Tensor = memory;
  static constexpr memory::data_type kFloat = memory::data_type::f32, kBfloat = memory::data_type::bf16;
  // Primitives are created for a number of threads.
  static inline int threads = 1;
  static void set_threads(int count) {
    threads = count;
    omp_set_num_threads(count);
  }
  static Tensor noise(std::int64_t rows, std::int64_t columns, memory::data_type dtype) {
    memory result({{rows, columns}, dtype, memory::dims{columns, 1}}, engine());
    std::minstd_rand random(1);
    std::uniform_real_distribution<float> number(-2, 2);
    const auto count = static_cast<std::size_t>(rows * columns);
    for (std::size_t i = 0; i < count; ++i) {
      const float value = number(random);
      if (dtype == kFloat) {
        static_cast<float*>(result.get_data_handle())[i] = value;
      } else {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        static_cast<std::uint16_t*>(result.get_data_handle())[i] = static_cast<std::uint16_t>(bits >> 16);
      }
    }
    return result;
  }
  static Tensor transposed(const Tensor& x) {
    const memory::dims sizes = x.get_desc().get_dims();
    memory result({{sizes[1], sizes[0]}, x.get_desc().get_data_type(), memory::dims{1, sizes[1]}}, engine(),
                  x.get_data_handle());
    operands().push_back(x);
    return result;
  }
  static std::vector<Tensor>& operands() {
    static std::vector<Tensor> all;
    return all;
  }

  struct Call {
    Call(const Tensor& a, const Tensor& b, bool packed)
        : out({{a.get_desc().get_dims()[0], b.get_desc().get_dims()[1]},
               a.get_desc().get_data_type(),
               memory::dims{b.get_desc().get_dims()[1], 1}},
              engine()),
          stream(engine()) {
      const memory::desc wanted = packed ? memory::desc(b.get_desc().get_dims(), b.get_desc().get_data_type(),
                                                        memory::format_tag::any)
                                         : b.get_desc();
      const dnnl::matmul::primitive_desc made(engine(), a.get_desc(), wanted, out.get_desc());
      memory weights = b;
      if (packed) {
        weights = memory(made.weights_desc(), engine());
        memory plain = b;
        dnnl::reorder(plain, weights).execute(stream, plain, weights);
        stream.wait();
      }
      primitive = dnnl::matmul(made);
      arguments = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, out}};
    }
    memory out;
    dnnl::stream stream;
    dnnl::matmul primitive;
    std::unordered_map<int, memory> arguments;
  };
  static constexpr bool kPacks = true;
  static auto prepare(const Tensor& a, const Tensor& b, bool packed) {
    auto calls = std::make_shared<std::vector<std::unique_ptr<Call>>>(3);
    return [a, b, packed, calls] {
      std::unique_ptr<Call>& call = (*calls)[static_cast<std::size_t>(threads)];
      if (!call) call = std::make_unique<Call>(a, b, packed);
      call->primitive.execute(call->stream, call->arguments);
    };
  }
};

}  // namespace bench
