// SPDX-License-Identifier: Apache-2.0
//
// Do undo logs save and restore, and is their size a bound? A suite that each engine with such a
// log instantiates in its own folder. (tests/crash tests survival.)
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "tests/unit/engines/undo/one_heap.h"

namespace holdfast::undo_suite {

/// H is OneHeap of an engine.
template <class H>
class UndoEngines : public testing::Test {};
TYPED_TEST_SUITE_P(UndoEngines);

TYPED_TEST_P(UndoEngines, AFullLogEndsTheTransactionOnly) {
  TypeParam heap(Options{{"log_bytes", "4032"}});
  heap->write(0, 1);
  const Statistics before = heap->engine().statistics();
  try {
    heap->engine().update([&] {
      for (size_t i = 0; i < heap->words(); i += 2) {
        heap->set(i, 5);
      }
    });
    FAIL() << "nothing bounds the log";
  } catch (const Error& e) {
    EXPECT_EQ(e.status().code(), Code::too_large);
    EXPECT_NE(e.status().message().find("log_bytes"), std::string::npos);
  }
  EXPECT_EQ((heap->engine().statistics() - before).user_aborts, 1u);
  EXPECT_EQ(heap->read(0), 1u);
  for (size_t i = 2; i < heap->words(); i += 2) {
    ASSERT_EQ(heap->read(i), 0u);
  }
  heap->write(2, 3);
  EXPECT_EQ(heap->read(2), 3u);
}

TYPED_TEST_P(UndoEngines, ASwallowedErrorOfAFullLogEndsTheTransactionToo) {
  TypeParam heap(Options{{"log_bytes", "4032"}});
  heap->write(0, 1);
  size_t swallowed = 0;
  try {
    heap->engine().update([&] {
      for (size_t i = 0; i < heap->words(); i += 2) {
        try {
          heap->set(i, 5);
        } catch (const Error&) {
          ++swallowed;
        }
      }
    });
    ADD_FAILURE() << "committed without " << swallowed << " stores";
  } catch (const Error& e) {
    EXPECT_EQ(e.status().code(), Code::too_large);
  }
  EXPECT_GT(swallowed, 0u);
  EXPECT_EQ(heap->read(0), 1u);
  for (size_t i = 2; i < heap->words(); i += 2) {
    ASSERT_EQ(heap->read(i), 0u);
  }
  heap->write(2, 3);
  EXPECT_EQ(heap->read(2), 3u);
}

/// A trap: with the first record of a word undone first, a later one wins.
TYPED_TEST_P(UndoEngines, RollBackRestoresWhatWasThereAtFirst) {
  TypeParam heap;
  heap->write(3, 7);
  EXPECT_THROW(heap->engine().update([&] {
    for (uint64_t i = 0; i < 20; ++i) {
      heap->set(3, 100 + i);
      const uint64_t both[2] = {i, i};
      std::remove_reference_t<decltype(heap->engine())>::store_range(heap->word(2), both,
                                                                     sizeof both);
    }
    throw 1;
  }),
               int);
  EXPECT_EQ(heap->read(3), 7u);
  EXPECT_EQ(heap->read(2), 0u);
}

/// Power fails at each persist event in turn: before the commit's last fence the update has never
/// been, afterwards it stays.
TYPED_TEST_P(UndoEngines, EveryCrashGivesBeforeOrAfter) {
  std::map<uint64_t, int> found;
  for (uint64_t event = 0; event < 60; ++event) {
    SimImage image;
    {
      TypeParam heap;
      heap->write(0, 1);
      heap->write(40, 1);
      const uint64_t before = heap.machine().persist_events();
      heap.machine().before_persist_event([&](uint64_t now) {
        if (now == before + event) {
          image = heap.machine().surviving_image();
        }
      });
      heap.machine().run_threads(1, [&](int) {
        heap->engine().update([&] {
          heap->set(0, 2);
          // A range without bytes, such as an empty value, is no store.
          std::remove_reference_t<decltype(heap->engine())>::store_range(heap->word(8), &event, 0);
          heap->set(40, 2);
          heap->set(80, 2);
        });
      });
      heap.machine().before_persist_event({});
    }
    if (image.empty()) {
      break;
    }
    SimMachine after(TypeParam::machine_options(), image);
    EngineFixture<typename std::remove_reference_t<decltype(std::declval<TypeParam&>()->engine())>>
        again(after);
    again.recover().check();
    const uint64_t value = again.read(0);
    EXPECT_EQ(again.read(40), value);
    EXPECT_EQ(again.read(80), value == 2 ? 2u : 0u);
    again.write(80, 5);
    EXPECT_EQ(again.read(80), 5u);
    ++found[value];
  }
  EXPECT_GT(found[1], 5);
}

REGISTER_TYPED_TEST_SUITE_P(UndoEngines, AFullLogEndsTheTransactionOnly,
                            ASwallowedErrorOfAFullLogEndsTheTransactionToo,
                            RollBackRestoresWhatWasThereAtFirst, EveryCrashGivesBeforeOrAfter);

}  // namespace holdfast::undo_suite
