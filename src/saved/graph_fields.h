// What a file has of a compiled graph, field by field, in the order of the file: an overload of `fields` for
// each type. Private to plan_file.cc.
#pragma once

#include <string>
#include <variant>

#include "pellucid/extend/site.h"

#include "compile/compiled_function.h"
#include "saved/fields.h"

namespace pel::saved {

template <class F>
void fields(F& f, Field<F, UserCall> call) {
  if constexpr (F::kReads) {
    std::string file;
    std::uint32_t line = 0;
    f.text(file);
    f.number(line);
    call.site = file.empty() ? Site{} : make_site(file, line);
  } else {
    f.text(call.site.file_name());
    f.number(call.site.line());
  }
  f.text(call.path);
  f.text(call.within);
}

// Numbers of dtypes are stable. Graphs of files are on the CPU.
template <class F>
void fields(F& f, Field<F, DType> dtype) {
  f.choice(dtype, static_cast<DType>(kDTypeCount - 1));
}
template <class F>
void fields(F& f, Field<F, Device> device) {
  f.choice(device.type, DeviceType::Meta);
}

// An op is found by its name, and must have the schema that it had.
template <class F>
void fields(F& f, Field<F, const Op*> op) {
  if constexpr (F::kReads) {
    std::string name, schema;
    f.text(name);
    f.text(schema);
    op = find_op(name);
    PEL_CHECK(op != nullptr, FileError, "it calls the op {}, which is not registered; register it first",
              name);
    PEL_CHECK(op->schema() == schema, FileError, "it calls {}, which is {} here; save it again", schema,
              op->schema());
  } else {
    f.text(std::string(op->name()));
    f.text(op->schema());
  }
}

template <class F>
void fields(F& f, Field<F, Scalar> scalar) {
  // As Scalar::Kind, and a size.
  enum class Kind : std::uint8_t { Bool, Int, Float, Size };
  if constexpr (F::kReads) {
    Kind kind{};
    f.choice(kind, Kind::Size);
    if (kind == Kind::Size) {
      Dim size;
      f.dim(size);
      scalar = size;
    } else if (kind == Kind::Float) {
      double real = 0;
      f.real(real);
      scalar = real;
    } else {
      std::int64_t integer = 0;
      f.wide(integer);
      if (kind == Kind::Int) {
        scalar = Scalar(integer);
      } else {
        scalar = Scalar(integer != 0);
      }
    }
  } else {
    f.choice(scalar.is_symbolic() ? Kind::Size : static_cast<Kind>(scalar.kind()), Kind::Size);
    if (scalar.is_symbolic()) {
      f.dim(scalar.dim());
    } else if (scalar.is_float()) {
      f.real(scalar.to_double());
    } else {
      f.wide(scalar.to_int());
    }
  }
}

template <class F>
void dims(F& f, Field<F, std::vector<Dim>> sizes) {
  f.list(sizes, [&](auto& size) { f.dim(size); });
}
// `count`: how many values the graph has.
template <class F>
void values(F& f, Field<F, std::vector<compiler::ValueId>> ids, std::size_t count) {
  f.list(ids, [&](auto& id) { f.index(id.number, count); });
}

template <class F>
struct ArgFields {
  F& f;
  std::size_t count;
  void operator()(Field<F, std::monostate>) const {}
  void operator()(Field<F, compiler::ValueId> id) const { f.index(id.number, count); }
  void operator()(Field<F, std::vector<compiler::ValueId>> ids) const { values(f, ids, count); }
  void operator()(Field<F, Dim> dim) const { f.dim(dim); }
  void operator()(Field<F, double> number) const { f.real(number); }
  void operator()(Field<F, bool> fact) const { f.flag(fact); }
  void operator()(Field<F, Scalar> number) const { fields(f, number); }
  void operator()(Field<F, DType> dtype) const { fields(f, dtype); }
  void operator()(Field<F, Device> device) const { fields(f, device); }
  void operator()(Field<F, std::vector<Dim>> sizes) const { dims(f, sizes); }
  void operator()(Field<F, std::string> word) const { f.text(word); }
};

// Makes the variant hold its alternative `index`.
template <std::size_t I = 0>
void emplace(compiler::GraphArg& arg, std::size_t index) {
  if constexpr (I < std::variant_size_v<compiler::GraphArg>) {
    if (I == index) {
      arg.emplace<I>();
    } else {
      emplace<I + 1>(arg, index);
    }
  }
}

template <class F>
void fields(F& f, Field<F, std::vector<compiler::GraphArg>> args, std::size_t count) {
  f.list(args, [&](auto& arg) {
    auto alternative = static_cast<std::uint32_t>(arg.index());
    f.index(alternative, std::variant_size_v<compiler::GraphArg>);
    if constexpr (F::kReads) emplace(arg, alternative);
    std::visit(ArgFields<F>{f, count}, arg);
  });
}

template <class F>
void fields(F& f, Field<F, compiler::GraphNode> node, std::size_t count) {
  f.choice(node.kind, compiler::NodeKind::FusedGemm);
  fields(f, node.args, count);
  fields(f, node.results, count);
  fields(f, node.site);
  if (!node.is_fused()) return fields(f, node.op);
  f.text(node.name);
  f.list(node.body, [&](auto& inner) {
    if constexpr (!F::kReads) PEL_ASSERT(!inner.is_fused(), "verify() admits only calls in a fused node");
    fields(f, inner.args, count);
    fields(f, inner.results, count);
    fields(f, inner.site);
    fields(f, inner.op);
  });
}

template <class F>
void fields(F& f, Field<F, compiler::GraphValue> value) {
  f.choice(value.origin, compiler::GraphValue::Origin::Node);
  fields(f, value.dtype);
  fields(f, value.device);
  dims(f, value.sizes);
  dims(f, value.strides);
  f.flag(value.is_row_major);
  f.number(value.storage);
}

template <class F>
void fields(F& f, Field<F, compiler::SymbolSource> source) {
  f.choice(source.what, compiler::SymbolSource::What::Stride);  // numbers are those of CompiledAhead
  f.number(source.input);
  f.number(source.axis);
}

template <class F>
void fields(F& f, Field<F, SizeGuard> guard) {
  f.choice(guard.relation, detail::DimRelation::Le);
  f.dim(guard.left);
  f.dim(guard.right);
  f.text(guard.source);
}

// Without its constants, which plan_file.h describes.
template <class F>
void fields(F& f, Field<F, compiler::Graph> graph) {
  if constexpr (F::kReads) {
    std::string expressions;
    f.text(expressions);
    graph.sizes = SymbolicSizes::from_expressions(expressions);
    f.check(graph.sizes != nullptr, "its sizes");
    f.set_sizes(graph.sizes);
    std::vector<SizeGuard> guards;
    f.list(guards, [&](SizeGuard& guard) { fields(f, guard); });
    for (const SizeGuard& guard : guards) graph.sizes->add_guard(guard);
  } else {
    f.text(graph.sizes->expressions());
    f.list(graph.sizes->guards(), [&](const SizeGuard& guard) { fields(f, guard); });
  }
  f.list(graph.symbols, [&](auto& source) { fields(f, source); });
  f.list(graph.values, [&](auto& value) { fields(f, value); });
  const std::size_t count = graph.values.size();
  values(f, graph.inputs, count);
  values(f, graph.constant_values, count);
  f.list(graph.nodes, [&](auto& node) { fields(f, node, count); });
  values(f, graph.outputs, count);
}

template <class F>
void fields(F& f, Field<F, compiler::InputClass> input) {
  fields(f, input.dtype);
  fields(f, input.device);
  f.list(input.layout.order, [&](auto& axis) { f.number(axis); });
  f.flag(input.layout.is_dense);
  f.list(input.layout.repeated, [&](auto& axis) { f.number(axis); });
  f.optional(input.same_as, [&](auto& other) { f.number(other); });
  f.choice(input.gradient, compiler::InputGradient::Inner);
}

template <class F>
void fields(F& f, Field<F, compiler::Decision> decision) {
  f.text(decision.pass);
  f.text(decision.what);
  f.text(decision.reason);
  fields(f, decision.site);
  f.choice(decision.kind, compiler::Decision::Kind::Refused);
}

}  // namespace pel::saved
