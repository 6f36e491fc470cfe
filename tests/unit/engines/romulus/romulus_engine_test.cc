// SPDX-License-Identifier: Apache-2.0
//
// What do the Romulus engines promise a single thread, and at what cost?
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "holdfast/engines/romulus/romulus.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::romulus_engine_test {
namespace {

template <class E>
class RomulusEngineTest : public ::testing::Test {
 protected:
  static constexpr bool kFull = std::is_same_v<E, Romulus<SimMachine>>;
  static constexpr size_t kFar = 1000;  // a word some lines away
  static constexpr uint64_t kStateBytes = 3 * sizeof(uint64_t);

  RomulusEngineTest() : heap_(machine_) { heap_.format().check(); }

  template <class F>
  PersistCounters counting(F&& f) {
    const PersistCounters before = machine_.counters();
    f();
    return machine_.counters() - before;
  }

  SimMachine machine_{};
  EngineFixture<E> heap_;
};

using Engines =
    ::testing::Types<Romulus<SimMachine>, RomulusLog<SimMachine>, RomulusLr<SimMachine>>;
TYPED_TEST_SUITE(RomulusEngineTest, Engines);

TYPED_TEST(RomulusEngineTest, KeepsWhatWasWritten) {
  this->heap_.write(1, 11);
  this->heap_.write(this->kFar, 22);
  EXPECT_EQ(this->heap_.read(1), 11u);
  EXPECT_EQ(this->heap_.read(this->kFar), 22u);
  this->heap_.engine().compare_copies().check();
}

TYPED_TEST(RomulusEngineTest, ReadsItsOwnWritesAndAllSizes) {
  struct Odd {
    char text[13];
  };
  auto* base = reinterpret_cast<std::byte*>(this->heap_.word(8));
  this->heap_.engine().update([&] {
    TypeParam::store(reinterpret_cast<uint8_t*>(base + 1), uint8_t{1});
    TypeParam::store(reinterpret_cast<uint16_t*>(base + 2), uint16_t{2});
    TypeParam::store(reinterpret_cast<uint32_t*>(base + 4), uint32_t{4});
    const Odd odd{"twelve bytes"};
    TypeParam::store_range(base + 61, &odd, sizeof odd);  // over a line's end
    EXPECT_EQ(TypeParam::load(reinterpret_cast<uint16_t*>(base + 2)), 2u);
  });
  this->heap_.engine().read([&] {
    Odd odd{};
    TypeParam::load_range(&odd, base + 61, sizeof odd);
    EXPECT_STREQ(odd.text, "twelve bytes");
    EXPECT_EQ(TypeParam::load(reinterpret_cast<uint8_t*>(base + 1)), 1u);
    EXPECT_EQ(TypeParam::load(reinterpret_cast<uint32_t*>(base + 4)), 4u);
  });
  this->heap_.engine().compare_copies().check();
}

TYPED_TEST(RomulusEngineTest, FourFencesWhateverTheSize) {
  for (const size_t stores : {1u, 2u, 64u, 700u}) {
    const auto cost = this->counting([&] {
      this->heap_.engine().update([&] {
        for (size_t i = 0; i < stores; ++i) {
          this->heap_.set(i, stores);
        }
      });
    });
    EXPECT_EQ(cost.pfence, 3u) << stores;
    EXPECT_EQ(cost.psync, 1u) << stores;
  }
}

TYPED_TEST(RomulusEngineTest, NothingDurableHappensWithoutAStore) {
  this->heap_.write(1, 1);
  const auto cost = this->counting([&] {
    EXPECT_EQ(this->heap_.read(1), 1u);
    this->heap_.engine().update([&] { EXPECT_EQ(this->heap_.get(1), 1u); });
    EXPECT_THROW(this->heap_.engine().update([] { throw 1; }), int);
  });
  EXPECT_EQ(cost.pwb + cost.pfence + cost.psync + cost.bytes, 0u);
}

TYPED_TEST(RomulusEngineTest, WritesEachByteTwice) {
  this->heap_.write(this->kFar, 1);  // sets the used bytes
  for (const size_t stores : {1u, 3u, 100u}) {
    const auto before = this->heap_.engine().statistics();
    const auto cost = this->counting([&] {
      this->heap_.engine().update([&] {
        for (size_t i = 0; i < stores; ++i) {
          this->heap_.set(i * 9, i);
        }
        const uint32_t half = 7;
        TypeParam::store(reinterpret_cast<uint32_t*>(this->heap_.word(this->kFar)), half);
      });
    });
    const uint64_t user = stores * sizeof(uint64_t) + sizeof(uint32_t);
    const uint64_t used = (this->kFar * sizeof(uint64_t) / kLineBytes + 1) * kLineBytes;
    const auto counted = this->heap_.engine().statistics() - before;
    EXPECT_EQ(counted.bytes_stored, user);
    EXPECT_EQ(cost.bytes, user + (this->kFull ? used : user) + this->kStateBytes);
    EXPECT_EQ(counted.bytes_written, cost.bytes);
    EXPECT_EQ(counted.update_commits, 1u);
    EXPECT_EQ(counted.batches, 1u);
  }
}

TYPED_TEST(RomulusEngineTest, CopiesEverythingWhenTheLogGetsLong) {
  const size_t words = this->heap_.words();
  const auto fill = [&](uint64_t value, size_t n) {
    return this->counting([&] {
      this->heap_.engine().update([&] {
        for (size_t i = 0; i < n; ++i) {
          this->heap_.set(words - 1 - i, value);
        }
      });
    });
  };
  fill(1, 1);
  const size_t quarter = words / 4;
  EXPECT_EQ(fill(2, quarter).bytes,
            (quarter + (this->kFull ? words : quarter)) * sizeof(uint64_t) + this->kStateBytes);
  EXPECT_EQ(fill(3, quarter + 1).bytes,
            (quarter + 1 + words) * sizeof(uint64_t) + this->kStateBytes);
  EXPECT_EQ(fill(3, 1).bytes,
            (1 + (this->kFull ? words : 1)) * sizeof(uint64_t) + this->kStateBytes);
  this->heap_.engine().compare_copies().check();
  EXPECT_EQ(this->heap_.read(words - 1), 3u);
}

TYPED_TEST(RomulusEngineTest, WritesEachLineBackOncePerCopy) {
  this->heap_.write(0, 1);
  const auto cost = this->counting([&] {
    this->heap_.engine().update([&] {
      for (size_t i = 0; i < 8; ++i) {
        this->heap_.set(i, i);
        this->heap_.set(8 + i, i);
      }
    });
  });
  EXPECT_EQ(cost.pwb, 2u + 2 * 2);  // MUT, CPY, two lines of each copy
}

TYPED_TEST(RomulusEngineTest, AThrowUndoesTheBody) {
  this->heap_.write(1, 11);
  const auto cost = this->counting([&] {
    EXPECT_THROW(this->heap_.engine().update([&] {
      this->heap_.set(1, 99);
      this->heap_.set(1, 100);
      this->heap_.set(this->kFar, 99);
      throw std::runtime_error("no");
    }),
                 std::runtime_error);
  });
  EXPECT_EQ(cost.pfence, 2u);  // MUT, and the restored lines before IDL
  EXPECT_EQ(cost.psync, 0u);
  EXPECT_EQ(cost.bytes, 2 * 3 * sizeof(uint64_t) + 2 * sizeof(uint64_t));
  const uint64_t first = (1 + (this->kFull ? 8 : 1)) * sizeof(uint64_t) + this->kStateBytes;
  EXPECT_EQ(this->heap_.engine().statistics().bytes_written, first + cost.bytes);
  EXPECT_EQ(this->heap_.engine().statistics().bytes_stored, sizeof(uint64_t));
  EXPECT_EQ(this->heap_.read(1), 11u);
  EXPECT_EQ(this->heap_.read(this->kFar), 0u);
  this->heap_.engine().compare_copies().check();
  EXPECT_EQ(this->heap_.engine().statistics().user_aborts, 1u);
}

TYPED_TEST(RomulusEngineTest, AFailureInANestedBodyDoomsTheOuter) {
  EXPECT_THROW(this->heap_.engine().update([&] {
    this->heap_.set(1, 5);
    static_cast<Context*>(SimMachine::context())->nested_failure = std::make_exception_ptr(7);
  }),
               int);
  EXPECT_EQ(this->heap_.read(1), 0u);
  this->heap_.write(1, 6);  // and is forgotten
  EXPECT_EQ(this->heap_.read(1), 6u);
}

TYPED_TEST(RomulusEngineTest, RefusesStraysAndTellsWhy) {
  const auto code = [](auto&& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.status().code();
    }
    return Code::ok;
  };
  EXPECT_EQ(code([&] { this->heap_.set(1, 1); }), Code::misuse);
  EXPECT_EQ(code([&] { this->heap_.engine().read([&] { this->heap_.set(1, 1); }); }), Code::misuse);
  uint64_t elsewhere = 0;
  EXPECT_EQ(code([&] {
              this->heap_.engine().update([&] { TypeParam::store(&elsewhere, uint64_t{1}); });
            }),
            Code::misuse);
  EXPECT_EQ(elsewhere, 0u);
  EXPECT_EQ(SimMachine::context(), nullptr);
}

