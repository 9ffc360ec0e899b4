// The activities of a trace on another device, guessed by roofline from data sheets:
// - a matmul that arithmetic bounds takes less by the ratio of the peaks for its dtype; it is bound so where
//   its sizes say it, and where they are not known;
// - every other activity by the ratio of the bandwidths of memory; so does a matmul whose dtype has no peak;
// - what takes at most kTooShortNs keeps its time, and so do collectives, which wait for other ranks.
#pragma once

#include <string>
#include <vector>

#include "doctor/analyses/analysis.h"
#include "doctor/model/devices.h"

namespace pel::doctor {

// In that time a device moves about as much as its cache holds (H100: 33 of 50 MB, T4: 3 of 4 MB): neither
// its memory nor its arithmetic bounds what is shorter.
inline constexpr std::int64_t kTooShortNs = 10'000;

class OtherDevice {
 public:
  explicit OtherDevice(const Examined& examined);

  const std::string& refusal() const { return refusal_; }  // why nothing can be said; empty: it can
  // Activities of one class change alike.
  std::size_t classes() const { return classes_.size(); }
  std::uint32_t class_of(std::size_t w) const { return class_of_[w]; }
  float factor(std::uint32_t of_class, const Device& target) const;

 private:
  struct ActivityClass {
    const Device* source = nullptr;  // null: keeps its time
    std::string dtype{};             // empty: bound by memory
    auto operator<=>(const ActivityClass&) const = default;
  };
  std::string refusal_;
  std::vector<ActivityClass> classes_;
  std::vector<std::uint32_t> class_of_;  // by index of Model::activities()
};

}  // namespace pel::doctor
