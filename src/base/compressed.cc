#include "base/compressed.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace pel {
namespace {

constexpr std::size_t kMinCopy = 3;
constexpr std::size_t kInField = 7;  // a number from here on continues after the field
constexpr std::size_t kInByte = 255;

std::size_t rest_bytes(std::size_t number) {
  return number < kInField ? 0 : (number - kInField) / kInByte + 1;
}
void append_rest(std::string& bytes, std::size_t number) {
  if (number < kInField) return;
  bytes.append((number - kInField) / kInByte, static_cast<char>(kInByte));
  bytes += static_cast<char>((number - kInField) % kInByte);
}
std::size_t distance_bytes(std::size_t distance) {
  return distance < 1u << 8 ? 1 : distance < 1u << 16 ? 2 : 3;
}
constexpr std::size_t kMaxDistance = (1u << 24) - 1;

// Finds the shortest sequence: the cheapest way to each position, over copies of the bytes before it.
class Compressor {
 public:
  explicit Compressor(std::string_view bytes) : bytes_(bytes), ways_(bytes.size() + 1) {}

  std::string run() {
    std::vector<std::int64_t> last(std::size_t{1} << kHashBits, -1);  // positions with this hash
    std::vector<std::int64_t> earlier(bytes_.size(), -1);             // the one before with the same hash
    ways_[0] = {.cost = 0};
    for (std::size_t at = 0; at < bytes_.size(); ++at) {
      try_byte(at);
      const std::size_t repeat = ways_[at].last_distance;
      if (repeat != 0) try_copies(at, repeat, kMinCopy, common_length(at - repeat, at), 0);
      if (at + kHashed > bytes_.size()) continue;
      std::int64_t& first = last[hash(at)];
      std::size_t longest = kMinCopy;
      int tries = kTries;
      for (std::int64_t from = first; from >= 0 && --tries >= 0;
           from = earlier[static_cast<std::size_t>(from)]) {
        const std::size_t distance = at - static_cast<std::size_t>(from);
        if (distance > kMaxDistance || longest == kLong) break;
        const std::size_t length = common_length(static_cast<std::size_t>(from), at);
        if (length <= longest) continue;
        try_copies(at, distance, longest, length, distance_bytes(distance));
        longest = length;
      }
      earlier[at] = first;
      first = static_cast<std::int64_t>(at);
    }
    return written();
  }

 private:
  static constexpr int kHashBits = 18, kTries = 16;
  static constexpr std::size_t kHashed = 4;   // bytes
  static constexpr std::size_t kLong = 1024;  // no copy is longer

  struct Way {
    std::uint32_t cost = std::numeric_limits<std::uint32_t>::max();  // bytes up to this position
    std::uint32_t from = 0;                                          // the position before
    std::uint32_t distance = 0;                                      // 0: one byte that is not copied
    std::uint32_t last_distance = 0, single = 0;                     // single: bytes since the last copy
  };

  std::size_t hash(std::size_t at) const {
    std::uint32_t word;
    std::memcpy(&word, bytes_.data() + at, sizeof(word));
    return (word * 2654435761u) >> (32 - kHashBits);
  }
  std::size_t common_length(std::size_t from, std::size_t at) const {
    const std::size_t longest = std::min(bytes_.size() - at, kLong);
    const char *const a = bytes_.data() + from, *const b = bytes_.data() + at;
    std::size_t length = 0;
    while (length + 8 <= longest && std::memcmp(a + length, b + length, 8) == 0) length += 8;
    while (length < longest && a[length] == b[length]) ++length;
    return length;
  }
  static std::uint32_t narrow(std::size_t number) { return static_cast<std::uint32_t>(number); }
  void offer(std::size_t end, std::size_t cost, const Way& way) {
    if (cost >= ways_[end].cost) return;
    ways_[end] = way;
    ways_[end].cost = narrow(cost);
  }
  void try_byte(std::size_t at) {
    const Way& here = ways_[at];
    const std::size_t rest = rest_bytes(here.single + 1) - rest_bytes(here.single);
    offer(at + 1, here.cost + 1 + rest, {0, narrow(at), 0, here.last_distance, here.single + 1});
  }
  // Short lengths, in which the next copy may begin better, and the longest.
  void try_copies(std::size_t at, std::size_t distance, std::size_t shortest, std::size_t longest,
                  std::size_t bytes_of_distance) {
    constexpr std::size_t kShort = 16;
    const auto attempt = [&](std::size_t length) {
      offer(at + length, ways_[at].cost + 1 + bytes_of_distance + rest_bytes(length - kMinCopy),
            {0, narrow(at), narrow(distance), narrow(distance), 0});
    };
    for (std::size_t length = shortest; length < std::min(longest, shortest + kShort); ++length)
      attempt(length);
    if (longest >= kMinCopy) attempt(longest);
  }

