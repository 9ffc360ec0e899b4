#include "pellucid/extend/outside_capture.h"

#include <utility>

#include "tensor/dim_context.h"

namespace pel {

OutsideCapture::OutsideCapture()
    : saved_keys_(detail::thread_keys), saved_data_(std::exchange(new_data, NewData::Real) == NewData::Real) {
  detail::thread_keys.included = KeySet(saved_keys_.included).without(Key::Capture).bits();
}
OutsideCapture::~OutsideCapture() {
  detail::thread_keys = saved_keys_;
  new_data = saved_data_ ? NewData::Real : NewData::None;
}

}  // namespace pel
