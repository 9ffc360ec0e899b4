// Errors of the library as Python exceptions, and the user's line.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <pellucid/error.h>

namespace pel::python {

namespace nb = nanobind;

// An argument of a wrong type or number: pellucid.errors.ArgumentError, which is a TypeError.
class ArgumentError : public std::exception {
 public:
  explicit ArgumentError(std::string message, std::string op = {})
      : message_(std::move(message)), op_(std::move(op)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& op() const { return op_; }
  void set_op(std::string_view op) {
    if (op_.empty()) op_ = op;
  }

 private:
  std::string message_, op_;
};

// Sets the Python exception for the C++ exception that is being handled.
void set_python_error() noexcept;

// The innermost line of Python that is not in this package: file and number. Walks the frames of this thread.
struct UserLine {
  std::string file;
  std::uint32_t line = 0;
};
UserLine user_line();
// The same as a Site, for calls that a profile, a capture or a gradient records.
Site user_site();

// Runs `f`; an exception becomes a Python error, and the result nullptr (or -1).
template <class F>
auto guarded(F&& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    set_python_error();
    if constexpr (std::is_same_v<decltype(f()), int>) {
      return -1;
    } else {
      return {};
    }
  }
}

}  // namespace pel::python
