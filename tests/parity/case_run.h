// Runs the steps of a case in Pellucid.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pellucid/error.h"
#include "pellucid/extend/op.h"
#include "pellucid/index.h"
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/tensor.h"

#include "dispatch/record.h"
#include "ops/shared/pointwise.h"
#include "parity/case_file.h"

namespace pel::parity {

using Register = std::variant<Tensor, std::vector<Tensor>, Scalar, DType, bool>;
using Registers = std::vector<Register>;

inline std::vector<std::string> parse_list(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    throw std::runtime_error("not a list: " + std::string(text));
  }
  text = text.substr(1, text.size() - 2);
  return text.empty() ? std::vector<std::string>() : split_text(text, ",");
}

inline DType parse_dtype(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (name(static_cast<DType>(i)) == text) return static_cast<DType>(i);
  }
  throw std::runtime_error("not a dtype: " + std::string(text));
}

inline Scalar parse_number(const std::string& text) {
  const std::string value = text.substr(2);
  switch (text.front()) {
    case 'b':
      return value == "1";
    case 'i':
      return std::stoll(value);
    default:
      return std::strtod(value.c_str(), nullptr);
  }
}

// One thing between the brackets: "3", "1:-1:2", "...", "newaxis".
inline Index parse_index(const std::string& text) {
  if (text == "...") return kEllipsis;
  if (text == "newaxis") return kNewAxis;
  const std::vector<std::string> bounds = split_text(text, ":");
  if (bounds.size() == 1) return std::stoll(text);
  const auto bound = [&](int i) {
    return bounds[i].empty() ? std::optional<Dim>() : std::optional<Dim>(std::stoll(bounds[i]));
  };
  return Slice(bound(0), bound(1), bound(2).value_or(1));
}

inline Tensor from_words(DType dtype, const std::vector<std::uint64_t>& words) {
  static_assert(std::endian::native == std::endian::little);
  const std::size_t width = static_cast<std::size_t>(size_bytes(dtype));
  std::vector<std::byte> bytes(words.size() * width);
  for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(bytes.data() + i * width, &words[i], width);
  return from_bytes(bytes.data(), dtype, {Dim(words.size())});
}

// Element i is i, wrapped early enough for the dtype to hold it exactly.
inline std::uint64_t fill_word(DType dtype, std::int64_t i) {
  switch (dtype) {
    case kF64:
      return std::bit_cast<std::uint64_t>(static_cast<double>(i % (1 << 24)));
    case kF32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(i % (1 << 24)));
    case kF16:
      return Float16(static_cast<float>(i % 2048)).bits;
    case kBF16:
      return BFloat16(static_cast<float>(i % 128)).bits;
    case kI64:
    case kI32:
      return static_cast<std::uint64_t>(i % (1 << 24));
    case kI16:
      return static_cast<std::uint64_t>(i % (1 << 15));
    case kI8:
    case kU8:
      return static_cast<std::uint64_t>(i % 128);
    case kBool:
      return i % 3 == 1;
  }
  throw std::runtime_error("no such dtype");
}

// The arguments of a step, read as the type the op wants.
class Args {
 public:
  Args(std::vector<std::string> words, const Registers& registers)
      : words_(std::move(words)), registers_(registers) {}

