// SPDX-License-Identifier: Apache-2.0
// Which loads of a core wait for which others? The window answers as a plain list of loads does.
#include "holdfast/machine/sim/memory/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/medium/arena.h"

namespace holdfast::window_test {
namespace {

using sim::kArenaBase;
using sim::Window;

constexpr uintptr_t kObject = kArenaBase + 10 * Window::kObjectBytes;

TEST(Window, AnAddressDependsOnAPointerToItsObject) {
  for (const uint64_t distance : {uint64_t{0}, Window::kObjectBytes - 1, Window::kObjectBytes}) {
    const Time expected = distance < Window::kObjectBytes ? 200 : 100;
    Window hits;
    hits.hit(kObject, 200);
    EXPECT_EQ(hits.issue(kObject + distance, 1, 100), expected) << distance;
    Window merged;
    merged.merged(kObject, 200);
    EXPECT_EQ(merged.issue(kObject + distance, 1, 100), expected) << distance;
    Window misses;
    misses.set_limits(1000, 4);
    misses.miss(1, 1, 100, 200, true);
    misses.missed_value(kObject);
    EXPECT_EQ(misses.issue(kObject + distance, 2, 100), expected) << distance;
  }
  Window behind;
  behind.hit(kObject, 200);
  EXPECT_EQ(behind.issue(kObject - 1, 1, 100), 100u) << "in front of the object";
}

TEST(Window, IsFullBehindAsManyInstructions) {
  for (const uint64_t instruction : {9u, 10u, 11u, 12u}) {
    Window window;
    window.set_limits(10, 4);
    window.miss(1, 1, 100, 200, true);
    EXPECT_EQ(window.issue(kArenaBase, instruction, 100), instruction < 11 ? 100u : 200u);
    Window stores;  // take no place
    stores.set_limits(10, 4);
    stores.miss(1, 1, 100, 200, false);
    EXPECT_EQ(stores.issue(kArenaBase, instruction, 100), 100u);
  }
}

TEST(Window, AMissBeginsWhenARegisterIsFree) {
  Window window;
  window.set_limits(1000, 2);
  EXPECT_EQ(window.miss(1, 1, 100, 200, true), 200u);
  EXPECT_EQ(window.miss(2, 2, 100, 300, true), 300u);
  EXPECT_EQ(window.miss(3, 3, 110, 210, true), 300u) << "90 later, when the first one is done";
  EXPECT_EQ(window.arrival(1), 0u);
  EXPECT_EQ(window.arrival(2), 300u);
  EXPECT_EQ(window.arrival(3), 300u);
  EXPECT_EQ(window.miss(4, 4, 300, 400, true), 400u) << "at this time both are done";
}

/// A window without filters and summaries.
class PlainWindow {
 public:
  PlainWindow(size_t instructions, size_t misses) : window_(instructions), limit_(misses) {}

  Time issue(uintptr_t address, uint64_t instruction, Time now) {
    for (auto hit = hits_.rbegin(); hit != hits_.rend() && hit->done > now; ++hit) {
      if (depends(address, hit->value)) {
        now = hit->done;
      }
    }
    for (const Load& load : merged_) {
      now = depends(address, load.value) ? std::max(now, load.done) : now;
    }
    for (const Load& load : misses_) {
      const bool waits = depends(address, load.value) ||
                         (load.in_window && load.instruction + window_ <= instruction);
      now = waits ? std::max(now, load.done) : now;
    }
    drop(now);
    return now;
  }
  void hit(uint64_t value, Time done) { keep(hits_, {done, value}, 4); }
  void merged(uint64_t value, Time done) { keep(merged_, {done, value}, 8); }
  Time miss(uint32_t line, uint64_t instruction, Time now, Time done, bool in_window) {
    drop(now);
    if (misses_.size() == limit_) {
      const auto first = std::min_element(misses_.begin(), misses_.end(), earlier);
      done += first->done - now;
      misses_.erase(first);
    }
    misses_.push_back({done, kNone, instruction, line, in_window});
    last_ = std::max(last_, in_window ? done : 0);
    return done;
  }
  void missed_value(uint64_t value) { misses_.back().value = value; }
  Time arrival(uint32_t line) const {
    const auto it = std::find_if(misses_.begin(), misses_.end(),
                                 [&](const Load& load) { return load.line == line; });
    return it == misses_.end() ? 0 : it->done;
  }
  bool misses_in_flight() const { return !misses_.empty(); }
  Time loads_done() const { return last_; }
  Time drain(Time now) {
    drop(std::max(now, last_));
    return std::max(now, last_);
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  struct Load {
    Time done = 0;
    uint64_t value = 0;
    uint64_t instruction = 0;
    uint32_t line = 0;
    bool in_window = true;
  };
  static bool earlier(const Load& a, const Load& b) { return a.done < b.done; }
  static bool depends(uintptr_t address, uint64_t value) {
    return address >= value && address - value < Window::kObjectBytes;
  }
  void keep(std::deque<Load>& loads, const Load& load, size_t most) {
    loads.push_back(load);
    if (loads.size() > most) {
      loads.pop_front();
    }
    last_ = std::max(last_, load.done);
  }
  void drop(Time now) {
    std::erase_if(misses_, [now](const Load& load) { return load.done <= now; });
  }

  uint64_t window_;
  size_t limit_;
  std::deque<Load> hits_;
  std::deque<Load> merged_;
  std::vector<Load> misses_;
  Time last_ = 0;
};

TEST(Window, AnswersAsAPlainListOfLoadsDoes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const size_t instructions = 1 + random.below(40);
    const size_t misses = 1 + random.below(6);
    Window window;
    window.set_limits(instructions, misses);
    PlainWindow plain(instructions, misses);
    Time now = 1;
    Time last_hit = 0;
    uint32_t line = 0;
    for (uint64_t instruction = 1; instruction <= 2000; ++instruction) {
      const auto word = [&] { return kObject + random.below(20) * Window::kObjectBytes / 2; };
      const uintptr_t address = word() - random.below(2);
      const Time start = window.issue(address, instruction, now);
      ASSERT_EQ(start, plain.issue(address, instruction, now));
      const uint64_t value = random.below(4) == 0 ? random.below(100) : word();
      switch (random.below(4)) {
        case 0:
          last_hit = std::max(last_hit, start + 4'000);
          window.hit(value, last_hit);
          plain.hit(value, last_hit);
          break;
        case 1: {
          const Time done = start + random.below(50'000);
          window.merged(value, done);
          plain.merged(value, done);
          break;
        }
        default: {
          const Time done = start + 1 + random.below(200'000);  // hardly ever two at one time
          const bool load = random.below(4) != 0;
          const Time end = window.miss(++line, instruction, start, done, load);
          ASSERT_EQ(end, plain.miss(line, instruction, start, done, load));
          if (load) {
            window.missed_value(value);
            plain.missed_value(value);
          }
        }
      }
      const uint32_t asked = line - static_cast<uint32_t>(random.below(line + 1)) % 10;
      ASSERT_EQ(window.arrival(asked), plain.arrival(asked));
      ASSERT_EQ(window.misses_in_flight(), plain.misses_in_flight());
      ASSERT_EQ(window.loads_done(), plain.loads_done());
      if (random.below(50) == 0) {
        ASSERT_EQ(window.drain(start), plain.drain(start));
      }
      now = start + random.below(3) * random.below(40'000);
    }
  }
}

}  // namespace
}  // namespace holdfast::window_test
