// The structs of DLPack 1.3, by which libraries pass tensors to each other without copying them. Layouts and
// numbers are the specification's; names are ours.
#pragma once

#include <cstdint>

namespace pel::python::dlpack {

struct Version {
  std::uint32_t major, minor;
};
inline constexpr Version kVersion = {1, 3};

inline constexpr std::int32_t kCpuDevice = 1;
struct Device {
  std::int32_t type, id;
};

enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

// A tensor that someone else owns. Strides are in elements; before 1.2 they may be null for row-major data.
struct Borrowed {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* sizes;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

// Before DLPack 1.0: no version, no flags.
struct Unversioned {
  Borrowed tensor;
  void* context;
  void (*deleter)(Unversioned* self);
};

inline constexpr std::uint64_t kReadOnly = 1, kIsCopied = 2;
struct Managed {
  Version version;
  void* context;
  void (*deleter)(Managed* self);
  std::uint64_t flags;
  Borrowed tensor;
};

// The table that a tensor type has as __dlpack_c_exchange_api__. Functions return 0, or -1 with a Python
// error set.
struct ExchangeHeader {
  Version version;
  ExchangeHeader* previous;
};
struct ExchangeTable {
  ExchangeHeader header;
  int (*allocate)(Borrowed* prototype, Managed** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, Managed** out);
  int (*object_from_managed)(Managed* tensor, void** out_object);
  int (*borrowed_from_object)(void* object, Borrowed* out);
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out_stream);
};

inline constexpr const char* kUnversionedName = "dltensor";
inline constexpr const char* kUsedUnversionedName = "used_dltensor";
inline constexpr const char* kManagedName = "dltensor_versioned";
inline constexpr const char* kUsedManagedName = "used_dltensor_versioned";
inline constexpr const char* kExchangeName = "dlpack_exchange_api";

}  // namespace pel::python::dlpack
