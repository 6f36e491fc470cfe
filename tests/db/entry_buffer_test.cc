// SPDX-License-Identifier: Apache-2.0
//
// Do the containers below an iterator and below snapshots keep what they are given?
#include "holdfast/db/views/entry_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/db/views/version_heap.h"
#include "holdfast/db/views/version_queue.h"

namespace holdfast::db::entry_buffer_test {
namespace {

/// Adds a copy whose value has `bytes` bytes, all of them `fill`.
PackedEntry* add_copy(EntryBuffer& buffer, size_t bytes, char fill) {
  const PackedEntry** const end = buffer.extend(1);
  PackedEntry* const copy = buffer.allocate_copy(bytes);
  *copy = {bytes, 0};
  std::memset(copy + 1, fill, bytes);
  const PackedEntry** const again = buffer.extend(1);
  EXPECT_EQ(end, again);
  *again = copy;
  buffer.set_end(again + 1);
  return copy;
}

TEST(DbEntryBuffer, CopiesMoveWithTheirEntries) {
  EntryArray array;
  EntryBuffer buffer(array);
  EXPECT_TRUE(buffer.empty());
  const PackedEntry outside{0, 0};
  const char* const first = reinterpret_cast<const char*>(add_copy(buffer, 10, 'a'));
  constexpr size_t kOwn = 448;  // bytes for copies in the object
  EXPECT_FALSE(buffer.empty());
  EXPECT_TRUE(buffer.owns(first));
  EXPECT_FALSE(buffer.owns(first - 1));
  EXPECT_TRUE(buffer.owns(first + kOwn - 1));
  EXPECT_FALSE(buffer.owns(first + kOwn));
  *buffer.extend(1) = &outside;
  buffer.set_end(buffer.extend(1) + 1);
  const size_t rest = kOwn - 2 * sizeof(PackedEntry) - 16;  // it fits exactly
  EXPECT_EQ(reinterpret_cast<const char*>(add_copy(buffer, rest, 'b')),
            first + sizeof(PackedEntry) + 16);
  const char* const moved = reinterpret_cast<const char*>(add_copy(buffer, 1, 'c')) - kOwn;
  EXPECT_FALSE(buffer.owns(first));
  EXPECT_TRUE(buffer.owns(moved));
  EXPECT_TRUE(buffer.owns(moved + 2 * kOwn - 1));
  EXPECT_FALSE(buffer.owns(moved + 2 * kOwn));
  add_copy(buffer, 5000, 'd');
  const std::vector<std::pair<size_t, char>> expected = {
      {10, 'a'}, {0, ' '}, {rest, 'b'}, {1, 'c'}, {5000, 'd'}};
  ASSERT_EQ(buffer.end() - buffer.begin(), 5);
  for (size_t i = 0; i < expected.size(); ++i) {
    const PackedEntry* const entry = buffer.begin()[i];
    EXPECT_EQ(buffer.owns(entry), i != 1);
    EXPECT_EQ(entry->value().ToString(), std::string(expected[i].first, expected[i].second));
  }
  buffer.clear(false);
  EXPECT_TRUE(buffer.empty());
  const auto* const again = reinterpret_cast<const char*>(add_copy(buffer, 10, 'e'));
  EXPECT_EQ(*buffer.begin(), reinterpret_cast<const PackedEntry*>(again));
  EXPECT_TRUE(buffer.owns(again + 5000)) << "it keeps its memory";
}

TEST(DbEntryBuffer, AnArrayServesTheNextBuffer) {
  EntryArray array;
  std::vector<PackedEntry> entries(2000);
  const PackedEntry** kept = nullptr;
  for (int use = 0; use < 2; ++use) {
    EntryBuffer buffer(array);
    const auto add = [&](size_t from, size_t to) {
      const PackedEntry** at = buffer.extend(to - from);
      for (size_t i = from; i < to; ++i) {
        *at++ = &entries[i];
      }
      buffer.set_end(at);
    };
    const auto expect = [&](size_t n) {
      ASSERT_EQ(static_cast<size_t>(buffer.end() - buffer.begin()), n);
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(buffer.begin()[i], &entries[i]);
      }
    };
    add(0, 32);
    EXPECT_EQ(array.size, use == 0 ? 0u : 544u) << "so many fit into the buffer itself";
    add(32, 33);
    expect(33);
    EXPECT_EQ(array.size, 544u);
    EXPECT_EQ(buffer.begin(), array.entries.get());
    EXPECT_TRUE(use == 0 || kept == array.entries.get()) << "another array";
    add(33, 544);
    kept = array.entries.get();
    EXPECT_EQ(buffer.begin(), kept);
    expect(544);
    buffer.clear(true);
    add(0, 10);
    expect(10);
  }
  EntryBuffer buffer(array);
  EXPECT_EQ(buffer.extend(array.size), kept) << "all of the array";
  for (const size_t n : {600u, 2000u}) {  // more than the array has; more than the next one would
    buffer.clear(false);
    buffer.set_end(buffer.extend(n) + n);
    EXPECT_GE(array.size, n);
    EXPECT_EQ(static_cast<size_t>(buffer.end() - buffer.begin()), n);
  }
}

TEST(DbEntryBuffer, KnowsHowItWasFilled) {
  EntryArray array;
  EntryBuffer buffer(array);
  EXPECT_FALSE(buffer.in_place());
  EXPECT_FALSE(buffer.ended());
  buffer.clear(true);
  buffer.set_ended(true);
  EXPECT_TRUE(buffer.in_place());
  EXPECT_TRUE(buffer.ended());
  buffer.clear(false);
  EXPECT_FALSE(buffer.in_place());
  EXPECT_FALSE(buffer.ended());
}

OldVersion numbered(uint64_t n) {
  OldVersion old;
  old.created = n;
  return old;
}

TEST(DbVersionHeap, ShowsThoseThatTheFewestViewsSeeFirst) {
  Random random(3);
  std::vector<uint64_t> model;  // a heap
  VersionHeap heap;
  for (int step = 0; step < 20000; ++step) {
    if (random.below(5) < 2 && !model.empty()) {
      std::pop_heap(model.begin(), model.end());
      ASSERT_EQ(heap.top(), model.back());
      ASSERT_EQ(heap.pop().created, model.back());
      model.pop_back();
    } else if (random.below(50) == 0) {
      VersionHeap other;
      for (uint64_t n = random.below(30); n > 0; --n) {
        const uint64_t since = random.below(1000);
        other.push(numbered(since), since);
        model.push_back(since);
        std::push_heap(model.begin(), model.end());
      }
      heap.merge(other);
      ASSERT_TRUE(other.empty());
    } else {
      const uint64_t since = random.below(1000);
      heap.push(numbered(since), since);
      model.push_back(since);
      std::push_heap(model.begin(), model.end());
    }
    ASSERT_EQ(heap.empty(), model.empty());
  }
}

// Paths to the right stay short, so the recursion does.
TEST(DbVersionHeap, TakesManyInAnyOrder) {
  constexpr uint64_t kMany = 300'000;
  for (const bool rising : {true, false}) {
    VersionHeap heap;
    for (uint64_t i = 0; i < kMany; ++i) {
      heap.push({}, rising ? i : kMany - 1 - i);
    }
    for (uint64_t i = kMany; i > kMany / 2; --i) {
      ASSERT_EQ(heap.top(), i - 1);
      heap.pop();
    }
  }
}

TEST(DbVersionQueue, KeepsTheOrder) {
  Random random(4);
  std::deque<uint64_t> model;
  VersionQueue queue;
  uint64_t next = 0;
  for (int step = 0; step < 5000; ++step) {
    switch (random.below(4)) {
      case 0:
      case 1:
        for (uint64_t n = random.below(8); n > 0; --n) {
          queue.push_back(numbered(next));
          model.push_back(next++);
        }
        break;
      case 2: {
        const size_t n = random.below(model.size() + 1);
        queue.drop(n);
        model.erase(model.begin(), model.begin() + static_cast<ptrdiff_t>(n));
        break;
      }
      default: {
        VersionQueue other({numbered(next), numbered(next + 1), numbered(next + 2)});
        other.drop(1);
        queue.take(other, 1);
        ASSERT_EQ(other.size(), 1u);
        queue.take(other, SIZE_MAX);
        ASSERT_TRUE(other.empty());
        model.push_back(next + 1);
        model.push_back(next + 2);
        next += 3;
        if (random.below(10) == 0) {
          queue.clear();
          model.clear();
        }
      }
    }
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(queue.empty(), model.empty());
    for (size_t i = 0; i < model.size(); ++i) {
      ASSERT_EQ(queue[i].created, model[i]);
    }
  }
}

}  // namespace
}  // namespace holdfast::db::entry_buffer_test
