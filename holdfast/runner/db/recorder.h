// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "holdfast/runner/spec/histogram.h"

namespace holdfast::store_bench {

/// Counts and times one thread's operations. It times one in sixteen, so that
/// the clock costs them little; of long ones, or with `each`, it times all.
class Recorder {
 public:
  Recorder(size_t kinds, bool each) : latency(kinds), by_kind(kinds), each_(each) {}

  template <class F>
  void operation(size_t kind, F&& f) {
    ++by_kind[kind];
    if (untimed_ > 0) {
      --untimed_;
      f();
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    f();
    const auto took = std::chrono::steady_clock::now() - start;
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
    latency[kind].add(static_cast<uint64_t>(ns));
    untimed_ = each_ || ns >= kLongOperationNs ? 0 : kStride - 1;
  }

  /// Consumes data that was read, so that the compiler keeps the read.
  void consume(std::string_view text) {
    consumed += text.size();
    if (!text.empty()) {
      consumed += static_cast<unsigned char>(text.front());
      consumed += static_cast<unsigned char>(text.back());
    }
  }

  std::vector<Histogram> latency;  ///< in nanoseconds, per kind
  std::vector<uint64_t> by_kind;
  uint64_t bytes = 0;   ///< of keys and values, as db_bench counts
  uint64_t looked = 0;  ///< keys asked for
  uint64_t found = 0;   ///< keys found
  uint64_t consumed = 0;

 private:
  static constexpr int kStride = 16;
  static constexpr int64_t kLongOperationNs = 20'000;

  bool each_;
  int untimed_ = 0;
};

}  // namespace holdfast::store_bench
