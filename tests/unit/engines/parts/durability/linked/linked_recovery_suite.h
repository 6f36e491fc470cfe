// SPDX-License-Identifier: Apache-2.0
//
// Are linked logs written and read right: links, lapsed epochs, damage, no room? A suite that each
// engine with such logs instantiates in its own folder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/engines/parts/frame/pht_options.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/present.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::linked_suite {

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);

template <class E>
class PhtRecovery : public testing::Test {
 protected:
  using Heap = EngineFixture<E>;
  static constexpr int kThreads = 3;
  static constexpr bool kHasMarker = E::kDescription.option_count == 6;

  PhtRecovery() {
    shape_.options = {{"background", "0"}, {"log_bytes", "4096"}};
    shape_.max_threads = kThreads;
  }

  SimOptions machine_options(uint64_t seed = 1) const {
    SimOptions o;
    o.threads = kThreads;
    o.seed = seed;
    return o;
  }

  /// Ten updates by one thread, nothing replayed, the power fails.
  SimImage image_of_ten() {
    SimMachine machine(machine_options());
    Heap heap(machine, shape_);
    heap.format().check();
    heap.recover().check();
    for (uint64_t i = 1; i <= 10; ++i) {
      heap.write(0, i);
    }
    const size_t area = static_cast<size_t>(heap.regions().area_bytes);
    log_offset_ = PhtArea(PhtOptions::parse(shape_.options).value(), kThreads).log_offset;
    EXPECT_LT(log_offset_, area);
    return machine.earliest_image();
  }

  struct Opened {
    Status status;
    uint64_t value = 0;
    uint64_t replayed = 0;
    bool untouched = false;
  };
  Opened open(const SimImage& image) {
    SimMachine machine(machine_options(), image);
    Heap heap(machine, shape_);
    Opened result;
    result.status = heap.recover();
    result.replayed = heap.report().transactions;
    if (result.status.ok()) {
      result.value = heap.read(0);
    } else {
      result.untouched = machine.latest_image() == image;
    }
    return result;
  }

  /// Where the log begins of the thread that runs outside run_threads.
  size_t log_of_main(const SimImage& image) const {
    const size_t bytes = 4096;
    for (size_t at = log_offset_; at < image.size(); at += bytes) {
      if (image[at] != std::byte{0}) {
        return at;
      }
    }
    return 0;
  }

  EngineFixtureShape shape_;
  size_t log_offset_ = 0;
};

TYPED_TEST_SUITE_P(PhtRecovery);

/// For engines with a global marker.
template <class E>
class PhtMarker : public PhtRecovery<E> {};
TYPED_TEST_SUITE_P(PhtMarker);

TYPED_TEST_P(PhtRecovery, ReplaysWhatIsInTheLogsOnce) {
  const auto opened = this->open(this->image_of_ten());
  EXPECT_TRUE(opened.status.ok()) << opened.status.to_string();
  EXPECT_EQ(opened.value, 10u);
  EXPECT_EQ(opened.replayed, 10u);
}

TYPED_TEST_P(PhtRecovery, DamageInALogIsReportedAndTheMediumLeftAlone) {
  const SimImage image = this->image_of_ten();
  const size_t log = this->log_of_main(image);
  ASSERT_GT(log, 0u);
  // Every byte of the third transaction but its link, which is a hint, and padding.
  for (size_t byte = 2 * kLineBytes; byte < 2 * kLineBytes + 40; ++byte) {
    SimImage damaged = image;
    damaged[log + byte] ^= std::byte{4};
    const auto opened = this->open(damaged);
    EXPECT_EQ(opened.status.code(), Code::corrupt) << "byte " << byte;
    EXPECT_TRUE(opened.untouched);
  }
  for (size_t byte = 3 * kLineBytes - 8; byte < 3 * kLineBytes; ++byte) {
    SimImage damaged = image;
    damaged[log + byte] ^= std::byte{4};
    EXPECT_EQ(this->open(damaged).value, 10u) << "a link is a hint";
  }
}

