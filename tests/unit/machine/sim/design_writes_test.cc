// SPDX-License-Identifier: Apache-2.0
// Does the persistent memory of a machine with a hardware design hold, at every moment, exactly the
// writes that were accepted and not cancelled?
#include "holdfast/machine/sim/memory/design_writes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "holdfast/base/random.h"

namespace holdfast::sim::design_writes_test {
namespace {

constexpr size_t kLine = 64;
constexpr Place kHome{Space::home, 128};
constexpr Place kOwn{Space::own, uint64_t{1} << 40};

LineBytes filled(int value) {
  LineBytes bytes;
  bytes.fill(static_cast<std::byte>(value));
  return bytes;
}

/// A queue that keeps all writes until they are drained.
MemoryDescription patient() {
  MemoryDescription d;
  d.write_queue = 4096;
  d.drain_high = d.drain_low = 1;
  return d;
}

/// Persistent memory with a home of four pages.
class Bench {
 public:
  /// Adds a write whose bytes are all `value`, and whose number is that. Returns the time at which
  /// it is accepted.
  Time add(Place to, Time accepted, int value, bool cancelable = false) {
    WriteTicket queue;
    medium.write(to.offset / kLine, accepted, &queue);
    return writes.add({.to = to,
                       .accepted = accepted,
                       .number = static_cast<uint64_t>(value),
                       .cancelable = cancelable,
                       .in_cache = false,
                       .queue = queue,
                       .bytes = filled(value)});
  }
  /// Accepts the first write; returns its number.
  uint64_t accept() {
    const WriteOnItsWay write = writes.take_front();
    writes.apply(write);
    return write.number;
  }
  /// The value of all bytes of a line; -1 if they differ.
  int accepted(Place place) const {
    LineBytes bytes;
    writes.accepted(place, bytes.data());
    return value(bytes);
  }
  int latest(Place place) const {
    LineBytes bytes;
    writes.latest(place, bytes.data());
    return value(bytes);
  }

  Persistence home{Domain::pmem, kLine, 4 * kPageBytes, Image(4 * kPageBytes)};
  MemoryController medium{patient(), kLine};
  DesignWrites writes{home, kLine, medium};

