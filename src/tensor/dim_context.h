// What gives symbolic Dims their meaning. The capture installs one for its thread; eager code never needs it.
#pragma once

#include <cstdint>
#include <string>

#include "pellucid/dim.h"

namespace pel {

class DimContext {
 public:
  virtual ~DimContext() = default;
  virtual Dim combine(detail::DimOp op, Dim a, Dim b) = 0;
  // Answers for the sizes of the captured call, and records the answer as a guard.
  virtual bool compare(detail::DimRelation relation, Dim a, Dim b, const Site& site) = 0;
  virtual std::int64_t value(Dim a, const Site& site) = 0;
  virtual std::string text(Dim a) const = 0;
};

// Installs a context for this thread while in scope.
class DimContextScope {
 public:
  explicit DimContextScope(DimContext& context);
  ~DimContextScope();
  DimContextScope(const DimContextScope&) = delete;
  DimContextScope& operator=(const DimContextScope&) = delete;

 private:
  DimContext* outer_;
};

}  // namespace pel
