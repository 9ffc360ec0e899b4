#include "doctor/fleet/rank_tables.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "doctor/fleet/columns.h"
#include "doctor/fleet/rank_rows.h"
#include "doctor/fleet/storage.h"
#include "doctor/fleet/table_writer.h"
#include "doctor/model/saturating.h"

namespace pel::fleet {
namespace {

using doctor::Activity;
using doctor::Category;
using doctor::Collective;
using doctor::EventId;
using doctor::EventTable;
using doctor::Gap;
using doctor::kNoEvent;
using doctor::Model;
using doctor::NameId;
using doctor::RowId;

class RankTables {
 public:
  RankTables(const std::string& folder, const doctor::Examined& examined)
      : folder_(folder),
        examined_(examined),
        model_(examined.model),
        events_(examined.model.events()),
        first_ns_(first_ns(examined)) {
    order_events();
    find_steps();
  }

  void write(const doctor::RankFacts& facts) {
    write_events();
    write_launches();
    write_gaps();
    write_syncs();
    write_facts();
    write_collectives(facts);
    write_names();  // the last: those that the others have
  }

 private:
  TableWriter table(std::string_view name, std::span<const FleetColumn> columns) const {
    return TableWriter(path_in(folder_, fmt::format("{}.parquet", name)), columns);
  }

