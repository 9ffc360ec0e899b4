// Gives symbolic Dims their meaning. A capture installs one for its thread; eager code never needs it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pellucid/dim.h"
#include "pellucid/tensor.h"

namespace pel {

class DimContext {
 public:
  virtual ~DimContext() = default;
  virtual Dim combine(detail::DimOp op, Dim a, Dim b) = 0;
  // Answers for the sizes of the captured call, and records the answer as a guard.
  virtual bool compare(detail::DimRelation relation, Dim a, Dim b, const Site& site) = 0;
  virtual std::int64_t value(Dim a, const Site& site) = 0;
  virtual std::string text(Dim a) const = 0;
  virtual std::int64_t generic(Dim a) const = 0;  // see generic_value

  // Where a function tells a copy from a view, by a write to one of them: whether contiguous() and reshape()
  // copy is then asked for the sizes of the call, sizes of 1 included.
  bool asks_for_views = false;

  // A size passed as a tensor, as in x / x.size(0): a tensor without data, recognised later by its identity.
  void keep_number(const Tensor& number, Dim value) { numbers_.emplace_back(number, value); }
  Dim number(const Tensor& number) const {
    for (const auto& [known, value] : numbers_)
      if (known.is_same(number)) return value;
    return 0;
  }

 private:
  std::vector<std::pair<Tensor, Dim>> numbers_;
};
// That of this thread; an error where there is none.
DimContext& dim_context();
bool asks_for_views();  // of this thread's context, if there is one
// A size or stride where no size is 1 and inputs have the order of strides that they were captured with: what
// questions about the order of axes go by. A plain one is itself; a symbolic one is asked nothing.
std::int64_t generic_value(Dim dim);

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

// Whether tensors that this thread makes have data. While a function is captured they have none: they stand
// for what its graph will compute. A flag of its own, because a key would cost every tensor four instructions
// more.
enum class NewData : bool { Real, None };
extern constinit thread_local NewData new_data __attribute__((tls_model("initial-exec")));
class NewDataScope {
 public:
  explicit NewDataScope(NewData kind) : saved_(new_data) { new_data = kind; }
  ~NewDataScope() { new_data = saved_; }
  NewDataScope(const NewDataScope&) = delete;
  NewDataScope& operator=(const NewDataScope&) = delete;

 private:
  NewData saved_;
};

}  // namespace pel
