// SPDX-License-Identifier: Apache-2.0
// Do spht, spht-si-htm and nv-htm read their logs right: links, lapsed epochs, damage?
#include <gtest/gtest.h>

#include "holdfast/engines/nv_htm/nv_htm.h"
#include "holdfast/engines/spht/spht.h"
#include "holdfast/engines/spht_si_htm/spht_si_htm.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/present.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast {
namespace {

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

using Engines = testing::Types<Spht<SimMachine>, SphtSiHtm<SimMachine>, NvHtm<SimMachine>>;
TYPED_TEST_SUITE(PhtRecovery, Engines);

/// Those with a global marker.
template <class E>
class PhtMarker : public PhtRecovery<E> {};
using MarkerEngines = testing::Types<Spht<SimMachine>, SphtSiHtm<SimMachine>>;
TYPED_TEST_SUITE(PhtMarker, MarkerEngines);

TYPED_TEST(PhtRecovery, ReplaysWhatIsInTheLogsOnce) {
  const auto opened = this->open(this->image_of_ten());
  EXPECT_TRUE(opened.status.ok()) << opened.status.to_string();
  EXPECT_EQ(opened.value, 10u);
  EXPECT_EQ(opened.replayed, 10u);
}

TYPED_TEST(PhtRecovery, DamageInALogIsReportedAndTheMediumLeftAlone) {
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

TYPED_TEST(PhtMarker, TheMarkerNamesATransactionThatIsThere) {
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

TYPED_TEST(PhtRecovery, OneOfTheTwoTablesIsEnough) {
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

TYPED_TEST(PhtRecovery, TheClockGoesOnBehindWhatWasFound) {
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

TYPED_TEST(PhtRecovery, BothOrdersOfReplayComeToTheSameHome) {
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

TEST(PhtLinks, EveryTransactionOfAThreadLinksItsSuccessor) {
  SimOptions options;
  options.threads = 2;
  SimMachine machine(options);
  EngineFixtureShape shape;
  shape.options = {{"background", "0"}, {"log_bytes", "4096"}};
  shape.max_threads = 2;
  EngineFixture<Spht<SimMachine>> heap(machine, shape);
  heap.format().check();
  heap.recover().check();
  const int slot = machine.self();
  for (uint64_t i = 1; i <= 5; ++i) {
    heap.write(0, i);
  }
  const PhtArea area(PhtOptions::parse(shape.options).value(), 2);
  const LinkedLogArea<SimMachine> logs{
      {heap.regions().area + area.log_offset, area.log_bytes, area.logs}, 2};
  uint64_t at = 0;
  for (int i = 1; i <= 5; ++i) {
    const auto record = present(logs.record(slot, at));
    const auto link = LogLink::decode(logs.link(record));
    EXPECT_EQ(link.has_value(), i < 5);
    if (link) {
      EXPECT_EQ(link->thread, slot);
      EXPECT_EQ(link->start, record.end());
    }
    at = record.end();
  }
}

TEST(PhtRecord, SurvivesPackingAndNothingElseDoes) {
  const LinkedRecord r{
      .thread = 3, .start = 640, .time = 77, .payload = 40, .extent = 128, .checksum = 9};
  uint64_t words[3];
  r.header(5, words);
  const auto same = present(LinkedRecord::parse(3, 640, 5, words));
  EXPECT_EQ(same.time, 77u);
  EXPECT_EQ(same.payload, 40u);
  EXPECT_EQ(same.extent, 128u);
  EXPECT_EQ(same.checksum, 9u);
  EXPECT_FALSE(LinkedRecord::parse(2, 640, 5, words)) << "another thread";
  EXPECT_FALSE(LinkedRecord::parse(3, 640 + 4096, 5, words)) << "another lap";
  EXPECT_FALSE(LinkedRecord::parse(3, 640, 6, words)) << "another epoch";
  for (int bit = 0; bit < 192; ++bit) {
    words[bit / 64] ^= uint64_t{1} << bit % 64;
    EXPECT_FALSE(LinkedRecord::parse(3, 640, 5, words)) << "bit " << bit;
    words[bit / 64] ^= uint64_t{1} << bit % 64;
  }
  const LogLink link{257, uint64_t{123456} * kLineBytes};
  EXPECT_EQ(present(LogLink::decode(link.encode())).thread, 257);
  EXPECT_EQ(present(LogLink::decode(link.encode())).start, link.start);
  EXPECT_FALSE(LogLink::decode(0));
}

}  // namespace
}  // namespace holdfast
