// SPDX-License-Identifier: Apache-2.0
//
// A question of the conformance suite that needs a medium from which blocks can be given back.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "holdfast/heap/heap.h"
#include "tests/engine/conformance_suite.h"

namespace holdfast::conformance {

/// Does a transaction see one state of an object that is freed, and whose space a compaction gives
/// back, while the transaction runs?
template <class W>
void compaction_spares_what_an_older_reader_sees(W& world) {
  using H = typename W::H;
  using Word = typename H::template Field<uint64_t>;
  struct Owner {
    typename H::template Field<Word*> block;
  };
  constexpr size_t kWords = 4000;  // some pages
  constexpr size_t kAtATime = 500;
  H& heap = world.heap();
  Owner* const owner = heap.template root<Owner>("owner").value();
  heap.update([&] { owner->block = static_cast<Word*>(H::allocate(kWords * sizeof(Word))); })
      .check();
  for (size_t from = 0; from < kWords; from += kAtATime) {
    heap.update([&] {
          for (size_t i = from; i < from + kAtATime; ++i) {
            owner->block.load()[i] = 7;
          }
        })
        .check();
  }

  constexpr int kPatience = 2000;  // the other thread may wait for this one
  std::atomic<bool> reads = false;
  std::atomic<bool> compacted = false;
  world.run(2, [&](int thread) {
    if (thread == 0) {
      uint64_t first = 0;
      uint64_t second = 0;
      heap.read([&] {
            first = second = 0;
            if (const Word* const block = owner->block) {
              first = block[kWords / 2];
              reads = true;
              for (int i = 0; i < kPatience && !compacted; ++i) {
                std::this_thread::yield();
              }
              second = block[kWords / 2 + 1];
            }
          })
          .check();
      EXPECT_EQ(first, second);
    } else {
      while (!reads) {
        std::this_thread::yield();
      }
      heap.update([&] {
            H::deallocate(owner->block, kWords * sizeof(Word));
            owner->block = nullptr;
          })
          .check();
      EXPECT_TRUE(heap.compact().ok());
      compacted = true;
    }
  });
}

/// The questions for each engine on the native machine, beside those for all machines.
template <class W>
std::vector<Question<W>> native_questions() {
  return {
      {"CompactionSparesWhatAnOlderReaderSees", &compaction_spares_what_an_older_reader_sees<W>}};
}

}  // namespace holdfast::conformance