TYPED_TEST(RomulusEngineTest, ShowsTheHeapItsContext) {
  const auto& regions = this->heap_.regions();
  const auto look = [&](Context::Mode mode) {
    const auto* c = static_cast<Context*>(SimMachine::context());
    EXPECT_EQ(c->data, regions.data);
    EXPECT_EQ(c->capacity, regions.capacity);
    EXPECT_EQ(c->mode, mode);
    EXPECT_EQ(c->slot, this->machine_.self());
  };
  this->heap_.engine().update([&] { look(Context::Mode::update); });
  this->heap_.engine().read([&] { look(Context::Mode::read); });
  EXPECT_EQ(SimMachine::context(), nullptr);
}

TYPED_TEST(RomulusEngineTest, ACleanCloseNeedsNoRecovery) {
  this->heap_.write(3, 33);
  this->heap_.engine().close().check();
  const SimImage image = this->machine_.earliest_image();
  EXPECT_EQ(image, this->machine_.latest_image());
}

TYPED_TEST(RomulusEngineTest, RefusesABadOption) {
  EXPECT_FALSE(TypeParam::kDescription.area_bytes({{"combine", "2"}}, 4).ok());
  EXPECT_TRUE(TypeParam::kDescription.area_bytes({{"combine", "0"}}, 4).ok());
}

