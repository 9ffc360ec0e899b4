// Ops that move elements without computing: cat, flip and roll as copies of parts; pad, tril and triu by the
// place of each element; gather, index and their kin by index tensors; scatter and index_put.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "backends/grid/items.h"
#include "backends/grid/kernels.h"
#include "backends/grid/loops.h"

namespace pel::grid {
namespace {

using codegen::Combine;
using codegen::ItemText;
using Sizes = SmallVector<std::int64_t, 8>;

Sizes copy_of(const std::int64_t* values, int rank) {
  return Sizes(ArrayView<std::int64_t>(values, static_cast<std::size_t>(rank)));
}
void copy_part(const Operand& dst, const Operand& src) {
  if (count_of(dst) == 0) return;
  const Operand both[2] = {dst, src};
  run_loop(cast_loop(dtype_of(src), dtype_of(dst)), both, {});
}
std::byte* moved(void* data, std::int64_t elements, const Operand& operand) {
  return static_cast<std::byte*>(data) + elements * size_bytes(dtype_of(operand));
}

// cat. Operands: dst; the tensors; scalar: the axis.
void run_cat(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const auto axis = static_cast<int>(args.scalars[0].as_int);
  std::int64_t at = 0;
  for (int i = 0; i < args.input_count; ++i) {
    const Operand& src = input(args, i);
    Operand part = dst;
    part.data = moved(dst.data, at * dst.strides[axis], dst);
    part.sizes = src.sizes;
    part.is_row_major = 0;
    copy_part(part, src);
    at += src.sizes[axis];
  }
}

// flip. Operands: dst; src; scalars: 1 for each axis that is reversed, 0 for the others.
void run_flip(Stream&, const KernelArgs& args) {
  Operand src = input(args, 0);
  Sizes strides = copy_of(src.strides, src.rank);
  for (int i = 0; i < src.rank; ++i) {
    if (args.scalars[i].as_int == 0) continue;
    src.data = moved(src.data, (src.sizes[i] - 1) * src.strides[i], src);
    strides[static_cast<std::size_t>(i)] = -src.strides[i];
  }
  src.strides = strides.data();
  src.is_row_major = 0;
  copy_part(output(args, 0), src);
}

// roll. Operands: dst; src; scalars: the shift of each axis, from 0 to below its size. A shifted axis splits
// into two parts.
void roll_from_axis(const Operand& dst, const Operand& src, const PelScalar* shifts, int axis) {
  while (axis < dst.rank && shifts[axis].as_int == 0) ++axis;
  if (axis >= dst.rank) return copy_part(dst, src);
  const std::int64_t shift = shifts[axis].as_int, size = dst.sizes[axis];
  const auto part = [&](std::int64_t to, std::int64_t from, std::int64_t length) {
    Sizes sizes = copy_of(dst.sizes, dst.rank);
    sizes[static_cast<std::size_t>(axis)] = length;
    Operand part_dst = dst, part_src = src;
    part_dst.data = moved(dst.data, to * dst.strides[axis], dst);
    part_src.data = moved(src.data, from * src.strides[axis], src);
    part_dst.sizes = part_src.sizes = sizes.data();
    part_dst.is_row_major = part_src.is_row_major = 0;
    roll_from_axis(part_dst, part_src, shifts, axis + 1);
  };
  part(shift, 0, size - shift);
  part(0, size - shift, shift);
}
void run_roll(Stream&, const KernelArgs& args) {
  roll_from_axis(output(args, 0), input(args, 0), args.scalars, 0);
}

// Operands: dst; src; scalars: mode (0 constant, 1 reflect, 2 replicate, 3 circular), the constant, the
// padding before each axis.
void run_pad(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  const DType dtype = dtype_of(dst);
  static Functions functions;
  const FunctionHandle function =
      built_items(functions, static_cast<std::uint64_t>(size_bytes(dtype)), "pel_pad", [&] {
        return ItemText{"pel_pad", 2,
                        "mode, filler, rank, size[8], before[8], src_size[8], dst_step[8], src_step[8]",
                        typedef_of_width("T", dtype), R"(
  pel_i64 rest = i, to = 0, from = 0;
  bool is_outside = false;
  PEL_LOOP for (int axis = 0; axis < call.rank; ++axis) {
    const pel_i64 size = call.size[axis], next = rest / size, place = rest - next * size, n = call.src_size[axis];
    rest = next;
    to += place * call.dst_step[axis];
    pel_i64 at = place - call.before[axis];
    if (at < 0 || at >= n) {
      if (call.mode == 0) { is_outside = true; at = 0; }
      else if (call.mode == 1) at = at < 0 ? -at : 2 * (n - 1) - at;
      else if (call.mode == 2) at = at < 0 ? 0 : n - 1;
      else at = at < 0 ? at + n : at - n;
    }
    from += at * call.src_step[axis];
  }
  PEL_AT(T, 0)[to] = is_outside ? (T)call.filler : PEL_AT(const T, 1)[from];
)"};
      });
  GridCall call;
  call.address(dst.data);
  call.address(src.data);
  call.number(count_of(dst));
  call.number(args.scalars[0].as_int);
  call.number(fill_bits(args.scalars[1], dtype));
  call.number(dst.rank);
  add_sizes(call, dst);
  for (int i = 0; i < kMaxGridAxes; ++i)
    call.number(i < dst.rank ? args.scalars[2 + dst.rank - 1 - i].as_int : 0);
  add_sizes(call, src);
  add_steps(call, dst);
  add_steps(call, src);
  call.launch(function, count_of(dst), kItems);
}

// tril, triu. Operands: dst; src; scalars: the diagonal, whether the part above it is copied.
void run_triangle(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  static Functions functions;
  const FunctionHandle function =
      built_items(functions, static_cast<std::uint64_t>(size_bytes(dtype_of(dst))), "pel_triangle", [&] {
        return ItemText{"pel_triangle", 2, "diagonal, upper, rank, size[8], dst_step[8], src_step[8]",
                        typedef_of_width("T", dtype_of(dst)), R"(
  pel_i64 rest = i, to = 0, from = 0, at[2];
  PEL_LOOP for (int axis = 0; axis < call.rank; ++axis) {
    const pel_i64 size = call.size[axis], next = rest / size, place = rest - next * size;
    rest = next;
    to += place * call.dst_step[axis];
    from += place * call.src_step[axis];
    if (axis < 2) at[axis] = place;
  }
  const pel_i64 above = at[0] - at[1];
  const bool is_kept = call.upper != 0 ? above >= call.diagonal : above <= call.diagonal;
  PEL_AT(T, 0)[to] = is_kept ? PEL_AT(const T, 1)[from] : (T)0;
)"};
      });
  GridCall call;
  call.address(dst.data);
  call.address(src.data);
  call.number(count_of(dst));
  call.number(args.scalars[0].as_int);
  call.number(args.scalars[1].as_int);
  call.number(dst.rank);
  add_sizes(call, dst);
  add_steps(call, dst);
  add_steps(call, src);
  call.launch(function, count_of(dst), kItems);
}

// ---- By index tensors

constexpr int kMaxIndices = 4;

// A walk over a plain operand whose elements belong to positions of an indexed one. Axes outermost first.
struct IndexWalk {
  const Operand* plain;
  const Operand* indexed;
  const Operand* indices[kMaxIndices];
  std::int64_t dims[kMaxIndices];  // that the indices replace
  int index_count = 0;
  bool wraps = false;
  // collides: two of its elements may have the same position.
  struct Axis {
    std::int64_t size, plain_step, indexed_step, index_step[kMaxIndices];
    bool collides;
  };
  SmallVector<Axis, 12> axes;
};

// result[i][j] = indexed[index[i][j]][j], where `dim` is 0. The sizes are those of the index.
IndexWalk gather_walk(const Operand& plain, const Operand& indexed, const Operand& index, std::int64_t dim,
                      bool wraps) {
  IndexWalk walk{&plain, &indexed, {&index}, {dim}, 1, wraps, {}};
  for (int i = 0; i < index.rank; ++i)
    walk.axes.push_back(
        {index.sizes[i], plain.strides[i], i == dim ? 0 : indexed.strides[i], {index.strides[i]}, i == dim});
  return walk;
}
// The axes of `indexed` that `dims` names are replaced by those of the indices, after `before` others.
IndexWalk index_walk(const Operand& plain, const Operand& indexed, const Operand* indices,
                     const PelScalar* dims, int count, std::int64_t before, bool wraps) {
  IndexWalk walk{&plain, &indexed, {}, {}, count, wraps, {}};
  for (int k = 0; k < count; ++k) {
    walk.indices[k] = &indices[k];
    walk.dims[k] = dims[k].as_int;
  }
  int at = 0;  // in plain
  const auto add_index_axes = [&] {
    for (int i = 0; count > 0 && i < indices[0].rank; ++i, ++at) {
      IndexWalk::Axis axis{plain.sizes[at], plain.strides[at], 0, {}, true};
      for (int k = 0; k < count; ++k) axis.index_step[k] = indices[k].strides[i];
      walk.axes.push_back(axis);
    }
  };
  std::int64_t remaining = 0;
  for (int i = 0; i < indexed.rank; ++i) {
    if (remaining == before && at == before) add_index_axes();
    if (std::any_of(dims, dims + count, [&](const PelScalar& d) { return d.as_int == i; })) continue;
    walk.axes.push_back({plain.sizes[at], plain.strides[at], indexed.strides[i], {}, false});
    ++at;
    ++remaining;
  }
  if (remaining == before && at == before) add_index_axes();
  return walk;
}

Support supports_walk(const KernelArgs& args, int indices) {
  if (indices > kMaxIndices) return Support::no("more than 4 axes are indexed");
  return supports_memory(args);
}

// What a kernel of index tensors does with the element of the plain operand (0) and its position in the
// indexed one (1). Items are the elements, or the combinations of axes that do not collide; then each item
// walks the others in order, as the CPU does.
std::string walk_text(int indices, std::string_view what, bool is_ordered) {
  std::string text = R"(
  pel_i64 rest = i, plain = 0, indexed = 0;
)";
  for (int k = 0; k < indices; ++k) text += fmt::format("  pel_i64 at{} = 0;\n", k);
  const auto walk = [&](std::string_view part) {
    text += fmt::format(
        "  PEL_LOOP for (int axis = 0; axis < call.{0}rank; ++axis) {{\n"
        "    const pel_i64 size = call.{0}size[axis], next = rest / size, place = rest - next * size;\n"
        "    rest = next; plain += place * call.{0}plain_step[axis]; indexed += place * "
        "call.{0}indexed_step[axis];\n",
        part);
    for (int k = 0; k < indices; ++k)
      text += fmt::format("    at{0} += place * call.{1}index_step[{0}][axis];\n", k, part);
    text += "  }\n";
  };
  walk("");
  if (is_ordered) {
    text += "  const pel_i64 plain_begin = plain, indexed_begin = indexed";
    for (int k = 0; k < indices; ++k) text += fmt::format(", begin{0} = at{0}", k);
    text +=
        ";\n  PEL_LOOP for (pel_i64 j = 0; j < call.inner_count; ++j) {\n  rest = j; plain = plain_begin; "
        "indexed = "
        "indexed_begin;\n";
    for (int k = 0; k < indices; ++k) text += fmt::format("  at{0} = begin{0};\n", k);
    walk("inner_");
  }
  for (int k = 0; k < indices; ++k) {
    text += fmt::format(
        "  {{ const pel_i64 given = PEL_AT(const I, {1})[at{0}];\n"
        "    const pel_i64 index = given < 0 && call.wraps != 0 ? given + call.axis_size[{0}] : given;\n"
        "    if (index < 0 || index >= call.axis_size[{0}]) {{\n"
        "      pel_report(status, call.launch, {2} + call.axis_number[{0}], given, call.axis_size[{0}]); "
        "return; }}\n"
        "    indexed += index * call.axis_step[{0}]; }}\n",
        k, 2 + k, codegen::kReportsIndex);
  }
  text += what;
  return text + (is_ordered ? "  }\n" : "");
}

void run_walk(const IndexWalk& walk, std::string_view name, Functions& functions, Combine combine,
              bool is_read) {
  const DType dtype = dtype_of(*walk.plain);
  const bool is_wide = walk.index_count == 0 || dtype_of(*walk.indices[0]) == kI64;
  const bool moves = is_read || combine == Combine::Replace;
  const std::uint64_t key =
      static_cast<std::uint64_t>(moves ? size_bytes(dtype) : 16 + static_cast<int>(dtype)) |
      static_cast<std::uint64_t>(walk.index_count) << 8 | (is_wide ? 1u << 16 : 0u) |
      static_cast<std::uint64_t>(combine) << 20;
  const std::string kernel = fmt::format("pel_{}", name);
  const int n = walk.index_count, array = std::max(1, n);
  const FunctionHandle function = built_items(functions, key, kernel, [&] {
    std::string functions_text = fmt::format("typedef {} I;\n", is_wide ? "pel_i64" : "pel_i32");
    std::string what = "  PEL_AT(T, 0)[plain] = PEL_AT(const T, 1)[indexed];\n";
    if (moves) {
      functions_text += typedef_of_width("T", dtype);
    } else {
      functions_text += fmt::format("typedef {} T;\n", codegen::memory_type_name(dtype)) +
                        codegen::combine_function(combine, dtype, "combine");
    }
    if (!is_read)
      what = moves ? "  PEL_AT(T, 1)[indexed] = PEL_AT(const T, 0)[plain];\n"
                   : "  PEL_AT(T, 1)[indexed] = combine(PEL_AT(const T, 1)[indexed], PEL_AT(const T, "
                     "0)[plain]);\n";
    std::string fields = fmt::format(
        "wraps, axis_size[{0}], axis_step[{0}], axis_number[{0}], rank, size[8], plain_step[8], "
        "indexed_step[8], "
        "index_step[{0}][8]",
        array);
    if (!is_read)
      fields += fmt::format(
          ", inner_count, inner_rank, inner_size[8], inner_plain_step[8], inner_indexed_step[8], "
          "inner_index_step[{}][8]",
          array);
    return ItemText{kernel, 2 + n, fields, functions_text, walk_text(n, what, !is_read)};
  });
  GridAxes<2 + kMaxIndices> outer, inner;
  bool is_empty = false;
  for (std::size_t i = walk.axes.size(); i-- > 0;) {
    const IndexWalk::Axis& axis = walk.axes[i];
    is_empty = is_empty || axis.size == 0;
    if (axis.size == 1) continue;
    std::int64_t steps[2 + kMaxIndices] = {axis.plain_step, axis.indexed_step};
    for (int k = 0; k < n; ++k) steps[2 + k] = axis.index_step[k];
    (!is_read && axis.collides ? inner : outer).add(axis.size, steps, 2 + n);
  }
  if (is_empty) return;
  GridCall call;
  call.address(walk.plain->data);
  call.address(walk.indexed->data);
  for (int k = 0; k < n; ++k) call.address(walk.indices[k]->data);
  call.number(outer.count());
  call.number(walk.wraps ? 1 : 0);
  for (int k = 0; k < array; ++k) call.number(k < n ? walk.indexed->sizes[walk.dims[k]] : 0);
  for (int k = 0; k < array; ++k) call.number(k < n ? walk.indexed->strides[walk.dims[k]] : 0);
  for (int k = 0; k < array; ++k) call.number(k < n ? walk.dims[k] : 0);
  const auto add = [&](const GridAxes<2 + kMaxIndices>& axes) {
    call.number(axes.rank);
    axes.add_sizes(call);
    for (int k = 0; k < 2 + array; ++k) axes.add_steps(call, k);
  };
  add(outer);
  if (!is_read) {
    call.number(inner.count());
    add(inner);
  }
  call.launch(function, outer.count(), kItems, true);
}

// gather. Operands: dst; src, index; scalars: dim, wraps.
void run_gather(Stream&, const KernelArgs& args) {
  static Functions functions;
  run_walk(gather_walk(output(args, 0), input(args, 0), input(args, 1), args.scalars[0].as_int,
                       args.scalars[1].as_int != 0),
           "gather", functions, Combine::Replace, true);
}
Support supports_gather(const KernelArgs& args) { return supports_walk(args, 1); }

// index. Operands: dst; src, indices; scalars: wraps, axes before those of the indices, an axis per index.
void run_index(Stream&, const KernelArgs& args) {
  static Functions functions;
  run_walk(index_walk(output(args, 0), input(args, 0), &input(args, 1), args.scalars + 2,
                      args.input_count - 1, args.scalars[1].as_int, args.scalars[0].as_int != 0),
           "index", functions, Combine::Replace, true);
}
Support supports_index(const KernelArgs& args) { return supports_walk(args, args.input_count - 1); }

// scatter. Operands: dst; index, src; scalars: dim, reduction.
void run_scatter(Stream&, const KernelArgs& args) {
  static Functions functions;
  run_walk(gather_walk(input(args, 1), output(args, 0), input(args, 0), args.scalars[0].as_int, false),
           "scatter", functions, static_cast<Combine>(args.scalars[1].as_int), false);
}
// index_put. Operands: dst; values, indices; scalars: reduction, axes before those of the indices, an axis
// per index.
void run_index_put(Stream&, const KernelArgs& args) {
  static Functions functions;
  run_walk(index_walk(input(args, 0), output(args, 0), &input(args, 1), args.scalars + 2,
                      args.input_count - 1, args.scalars[1].as_int, true),
           "index_put", functions, static_cast<Combine>(args.scalars[0].as_int), false);
}

}  // namespace

