// Time by module: nn.Module frames (with_stack=True or with_modules=True) and annotations of the user.
#include <fmt/format.h>

#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/run_phases.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

constexpr std::string_view kModulePrefix = "nn.Module: ";
constexpr int kMaxModuleLevels = 1000;
constexpr std::uint32_t kNoFrame = ~std::uint32_t{0};

struct ModuleTime {
  SaturatingSum host_ns, device_ns, backward_ns;
  std::int64_t kernels = 0;

  void add(const ModuleTime& other) {
    host_ns += other.host_ns;
    device_ns += other.device_ns;
    backward_ns += other.backward_ns;
    kernels += other.kernels;
  }
};
// One call of a module.
struct Frame {
  EventId event;
  std::uint32_t outer = kNoFrame;
  bool is_outermost = true;  // it is not inside another call of the same module
  ModuleTime self{}, total{};
};
struct ModuleSum {
  std::int64_t calls = 0;
  ModuleTime self{}, total{};
  std::string_view inside{};  // the module around its first call
};

class ModuleTimes {
 public:
  explicit ModuleTimes(const Examined& examined)
      : model_(examined.model),
        events_(model_.events()),
        marks_(model_),
        frame_names_(events_.names.size(), kNotAsked) {
    if (!has_any()) return;
    for (const RowId row : model_.host_rows()) walk(row);
    for (const RowId row : model_.host_rows()) add_backward(row);
    for (std::size_t i = frames_.size(); i-- > 0;) {  // what is inside comes after what is around it
      Frame& frame = frames_[i];
      frame.total.add(frame.self);
      if (frame.outer != kNoFrame) frames_[frame.outer].total.add(frame.total);
    }
    for (const Frame& frame : frames_) {
      ModuleSum& sum = modules_[events_.name(frame.event)];
      if (sum.calls++ == 0 && frame.outer != kNoFrame) sum.inside = events_.name(frames_[frame.outer].event);
      sum.self.add(frame.self);
      if (frame.is_outermost) sum.total.add(frame.total);
      if (frame.outer == kNoFrame) inside_.add(frame.total);
    }
  }
  const std::map<std::string_view, ModuleSum>& modules() const { return modules_; }
  const ModuleTime& inside() const { return inside_; }

 private:
  // Annotations that say something else than a part of the model are those of phases and steps.
  bool is_module(EventId e) {
    const Category category = events_.category(e);
    if (category == Category::PythonFunction) {
      std::uint8_t& is_frame = frame_names_[events_.name_id(e)];
      if (is_frame == kNotAsked) is_frame = events_.name(e).starts_with(kModulePrefix) ? 1 : 0;
      return is_frame == 1;
    }
    return category == Category::UserAnnotation && !marks_.is_step(e) && !marks_.mark_of(e);
  }
  bool has_any() {
    for (EventId e = 0; e < events_.size(); ++e) {
      if (is_module(e)) return true;
    }
    return false;
  }

  void walk(RowId row) {
    std::vector<std::uint32_t> around;
    const auto leave = [&] {
      --active_[events_.name_id(frames_[around.back()].event)];
      around.pop_back();
    };
    for (const EventId e : model_.of_row(row)) {
      const std::int64_t begin = events_.begin_ns(e), end = events_.end_ns(e);
      while (!around.empty() && events_.end_ns(frames_[around.back()].event) <= begin) leave();
      if (is_module(e)) {
        Frame frame{.event = e};
        frame.self.host_ns += end - begin;
        if (!around.empty()) {
          frame.outer = around.back();
          Frame& outer = frames_[frame.outer];
          outer.self.host_ns -= std::min(end, events_.end_ns(outer.event)) - begin;
        }
        frame.is_outermost = active_[events_.name_id(e)]++ == 0;
        places_.emplace(e, static_cast<std::uint32_t>(frames_.size()));
        around.push_back(static_cast<std::uint32_t>(frames_.size()));
        frames_.push_back(frame);
      } else if (!around.empty() && events_.is_call(e)) {
        add_activities(e, frames_[around.back()].self, &ModuleTime::device_ns);
      }
    }
    while (!around.empty()) leave();
  }

  void add_activities(EventId call, ModuleTime& time, SaturatingSum ModuleTime::* where) {
    for (const std::uint32_t i : model_.launched_by(call)) {
      const Activity& activity = model_.activities()[i];
      time.*where += activity.end_ns - activity.begin_ns;
      if (events_.category(activity.event) == Category::Kernel) ++time.kernels;
    }
  }

  // What is launched outside of modules for the gradient of an op belongs to the module of the op.
  void add_backward(RowId row) {
    std::int64_t inside_until = std::numeric_limits<std::int64_t>::min();
    EventId last_forward = kNoEvent;
    std::uint32_t last_frame = kNoFrame;
    for (const EventId e : model_.of_row(row)) {
      if (is_module(e)) inside_until = std::max(inside_until, events_.end_ns(e));
      if (!events_.is_call(e) || events_.begin_ns(e) < inside_until) continue;
      EventId op = model_.parent(e);
      for (int level = 0; op != kNoEvent && level < kMaxModuleLevels && !marks_.has_forward(op); ++level)
        op = model_.parent(op);
      const EventId forward = op == kNoEvent ? kNoEvent : model_.forward_of(op);
      if (forward == kNoEvent) continue;
      if (forward != last_forward) {
        last_forward = forward;
        last_frame = frame_around(forward);
      }
      if (last_frame != kNoFrame) add_activities(e, frames_[last_frame].self, &ModuleTime::backward_ns);
    }
  }
  std::uint32_t frame_around(EventId e) const {
    for (int level = 0; e != kNoEvent && level < kMaxModuleLevels; ++level, e = model_.parent(e)) {
      if (const auto at = places_.find(e); at != places_.end()) return at->second;
    }
    return kNoFrame;
  }

