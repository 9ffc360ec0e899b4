#include "torch/description.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <nanobind/stl/string.h>
#include <pellucid/error.h>
#include <pellucid/extend/outside_capture.h>
#include <pellucid/extend/site.h>
#include <pellucid/ops.h>

#include "core/errors.h"
#include "core/exchange.h"

namespace pel::python {
namespace {

DType dtype_named(const std::string& wanted) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name(static_cast<DType>(i)) == wanted) return static_cast<DType>(i);
  throw DTypeError("program: there is no dtype " + wanted);
}

[[noreturn]] void throw_unknown(std::string_view what, nb::handle given) {
  throw ValueError("program: " + std::string(nb::repr(given).c_str()) + " is not a " + std::string(what));
}

std::uint32_t index(nb::handle object, std::size_t count, const char* what) {
  const auto number = nb::cast<std::int64_t>(object);
  if (number < 0 || static_cast<std::size_t>(number) >= count)
    throw ValueError("program: there is no " + std::string(what) + " " + std::to_string(number) + ", only " +
                     std::to_string(count));
  return static_cast<std::uint32_t>(number);
}

Scalar number_from_python(nb::handle object) {
  if (PyBool_Check(object.ptr())) return object.ptr() == Py_True;
  if (PyLong_Check(object.ptr())) return nb::cast<std::int64_t>(object);
  return nb::cast<double>(object);
}

// A tensor of another library, held as long as the program.
Tensor held_tensor(nb::handle object) {
  const dlpack::ExchangeTable* const table = exchange_table_of(Py_TYPE(object.ptr()));
  if (table == nullptr) throw_unknown("tensor with DLPack's C table", object);
  dlpack::Managed* managed = nullptr;
  if (table->managed_from_object(object.ptr(), &managed) != 0) throw nb::python_error();
  return take_managed(managed);
}

class ArgumentReader {
 public:
  ArgumentReader(std::size_t symbols, std::size_t inputs) : symbols_(symbols), inputs_(inputs) {}

  // Results of the first `calls` calls are known.
  ProgramArgument read(nb::handle object, std::size_t calls) const {
    using Kind = ProgramArgument::Kind;
    const nb::tuple tuple = nb::cast<nb::tuple>(object);
    const auto word = nb::cast<std::string>(tuple[0]);
    ProgramArgument made;
    if (word == "none") return made;
    const nb::handle value = tuple[1];
    if (word == "value") {
      made.kind = Kind::Result;
      made.number = index(value, calls, "call");
      made.item = nb::cast<std::int32_t>(tuple[2]);
    } else if (word == "input") {
      made.kind = Kind::Input;
      made.number = index(value, inputs_, "input");
    } else if (word == "values") {
      made.kind = Kind::List;
      for (const nb::handle each : value) made.arguments.push_back(read(each, calls));
    } else if (word == "size") {
      made.kind = Kind::Size;
      made.sizes.push_back(SizeExpression::from_python(value, symbols_));
    } else if (word == "sizes") {
      made.kind = Kind::Sizes;
      made.sizes = sizes_from_python(value, symbols_);
    } else if (word == "number_size") {
      made.kind = Kind::NumberOfSize;
      made.sizes.push_back(SizeExpression::from_python(value, symbols_));
    } else if (word == "float") {
      made.plain = nb::cast<double>(value);
    } else if (word == "bool") {
      made.plain = nb::cast<bool>(value);
    } else if (word == "string") {
      made.plain = nb::cast<std::string>(value);
    } else if (word == "dtype") {
      made.plain = dtype_named(nb::cast<std::string>(value));
    } else if (word == "number") {
      made.plain = make_number(number_from_python(value), kCpu);
    } else if (word == "constant") {
      made.plain = held_tensor(value);
    } else {
      throw_unknown("kind of argument", object);
    }
    return made;
  }

 private:
  std::size_t symbols_, inputs_;
};

