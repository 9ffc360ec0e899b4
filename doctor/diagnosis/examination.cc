#include "doctor/diagnosis/examination.h"

#include "doctor/readers/read_trace.h"

namespace pel::doctor {
namespace {

Model read_model(ByteSource& source, const ReadOptions& options) {
  EventTable table;
  TraceSummary summary = read_trace(source, [&](const TraceEvent& event) { table.take(event); }, options);
  check_stop(options.stop);
  return Model(std::move(table), std::move(summary));
}

// Between two stages.
const Model& unless_stopped(const Model& model, const StopFlag* stop) {
  check_stop(stop);
  return model;
}

}  // namespace

Examination::Examination(const std::string& path, const ReadOptions& options)
    : Examination(*open_source(path), options) {}

Examination::Examination(ByteSource& source, const ReadOptions& options)
    : path_(source.name()),
      model_(read_model(source, options)),
      kernels_(unless_stopped(model_, options.stop)),
      time_(unless_stopped(model_, options.stop), kernels_),
      examined_{model_, kernels_, time_, nullptr, options.stop} {}

}  // namespace pel::doctor