/// Replayed records stay in the log until others replace them. Their words are the program's, so a
/// line may hold the words of a header that recovery would accept.
TYPED_TEST_P(PhtRecovery, AStoredValueLikeAHeaderIsNoHole) {
  constexpr uint64_t kLogBytes = 4096;
  constexpr size_t kLine = 4;  // the update's second line in the log begins with this word
  for (const uint64_t payload : {uint64_t{8}, 2 * kLogBytes}) {
    SimImage image;
    {
      SimMachine machine(this->machine_options());
      EngineFixture<TypeParam> heap(machine, this->shape_);
      heap.format().check();
      heap.recover().check();
      const LinkedRecord record{.thread = machine.self(),
                                .start = kLineBytes + kLogBytes,  // the log's next lap
                                .time = 1,
                                .payload = payload,
                                .extent = LinkedRecord::extent_of(payload, kLineBytes),
                                .checksum = 123};
      uint64_t header[3];
      record.header(2, header);  // epoch 2: format() begins the first one, recovery the second
      std::vector<uint64_t> words(24);
      std::copy(std::begin(header), std::end(header), words.begin() + kLine);
      heap.engine().update(
          [&] { TypeParam::store_range(heap.word(0), words.data(), words.size() * 8); });
      ASSERT_TRUE(heap.engine().replay({}).ok());
      heap.write(100, 5);
      image = machine.earliest_image();
    }
    SimMachine machine(this->machine_options(), image);
    EngineFixture<TypeParam> heap(machine, this->shape_);
    EXPECT_EQ(heap.recover().to_string(), "ok");
    EXPECT_EQ(heap.read(100), 5u);
  }
}

TYPED_TEST_P(PhtMarker, TheMarkerNamesATransactionThatIsThere) {
  const SimImage image = this->image_of_ten();
  for (size_t bit = 0; bit < 64; ++bit) {
    SimImage damaged = image;
    damaged[PhtArea::kMarkerOffset + bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    const auto opened = this->open(damaged);
    EXPECT_EQ(opened.status.code(), Code::corrupt) << "bit " << bit;
    EXPECT_TRUE(opened.untouched);
  }
  // The header of the last transaction: the marker names it.
  SimImage damaged = image;
  damaged[this->log_of_main(image) + 9 * kLineBytes] ^= std::byte{1};
  EXPECT_EQ(this->open(damaged).status.code(), Code::corrupt);
}

/// The updates of image_of_ten() are in the logs alone, which a heap that was closed never shows.
TYPED_TEST_P(PhtRecovery, NoLogIsReadInAHeapThatWasClosed) {
  SimImage image = this->image_of_ten();
  this->shape_.closed = true;
  for (const bool damaged : {false, true}) {
    image[this->log_of_main(image) + 2 * kLineBytes] ^= static_cast<std::byte>(damaged ? 4 : 0);
    const auto opened = this->open(image);
    EXPECT_EQ(opened.replayed, 0u);
    EXPECT_EQ(opened.value, 0u);
    // The marker names the last transaction, which must have been replayed.
    EXPECT_EQ(opened.status.code(), this->kHasMarker ? Code::corrupt : Code::ok);
  }
}

/// Only recovery of a heap that was not closed reads all logs. Each simulated access is a step.
TYPED_TEST_P(PhtRecovery, ALargeLogTakesTimeOnlyInAHeapThatWasNotClosed) {
  using AnyHeap = Heap<AnyEngine<SimMachine>>;
  struct Steps {
    uint64_t to_create;
    uint64_t to_open;
  };
  const auto steps = [&](const char* log_bytes, bool closed) {
    CreateOptions create;
    create.engine = TypeParam::kDescription.name;
    create.options = {{"background", "0"}, {"log_bytes", log_bytes}};
    create.bytes = create.max_bytes = 1 << 20;
    Steps found{};
    SimImage image;
    {
      SimMachine machine(this->machine_options());
      std::unique_ptr<AnyHeap> heap;
      machine.run_threads(1, [&](int) { heap = AnyHeap::create(machine, create).value(); });
      found.to_create = machine.steps();
      if (closed) {
        heap->close().check();
      }
      image = machine.earliest_image();
    }
    SimMachine machine(this->machine_options(), image);
    std::unique_ptr<AnyHeap> heap;
    machine.run_threads(1, [&](int) { heap = AnyHeap::open(machine).value(); });
    found.to_open = machine.steps();
    return found;
  };
  constexpr uint64_t kFew = 1000;
  const Steps small = steps("4096", true);
  const Steps large = steps("1048576", true);
  EXPECT_LT(large.to_create, small.to_create + kFew);
  EXPECT_LT(large.to_open, small.to_open + kFew);
  EXPECT_GT(steps("1048576", false).to_open, steps("4096", false).to_open + kFew);
}

TYPED_TEST_P(PhtRecovery, OneOfTheTwoTablesIsEnough) {
  const SimImage image = this->image_of_ten();
  const size_t copy = replay_table_bytes(this->kThreads + 2);
  SimImage damaged = image;
  damaged[PhtArea::kTableOffset + 8] ^= std::byte{1};
  EXPECT_EQ(this->open(damaged).value, 10u);
  damaged[PhtArea::kTableOffset + copy + 8] ^= std::byte{1};
  const auto opened = this->open(damaged);
  EXPECT_EQ(opened.status.code(), Code::corrupt);
  EXPECT_TRUE(opened.untouched);
}

TYPED_TEST_P(PhtRecovery, TheClockGoesOnBehindWhatWasFound) {
  const SimImage image = this->image_of_ten();
  SimImage again = image;
  for (int round = 1; round <= 3; ++round) {
    SimMachine machine(this->machine_options(), again);
    EngineFixture<TypeParam> heap(machine, this->shape_);
    heap.recover().check();
    EXPECT_EQ(heap.read(0), 10u + static_cast<uint64_t>(round) - 1);
    heap.write(0, 10u + static_cast<uint64_t>(round));
    again = machine.earliest_image();
  }
  EXPECT_EQ(this->open(again).value, 13u);
}

TYPED_TEST_P(PhtRecovery, BothOrdersOfReplayComeToTheSameHome) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const char* order : {"links", "scan"}) {
      auto shape = this->shape_;
      shape.options["log_bytes"] = seed % 2 == 0 ? "512" : "8192";
      if (this->kHasMarker) {
        shape.options["order"] = order;
      }
      SimMachine machine(this->machine_options(seed));
      EngineFixture<TypeParam> heap(machine, shape);
      heap.format().check();
      heap.recover().check();
      machine.run_threads(this->kThreads, [&](int w) {
        Random random(seed * 10 + static_cast<uint64_t>(w));
        for (uint64_t i = 0; i < 30; ++i) {
          heap.engine().update([&] {
            heap.set(random.below(5) * kLineWords, i);
            heap.set(random.below(5) * kLineWords, i);
          });
        }
      });
      heap.engine().close().check();
      EXPECT_EQ(heap.engine().statistics().replayed, 90u);
      std::vector<uint64_t> words(5 * kLineWords);
      SimMachine::copy(words.data(), heap.regions().home, words.size() * 8);
      std::vector<uint64_t> seen(words.size());
      heap.engine().read([&] {
        for (size_t i = 0; i < seen.size(); ++i) {
          seen[i] = heap.get(i);
        }
      });
      EXPECT_EQ(words, seen) << "seed " << seed << ", " << order;
    }
  }
}