Tensor tensor_in(const Value& value, const ProgramCall& call, std::int32_t item) {
  const Value* found = &value;
  if (const auto* list = std::get_if<std::vector<Tensor>>(found)) {
    if (item < 0 || static_cast<std::size_t>(item) >= list->size())
      throw IndexError("program: " + std::string(call.op->name()) + " has no result " + std::to_string(item));
    return (*list)[static_cast<std::size_t>(item)];
  }
  if (const auto* tensor = std::get_if<Tensor>(found)) return *tensor;
  throw ValueError("program: a result of " + std::string(call.op->name()) + " is not a tensor");
}

}  // namespace

ProgramDescription::ProgramDescription(nb::handle symbol_list, nb::handle input_list, nb::handle call_list,
                                       nb::handle output_list, nb::handle return_list) {
  const std::size_t symbol_count = nb::len(symbol_list), input_count = nb::len(input_list);
  for (const nb::handle each : symbol_list) {
    const nb::tuple pair = nb::cast<nb::tuple>(each), source = nb::cast<nb::tuple>(pair[0]);
    const auto word = nb::cast<std::string>(source[0]);
    SymbolSource& made = symbols.emplace_back();
    made.what = word == "size"     ? SymbolSource::What::Size
                : word == "stride" ? SymbolSource::What::Stride
                : word == "value"  ? SymbolSource::What::Value
                                   : (throw_unknown("source of a symbol", each), SymbolSource::What::Size);
    made.input = index(source[1], input_count, "input");
    if (made.what != SymbolSource::What::Value) made.axis = nb::cast<std::uint32_t>(source[2]);
    made.example = nb::cast<std::int64_t>(pair[1]);
  }
  std::uint32_t tensors = 0;
  for (const nb::handle each : input_list) {
    const nb::tuple tuple = nb::cast<nb::tuple>(each);
    const auto word = nb::cast<std::string>(tuple[0]);
    ProgramInput& made = inputs.emplace_back();
    if (word == "tensor") {
      made.kind = ProgramInput::Kind::Tensor;
      made.dtype = dtype_named(nb::cast<std::string>(tuple[1]));
      made.sizes = sizes_from_python(tuple[2], symbol_count);
      made.strides = sizes_from_python(tuple[3], symbol_count);
      made.is_static = nb::cast<bool>(tuple[4]);
      made.number = tensors++;
    } else if (word == "number") {
      made.kind = ProgramInput::Kind::Number;
    } else if (word != "unused") {
      throw_unknown("kind of input", each);
    }
  }
  tensor_count = tensors;
  is_written.assign(tensor_count, false);
  for (const SymbolSource& source : symbols) {
    const ProgramInput& input = inputs[source.input];
    const bool fits = source.what == SymbolSource::What::Value
                          ? input.kind == ProgramInput::Kind::Number
                          : input.kind == ProgramInput::Kind::Tensor && source.axis < input.sizes.size();
    if (!fits)
      throw ValueError("program: a symbol is read from input " + std::to_string(source.input) +
                       ", which does not have it");
  }
  const ArgumentReader reader(symbol_count, input_count);
  for (const nb::handle each : call_list) {
    const nb::tuple tuple = nb::cast<nb::tuple>(each);
    const auto op_name = nb::cast<std::string>(tuple[0]);
    ProgramCall made;
    made.op = find_op(op_name);
    if (made.op == nullptr) throw ValueError("program: there is no op " + op_name);
    for (const nb::handle argument : nb::handle(tuple[1]))
      made.arguments.push_back(reader.read(argument, calls.size()));
    const auto& schema = made.op->signature().args;
    for (std::size_t i = 0; i < std::min(schema.size(), made.arguments.size()); ++i)
      if (schema[i].alias.is_written && made.arguments[i].kind == ProgramArgument::Kind::Input)
        is_written[inputs[made.arguments[i].number].number] = true;
    made.site = make_site(nb::cast<std::string>(tuple[2]), nb::cast<std::uint32_t>(tuple[3]));
    calls.push_back(std::move(made));
  }
  for (const nb::handle each : output_list) {
    const nb::tuple tuple = nb::cast<nb::tuple>(each);
    ProgramOutput& made = outputs.emplace_back();
    made.value = reader.read(tuple[0], calls.size());
    made.has_strides = !tuple[1].is_none();
    if (made.has_strides) made.strides = sizes_from_python(tuple[1], symbol_count);
    if (!tuple[2].is_none()) made.dtype = dtype_named(nb::cast<std::string>(tuple[2]));
  }
  for (const nb::handle each : return_list) {
    using Kind = ProgramReturn::Kind;
    const nb::tuple tuple = nb::cast<nb::tuple>(each);
    const auto word = nb::cast<std::string>(tuple[0]);
    ProgramReturn& made = returns.emplace_back();
    if (word == "none") continue;
    if (word == "input" || word == "view") {
      made.kind = word == "input" ? Kind::Input : Kind::View;
      made.number = index(tuple[1], input_count, "input");
      if (made.kind == Kind::Input) continue;
      made.sizes = sizes_from_python(tuple[2], symbol_count);
      made.strides = sizes_from_python(tuple[3], symbol_count);
      made.offset = SizeExpression::from_python(tuple[4], symbol_count);
    } else if (word == "size") {
      made.kind = Kind::Size;
      made.offset = SizeExpression::from_python(tuple[1], symbol_count);
    } else if (word == "result") {
      made.kind = Kind::Result;
      made.number = index(tuple[1], outputs.size(), "output");
    } else {
      throw_unknown("kind of return", each);
    }
  }
}

