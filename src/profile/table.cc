// Sums a profile by op, kernel, call site or module; and the waits for asynchronous devices.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "pellucid/machine.h"
#include "pellucid/profile.h"

#include "base/readable.h"

namespace pel {
namespace {

struct Launches {
  std::uint64_t count = 0, ns = 0, bytes = 0, flops = 0;
  double roof_ns = 0;
  void add(const Launches& other) {
    count += other.count;
    ns += other.ns;
    bytes += other.bytes;
    flops += other.flops;
    roof_ns += other.roof_ns;
  }
};

// Sums over ended spans inside one that is still open.
struct Ended {
  std::uint64_t begin_ns = 0;
  std::uint64_t first_kernel_ns = ~std::uint64_t{0};  // when it began
  std::uint64_t ops_ns = 0, modules_ns = 0;           // in the outermost ops and modules of it
  Launches all, no_op, no_module;  // all inside; those that belong to no op, to no module inside
};

std::string place_of(const Site& site) {
  return site.line() == 0 ? "(not known)" : fmt::format("{}:{}", site.file_name(), site.line());
}

Launches launches_of(const ProfileEvent& kernel, const std::optional<Machine>& machine) {
  const std::uint64_t bytes = kernel.bytes_read + kernel.bytes_written;
  const DType dtype = kernel.shapes.empty() ? DType::F32 : kernel.shapes[0].dtype;
  const double roof = machine ? machine->roof_ns(bytes, kernel.flops, dtype) : 0;
  return {1, kernel.end_ns - kernel.begin_ns, bytes, kernel.flops, roof};
}

// Kernels of asynchronous devices by the correlation of their launches.
using QueuedKernels = std::unordered_map<std::uint64_t, Launches>;

class Summing {
 public:
  Summing(ProfileBy by, const std::optional<Machine>& machine, const QueuedKernels& queued)
      : by_(by), machine_(machine), queued_(queued) {}

  void take(const ProfileEvent& e) {
    using Kind = ProfileEvent::Kind;
    if (e.kind == Kind::Sync && by_ == ProfileBy::Wait) {
      ProfileRow& row = rows_[fmt::format("{}, {}", e.name, place_of(e.site))];
      ++row.calls;
      row.total_ns += e.end_ns - e.begin_ns;
      row.self_ns += e.end_ns - e.begin_ns;
      row.queued += e.queued;
    }
    // The kernel has the time of its pieces, and an op that of its waits.
    if (e.kind == Kind::Memory || e.kind == Kind::Piece || e.kind == Kind::Copy || e.kind == Kind::Sync ||
        by_ == ProfileBy::Wait)
      return;
    if (e.kind == Kind::Kernel && is_asynchronous(e.device)) return take_queued(e);
    const auto launched = e.kind == Kind::Launch ? queued_.find(e.correlation) : queued_.end();
    if (e.kind == Kind::Launch && launched == queued_.end()) return;  // a copy
    if (e.thread != thread_) ended_.clear();
    thread_ = e.thread;
    const std::uint64_t ns = e.end_ns - e.begin_ns;
    Ended now;
    now.begin_ns = e.begin_ns;
    while (!ended_.empty() && ended_.back().begin_ns >= e.begin_ns) {
      const Ended& inner = ended_.back();
      now.first_kernel_ns = std::min(now.first_kernel_ns, inner.first_kernel_ns);
      now.ops_ns += inner.ops_ns;
      now.modules_ns += inner.modules_ns;
      now.all.add(inner.all);
      now.no_op.add(inner.no_op);
      now.no_module.add(inner.no_module);
      ended_.pop_back();
    }
    if (e.kind == Kind::Kernel || e.kind == Kind::Launch) {
      const bool is_here = e.kind == Kind::Kernel;  // take_queued adds the others
      now.first_kernel_ns = e.begin_ns;
      now.all = now.no_op = now.no_module = is_here ? launches_of(e, machine_) : launched->second;
      if (by_ == ProfileBy::Kernel && is_here) add_span(e.name, ns, ns, now, now.all);
      if (by_ == ProfileBy::Site && is_here) add_launches(rows_[place_of(e.site)], now.all, now.all);
    } else if (e.kind == Kind::Op) {
      if (by_ == ProfileBy::Op) add_span(e.name, ns, ns - std::min(ns, now.ops_ns), now, now.no_op);
      if (by_ == ProfileBy::Site && e.is_outermost) {
        ProfileRow& row = rows_[place_of(e.site)];
        ++row.calls;
        row.total_ns += ns;
        row.self_ns += ns;
      }
      now.ops_ns = ns;
      now.no_op = {};
    } else if (e.kind == Kind::Module) {
      if (by_ == ProfileBy::Module)
        add_span(e.name, ns, ns - std::min(ns, now.modules_ns), now, now.no_module);
      now.modules_ns = ns;
      now.no_module = {};
    }
    if (e.depth != 0) ended_.push_back(now);  // otherwise nothing will enclose it
  }

