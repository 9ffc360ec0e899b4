#include "core/errors.h"

#include <new>

#include <pellucid/extend/site.h>

namespace pel::python {
namespace {

nb::object error_class(const char* name) { return nb::module_::import_("pellucid.errors").attr(name); }

const char* class_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::Shape:
      return "ShapeError";
    case ErrorCode::DType:
      return "DTypeError";
    case ErrorCode::Index:
      return "IndexError";
    case ErrorCode::Value:
      return "ValueError";
    case ErrorCode::Device:
      return "DeviceError";
    case ErrorCode::Alias:
      return "AliasError";
    case ErrorCode::Version:
      return "VersionError";
    case ErrorCode::NoKernel:
      return "NoKernelError";
    case ErrorCode::Memory:
      return "MemoryError";
    case ErrorCode::Registry:
      return "RegistryError";
    case ErrorCode::Capture:
      return "CaptureError";
    case ErrorCode::File:
      return "FileError";
    case ErrorCode::Expectation:
      return "ExpectationError";
    case ErrorCode::Sync:
      return "SyncError";
    case ErrorCode::Communication:
      return "CommunicationError";
    case ErrorCode::Internal:
      return "InternalError";
  }
  return "Error";
}

std::string short_text(const UserLine& at) {
  const std::size_t slash = at.file.rfind('/');
  return at.file.substr(slash == std::string::npos ? 0 : slash + 1) + ":" + std::to_string(at.line);
}

// Sets an exception of pellucid.errors with its attributes; "E01 shape: view: RULE [called at model.py:12]".
// A late error has the line of the call that launched the kernel, and says which line noticed it.
void set_error(const char* class_name, std::string_view code_name, const std::string& op,
               const std::string& rule, const Error* late = nullptr) {
  const UserLine here = user_line();
  UserLine at = here;
  if (late != nullptr)
    at = late->site().line() == 0 ? UserLine{} : UserLine{late->site().file_name(), late->site().line()};
  const std::string line = at.file.empty() ? "" : at.file + ":" + std::to_string(at.line);
  std::string text(code_name);
  text += ": ";
  if (!op.empty()) text += op + ": ";
  text += rule;
  if (!line.empty()) text += " [called at " + short_text(at) + "]";
  if (late != nullptr) {
    text += " [the kernel ran after its call had returned";
    if (!here.file.empty()) text += "; noticed at " + short_text(here);
    text += "]";
  }
  const std::string code(code_name.substr(0, code_name.find(' ')));
  const nb::object error_type = error_class(class_name);
  nb::object error = error_type(nb::str(text.c_str()));
  error.attr("code") = nb::str(code.c_str());
  error.attr("op") = op.empty() ? nb::object(nb::none()) : nb::object(nb::str(op.c_str()));
  error.attr("line") = line.empty() ? nb::object(nb::none()) : nb::object(nb::str(line.c_str()));
  PyErr_SetObject(error_type.ptr(), error.ptr());
}

void set_current_error() {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    set_error(class_of(error.code()), error_code_name(error.code()), error.op(), error.message(),
              error.is_late() ? &error : nullptr);
  } catch (const ArgumentError& error) {
    set_error("ArgumentError", error_code_name(ErrorCode::Value), error.op(), error.what());
  } catch (const std::bad_alloc&) {
    set_error("MemoryError", error_code_name(ErrorCode::Memory), "", "The system has no more memory.");
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(error.type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_RuntimeError,
                    error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

// The folder of this package, with a slash: its frames are not the user's.
const std::string& package_folder() {
  static const std::string& folder = *new std::string([] {
    const nb::object file = nb::module_::import_("pellucid").attr("__file__");
    const std::string path = nb::str(file).c_str();
    return path.substr(0, path.rfind('/') + 1);
  }());
  return folder;
}

}  // namespace

void set_python_error() noexcept {
  try {
    set_current_error();
  } catch (nb::python_error& error) {  // pellucid.errors cannot be imported: the interpreter is shutting down
    error.restore();
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "Pellucid could not report an error.");
  }
}

UserLine user_line() {
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && !frame.is_none()) {
    auto* const raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    const nb::object name = code.attr("co_filename");
    const char* const file = PyUnicode_AsUTF8AndSize(name.ptr(), nullptr);
    if (file == nullptr) {
      PyErr_Clear();
      return {};
    }
    if (std::string_view(file).substr(0, package_folder().size()) != package_folder())
      return {file, static_cast<std::uint32_t>(PyFrame_GetLineNumber(raw))};
    frame = frame.attr("f_back");
  }
  return {};
}

Site user_site() {
  const UserLine at = user_line();
  return at.file.empty() ? Site{} : make_site(at.file, at.line);
}

}  // namespace pel::python