  // Row by row, each by time: what follows each other is alike, and packs well.
  void order_events() {
    std::vector<std::size_t> next(events_.rows.size() + 1);
    for (EventId e = 0; e < events_.size(); ++e) ++next[events_.row(e) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    const std::vector<std::size_t> begins = next;
    ordered_.resize(events_.size());
    for (EventId e = 0; e < events_.size(); ++e) ordered_[next[events_.row(e)]++] = e;
    const auto before = [&](EventId a, EventId b) {
      return std::tuple(events_.begin_ns(a), -events_.duration_ns(a), a) <
             std::tuple(events_.begin_ns(b), -events_.duration_ns(b), b);
    };
    for (RowId row = 0; row < events_.rows.size(); ++row) {
      const auto begin = ordered_.begin() + static_cast<std::ptrdiff_t>(begins[row]);
      const auto end = ordered_.begin() + static_cast<std::ptrdiff_t>(begins[row + 1]);
      if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
    }
    numbers_.resize(events_.size());
    for (std::uint32_t i = 0; i < ordered_.size(); ++i) numbers_[ordered_[i]] = i;
  }

  void find_steps() {
    if (!model_.has_marked_steps()) return;
    steps_.resize(events_.size());
    for (EventId e = 0; e < events_.size(); ++e) steps_[e] = model_.step_at(events_.begin_ns(e));
    for (const Activity& activity : model_.activities()) steps_[activity.event] = activity.step;
  }

  void put_step(TableWriter& table, EventId e) const {
    if (!model_.has_marked_steps()) {
      table.none();
    } else {
      table.text(steps_[e] < model_.steps().size() ? std::string_view(model_.steps()[steps_[e]].name)
                                                   : "outside");
    }
  }
  void put_event(TableWriter& table, EventId e) const {
    if (e == kNoEvent) {
      table.none();
    } else {
      table.number(numbers_[e]);
    }
  }
  // Of an event, or that of none. The names that were put are those of dict_names.
  void put_name(TableWriter& table, EventId e) {
    if (e == kNoEvent) {
      table.none();
      return;
    }
    const auto [at, is_new] = names_.try_emplace(events_.name_id(e), NameUse{.number = 0, .event = e});
    if (is_new) at->second.number = text_number(events_.name(e));
    table.number(at->second.number);
  }
  static void put_text(TableWriter& table, std::string_view text) {
    if (text.empty()) {
      table.none();
    } else {
      table.text(text);
    }
  }
  static void put_unless_negative(TableWriter& table, std::int64_t number) {
    if (number < 0) {
      table.none();
    } else {
      table.number(number);
    }
  }

  void write_events() {
    TableWriter out = table("events", kEventColumns);
    std::vector<std::pair<std::string, std::string>> rows;
    for (const doctor::Row& row : events_.rows)
      rows.emplace_back(row.process_text.empty() ? std::to_string(row.process) : row.process_text,
                        row.thread_text.empty() ? std::to_string(row.thread) : row.thread_text);
    for (const EventId e : ordered_) {
      put_event(out, e);
      out.text(name(events_.category(e)));
      put_name(out, e);
      out.text(rows[events_.row(e)].first).text(rows[events_.row(e)].second);
      const doctor::DeviceArgs* const args = events_.is_device_activity(e) ? events_.device_args(e) : nullptr;
      if (args == nullptr) {
        out.none().none();
      } else {
        out.number(args->device).number(args->stream);
      }
      put_step(out, e);
      out.number(events_.begin_ns(e) - first_ns_).number(events_.duration_ns(e));
      put_unless_negative(out, args == nullptr ? -1 : args->bytes);
      out.end_row();
    }
    out.close();
  }

  void write_launches() {
    TableWriter out = table("launches", kLaunchColumns);
    for (const EventId call : ordered_) {
      if (!events_.is_call(call)) continue;
      for (const std::uint32_t w : model_.launched_by(call)) {
        const Activity& activity = model_.activities()[w];
        put_event(out, call);
        put_event(out, activity.event);
        put_name(out, model_.op_of_activity(activity));
        put_step(out, activity.event);
        out.number(activity.begin_ns - events_.begin_ns(call)).end_row();
      }
    }
    out.close();
  }

  void write_gaps() {
    TableWriter out = table("gaps", kGapColumns);
    for (const Gap& gap : examined_.time.gaps()) {
      const Activity& next = model_.activities()[gap.next];
      out.number(next.device)
          .number(gap.begin_ns - first_ns_)
          .number(gap.duration_ns())
          .text(name(gap.cause));
      put_event(out, next.event);
      put_event(out, gap.blame);
      put_step(out, next.event);
      out.end_row();
    }
    out.close();
  }

  void write_syncs() {
    std::unordered_map<EventId, doctor::SaturatingSum> idle;  // after a wait
    for (const Gap& gap : examined_.time.gaps()) {
      if (gap.cause == doctor::IdleCause::Sync && gap.blame != kNoEvent) idle[gap.blame] += gap.duration_ns();
    }
    TableWriter out = table("syncs", kSyncColumns);
    for (const EventId e : ordered_) {
      if (!events_.is_call(e) || !examined_.time.is_wait(e)) continue;
      put_event(out, e);
      put_name(out, e);
      put_name(out, model_.op_of_launch(e));
      out.flag(!events_.is_sync_call(e));
      put_step(out, e);
      const auto at = idle.find(e);
      out.number(events_.begin_ns(e) - first_ns_)
          .number(events_.duration_ns(e))
          .number(at == idle.end() ? 0 : std::int64_t{at->second})
          .end_row();
    }
    out.close();
  }

  void write_facts() {
    struct Sum {
      EventId activity = kNoEvent, op = kNoEvent;  // the first
      std::int64_t activities = 0, shortest_ns = std::numeric_limits<std::int64_t>::max(), longest_ns = 0;
      doctor::SaturatingSum device_ns, exposed_ns, launch_ns, delay_ns, bytes;
    };
    std::vector<std::int64_t> exposed(model_.activities().size());
    for (const doctor::ExposedCollective& collective : doctor::exposed_collectives(model_, examined_.kernels))
      exposed[collective.activity] = collective.exposed_ns;
    std::map<std::tuple<std::uint32_t, NameId, NameId, std::int32_t, std::int32_t>, Sum> sums;
    for (std::uint32_t w = 0; w < model_.activities().size(); ++w) {
      const Activity& activity = model_.activities()[w];
      const EventId op = model_.op_of_activity(activity);
      Sum& sum = sums[{activity.step, op == kNoEvent ? 0 : events_.name_id(op),
                       events_.name_id(activity.event), activity.device, activity.stream}];
      if (sum.activities++ == 0) sum.activity = activity.event, sum.op = op;
      const std::int64_t ns = activity.end_ns - activity.begin_ns;
      sum.device_ns += ns;
      sum.shortest_ns = std::min(sum.shortest_ns, ns);
      sum.longest_ns = std::max(sum.longest_ns, ns);
      sum.exposed_ns += exposed[w];
      sum.bytes += std::max<std::int64_t>(0, events_.device_args(activity.event)->bytes);
      if (activity.launch == kNoEvent) continue;
      sum.delay_ns += activity.begin_ns - events_.begin_ns(activity.launch);
      // A graph's call counts once, for the first of its activities.
      if (model_.launched_by(activity.launch).front() == w)
        sum.launch_ns += events_.duration_ns(activity.launch);
    }
    TableWriter out = table("facts", kFactColumns);
    for (const auto& [key, sum] : sums) {
      put_step(out, sum.activity);
      put_name(out, sum.op);
      put_name(out, sum.activity);
      out.text(name(events_.category(sum.activity))).number(std::get<3>(key)).number(std::get<4>(key));
      for (const std::int64_t number :
           std::initializer_list<std::int64_t>{sum.activities, sum.device_ns, sum.shortest_ns, sum.longest_ns,
                                               sum.exposed_ns, sum.launch_ns, sum.delay_ns, sum.bytes})
        out.number(number);
      out.end_row();
    }
    out.close();
  }

  void write_collectives(const doctor::RankFacts& facts) {
    TableWriter out = table("collectives", collective_columns());
    const std::int64_t base = base_ns(examined_);
    std::int64_t call = 0;
    for (const Collective& one : facts.collectives) {
      out.number(call++);
      put_collective(out, facts, one, numbers_[one.event], base);
      out.end_row();
    }
    out.close();
  }

  void write_names() {
    std::vector<std::pair<NameId, NameUse>> sorted(names_.begin(), names_.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    TableWriter out = table("dict_names", kNameColumns);
    for (const auto& [id, use] : sorted) {
      out.number(use.number).text(events_.names[id]);
      if (!events_.is_device_activity(use.event)) {
        out.none().none();
      } else {
        out.text(name(examined_.kernels.family(use.event)));
        if (events_.category(use.event) == Category::Kernel) {
          out.text(examined_.kernels.of(use.event).title);
        } else {
          out.none();
        }
      }
      out.end_row();
    }
    out.close();
  }

  struct NameUse {
    std::int64_t number;
    EventId event;  // one that has it
  };
  std::string folder_;
  const doctor::Examined& examined_;
  const Model& model_;
  const EventTable& events_;
  std::int64_t first_ns_;
  std::vector<EventId> ordered_;        // as they are written
  std::vector<std::uint32_t> numbers_;  // of events: their place there
  std::vector<std::uint32_t> steps_;    // of events, as Model::steps(); empty: none are marked
  std::unordered_map<NameId, NameUse> names_;
};

}  // namespace

std::int64_t first_ns(const doctor::Examined& examined) {
  const EventTable& events = examined.model.events();
  std::int64_t first = events.size() == 0 ? 0 : std::numeric_limits<std::int64_t>::max();
  for (EventId e = 0; e < events.size(); ++e) first = std::min(first, events.begin_ns(e));
  return first;
}

std::int64_t base_ns(const doctor::Examined& examined) {
  constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() / 4;  // as for facts of ranks
  const std::int64_t base = examined.model.summary().base_time_ns.value_or(0);
  return std::clamp(std::clamp(first_ns(examined), -kLatest, kLatest) + std::clamp(base, -kLatest, kLatest),
                    -kLatest, kLatest);
}

void write_rank_tables(const std::string& folder, const doctor::Examined& examined,
                       const doctor::RankFacts& facts) {
  RankTables(folder, examined).write(facts);
}

}  // namespace pel::fleet
