// All ops, and the handlers that layers above dispatch put on keys.
#pragma once

#include <string_view>
#include <vector>

#include "pellucid/extend/op.h"

namespace pel {

// A backend's kernels for one built-in op. The array must be static.
struct BackendKernels {
  std::string_view op;
  KernelList kernels;
};

class Registry {
 public:
  static void register_builtins();
  static const Op& register_user(OpDef def);
  static void register_backend(DeviceType device, ArrayView<BackendKernels> lists);

  // For one op; wins over the key's fallback. Where Autograd is the only key besides Backend, and where
  // Profile is on, a call is recorded directly (op.h): handlers on these keys are reached by boxed calls
  // alone.
  static void set_handler(const Op& op, Key key, Handler handler);
  static Handler handler(const Op& op, Key key) {
    return op.handlers_[static_cast<int>(key)].load(std::memory_order_acquire);
  }
  // For every op without a handler of its own. Null takes it away.
  static void set_fallback(Key key, Handler handler);
  static Handler fallback(Key key);

 private:
  static void fill(Op& op, OpDef def, bool is_builtin);
};

// Puts the profiler on its key; profile_key.cc.
void register_profile();

// Registers ops, backends and layers, once. Called by the first call of any kind.
void wire_runtime();

// Defined in src/runtime/, which alone knows all backends and layers.
void register_everything();

}  // namespace pel