 private:
  static int value(const LineBytes& bytes) {
    for (size_t i = 1; i < kLine; ++i) {
      if (bytes[i] != bytes[0]) {
        return -1;
      }
    }
    return static_cast<int>(bytes[0]);
  }
};

TEST(SimDesignWrites, AWriteIsTheLatestAtOnceAndAcceptedLater) {
  for (const Place place : {kHome, kOwn}) {
    Bench b;
    EXPECT_EQ(b.writes.next(), DesignWrites::kNever);
    EXPECT_EQ(b.latest(place), 0);
    b.add(place, 100, 7);
    EXPECT_EQ(b.writes.next(), 100u);
    EXPECT_EQ(b.latest(place), 7);
    EXPECT_EQ(b.accepted(place), 0);
    b.accept();
    EXPECT_EQ(b.accepted(place), 7);
    EXPECT_EQ(b.latest(place), 7);
    EXPECT_EQ(b.writes.next(), DesignWrites::kNever);
  }
}

TEST(SimDesignWrites, WritesAreAcceptedInTheOrderOfTheirTimes) {
  Bench b;
  b.add({Space::home, 0}, 300, 1);
  b.add({Space::home, 64}, 100, 2);
  b.add({Space::own, 0}, 200, 3);
  b.add({Space::own, 64}, 200, 4);
  const std::vector<uint64_t> order = {2, 3, 4, 1};
  for (const uint64_t number : order) {
    EXPECT_EQ(b.accept(), number);
  }
}

TEST(SimDesignWrites, WritesOfOneLineStayInTheirOrder) {
  Bench b;
  EXPECT_EQ(b.add(kHome, 300, 1), 300u);
  EXPECT_EQ(b.add(kOwn, 200, 2), 200u) << "another line may come before";
  EXPECT_EQ(b.add(kHome, 100, 3), 300u) << "not before the first one of its line";
  EXPECT_EQ(b.add(kHome, 301, 4), 301u);
  EXPECT_EQ(b.latest(kHome), 4);
  EXPECT_EQ(b.accept(), 2u);
  EXPECT_EQ(b.accept(), 1u);
  EXPECT_EQ(b.accept(), 3u);
  EXPECT_EQ(b.accepted(kHome), 3);
  EXPECT_EQ(b.latest(kHome), 4);
}

TEST(SimDesignWrites, AWriteOnItsWayIsCancelled) {
  Bench b;
  b.add(kHome, 10, 1);
  b.accept();
  b.add(kHome, 100, 2, true);
  b.add(kHome, 200, 3);
  EXPECT_NE(b.writes.queued(2), nullptr);
  EXPECT_EQ(b.writes.queued(3), nullptr) << "not asked for";
  EXPECT_FALSE(b.writes.undo(2)) << "it was not accepted";
  EXPECT_EQ(b.writes.queued(2), nullptr);
  EXPECT_EQ(b.accepted(kHome), 1);
  EXPECT_EQ(b.accept(), 3u);
  EXPECT_EQ(b.accepted(kHome), 3);
}

TEST(SimDesignWrites, WhatAnAcceptedWriteHasCoveredComesBack) {
  for (const Place place : {kHome, kOwn}) {
    Bench b;
    b.add(place, 10, 1);
    b.add(place, 20, 2, true);
    b.accept();
    b.accept();
    EXPECT_EQ(b.accepted(place), 2);
    EXPECT_NE(b.writes.queued(2), nullptr);
    EXPECT_TRUE(b.writes.undo(2));
    EXPECT_EQ(b.accepted(place), 1);
    EXPECT_EQ(b.writes.queued(2), nullptr);
  }
}

TEST(SimDesignWrites, ALaterWriteStaysOverACancelledOne) {
  for (const bool cancelable : {false, true}) {
    Bench b;
    b.add(kHome, 10, 1, true);
    b.add(kHome, 20, 2, cancelable);
    b.accept();
    b.accept();
    EXPECT_TRUE(b.writes.undo(1));
    EXPECT_EQ(b.accepted(kHome), 2);
    if (cancelable) {
      EXPECT_TRUE(b.writes.undo(2));
      EXPECT_EQ(b.accepted(kHome), 0) << "not the cancelled one";
    }
  }
}

TEST(SimDesignWrites, CancelledFromTheTopEachUncoversTheNext) {
  Bench b;
  for (const int value : {1, 2, 3}) {
    b.add(kHome, 10, value, true);
    b.accept();
  }
  for (const int value : {3, 2, 1}) {
    EXPECT_TRUE(b.writes.undo(static_cast<uint64_t>(value)));
    EXPECT_EQ(b.accepted(kHome), value - 1);
  }
}

TEST(SimDesignWrites, TheMiddleOfThreeIsCancelledFirst) {
  Bench b;
  for (const int value : {1, 2, 3}) {
    b.add(kHome, 10, value, true);
    b.accept();
  }
  b.writes.undo(2);
  b.writes.undo(1);
  EXPECT_EQ(b.accepted(kHome), 3);
  b.writes.undo(3);
  EXPECT_EQ(b.accepted(kHome), 0);
}

TEST(SimDesignWrites, WritesThatTheirBankHasBegunAreForgotten) {
  Bench b;
  const auto accept = [&](int first, int n) {
    for (int i = first; i < first + n; ++i) {
      b.add({Space::own, static_cast<uint64_t>(i) * kLine}, 1, i, true);
      b.accept();
    }
  };
  accept(1, 64);
  b.medium.drained(1);
  EXPECT_NE(b.writes.queued(1), nullptr) << "so far there are few";
  accept(65, 200);
  EXPECT_EQ(b.writes.queued(1), nullptr);
  EXPECT_EQ(b.writes.queued(64), nullptr);
  for (uint64_t waits = 65; waits < 265; ++waits) {
    EXPECT_NE(b.writes.queued(waits), nullptr) << waits;
  }
}

TEST(SimDesignWrites, TheOwnRegionIsSparse) {
  Bench b;
  const std::vector<uint64_t> offsets = {0, 4096 - 64, uint64_t{1} << 62};
  for (size_t i = 0; i < offsets.size(); ++i) {
    b.add({Space::own, offsets[i]}, 1, static_cast<int>(i) + 1);
    b.accept();
  }
  std::map<uint64_t, int> found;
  b.writes.own().for_each_line(kLine, [&](uint64_t offset, const std::byte* bytes) {
    found[offset] = static_cast<int>(bytes[kLine - 1]);
  });
  const std::map<uint64_t, int> expected = {{0, 1}, {4096 - 64, 2}, {uint64_t{1} << 62, 3}};
  EXPECT_EQ(found, expected) << "the lines that are not zero, and no others";
  EXPECT_EQ(b.accepted({Space::own, uint64_t{1} << 61}), 0);
}

/// All writes, accepted or not, in a list: the content of a line is the last write in it.
class SlowModel {
 public:
  struct Write {
    Place to;
    Time accepted;
    int value;
    bool cancelable;
  };
  static int last(const std::vector<Write>& writes, Place place) {
    int value = 0;
    for (const Write& write : writes) {
      value = write.to == place ? write.value : value;
    }
    return value;
  }
  /// Removes the write; false if it is not there or cannot be cancelled.
  static bool erase(std::vector<Write>& writes, int value) {
    return std::erase_if(writes,
                         [&](const Write& w) { return w.value == value && w.cancelable; }) != 0;
  }