/// A further store to the word that was stored last changes its entry in the log, so it needs no
/// room.
TYPED_TEST_P(PhtRecovery, AFullLogTakesFurtherStoresToItsLastWord) {
  SimMachine machine(this->machine_options());
  EngineFixture<TypeParam> heap(machine, this->shape_);
  heap.format().check();
  heap.recover().check();
  const auto commits = [&](size_t words, bool again) {
    try {
      heap.engine().update([&] {
        for (size_t i = 0; i < words; ++i) {
          heap.set(i, words);
        }
        if (again) {
          heap.set(words - 1, 1);
        }
      });
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), Code::too_large) << error.status().to_string();
      return false;
    }
    return true;
  };
  size_t most = 100;
  while (commits(most + 1, false)) {
    ++most;
  }
  ASSERT_GT(most, 200u);
  EXPECT_TRUE(commits(most, true));
  EXPECT_EQ(heap.read(0), most);
  EXPECT_EQ(heap.read(most - 1), 1u);
}

REGISTER_TYPED_TEST_SUITE_P(PhtRecovery, ReplaysWhatIsInTheLogsOnce,
                            DamageInALogIsReportedAndTheMediumLeftAlone,
                            AStoredValueLikeAHeaderIsNoHole, NoLogIsReadInAHeapThatWasClosed,
                            ALargeLogTakesTimeOnlyInAHeapThatWasNotClosed,
                            OneOfTheTwoTablesIsEnough, TheClockGoesOnBehindWhatWasFound,
                            BothOrdersOfReplayComeToTheSameHome,
                            AFullLogTakesFurtherStoresToItsLastWord);

REGISTER_TYPED_TEST_SUITE_P(PhtMarker, TheMarkerNamesATransactionThatIsThere);

}  // namespace holdfast::linked_suite