  std::string written() const {
    std::vector<std::size_t> ends;
    for (std::size_t at = bytes_.size(); at > 0; at = ways_[at].from) ends.push_back(at);
    std::reverse(ends.begin(), ends.end());
    std::string result;
    std::size_t begin = 0, last_distance = 0;  // begin: of the bytes that are not copied
    for (const std::size_t end : ends) {
      const Way& way = ways_[end];
      if (way.distance == 0) continue;
      const std::size_t size = way.distance == last_distance ? 0 : distance_bytes(way.distance);
      append_sequence(result, bytes_.substr(begin, way.from - begin), end - way.from - kMinCopy, size);
      for (std::size_t i = 0; i < size; ++i) result += static_cast<char>(way.distance >> (8 * i));
      append_rest(result, end - way.from - kMinCopy);
      last_distance = way.distance;
      begin = end;
    }
    append_sequence(result, bytes_.substr(begin), 0, 0);
    return result;
  }
  static void append_sequence(std::string& result, std::string_view single, std::size_t length,
                              std::size_t bytes_of_distance) {
    result += static_cast<char>(std::min(single.size(), kInField) << 5 | std::min(length, kInField) << 2 |
                                bytes_of_distance);
    append_rest(result, single.size());
    result += single;
  }

  std::string_view bytes_;
  std::vector<Way> ways_;
};

}  // namespace

std::string compressed(std::string_view bytes) { return Compressor(bytes).run(); }

std::optional<std::string> decompressed(std::string_view bytes, std::size_t size) {
  std::string result(size, '\0');
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* const end = from + bytes.size();
  char* to = result.data();
  char* const full = to + size;
  bool is_good = true;
  const auto next = [&]() -> std::size_t {
    is_good = is_good && from < end;
    return is_good ? *from++ : 0;
  };
  const auto whole = [&](std::size_t field) {
    if (field < kInField) return field;
    std::size_t byte = kInByte;
    while (byte == kInByte) field += byte = next();
    return field;
  };
  std::size_t distance = 0;
  while (true) {
    const std::size_t head = next();
    const std::size_t single = whole(head >> 5);
    if (!is_good || single > static_cast<std::size_t>(end - from) ||
        single > static_cast<std::size_t>(full - to))
      return std::nullopt;
    std::memcpy(to, from, single);
    to += single;
    from += single;
    if (from == end) break;
    if ((head & 3) != 0) distance = 0;
    for (std::size_t i = 0; i < (head & 3); ++i) distance |= next() << (8 * i);
    const std::size_t length = whole(head >> 2 & kInField) + kMinCopy;
    if (!is_good || length > static_cast<std::size_t>(full - to) || distance == 0 ||
        distance > static_cast<std::size_t>(to - result.data()))
      return std::nullopt;
    if (distance >= length) {
      std::memcpy(to, to - distance, length);
    } else {  // the copy repeats its own beginning
      for (std::size_t i = 0; i < length; ++i) to[i] = (to - distance)[i];
    }
    to += length;
  }
  if (to != full) return std::nullopt;
  return result;
}

}  // namespace pel
