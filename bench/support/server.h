// The main program of a benchmark, the same for us and for the peer, so that both are timed by the same loop.
//
//   bench_NAME                          answers on stdin and stdout: `list`, `run CASE ITERS`, `quit`
//   bench_NAME --case CASE --iters N    makes exactly N calls and exits, untimed, for instruction counts
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

// Makes the compiler believe that `value`, and all memory it can reach, is read and written here.
template <class T>
inline void do_not_optimize(const T& value) {
  asm volatile("" : : "r"(std::addressof(value)) : "memory");
}

// A name and a call. The result of the call lives until the end of its iteration and is destroyed there, as
// in a user's loop. Create inputs outside, in main, so that no burst pays for them.
struct Case {
  template <class Call>
  Case(std::string_view case_name, Call call)
      // The type is erased once per burst; the compiler can still inline the call itself.
      : name(case_name), repeat([call = std::move(call)](std::int64_t iters) {
          for (std::int64_t i = 0; i < iters; ++i) {
            if constexpr (std::is_void_v<std::invoke_result_t<const Call&>>) {
              call();
              asm volatile("" : : : "memory");
            } else {
              decltype(auto) result = call();
              do_not_optimize(result);
            }
          }
        }) {}

  std::string name;
  std::function<void(std::int64_t)> repeat;
  std::function<double(std::int64_t)> measure;  // returns nanoseconds per call; null: `repeat` is timed
};
using Cases = std::span<const Case>;

namespace detail {

inline const Case* find(Cases cases, std::string_view name) {
  for (const Case& candidate : cases) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

// Returns 0 if `text` is not a count.
inline std::int64_t parse_iters(std::string_view text) {
  std::int64_t iters = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), iters);
  return error == std::errc{} && end == text.data() + text.size() && iters > 0 ? iters : 0;
}

inline double nanoseconds_of(const std::function<void(std::int64_t)>& repeat, std::int64_t iters) {
  const auto start = std::chrono::steady_clock::now();
  repeat(iters);
  const auto stop = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::nano>(stop - start).count() / static_cast<double>(iters);
}
inline double nanoseconds_per_call(const Case& timed, std::int64_t iters) {
  return timed.measure ? timed.measure(iters) : nanoseconds_of(timed.repeat, iters);
}

// One line in, one line out. A refusal starts with `error`.
inline std::string answer(Cases cases, const std::string& request) {
  std::istringstream words(request);
  std::string verb, name, count;
  words >> verb >> name >> count;
  if (verb == "list") {
    std::string names;
    for (const Case& listed : cases) names.append(names.empty() ? "" : " ").append(listed.name);
    return names;
  }
  if (verb != "run") return "error: unknown request '" + request + "': expected list, run CASE ITERS or quit";
  const Case* timed = find(cases, name);
  if (timed == nullptr) return "error: there is no case '" + name + "'";
  const std::int64_t iters = parse_iters(count);
  if (iters == 0) return "error: ITERS must be a positive integer, got '" + count + "'";
  try {
    char text[64];
    std::snprintf(text, sizeof text, "%.4f", nanoseconds_per_call(*timed, iters));
    return text;
  } catch (const std::exception& failure) {
    std::string what = failure.what();
    return "error: " + name + ": " + what.substr(0, what.find('\n'));
  }
}

}  // namespace detail

// Returns how much longer a call takes while a Scope is active: the median of nine rounds.
template <class Scope>
Case added_by(Case plain) {
  plain.measure = [repeat = plain.repeat](std::int64_t iters) {
    iters = std::min<std::int64_t>(iters, 10000);  // a longer recording would measure memory
    std::vector<double> added;
    for (int turn = 0; turn < 9; ++turn) {
      const double without = detail::nanoseconds_of(repeat, iters);
      const Scope scope;
      repeat(16);  // warm-up
      added.push_back(detail::nanoseconds_of(repeat, iters) - without);
    }
    std::sort(added.begin(), added.end());
    return added[added.size() / 2];
  };
  plain.repeat = [repeat = plain.repeat](std::int64_t iters) {
    const Scope scope;
    repeat(iters);
  };
  return plain;
}

// Returns the exit code for main.
inline int serve(int argc, char** argv, Cases cases) {
  if (argc == 1) {
    for (std::string request; std::getline(std::cin, request) && request != "quit";) {
      std::cout << detail::answer(cases, request) << std::endl;
    }
    return 0;
  }
  if (argc == 5 && std::string_view(argv[1]) == "--case" && std::string_view(argv[3]) == "--iters") {
    const Case* chosen = detail::find(cases, argv[2]);
    const std::int64_t iters = detail::parse_iters(argv[4]);
    if (chosen != nullptr && iters > 0) {
      chosen->repeat(iters);
      return 0;
    }
  }
  std::cerr << "usage: " << argv[0] << " [--case CASE --iters N]\ncases: " << detail::answer(cases, "list")
            << '\n';
  return 2;
}

inline int serve(int argc, char** argv, std::initializer_list<Case> cases) {
  return serve(argc, argv, Cases(cases.begin(), cases.size()));
}

}  // namespace bench
