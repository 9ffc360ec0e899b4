// A kernel of PTX after parsing. Registers, constants, special registers and addresses of variables are slots
// of a thread; an operand is the number of one.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/cuda_driver/ptx_module.h"

namespace pel::test::ptx {

enum class Type : std::uint8_t {
  None,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  B8,
  B16,
  B32,
  B64,
  F16,
  F32,
  F64,
  Pred
};
enum class Op : std::uint8_t {
  Mov,
  Pack,
  Unpack,
  Load,
  Store,
  Add,
  Sub,
  Mul,
  MulHigh,
  MulWide,
  Mad,
  MadWide,
  Fma,
  Div,
  Rem,
  Neg,
  Abs,
  Min,
  Max,
  Sqrt,
  Reciprocal,
  And,
  Or,
  Xor,
  Not,
  Shl,
  Shr,
  Compare,
  Select,
  Convert,
  Branch,
  Return,
  Barrier,
  Popc,
  Clz,
  BitsOut,
  BitsIn,
  Permute,
  FunnelLeft,
  FunnelRight,
  Logic3,
  CompareAndSwap,
  Exchange,
  AtomicAdd
};
enum class Comparison : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
enum class Rounding : std::uint8_t { None, Nearest, NearestInteger, Zero, Down, Up };
enum class Combine : std::uint8_t { None, And, Or, Xor };

constexpr int kNoSlot = -1;
struct Instruction {
  Op op{};
  Type type = Type::None, from = Type::None;
  Comparison comparison{};
  Rounding rounding{};
  Combine combine{};
  bool propagates_nan = false, saturates = false, is_combined_negated = false;
  int guard = kNoSlot;
  bool is_guard_negated = false;
  int target = -1;                  // of a branch
  std::vector<int> to, from_slots;  // slots that are written and read; kNoSlot: dropped
  std::int64_t offset = 0;          // of an address in from_slots[0]
  std::string text;
};

// Memory of each thread, each block, or the call.
enum class Space : std::uint8_t { Local, Shared, Parameter, Module };
struct Variable {
  Space space{};
  std::uint64_t offset = 0;  // for Module: the address
  int slot = kNoSlot;
};
struct Parameter {
  std::size_t offset = 0, size = 0;
};
// What a slot is when a thread begins.
struct Special {
  int slot = 0;
  char kind = 0;  // t: thread, n: threads of a block, c: block, g: blocks of the grid
  int axis = 0;
};

struct Function {
  std::string name;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0, local_bytes = 0, shared_bytes = 0;
  std::vector<std::uint64_t> initial;  // of all slots: constants, and addresses of the module's variables
  std::vector<Special> specials;
  std::map<std::string, Variable> variables;
  std::vector<Instruction> code;
  std::vector<std::pair<std::uint64_t, std::size_t>> constants;  // addresses and bytes of the module's tables
};

// Bytes of a type.
constexpr std::size_t width(Type type) {
  switch (type) {
    case Type::U8:
    case Type::S8:
    case Type::B8:
    case Type::Pred:
      return 1;
    case Type::U16:
    case Type::S16:
    case Type::B16:
    case Type::F16:
      return 2;
    case Type::U32:
    case Type::S32:
    case Type::B32:
    case Type::F32:
      return 4;
    default:
      return 8;
  }
}

struct Module::Contents {
  std::map<std::string, Function> functions;
  std::map<std::string, std::uint64_t> variables;  // addresses of constants
  std::vector<std::vector<std::uint64_t>> memory;
};

}  // namespace pel::test::ptx
