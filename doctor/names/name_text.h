// A kernel's name in pieces, each a view into it, found in one pass.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "doctor/names/kernel_name.h"

namespace pel::doctor::names {

using Pieces = std::vector<std::string_view>;

struct NameText {
  std::string_view text;
  std::string_view head;   // without return type and parameters: at::native::add_kernel<4, float>
  std::string_view scope;  // at::native::
  std::string_view leaf;   // add_kernel
  Pieces arguments;        // 4 and float

  bool has(std::string_view piece) const { return text.find(piece) != std::string_view::npos; }
  // The arguments from `first` on that are dtypes, until one is not.
  Pieces dtypes_from(std::size_t first) const;
};

NameText read_name(std::string_view text);

Pieces split(std::string_view text, char at);

// The text between the first bracket < and its partner, at the commas that belong to it.
Pieces template_arguments(std::string_view text);

// `piece` where it stands in `text`; empty where it does not.
std::string_view found(std::string_view text, std::string_view piece);
// What follows `piece` in `text`; empty where it does not stand there.
std::string_view after(std::string_view text, std::string_view piece);

std::optional<int> number(std::string_view text);          // of digits alone
int leading_number(std::string_view text);                 // 64 of "64ul"; 0 where there is none
std::optional<TileSize> tile_size(std::string_view text);  // 128x64, 128x64x32; of digits and x alone
std::string_view leading_digits(std::string_view text);
bool is_one_of(std::string_view text, std::span<const std::string_view> these);

// bf16 of "c10::BFloat16 const*"; empty where it is not a dtype.
std::string_view dtype_of_cpp(std::string_view type);
// f32 of the "s" in s16816gemm; empty where it is not such a letter.
std::string_view dtype_of_letter(char letter);
// bf16 of "bf16" and "Bfloat16", f8e4m3 of "e4m3"; empty where it is not such a word.
std::string_view dtype_of_word(std::string_view word);

// The kernels of one library by name. A star stands for any piece.
struct KnownKernel {
  std::string_view leaf;
  KernelFamily family;
  std::string_view functor;
};
bool fits(std::string_view pattern, std::string_view leaf);
const KnownKernel* find_known(std::span<const KnownKernel> kernels, std::string_view leaf);
// Says family and functor from the table; false where the leaf is not in it.
bool say_known(std::span<const KnownKernel> kernels, const NameText& name, std::string_view library,
               KernelName& out);

// The dtype of what is computed: the first floating type, because the others are indices and counts.
void say_value_dtype(const Pieces& types, KernelName& out);

}  // namespace pel::doctor::names