KernelLists map_kernels() {
  static const auto kCat = std::to_array<Kernel>({{"cat_text", supports_memory, run_cat}});
  static const auto kFlip = std::to_array<Kernel>({{"flip_text", supports_memory, run_flip}});
  static const auto kRoll = std::to_array<Kernel>({{"roll_text", supports_memory, run_roll}});
  static const auto kPad = std::to_array<Kernel>({{"pad_text", supports_memory, run_pad}});
  static const auto kTriangle = std::to_array<Kernel>({{"triangle_text", supports_memory, run_triangle}});
  static const auto kGather = std::to_array<Kernel>({{"gather_text", supports_gather, run_gather}});
  static const auto kIndex = std::to_array<Kernel>({{"index_text", supports_index, run_index}});
  static const auto kScatter = std::to_array<Kernel>({{"scatter_text", supports_gather, run_scatter}});
  static const auto kIndexPut = std::to_array<Kernel>({{"index_put_text", supports_index, run_index_put}});
  static const auto kLists = std::to_array<BackendKernels>({{"cat", kCat},
                                                            {"flip", kFlip},
                                                            {"roll", kRoll},
                                                            {"constant_pad_nd", kPad},
                                                            {"pad", kPad},
                                                            {"tril", kTriangle},
                                                            {"triu", kTriangle},
                                                            {"gather", kGather},
                                                            {"index", kIndex},
                                                            {"index_select", kIndex},
                                                            {"embedding", kIndex},
                                                            {"scatter", kScatter},
                                                            {"scatter_add", kScatter},
                                                            {"scatter_reduce", kScatter},
                                                            {"index_put", kIndexPut}});
  return kLists;
}

}  // namespace pel::grid