std::vector<CallNumber> ProgramDescription::numbers() const {
  std::vector<CallNumber> numbers;
  for (const SymbolSource& source : symbols) {
    const std::string input = "input " + std::to_string(source.input);
    const std::string axis = "axis " + std::to_string(source.axis) + " of " + input;
    switch (source.what) {
      case SymbolSource::What::Size:
        numbers.push_back({axis, source.example, CallNumber::Kind::Size});
        break;
      case SymbolSource::What::Stride:
        numbers.push_back({"the stride of " + axis, source.example, CallNumber::Kind::Stride});
        break;
      case SymbolSource::What::Value:
        numbers.push_back({input, source.example, CallNumber::Kind::Any});
        break;
    }
  }
  return numbers;
}

std::vector<DescribedInput> ProgramDescription::describe(Dims values) const {
  std::vector<DescribedInput> described;
  for (const ProgramInput& input : inputs) {
    if (input.kind != ProgramInput::Kind::Tensor || is_frozen(input)) continue;
    described.push_back({input.dtype, evaluate(input.sizes, values), evaluate(input.strides, values)});
  }
  return described;
}

std::vector<Tensor> ProgramDescription::run(ArrayView<Tensor> tensors, Dims values) const {
  std::vector<std::vector<Value>> results(calls.size());
  std::vector<Tensor> all;  // inputs and frozen ones, by number
  std::size_t next_input = 0;
  for (const ProgramInput& input : inputs) {
    if (input.kind != ProgramInput::Kind::Tensor) continue;
    all.push_back(is_frozen(input) ? frozen[input.number] : tensors[next_input++]);
  }
  const auto tensor_of_result = [&](const ProgramArgument& argument) -> Value {
    const std::vector<Value>& made = results[argument.number];
    const bool is_several = made.size() > 1 && argument.item >= 0;
    const auto position = static_cast<std::size_t>(is_several ? argument.item : 0);
    if (position >= made.size())
      throw IndexError("program: " + std::string(calls[argument.number].op->name()) + " has no result " +
                       std::to_string(argument.item));
    return tensor_in(made[position], calls[argument.number], argument.item);
  };
  const auto value_of = [&](const ProgramArgument& argument, const auto& self) -> Value {
    using Kind = ProgramArgument::Kind;
    switch (argument.kind) {
      case Kind::Plain:
        return argument.plain;
      case Kind::Result:
        return tensor_of_result(argument);
      case Kind::Input:
        return inputs[argument.number].kind == ProgramInput::Kind::Tensor
                   ? Value(all[inputs[argument.number].number])
                   : throw ValueError("program: input " + std::to_string(argument.number) +
                                      " is not a tensor");
      case Kind::List: {
        std::vector<Tensor> list;
        for (const ProgramArgument& each : argument.arguments)
          list.push_back(std::get<Tensor>(self(each, self)));
        return list;
      }
      case Kind::Size:
        return argument.sizes[0].evaluate(values);
      case Kind::Sizes:
        return evaluate(argument.sizes, values);
      case Kind::NumberOfSize:
        return make_number(argument.sizes[0].evaluate(values), kCpu);
    }
    return {};
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::vector<Value> arguments;
    arguments.reserve(calls[i].arguments.size());
    for (const ProgramArgument& argument : calls[i].arguments)
      arguments.push_back(value_of(argument, value_of));
    results[i] = call_boxed(*calls[i].op, std::move(arguments), calls[i].site);
  }
  std::vector<Tensor> made;
  for (const ProgramOutput& output : outputs) {
    Tensor tensor = std::get<Tensor>(value_of(output.value, value_of));
    if (output.dtype && tensor.dtype() != *output.dtype) {
      const std::string of = output.value.kind == ProgramArgument::Kind::Result
                                 ? std::string(calls[output.value.number].op->name())
                                 : "an input";
      throw DTypeError("program: the result of " + of + " is " + std::string(name(tensor.dtype())) +
                       ", but PyTorch has " + std::string(name(*output.dtype)) +
                       " there; Pellucid's rule for that op is wrong, please report it");
    }
    if (output.has_strides) {
      const std::vector<Dim> strides = evaluate(output.strides, values);
      const Site site =
          output.value.kind == ProgramArgument::Kind::Result ? calls[output.value.number].site : Site{};
      // Strides of axes of size 1 address nothing, but PyTorch shows them. If they are equal in this call and
      // not by their expressions, a guard says so: a copy would not share memory with other results.
      bool has_same = true, has_same_elements = true;
      for (std::size_t axis = 0; axis < strides.size(); ++axis) {
        if (DimArg(tensor.strides()[axis], site) == strides[axis]) continue;
        has_same = false;
        if (!Dim::identical(tensor.sizes()[axis], 1)) has_same_elements = false;
      }
      if (!has_same_elements) {
        const Tensor exact = empty_strided(tensor.sizes(), strides, TensorOptions(tensor.dtype()), site);
        exact.copy_(tensor, site);
        tensor = exact;
        ++copies_for_strides;
      } else if (!has_same) {
        tensor = as_strided(tensor, tensor.sizes(), strides, std::nullopt, site);
      }
    }
    made.push_back(tensor);
  }
  return made;
}