  const std::vector<std::string>& words() const { return words_; }
  std::size_t count() const { return words_.size(); }
  bool given(int i) const { return words_.at(i) != "none"; }
  const Register& at_register(int i) const { return registers_.at(std::stoul(words_.at(i).substr(1))); }
  const Tensor& tensor(int i) const { return std::get<Tensor>(at_register(i)); }
  std::int64_t integer(int i) const { return std::stoll(words_.at(i)); }
  Dim dim(int i) const { return integer(i); }
  std::optional<Dim> maybe_dim(int i) const { return given(i) ? std::optional<Dim>(dim(i)) : std::nullopt; }
  std::vector<std::int64_t> axes(int i) const {
    std::vector<std::int64_t> values;
    for (const std::string& word : parse_list(words_.at(i))) values.push_back(std::stoll(word));
    return values;
  }
  std::vector<Dim> dims(int i) const {
    std::vector<Dim> values;
    for (const std::string& word : parse_list(words_.at(i))) values.emplace_back(std::stoll(word));
    return values;
  }
  std::vector<Tensor> tensors(int i) const {
    std::vector<Tensor> list;
    for (const std::string& word : parse_list(words_.at(i)))
      list.push_back(std::get<Tensor>(registers_.at(std::stoul(word.substr(1)))));
    return list;
  }
  Scalar number(int i) const { return parse_number(words_.at(i)); }
  DType dtype(int i) const { return parse_dtype(words_.at(i)); }
  TensorOptions options(int i) const { return given(i) ? TensorOptions(dtype(i)) : TensorOptions(); }

 private:
  std::vector<std::string> words_;
  const Registers& registers_;
};

inline Register run_in(const Args& a) {
  std::vector<std::uint64_t> words;
  for (std::int64_t i = 0; i < a.integer(1); ++i) words.push_back(fill_word(a.dtype(0), i));
  return from_words(a.dtype(0), words);
}

inline Register run_data(const Args& a) {
  std::vector<std::uint64_t> words;
  for (const std::string& word : parse_list(a.words().at(1))) {
    words.push_back(is_floating(a.dtype(0)) ? std::stoull(word, nullptr, 16)
                                            : static_cast<std::uint64_t>(std::stoll(word)));
  }
  return from_words(a.dtype(0), words);
}

inline Register run_index(const Args& a) {
  std::vector<Index> items;
  for (std::size_t i = 1; i < a.count(); ++i) items.push_back(parse_index(a.words()[i]));
  return a.tensor(0)[IndexList(ArrayView<Index>(items))];
}

inline Register run_result_type(const Args& a) {
  std::vector<PromotionOperand> operands;
  for (const std::string& word : a.words()) {
    if (word.front() == 'd' || word.front() == 'z') {
      const std::vector<Dim> sizes(word.front() == 'd' ? 1 : 0, Dim(2));
      operands.emplace_back(empty(sizes, parse_dtype(std::string_view(word).substr(2))));
    } else {
      operands.emplace_back(parse_number(word));
    }
  }
  return result_type(operands);
}

// masked_fill with a tensor as the value has no schema of its own: it is a call of `where`.
inline Register run_masked_fill_by_tensor(const Args& a) {
  return masked_fill(a.tensor(0), a.tensor(1), a.tensor(2));
}

// An argument as the schema wants it. A number where a tensor may stand is a tensor that promotes as a
// number.
inline Value parse_value(const Args& a, int i, ArgType type) {
  using Base = ArgType::Base;
  if (type.is_optional && !a.given(i)) return {};
  const std::string& word = a.words()[static_cast<std::size_t>(i)];
  switch (type.base) {
    case Base::Tensor:
      if (type.is_list) return a.tensors(i);
      return word.front() == '%' ? a.tensor(i) : make_number(a.number(i), kCpu);
    case Base::Int:
    case Base::Dim:
      return type.is_list ? Value(a.dims(i)) : Value(a.dim(i));
    case Base::Float:
      return a.number(i).to_double();
    case Base::Bool:
      return a.number(i).to_int() != 0;
    case Base::Scalar:
      return a.number(i);
    case Base::DType:
      return a.dtype(i);
    case Base::String:
      return word;
    default:
      throw std::runtime_error("no case has an argument like " + word);
  }
}

