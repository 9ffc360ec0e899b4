// Sends and receives between two ranks, and pipeline bubbles.
//
// A bubble is a time between two other activities of a device in which none of them ran, and a send or a
// receive did: the stage had nothing to compute while it waited for another.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/element_types.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

constexpr int kMaxTransferLevels = 8;

enum class Transfer : std::uint8_t {
  None,
  Send,
  Receive,
  Both
};  // both: several that were sent as one group

Transfer transfer_of_collective(std::string_view name) {
  if (name == "send" || name == "isend") return Transfer::Send;
  if (name == "recv" || name == "irecv" || name == "recvAnysource") return Transfer::Receive;
  return name == "coalesced" ? Transfer::Both : Transfer::None;
}

// "nccl:send 0->1", "nccl:recv 1<-0", "c10d::send".
Transfer transfer_of_name(std::string_view name) {
  for (const std::string_view prefix : {"nccl:", "gloo:", "c10d::"}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    if (name.starts_with("send") || name.starts_with("isend")) return Transfer::Send;
    if (name.starts_with("recv") || name.starts_with("irecv")) return Transfer::Receive;
    if (name.starts_with("coalesced")) return Transfer::Both;
  }
  return Transfer::None;
}

// The rank after the arrow of such a name; kNoNumber: it has none.
std::int64_t peer_of_name(std::string_view name) {
  for (const std::string_view arrow : {"->", "<-"}) {
    const std::size_t at = name.find(arrow);
    if (at == std::string_view::npos) continue;
    std::int64_t peer = kNoNumber;
    const char* const begin = name.data() + at + arrow.size();
    if (std::from_chars(begin, name.data() + name.size(), peer).ec == std::errc()) return peer;
  }
  return kNoNumber;
}

struct PeerKey {
  Transfer transfer;
  std::int64_t peer;  // kNoNumber: not known
  auto operator<=>(const PeerKey&) const = default;
};
struct PeerSum {
  std::int64_t count = 0;
  SaturatingSum bytes, ns;
  bool has_bytes = true;
};
struct StepSum {
  std::int64_t transfers = 0, bubbles = 0;
  SaturatingSum transfer_ns, exposed_ns, bubble_ns;
};

struct Sent {
  Transfer transfer = Transfer::None;
  std::int64_t peer = kNoNumber, bytes = -1;
};

class Pipeline {
 public:
  explicit Pipeline(const Examined& examined)
      : examined_(examined), model_(examined.model), events_(model_.events()), steps_(model_.steps().size()) {
    for (std::size_t device = 0; device < model_.active_devices().size(); ++device) {
      if (find_transfers(device)) find_bubbles(device);
    }
  }
  const std::map<PeerKey, PeerSum>& peers() const { return peers_; }
  const StepSum& all() const { return all_; }
  const std::vector<StepSum>& steps() const { return steps_; }

 private:
  Sent sent_by(const Activity& activity) const {
    Sent sent;
    const auto take = [&](EventId e) {
      if (const CollectiveArgs* args = events_.collective(e)) {
        sent.transfer = transfer_of_collective(events_.names[args->name]);
        if (sent.transfer == Transfer::None) return true;
        sent.peer = sent.transfer == Transfer::Send      ? args->destination
                    : sent.transfer == Transfer::Receive ? args->source
                                                         : kNoNumber;
        const int bytes = bytes_of_element(events_.names[args->dtype]);
        if (args->elements >= 0 && bytes != 0) sent.bytes = saturating_mul(args->elements, bytes);
        return sent.peer != kNoNumber;
      }
      const Transfer named = transfer_of_name(events_.name(e));
      if (named == Transfer::None) return events_.name(e).starts_with("nccl:");  // another collective
      if (sent.transfer == Transfer::None) sent.transfer = named;
      if (sent.peer == kNoNumber && sent.transfer != Transfer::Both)
        sent.peer = peer_of_name(events_.name(e));
      return sent.peer != kNoNumber;
    };
    if (take(activity.event)) return sent;
    EventId e = activity.launch == kNoEvent ? model_.op_of_activity(activity) : activity.launch;
    for (int level = 0; e != kNoEvent && level < kMaxTransferLevels; ++level, e = model_.parent(e)) {
      if (take(e)) break;
    }
    return sent;
  }
  StepSum* step_of(const Activity& activity) {
    return activity.step < steps_.size() ? &steps_[activity.step] : nullptr;
  }

  // False: there are none.
  bool find_transfers(std::size_t device) {
    transfers_.clear();
    is_transfer_.assign(model_.activities_of_device(device).size(), false);
    std::size_t place = 0;
    for (const std::uint32_t i : model_.activities_of_device(device)) {
      const Activity& activity = model_.activities()[i];
      const std::size_t at = place++;
      if (!examined_.kernels.is_collective(activity.event)) continue;
      const Sent sent = sent_by(activity);
      if (sent.transfer == Transfer::None) continue;
      is_transfer_[at] = true;
      const std::int64_t ns = activity.end_ns - activity.begin_ns;
      PeerSum& peer = peers_[{sent.transfer, sent.peer}];
      ++peer.count;
      peer.ns += ns;
      peer.has_bytes &= sent.bytes >= 0;
      peer.bytes += std::max<std::int64_t>(0, sent.bytes);
      for (StepSum* sum : {&all_, step_of(activity)}) {
        if (sum == nullptr) continue;
        ++sum->transfers;
        sum->transfer_ns += ns;
      }
      if (!transfers_.empty() && activity.begin_ns <= transfers_.back().second) {
        transfers_.back().second = std::max(transfers_.back().second, activity.end_ns);
      } else {
        transfers_.emplace_back(activity.begin_ns, activity.end_ns);
      }
    }
    return !transfers_.empty();
  }

