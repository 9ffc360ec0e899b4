// Sums a profile by op, kernel, call site or module.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

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

class Summing {
 public:
  Summing(ProfileBy by, const std::optional<Machine>& machine) : by_(by), machine_(machine) {}

  void take(const ProfileEvent& e) {
    using Kind = ProfileEvent::Kind;
    if (e.kind == Kind::Memory || e.kind == Kind::Piece) return;  // the kernel has the time of its pieces
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
    if (e.kind == Kind::Kernel) {
      now.first_kernel_ns = e.begin_ns;
      const std::uint64_t bytes = e.bytes_read + e.bytes_written;
      const DType dtype = e.shapes.empty() ? DType::F32 : e.shapes[0].dtype;
      const double roof = machine_ ? machine_->roof_ns(bytes, e.flops, dtype) : 0;
      now.all = now.no_op = now.no_module = {1, ns, bytes, e.flops, roof};
      if (by_ == ProfileBy::Kernel) add_span(e.name, ns, ns, now, now.all);
      if (by_ == ProfileBy::Site) add_launches(rows_[place_of(e.site)], now.all, now.all);
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

}  // namespace

std::vector<ProfileRow> Profile::rows(ProfileBy by) {
  const std::optional<Machine> machine = Machine::known();
  Summing sums(by, machine);
  each([&](const ProfileEvent& e) { sums.take(e); });
  return sums.rows();
}

std::string Profile::table(ProfileBy by, std::size_t max_rows) {
  constexpr std::string_view kTitles[] = {"op", "kernel", "call site", "module"};
  std::vector<ProfileRow> all = rows(by);
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
  if (roof_ns == 0 && kernels != 0)
    text += "the roofs of this machine are not known: run `pellucid machine` once\n";
  if (const std::uint64_t lost = dropped(); lost != 0)
    text +=
        fmt::format("{} events were dropped: ProfileOptions::max_bytes is {} bytes\n", lost, bytes_used());
  return text;
}

}  // namespace pel
