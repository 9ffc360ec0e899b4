// Returns what a call throws as a value.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "pellucid/error.h"

namespace pel::test {

// Returns the error of type E that `f` throws. Anything else fails the test.
template <class E, class F>
E thrown_by(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error;
  } catch (const Error& other) {
    ADD_FAILURE() << "another error was thrown: " << other.what();
    return E("another error was thrown");
  }
  ADD_FAILURE() << "nothing was thrown";
  return E("nothing was thrown");
}

inline std::string file_of(const Site& site) {
  const std::string path = site.file_name();
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace pel::test