template <class E>
SimImage heap_with_one_word() {
  SimMachine machine;
  EngineFixture<E> heap(machine);
  heap.format().check();
  heap.write(1, 1);
  return machine.latest_image();
}

/// Machines come and go in these, so there is no member machine.
template <class E>
class RomulusFormat : public ::testing::Test {};
TYPED_TEST_SUITE(RomulusFormat, Engines);

TYPED_TEST(RomulusFormat, ADamagedHeaderIsRepairedWhereTheCopiesAreEqual) {
  const SimImage good = heap_with_one_word<TypeParam>();
  for (size_t bit = 0; bit < 128; ++bit) {
    SimImage bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    SimMachine machine({}, bad);
    EngineFixture<TypeParam> heap(machine);
    ASSERT_TRUE(heap.recover().ok()) << "bit " << bit;
    EXPECT_EQ(heap.report().needed, bit >= 64) << "bit " << bit;
    EXPECT_EQ(heap.report().text, bit >= 64 ? "the state was damaged, and both copies are equal"
                                            : "both copies were whole");
    EXPECT_EQ(heap.read(1), 1U) << "bit " << bit;
    heap.write(1, 2);
    EXPECT_EQ(heap.read(1), 2U) << "bit " << bit;
  }
}

/// Also says in plain text what the area is.
TYPED_TEST(RomulusFormat, AnEmptyHeaderIsMadeAnew) {
  SimImage image = heap_with_one_word<TypeParam>();
  const auto title = [&] { return std::string(reinterpret_cast<const char*>(image.data()), 8); };
  const std::string format = title();
  EXPECT_EQ(format.substr(0, 6), "ROMULU");
  std::memset(image.data(), 0, 2 * sizeof(uint64_t));
  SimMachine machine({}, image);
  EngineFixture<TypeParam> heap(machine);
  heap.recover().check();
  image = machine.earliest_image();
  EXPECT_EQ(title(), format);
  uint64_t word = 0;
  std::memcpy(&word, image.data() + sizeof word, sizeof word);
  const auto state = romulus::StateWord::unpack(word);
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->phase, romulus::Phase::idle);
  EXPECT_EQ(state->used, heap.regions().bytes);
}

