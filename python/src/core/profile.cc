// The profiler. pellucid/_profile.py makes a context manager, rows and tables of it.
#include <memory>
#include <optional>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <pellucid/profile.h>

#include "core/errors.h"
#include "core/module_parts.h"

namespace pel::python {
namespace {

using namespace nb::literals;

constexpr const char* kBy[] = {"op", "kernel", "line", "module", "wait"};

ProfileBy by_name(const std::string& name) {
  for (std::size_t i = 0; i < std::size(kBy); ++i) {
    if (name == kBy[i]) return static_cast<ProfileBy>(i);
  }
  throw ValueError("a profile has tables by op, kernel, line, module and wait, not by '" + name + "'");
}

nb::dict dict_of(const ProfileRow& row) {
  nb::dict fields;
  fields["name"] = nb::str(row.name.data(), row.name.size());
  fields["calls"] = row.calls;
  fields["total_ns"] = row.total_ns;
  fields["self_ns"] = row.self_ns;
  fields["kernels"] = row.kernels;
  fields["kernel_ns"] = row.kernel_ns;
  fields["own_kernels"] = row.own_kernels;
  fields["own_kernel_ns"] = row.own_kernel_ns;
  fields["bytes"] = row.bytes;
  fields["flops"] = row.flops;
  fields["roof_ns"] = row.roof_ns;
  fields["before_kernel_ns"] = row.before_kernel_ns;
  fields["queued"] = row.queued;
  return fields;
}

nb::list rows_of(Profile& profile, const std::string& by) {
  nb::list rows;
  for (const ProfileRow& row : profile.rows(by_name(by))) rows.append(dict_of(row));
  return rows;
}

std::unique_ptr<Profile> start_profile(bool shapes, bool layers, bool memory, std::int64_t max_bytes) {
  return std::make_unique<Profile>(
      ProfileOptions{.shapes = shapes, .layers = layers, .memory = memory, .max_bytes = max_bytes});
}

// A Range that Python opens and closes; of the user's own, or around the call of a module.
class KindRange : public Range {
 public:
  KindRange(ProfileEvent::Kind kind, const char* name, const Site& site) : Range(kind, name, site) {}
};
class OpenRange {
 public:
  OpenRange(const std::string& name, bool is_module)
      : name_(interned(name)), kind_(is_module ? ProfileEvent::Kind::Module : ProfileEvent::Kind::Range) {}
  void enter() { range_.emplace(kind_, name_, user_site()); }
  void exit() { range_.reset(); }

 private:
  const char* name_;
  ProfileEvent::Kind kind_;
  std::optional<KindRange> range_;
};

}  // namespace

void add_profile(nb::module_& m) {
  nb::class_<Profile>(m, "ProfileSession")
      .def("stop", &Profile::stop)
      .def("rows", &rows_of, "by"_a)
      .def(
          "table",
          [](Profile& profile, const std::string& by, std::size_t rows) {
            return profile.table(by_name(by), rows);
          },
          "by"_a, "max_rows"_a)
      .def(
          "write_trace", [](Profile& profile, const std::string& path) { profile.write_trace(path); },
          "path"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("event_count", &Profile::event_count)
      .def_prop_ro("dropped", &Profile::dropped)
      .def_prop_ro("duration_ns", &Profile::duration_ns);
  m.def("start_profile", &start_profile, nb::kw_only(), "shapes"_a, "layers"_a, "memory"_a, "max_bytes"_a);
  m.def("is_profiling", &is_profiling, "Whether a Profile records.");
  nb::class_<OpenRange>(m, "OpenRange")
      .def(nb::init<const std::string&, bool>(), "name"_a, "is_module"_a = false)
      .def("enter", &OpenRange::enter)
      .def("exit", &OpenRange::exit);
}

}  // namespace pel::python
