#include "pellucid/error.h"

#include <utility>

#include <fmt/format.h>

namespace pel {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::Shape:
      return "E01 shape";
    case ErrorCode::DType:
      return "E02 dtype";
    case ErrorCode::Index:
      return "E03 index";
    case ErrorCode::Value:
      return "E04 value";
    case ErrorCode::Device:
      return "E05 device";
    case ErrorCode::Alias:
      return "E06 alias";
    case ErrorCode::Version:
      return "E07 version";
    case ErrorCode::NoKernel:
      return "E08 no kernel";
    case ErrorCode::Memory:
      return "E09 memory";
    case ErrorCode::Registry:
      return "E10 registry";
    case ErrorCode::Capture:
      return "E11 capture";
    case ErrorCode::File:
      return "E12 file";
    case ErrorCode::Expectation:
      return "E13 expectation";
    case ErrorCode::Sync:
      return "E14 sync";
    case ErrorCode::Communication:
      return "E15 communication";
    case ErrorCode::Internal:
      return "E99 internal";
  }
  return "E?? unknown";
}

Error::Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) { compose(); }

void Error::leave_call(std::string_view op, const Site& site) {
  std::string& path = is_late_ ? noticed_by_ : op_;
  path = path.empty() ? std::string(op) : fmt::format("{} > {}", op, path);
  (is_late_ ? noticed_at_ : site_) = site;
  compose();
}

void Error::make_late(std::string_view op, const Site& site) {
  op_ = op;
  site_ = site;
  is_late_ = true;
  compose();
}

void Error::compose() {
  what_ = fmt::format("{}: ", error_code_name(code_));
  if (!op_.empty()) what_ += op_ + ": ";
  what_ += message_;
  if (site_.line() != 0) what_ += fmt::format(" [called at {}:{}]", site_.file_name(), site_.line());
  if (!is_late_) return;
  what_ += " [the kernel ran after its call had returned";
  if (!noticed_by_.empty()) what_ += "; noticed by " + noticed_by_;
  if (noticed_at_.line() != 0) what_ += fmt::format(" at {}:{}", noticed_at_.file_name(), noticed_at_.line());
  what_ += "]";
}

template class ErrorOf<ErrorCode::Shape>;
template class ErrorOf<ErrorCode::DType>;
template class ErrorOf<ErrorCode::Index>;
template class ErrorOf<ErrorCode::Value>;
template class ErrorOf<ErrorCode::Device>;
template class ErrorOf<ErrorCode::Alias>;
template class ErrorOf<ErrorCode::Version>;
template class ErrorOf<ErrorCode::NoKernel>;
template class ErrorOf<ErrorCode::Memory>;
template class ErrorOf<ErrorCode::Registry>;
template class ErrorOf<ErrorCode::Capture>;
template class ErrorOf<ErrorCode::File>;
template class ErrorOf<ErrorCode::Expectation>;
template class ErrorOf<ErrorCode::Sync>;
template class ErrorOf<ErrorCode::Communication>;
template class ErrorOf<ErrorCode::Internal>;

}  // namespace pel