  std::vector<ProfileRow> rows() {
    std::vector<ProfileRow> all;
    for (auto& [name, row] : rows_) {
      row.name = name;
      all.push_back(row);
    }
    std::sort(all.begin(), all.end(), [](const ProfileRow& a, const ProfileRow& b) {
      return a.self_ns != b.self_ns ? a.self_ns > b.self_ns : a.name < b.name;
    });
    return all;
  }

 private:
  // A kernel runs on a thread of the device: its launch stands in the spans around it.
  void take_queued(const ProfileEvent& e) {
    Ended alone;
    alone.begin_ns = alone.first_kernel_ns = e.begin_ns;
    alone.all = launches_of(e, machine_);
    if (by_ == ProfileBy::Kernel) add_span(e.name, alone.all.ns, alone.all.ns, alone, alone.all);
    if (by_ == ProfileBy::Site) add_launches(rows_[place_of(e.site)], alone.all, alone.all);
  }
  static void add_launches(ProfileRow& row, const Launches& all, const Launches& own) {
    row.kernels += all.count;
    row.kernel_ns += all.ns;
    row.own_kernels += own.count;
    row.own_kernel_ns += own.ns;
    row.bytes += own.bytes;
    row.flops += own.flops;
    row.roof_ns += own.roof_ns;
  }
  void add_span(const char* name, std::uint64_t ns, std::uint64_t self_ns, const Ended& inside,
                const Launches& own) {
    ProfileRow& row = rows_[name];
    ++row.calls;
    row.total_ns += ns;
    row.self_ns += self_ns;
    if (inside.all.count != 0) row.before_kernel_ns += inside.first_kernel_ns - inside.begin_ns;
    add_launches(row, inside.all, own);
  }

  ProfileBy by_;
  const std::optional<Machine>& machine_;
  const QueuedKernels& queued_;
  std::uint32_t thread_ = ~std::uint32_t{0};
  std::vector<Ended> ended_;
  std::map<std::string, ProfileRow, std::less<>> rows_;
};

// The end of a name says more than its beginning.
std::string shortened(const std::string& name, std::size_t width) {
  return name.size() <= width ? name : "…" + name.substr(name.size() - width + 1);
}

std::string rate(std::uint64_t amount, std::uint64_t ns) {
  return amount == 0 || ns == 0
             ? ""
             : fmt::format("{:.1f}", static_cast<double>(amount) / static_cast<double>(ns));
}
std::string share(double part, std::uint64_t whole) {
  return part == 0 || whole == 0 ? "" : fmt::format("{:.0f} %", 100 * part / static_cast<double>(whole));
}

constexpr std::size_t kName = 26;
std::string line(std::string_view name, std::array<std::string, 9> cells) {
  constexpr std::array<std::size_t, 9> kWidths = {6, 7, 9, 9, 10, 6, 7, 5, 6};
  std::string text = fmt::format("{:<{}}", name, kName);
  for (std::size_t i = 0; i < cells.size(); ++i) text += fmt::format(" {:>{}}", cells[i], kWidths[i]);
  text.erase(text.find_last_not_of(' ') + 1);
  return text += '\n';
}

std::string wait_table(const std::vector<ProfileRow>& rows, std::size_t max_rows) {
  constexpr std::size_t kWhere = 67;
  const auto row_text = [&](std::string_view where, std::string_view times, std::string_view waited,
                            std::string_view queued) {
    return fmt::format("{:<{}} {:>7} {:>12} {:>11}\n", where, kWhere, times, waited, queued);
  };
  std::string text = row_text("wait for a device", "times", "waited", "queued");
  text += fmt::format("{:-<100}\n", "");
  std::uint64_t times = 0, waited_ns = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ProfileRow& row = rows[i];
    times += row.calls;
    waited_ns += row.total_ns;
    if (i >= max_rows) continue;
    // Both the reason and the line are at the ends: the middle of a long path goes.
    std::string where = row.name;
    if (where.size() > kWhere) where = where.substr(0, 28) + "…" + where.substr(where.size() - kWhere + 29);
    text += row_text(where, std::to_string(row.calls), readable_ns(row.total_ns), std::to_string(row.queued));
  }
  if (rows.size() > max_rows) text += fmt::format("and {} more\n", rows.size() - max_rows);
  text += fmt::format("{} waits, {}; queued: commands that had not ended when they began\n", times,
                      readable_ns(waited_ns));
  return text;
}

}  // namespace