// An op by its registered name: "add", "add_" or "add.out", whose first argument is the out.
inline Register run_op(const Op& op, const Args& a) {
  const std::vector<SchemaArg>& wanted = op.record().schema.args;
  std::vector<Value> values;
  for (std::size_t i = 0; i < a.count(); ++i)
    values.push_back(parse_value(a, static_cast<int>(i), wanted.at(i).type));
  std::vector<Value> results = call_boxed(op, std::move(values));
  if (auto* list = std::get_if<std::vector<Tensor>>(&results[0])) return std::move(*list);
  if (results.size() == 1) return std::get<Tensor>(results[0]);
  std::vector<Tensor> tensors;
  for (Value& result : results) tensors.push_back(std::get<Tensor>(std::move(result)));
  return tensors;
}

// x[...] has the name of the op `index`, and repeat_interleave by a number has no schema of its own.
inline Register run_index_by(const Args& a) { return run_op(*find_op("index"), a); }
inline Register run_repeat_interleave_by_number(const Args& a) {
  return repeat_interleave(a.tensor(0), a.dim(1),
                           a.given(2) ? std::optional(a.integer(2)) : std::optional<std::int64_t>());
}

using RunStep = Register (*)(const Args&);

// Steps with code of their own; every other step is run_op.
inline const std::map<std::string, RunStep, std::less<>> kSteps = {
    {"in", run_in},
    {"data", run_data},
    {"pick",
     [](const Args& a) -> Register {
       return std::get<std::vector<Tensor>>(a.at_register(0)).at(static_cast<std::size_t>(a.integer(1)));
     }},
    // views
    {"t", [](const Args& a) -> Register { return a.tensor(0).t(); }},
    {"transpose",
     [](const Args& a) -> Register { return a.tensor(0).transpose(a.integer(1), a.integer(2)); }},
    {"permute", [](const Args& a) -> Register { return a.tensor(0).permute(a.axes(1)); }},
    {"movedim", [](const Args& a) -> Register { return a.tensor(0).movedim(a.axes(1), a.axes(2)); }},
    {"view", [](const Args& a) -> Register { return a.tensor(0).view(a.dims(1)); }},
    {"reshape", [](const Args& a) -> Register { return a.tensor(0).reshape(a.dims(1)); }},
    {"expand", [](const Args& a) -> Register { return a.tensor(0).expand(a.dims(1)); }},
    {"squeeze_all", [](const Args& a) -> Register { return a.tensor(0).squeeze(); }},
    {"squeeze", [](const Args& a) -> Register { return a.tensor(0).squeeze(a.axes(1)); }},
    {"unsqueeze", [](const Args& a) -> Register { return a.tensor(0).unsqueeze(a.integer(1)); }},
    {"select", [](const Args& a) -> Register { return a.tensor(0).select(a.integer(1), a.dim(2)); }},
    {"slice",
     [](const Args& a) -> Register {
       return a.tensor(0).slice(a.integer(1), a.maybe_dim(2), a.maybe_dim(3), a.dim(4));
     }},
    {"narrow",
     [](const Args& a) -> Register { return a.tensor(0).narrow(a.integer(1), a.dim(2), a.dim(3)); }},
    {"split", [](const Args& a) -> Register { return a.tensor(0).split(a.dim(1), a.integer(2)); }},
    {"chunk", [](const Args& a) -> Register { return a.tensor(0).chunk(a.integer(1), a.integer(2)); }},
    {"unbind", [](const Args& a) -> Register { return a.tensor(0).unbind(a.integer(1)); }},
    {"flatten", [](const Args& a) -> Register { return a.tensor(0).flatten(a.integer(1), a.integer(2)); }},
    {"unflatten", [](const Args& a) -> Register { return a.tensor(0).unflatten(a.integer(1), a.dims(2)); }},
    {"diagonal",
     [](const Args& a) -> Register {
       return a.tensor(0).diagonal(a.integer(1), a.integer(2), a.integer(3));
     }},
    {"as_strided",
     [](const Args& a) -> Register { return a.tensor(0).as_strided(a.dims(1), a.dims(2), a.maybe_dim(3)); }},
    {"index", run_index},
    // copies and writes
    {"contiguous", [](const Args& a) -> Register { return a.tensor(0).contiguous(); }},
    {"clone", [](const Args& a) -> Register { return a.tensor(0).clone(); }},
    {"to", [](const Args& a) -> Register { return a.tensor(0).to(a.dtype(1)); }},
    {"copy_", [](const Args& a) -> Register { return a.tensor(0).copy_(a.tensor(1)); }},
    {"fill_", [](const Args& a) -> Register { return a.tensor(0).fill_(a.number(1)); }},
    {"zero_", [](const Args& a) -> Register { return a.tensor(0).zero_(); }},
    {"item", [](const Args& a) -> Register { return a.tensor(0).item(); }},
    // creation
    {"empty", [](const Args& a) -> Register { return empty(a.dims(0), a.options(1)); }},
    {"empty_strided",
     [](const Args& a) -> Register { return empty_strided(a.dims(0), a.dims(1), a.options(2)); }},
    {"empty_permuted",
     [](const Args& a) -> Register { return empty_permuted(a.dims(0), a.axes(1), a.options(2)); }},
    {"zeros", [](const Args& a) -> Register { return zeros(a.dims(0), a.options(1)); }},
    {"ones", [](const Args& a) -> Register { return ones(a.dims(0), a.options(1)); }},
    {"full", [](const Args& a) -> Register { return full(a.dims(0), a.number(1), a.options(2)); }},
    {"empty_like", [](const Args& a) -> Register { return empty_like(a.tensor(0), a.options(1)); }},
    {"zeros_like", [](const Args& a) -> Register { return zeros_like(a.tensor(0), a.options(1)); }},
    {"ones_like", [](const Args& a) -> Register { return ones_like(a.tensor(0), a.options(1)); }},
    {"full_like",
     [](const Args& a) -> Register { return full_like(a.tensor(0), a.number(1), a.options(2)); }},
    {"arange_to", [](const Args& a) -> Register { return arange(a.number(0), a.options(1)); }},
    {"arange",
     [](const Args& a) -> Register { return arange(a.number(0), a.number(1), a.number(2), a.options(3)); }},
    {"linspace",
     [](const Args& a) -> Register {
       return linspace(a.number(0), a.number(1), a.integer(2), a.options(3));
     }},
    {"eye", [](const Args& a) -> Register { return eye(a.dim(0), a.maybe_dim(1), a.options(2)); }},
    // promotion
    {"promote_types", [](const Args& a) -> Register { return promote_types(a.dtype(0), a.dtype(1)); }},
    {"can_cast", [](const Args& a) -> Register { return can_cast(a.dtype(0), a.dtype(1)); }},
    {"result_type", run_result_type},
    // pointwise
    {"masked_fill_by_tensor", run_masked_fill_by_tensor},
    // indexing and movement
    {"index_by", run_index_by},
    {"repeat_interleave_by_number", run_repeat_interleave_by_number},
};

struct Run {
  Registers registers;
  // Where a step raised: torch's kind of error, and what Pellucid says.
  std::string error;  // "index", "other", or "internal", which no case expects
  std::string message;
};

inline Run run_case(const Case& c) {
  Run run;
  run.registers.reserve(c.steps.size());
  for (const std::string& step : c.steps) {
    std::vector<std::string> words = split_text(step, " ");
    const auto found = kSteps.find(words.front());
    const Op* op = found == kSteps.end() ? find_op(words.front()) : nullptr;
    if (found == kSteps.end() && !op) throw std::runtime_error("no such step: " + step);
    words.erase(words.begin());
    const Args args(std::move(words), run.registers);
    try {
      run.registers.push_back(op ? run_op(*op, args) : found->second(args));
    } catch (const Error& e) {
      run.error = e.code() == ErrorCode::Internal ? "internal"
                  : e.code() == ErrorCode::Index  ? "index"
                                                  : "other";
      run.message = e.what();
      return run;
    }
  }
  return run;
}

}  // namespace pel::parity
