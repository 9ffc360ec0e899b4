// Errors: one class per kind, each with a code that does not change between versions.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "pellucid/api.h"

namespace pel {

enum class ErrorCode {
  Shape = 1,           // sizes that the op does not accept
  DType = 2,           // a dtype that the op does not accept, or two that do not mix
  Index = 3,           // an axis or an index out of range
  Value = 4,           // an argument outside its domain
  Device = 5,          // operands on different devices, or a device that is not there
  Alias = 6,           // an output that overlaps an input or itself, or memory that is read-only
  Version = 7,         // a tensor was written to before its old value was used
  NoKernel = 8,        // no kernel of the list supports the call
  Memory = 9,          // out of memory, or over the limit set
  Registry = 10,       // an op, a schema or a handler registered wrongly
  Capture = 11,        // a call that cannot be part of a compiled graph
  File = 12,           // a file that cannot be read or written, or is malformed
  Expectation = 13,    // the kernels that ran do not meet an expectation
  Sync = 14,           // a call that waits for a device where ForbidSync forbids it
  Communication = 15,  // ranks that call different collectives, or a rank that has died or does not come
  Internal = 99,       // a bug in Pellucid
};

// "E01 shape", "E02 dtype" …: stable, made for searching.
PEL_API std::string_view error_code_name(ErrorCode code);

// what() reads: "E01 shape: view: <rule and values> [called at model.cc:12]".
// The op path grows from the inside out: an error of view inside flatten has op() == "flatten > view".
class PEL_API Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);
  const char* what() const noexcept override { return what_.c_str(); }
  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }  // rule and values, without op and source location
  const std::string& op() const { return op_; }
  const Site& site() const { return site_; }

  // An error of a kernel that ran after its call had returned: op() and site() are those of that call, and
  // what() also says which later call noticed it.
  bool is_late() const { return is_late_; }

  // Called by dispatch as the error leaves a call; the source location of the outermost call wins.
  void leave_call(std::string_view op, const Site& site);
  // Called before a late error is thrown, with the call that launched the kernel.
  void make_late(std::string_view op, const Site& site);

 private:
  void compose();
  ErrorCode code_;
  std::string message_, op_, what_;
  Site site_{};
  bool is_late_ = false;
  std::string noticed_by_;  // if it is late: the path of the call that noticed it
  Site noticed_at_{};
};

template <ErrorCode Code>
class ErrorOf : public Error {
 public:
  explicit ErrorOf(std::string message) : Error(Code, std::move(message)) {}
};

using ShapeError = ErrorOf<ErrorCode::Shape>;
using DTypeError = ErrorOf<ErrorCode::DType>;
using IndexError = ErrorOf<ErrorCode::Index>;
using ValueError = ErrorOf<ErrorCode::Value>;
using DeviceError = ErrorOf<ErrorCode::Device>;
using AliasError = ErrorOf<ErrorCode::Alias>;
using VersionError = ErrorOf<ErrorCode::Version>;
using NoKernelError = ErrorOf<ErrorCode::NoKernel>;
using MemoryError = ErrorOf<ErrorCode::Memory>;
using RegistryError = ErrorOf<ErrorCode::Registry>;
using CaptureError = ErrorOf<ErrorCode::Capture>;
using FileError = ErrorOf<ErrorCode::File>;
using ExpectationError = ErrorOf<ErrorCode::Expectation>;
using SyncError = ErrorOf<ErrorCode::Sync>;
using CommunicationError = ErrorOf<ErrorCode::Communication>;
using InternalError = ErrorOf<ErrorCode::Internal>;

// Exported so that a catch in a user's program matches the type that the library threw.
extern template class PEL_API ErrorOf<ErrorCode::Shape>;
extern template class PEL_API ErrorOf<ErrorCode::DType>;
extern template class PEL_API ErrorOf<ErrorCode::Index>;
extern template class PEL_API ErrorOf<ErrorCode::Value>;
extern template class PEL_API ErrorOf<ErrorCode::Device>;
extern template class PEL_API ErrorOf<ErrorCode::Alias>;
extern template class PEL_API ErrorOf<ErrorCode::Version>;
extern template class PEL_API ErrorOf<ErrorCode::NoKernel>;
extern template class PEL_API ErrorOf<ErrorCode::Memory>;
extern template class PEL_API ErrorOf<ErrorCode::Registry>;
extern template class PEL_API ErrorOf<ErrorCode::Capture>;
extern template class PEL_API ErrorOf<ErrorCode::File>;
extern template class PEL_API ErrorOf<ErrorCode::Expectation>;
extern template class PEL_API ErrorOf<ErrorCode::Sync>;
extern template class PEL_API ErrorOf<ErrorCode::Communication>;
extern template class PEL_API ErrorOf<ErrorCode::Internal>;

}  // namespace pel