  std::vector<Write> waiting;  ///< in the order of acceptance
  std::vector<Write> done;
};

TEST(SimDesignWrites, RandomWritesAgreeWithASlowModel) {
  const std::vector<Place> places = {kHome, kOwn, {Space::home, 0}, {Space::own, 0}};
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Bench b;
    SlowModel model;
    Random random(seed);
    Time now = 0;
    for (int value = 1; value <= 120; ++value) {  // a byte holds it
      now += random.below(20);
      const Place to = places[random.below(places.size())];
      const bool cancelable = random.chance(0.6);
      Time accepted = now + random.below(100);
      for (const SlowModel::Write& earlier : model.waiting) {
        accepted = earlier.to == to ? std::max(accepted, earlier.accepted) : accepted;
      }
      ASSERT_EQ(b.add(to, accepted, value, cancelable), accepted);
      const auto later = std::find_if(model.waiting.begin(), model.waiting.end(),
                                      [&](const auto& w) { return w.accepted > accepted; });
      model.waiting.insert(later, {to, accepted, value, cancelable});
      while (b.writes.next() <= now) {
        ASSERT_EQ(b.accept(), static_cast<uint64_t>(model.waiting.front().value));
        model.done.push_back(model.waiting.front());
        model.waiting.erase(model.waiting.begin());
      }
      ASSERT_TRUE(model.waiting.empty() || model.waiting.front().accepted > now);
      if (random.chance(0.5)) {
        const int victim = static_cast<int>(random.below(static_cast<uint64_t>(value))) + 1;
        const bool was_done = SlowModel::erase(model.done, victim);
        const bool waited = SlowModel::erase(model.waiting, victim);
        ASSERT_EQ(b.writes.queued(static_cast<uint64_t>(victim)) != nullptr, was_done || waited);
        if (was_done || waited) {
          ASSERT_EQ(b.writes.undo(static_cast<uint64_t>(victim)), was_done);
        }
      }
      for (const Place place : places) {
        ASSERT_EQ(b.accepted(place), SlowModel::last(model.done, place)) << "seed " << seed;
        std::vector<SlowModel::Write> all = model.done;
        all.insert(all.end(), model.waiting.begin(), model.waiting.end());
        ASSERT_EQ(b.latest(place), SlowModel::last(all, place)) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::sim::design_writes_test