/// The state keeps the high-water mark of committed stores, in whole lines, through a recovery.
TYPED_TEST(RomulusFormat, TheStateKnowsTheBytesInUse) {
  SimImage image;
  const auto used = [&] {
    uint64_t word = 0;
    std::memcpy(&word, image.data() + sizeof word, sizeof word);
    return romulus::StateWord::unpack(word).value().used;
  };
  constexpr uint64_t kUsed = 100 * kLineBytes;
  {
    SimMachine machine;
    EngineFixture<TypeParam> heap(machine);
    heap.format().check();
    heap.engine().update([&] {  // one byte, the first of a line
      TypeParam::store(reinterpret_cast<uint8_t*>(heap.regions().data) + kUsed - kLineBytes,
                       uint8_t{1});
    });
    image = machine.latest_image();
    EXPECT_EQ(used(), kUsed);
    heap.write(kUsed / sizeof(uint64_t) - 1, 1);
    image = machine.latest_image();
    EXPECT_EQ(used(), kUsed);
  }
  SimMachine machine({}, image);
  EngineFixture<TypeParam> heap(machine);
  heap.recover().check();
  uint64_t states = 0;
  machine.before_persist_event([&](uint64_t) {
    image = machine.latest_image();
    EXPECT_EQ(used(), kUsed);
    ++states;
  });
  machine.run_threads(1, [&](int) { heap.write(0, 1); });
  machine.before_persist_event({});
  EXPECT_GT(states, 3u);
  image = machine.latest_image();
  EXPECT_EQ(used(), kUsed);
}

TYPED_TEST(RomulusFormat, ADamagedStateIsReportedAndNothingChangedWhereTheCopiesDiffer) {
  SimImage good = heap_with_one_word<TypeParam>();
  {
    SimMachine machine({}, good);
    EngineFixture<TypeParam> heap(machine);
    SimMachine::store(reinterpret_cast<uint64_t*>(heap.regions().twin) + 2, uint64_t{1});
    good = machine.latest_image();
  }
  for (size_t bit = 64; bit < 128; ++bit) {
    SimImage bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    SimMachine machine({}, bad);
    EngineFixture<TypeParam> heap(machine);
    EXPECT_EQ(heap.recover().code(), Code::corrupt) << "bit " << bit;
    EXPECT_EQ(machine.latest_image(), bad) << "bit " << bit;
  }
}

TYPED_TEST(RomulusFormat, AHeaderThatPointsBeyondTheDataIsReported) {
  SimImage image;
  {
    SimMachine machine;
    EngineFixture<TypeParam> heap(machine, {.bytes = 32 * kPageBytes});
    heap.format().check();
    heap.write(20 * kPageBytes / sizeof(uint64_t), 1);
    image = machine.latest_image();
  }
  SimMachine machine({}, image);
  EngineFixture<TypeParam> heap(machine, {.bytes = 16 * kPageBytes});
  EXPECT_EQ(heap.recover().code(), Code::corrupt);
}

TYPED_TEST(RomulusFormat, OneMoreFenceWhenABatchOutgrowsTheHeap) {
  constexpr size_t kBytes = 256 * kPageBytes;
  SimMachine machine;
  EngineFixture<TypeParam> heap(machine, {.bytes = kBytes});
  heap.format().check();
  const auto fences = [&](size_t last) {
    const auto before = machine.counters();
    heap.engine().update([&] {
      heap.set(0, last);
      heap.set(last, last);
    });
    const auto cost = machine.counters() - before;
    return cost.pfence + cost.psync;
  };
  constexpr size_t kLast = kBytes / sizeof(uint64_t) - 1;
  EXPECT_EQ(fences(kLast / 8), 4u);
  EXPECT_EQ(fences(kLast), 5u);
  EXPECT_EQ(fences(kLast), 4u);
  heap.engine().compare_copies().check();
  EXPECT_EQ(machine.probes()["romulus.raises_limit"], 1u);
}

/// The first batch may touch 256 KiB.
TYPED_TEST(RomulusFormat, NoMoreFenceForABatchWithinTheLimit) {
  constexpr size_t kWordsOfLimit = (size_t{256} << 10) / sizeof(uint64_t);
  for (const size_t last : {kWordsOfLimit - 1, kWordsOfLimit}) {
    SimMachine machine;
    EngineFixture<TypeParam> heap(machine, {.bytes = 128 * kPageBytes});
    heap.format().check();
    const auto before = machine.counters();
    heap.engine().update([&] {
      heap.set(0, last);
      heap.set(last, last);
    });
    const auto cost = machine.counters() - before;
    EXPECT_EQ(cost.pfence + cost.psync, last < kWordsOfLimit ? 4u : 5u);
  }
}

}  // namespace
}  // namespace holdfast::romulus_engine_test