std::optional<Tensor> ProgramDescription::frozen_matrix(const ProgramArgument& argument) const {
  if (argument.kind == ProgramArgument::Kind::Input) {
    const ProgramInput& input = inputs[argument.number];
    if (!is_frozen(input) || input.sizes.size() != 2) return std::nullopt;
    return frozen[input.number];
  }
  if (argument.kind != ProgramArgument::Kind::Result) return std::nullopt;
  const ProgramCall& call = calls[argument.number];
  const bool is_transpose =
      call.op->name() == "t" || call.op->name() == "transpose" || call.op->name() == "permute";
  if (!is_transpose) return std::nullopt;
  const std::optional<Tensor> base = frozen_matrix(call.arguments[0]);
  if (!base) return std::nullopt;
  std::vector<Value> arguments{*base};
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const ProgramArgument& plain = call.arguments[i];
    if (plain.kind == ProgramArgument::Kind::Plain) {
      arguments.push_back(plain.plain);
    } else if (plain.kind == ProgramArgument::Kind::Size) {
      arguments.emplace_back(plain.sizes[0].evaluate({}));
    } else if (plain.kind == ProgramArgument::Kind::Sizes) {
      arguments.emplace_back(evaluate(plain.sizes, {}));
    } else {
      return std::nullopt;
    }
  }
  return std::get<Tensor>(call_boxed(*call.op, std::move(arguments))[0]);
}

std::vector<PackedMatrix> ProgramDescription::pack_frozen() const {
  std::vector<PackedMatrix> packed;
  for (const ProgramCall& call : calls) {
    const std::size_t right = call.op->name() == "mm" ? 1 : call.op->name() == "addmm" ? 2 : 0;
    if (right == 0) continue;
    if (const std::optional<Tensor> matrix = frozen_matrix(call.arguments[right]))
      packed.push_back(pack(*matrix));
  }
  return packed;
}

}  // namespace pel::python
