#include "doctor/diagnosis/examination.h"

namespace pel::doctor {
namespace {

Model read_model(ByteSource& source, const ReadOptions& options) {
  EventTable table;
  TraceSummary summary = read_kineto(source, [&](const TraceEvent& event) { table.take(event); }, options);
  return Model(std::move(table), std::move(summary));
}

}  // namespace

Examination::Examination(const std::string& path, const ReadOptions& options)
    : Examination(*open_source(path), options) {}

Examination::Examination(ByteSource& source, const ReadOptions& options)
    : path_(source.name()),
      model_(read_model(source, options)),
      kernels_(model_),
      time_(model_, kernels_),
      examined_{model_, kernels_, time_} {}

}  // namespace pel::doctor