std::vector<ProfileRow> Profile::rows(ProfileBy by) {
  const std::optional<Machine> machine = Machine::known();
  QueuedKernels queued;
  each([&](const ProfileEvent& e) {
    if (e.kind == ProfileEvent::Kind::Kernel && is_asynchronous(e.device) && e.correlation != 0)
      queued.emplace(e.correlation, launches_of(e, machine));
  });
  Summing sums(by, machine, queued);
  each([&](const ProfileEvent& e) { sums.take(e); });
  return sums.rows();
}

std::string Profile::table(ProfileBy by, std::size_t max_rows) {
  constexpr std::string_view kTitles[] = {"op", "kernel", "call site", "module"};
  std::vector<ProfileRow> all = rows(by);
  if (by == ProfileBy::Wait) return wait_table(all, max_rows);
  std::string text = line(kTitles[static_cast<int>(by)], {"calls", "kernels", "total", "self", "in kernels",
                                                          "GB/s", "GFLOP/s", "roof", "before"});
  text += fmt::format("{:-<100}\n", "");
  std::uint64_t self_ns = 0, kernels = 0, kernel_ns = 0;
  double roof_ns = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ProfileRow& row = all[i];
    self_ns += row.self_ns;
    kernels += row.own_kernels;
    kernel_ns += row.own_kernel_ns;
    roof_ns += row.roof_ns;
    if (i >= max_rows) continue;
    text += line(shortened(row.name, kName),
                 {std::to_string(row.calls), std::to_string(row.kernels), readable_ns(row.total_ns),
                  readable_ns(row.self_ns), readable_ns(row.kernel_ns), rate(row.bytes, row.own_kernel_ns),
                  rate(row.flops, row.own_kernel_ns), share(row.roof_ns, row.own_kernel_ns),
                  share(static_cast<double>(row.before_kernel_ns), row.total_ns)});
  }
  if (all.size() > max_rows) text += fmt::format("and {} more\n", all.size() - max_rows);
  text += fmt::format("{} kernels in {}; {} {}\n", kernels, readable_ns(kernel_ns), readable_ns(self_ns),
                      by == ProfileBy::Kernel ? "on the device" : "in all");
  std::uint64_t waits = 0, waited_ns = 0;
  each([&](const ProfileEvent& e) {
    if (e.kind != ProfileEvent::Kind::Sync) return;
    ++waits;
    waited_ns += e.end_ns - e.begin_ns;
  });
  if (waits != 0) text += fmt::format("{} waits for devices took {}\n", waits, readable_ns(waited_ns));
  if (roof_ns == 0 && kernels != 0)
    text += "the roofs of this machine are not known: run `pellucid machine` once\n";
  if (const std::uint64_t lost = dropped(); lost != 0)
    text +=
        fmt::format("{} events were dropped: ProfileOptions::max_bytes is {} bytes\n", lost, bytes_used());
  return text;
}

}  // namespace pel