  void find_bubbles(std::size_t device) {
    bool is_first = true;
    std::int64_t covered = 0;
    std::size_t place = 0, transfer = 0;
    for (const std::uint32_t i : model_.activities_of_device(device)) {
      if (is_transfer_[place++]) continue;
      const Activity& activity = model_.activities()[i];
      if (!is_first && activity.begin_ns > covered) {
        while (transfer < transfers_.size() && transfers_[transfer].second <= covered) ++transfer;
        std::int64_t exposed = 0;
        for (std::size_t t = transfer; t < transfers_.size() && transfers_[t].first < activity.begin_ns; ++t)
          exposed +=
              std::min(transfers_[t].second, activity.begin_ns) - std::max(transfers_[t].first, covered);
        if (exposed > 0) {
          for (StepSum* sum : {&all_, step_of(activity)}) {
            if (sum == nullptr) continue;
            ++sum->bubbles;
            sum->exposed_ns += exposed;
            sum->bubble_ns += activity.begin_ns - covered;
          }
        }
      }
      covered = is_first ? activity.end_ns : std::max(covered, activity.end_ns);
      is_first = false;
    }
  }

  const Examined& examined_;
  const Model& model_;
  const EventTable& events_;
  std::vector<bool> is_transfer_;                                 // by place among the activities of a device
  std::vector<std::pair<std::int64_t, std::int64_t>> transfers_;  // when one ran
  std::map<PeerKey, PeerSum> peers_;
  StepSum all_;
  std::vector<StepSum> steps_;
};

std::string_view text_of(Transfer transfer) {
  return transfer == Transfer::Send ? "send" : transfer == Transfer::Receive ? "receive" : "group";
}

}  // namespace

std::optional<Finding> analyse_pipeline(const Examined& examined) {
  const Model& model = examined.model;
  const Pipeline pipeline(examined);
  if (pipeline.peers().empty()) return std::nullopt;
  const StepSum& all = pipeline.all();
  const std::int64_t span = examined.time.all().total();
  std::array<std::int64_t, 4> counts{};
  SaturatingSum bytes;
  bool has_bytes = true;
  for (const auto& [key, sum] : pipeline.peers()) {
    counts[static_cast<std::size_t>(key.transfer)] += sum.count;
    bytes += sum.bytes;
    has_bytes &= sum.has_bytes;
  }
  Finding finding{.key = "pipeline", .title = "Sends and receives"};
  finding.facts = {
      {"sends", "sends", counts[static_cast<std::size_t>(Transfer::Send)], Unit::Count},
      {"receives", "receives", counts[static_cast<std::size_t>(Transfer::Receive)], Unit::Count},
      {"groups", "groups of both", counts[static_cast<std::size_t>(Transfer::Both)], Unit::Count},
      {"bytes", "bytes", has_bytes ? Value(bytes) : Value(), Unit::Bytes},
      {"transfer_ns", "their time", all.transfer_ns, Unit::Nanoseconds},
      {"bubbles", "bubbles", all.bubbles, Unit::Count},
      {"bubble_ns", "time of bubbles", all.bubble_ns, Unit::Nanoseconds},
      {"bubble_share", "of device time", percent_of(all.bubble_ns, span), Unit::Percent},
      {"exposed_ns", "of it in sends and receives", all.exposed_ns, Unit::Nanoseconds},
  };
  finding.sentences.emplace_back(
      "A bubble is a time between two other activities of the device in which none of them ran, and a send "
      "or a "
      "receive did.");
  if (all.bubble_ns > 0)
    finding.sentences.emplace_back(
        "More microbatches, an interleaved schedule, or stages of equal time make bubbles smaller.");
  Table steps{.key = "steps",
              .title = "by step",
              .columns = {{"step", "step", Unit::None, true},
                          {"device_ns", "device time", Unit::Nanoseconds},
                          {"transfers", "sends, receives", Unit::Count},
                          {"transfer_ns", "their time", Unit::Nanoseconds},
                          {"bubbles", "bubbles", Unit::Count},
                          {"bubble_ns", "time", Unit::Nanoseconds},
                          {"bubble_share", "of step", Unit::Percent},
                          {"exposed_ns", "", Unit::Nanoseconds}},
              .rows = {}};
  for (std::size_t i = 0; i < pipeline.steps().size(); ++i) {
    const StepSum& step = pipeline.steps()[i];
    const std::int64_t ns = examined.time.of_steps()[i].total();
    steps.rows.push_back({model.steps()[i].name, ns, step.transfers, step.transfer_ns, step.bubbles,
                          step.bubble_ns, std::min(100.0, percent_of(step.bubble_ns, ns)), step.exposed_ns});
  }
  finding.tables.push_back(std::move(steps));
  Table peers{.key = "peers",
              .title = "by peer",
              .columns = {{"direction", "direction", Unit::None, true},
                          {"peer", "rank", Unit::Count},
                          {"count", "times", Unit::Count},
                          {"bytes", "bytes", Unit::Bytes},
                          {"time_ns", "time", Unit::Nanoseconds}},
              .rows = {}};
  for (const auto& [key, sum] : by_largest(pipeline.peers(), [](const PeerSum& s) { return s.ns; }))
    peers.rows.push_back({std::string(text_of(key->transfer)),
                          key->peer == kNoNumber ? Value() : Value(key->peer), sum->count,
                          sum->has_bytes ? Value(sum->bytes) : Value(), sum->ns});
  finding.tables.push_back(std::move(peers));
  return finding;
}

}  // namespace pel::doctor
