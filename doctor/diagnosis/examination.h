// A trace that was read, with everything that analyses use.
#pragma once

#include <string>

#include "doctor/analyses/analysis.h"
#include "doctor/readers/kineto.h"

namespace pel::doctor {

class Examination {
 public:
  explicit Examination(const std::string& path, const ReadOptions& options = {});
  explicit Examination(ByteSource& source, const ReadOptions& options = {});
  Examination(const Examination&) = delete;
  Examination& operator=(const Examination&) = delete;

  const Examined& examined() const { return examined_; }
  const Model& model() const { return model_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Model model_;
  KernelCatalog kernels_;
  DeviceTime time_;
  Examined examined_;
};

}  // namespace pel::doctor