  const Model& model_;
  const EventTable& events_;
  RunPhases marks_;
  static constexpr std::uint8_t kNotAsked = 0xFF;
  std::vector<std::uint8_t> frame_names_;  // by NameId: whether it is a module's
  std::vector<Frame> frames_;
  std::unordered_map<EventId, std::uint32_t> places_;  // of frames
  std::unordered_map<NameId, int> active_;             // how many calls of a module are open on the row
  std::map<std::string_view, ModuleSum> modules_;
  ModuleTime inside_;
};

std::string_view without_prefix(std::string_view module) {
  return module.starts_with(kModulePrefix) ? module.substr(kModulePrefix.size()) : module;
}

// "Linear" of "nn.Module: Linear_3".
std::string_view class_of(std::string_view module) {
  std::string_view name = without_prefix(module);
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end != std::string_view::npos && end + 1 < name.size() && name[end] == '_') name = name.substr(0, end);
  return name;
}

struct ClassSum {
  std::int64_t instances = 0, calls = 0;
  ModuleTime self{};
};

std::int64_t both_ns(const ModuleTime& time) { return time.device_ns + time.backward_ns; }

}  // namespace

std::optional<Finding> analyse_modules(const Examined& examined) {
  const ModuleTimes times(examined);
  if (times.modules().empty()) return std::nullopt;
  SaturatingSum all_ns;
  for (const Activity& activity : examined.model.activities()) all_ns += activity.end_ns - activity.begin_ns;
  std::map<std::string_view, ClassSum> classes;
  for (const auto& [module, sum] : times.modules()) {
    if (!module.starts_with(kModulePrefix)) continue;
    ClassSum& kind = classes[class_of(module)];
    ++kind.instances;
    kind.calls += sum.calls;
    kind.self.add(sum.self);
  }
  Finding finding{.key = "modules", .title = "Modules"};
  finding.facts = {
      {"modules", "modules and annotations", static_cast<std::int64_t>(times.modules().size()), Unit::Count},
      {"device_ns", "device time in them", times.inside().device_ns, Unit::Nanoseconds},
      {"backward_ns", "of their backward passes", times.inside().backward_ns, Unit::Nanoseconds},
      {"share", "of all activity time", percent_of(both_ns(times.inside()), all_ns), Unit::Percent},
      {"host_ns", "host time in them", times.inside().host_ns, Unit::Nanoseconds},
  };
  // What is around comes before what is inside.
  const auto measure = [](const ModuleTime& time) {
    return std::pair<std::int64_t, std::int64_t>(both_ns(time), time.host_ns);
  };
  Table table{.key = "modules",
              .title = "by total time; self is without the modules inside",
              .columns = {{"module", "module", Unit::None, true},
                          {"kind", ""},
                          {"inside", ""},
                          {"calls", "calls", Unit::Count},
                          {"device_ns", "device", Unit::Nanoseconds},
                          {"device_self_ns", "self", Unit::Nanoseconds},
                          {"backward_ns", "backward", Unit::Nanoseconds},
                          {"backward_self_ns", "", Unit::Nanoseconds},
                          {"share", "of all", Unit::Percent},
                          {"kernels", "kernels", Unit::Count},
                          {"kernels_self", "", Unit::Count},
                          {"host_ns", "host", Unit::Nanoseconds},
                          {"host_self_ns", "", Unit::Nanoseconds}},
              .rows = {},
              .shown = 12};
  for (const auto& [module, sum] :
       by_largest(times.modules(), [&](const ModuleSum& s) { return measure(s.total); }))
    table.rows.push_back({std::string(without_prefix(*module)),
                          std::string(module->starts_with(kModulePrefix) ? "module" : "annotation"),
                          sum->inside.empty() ? Value() : Value(std::string(without_prefix(sum->inside))),
                          sum->calls, sum->total.device_ns, sum->self.device_ns, sum->total.backward_ns,
                          sum->self.backward_ns, percent_of(both_ns(sum->total), all_ns), sum->total.kernels,
                          sum->self.kernels, sum->total.host_ns, sum->self.host_ns});
  finding.tables.push_back(std::move(table));
  if (classes.empty()) return finding;
  Table by_class{.key = "classes",
                 .title = "by class, self time",
                 .columns = {{"class", "class", Unit::None, true},
                             {"instances", "modules", Unit::Count},
                             {"calls", "calls", Unit::Count},
                             {"device_self_ns", "device", Unit::Nanoseconds},
                             {"backward_self_ns", "backward", Unit::Nanoseconds},
                             {"share", "of all", Unit::Percent},
                             {"kernels_self", "kernels", Unit::Count},
                             {"host_self_ns", "host", Unit::Nanoseconds}},
                 .rows = {},
                 .shown = 8};
  for (const auto& [kind, sum] : by_largest(classes, [&](const ClassSum& c) { return measure(c.self); }))
    by_class.rows.push_back({std::string(*kind), sum->instances, sum->calls, sum->self.device_ns,
                             sum->self.backward_ns, percent_of(both_ns(sum->self), all_ns), sum->self.kernels,
                             sum->self.host_ns});
  finding.tables.push_back(std::move(by_class));
  return finding;
}

}  // namespace pel::doctor
