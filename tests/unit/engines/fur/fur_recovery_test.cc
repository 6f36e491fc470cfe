// SPDX-License-Identifier: Apache-2.0
// Does FUR's recovery repeat itself, and refuse damaged bytes?
#include <gtest/gtest.h>

#include <cstdio>

#include "holdfast/engines/fur/fur.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/history.h"

namespace holdfast::history_test::fur_recovery_test {
namespace {

EngineFixtureShape shape() {
  EngineFixtureShape s;
  s.options = {{"log_bytes", "1024"}, {"markers", "16"}, {"background", "0"}};
  s.bytes = kPageBytes;
  s.max_threads = 3;
  return s;
}

SimOptions sim_options(uint64_t seed) {
  SimOptions o;
  o.threads = 3;
  o.seed = seed;
  o.switch_probability = 0.08;
  return o;
}

/// Images of a crash in the middle of a run, with several transactions to replay.
template <class E>
std::vector<SimImage> crashed(uint64_t seed, uint64_t event, Acknowledged& told) {
  SimMachine machine(sim_options(seed));
  machine.crash_at(event);
  EngineFixture<E> heap(machine, shape());
  heap.format().check();
  heap.recover().check();
  uint64_t next = 1;
  Worker<E> before(heap, told, seed);
  for (int i = 0; i < 10; ++i) {
    before.update(next++);
  }
  machine.run_threads(3, [&](int w) {
    Worker<E> worker(heap, told, seed * 3 + static_cast<uint64_t>(w));
    for (int i = 0; i < 4; ++i) {
      i % 2 == w % 2 ? worker.update(next++) : worker.read();
    }
  });
  Random random(seed);
  return {machine.earliest_image(), machine.latest_image(), machine.sample_image(random)};
}

template <class E>
class FurRecovery : public testing::Test {};
using Engines = testing::Types<FurOpa<SimMachine>, FurSi<SimMachine>>;
TYPED_TEST_SUITE(FurRecovery, Engines);

template <class E>
std::string recover_and_check(uint64_t seed, const SimImage& image, const Acknowledged& told,
                              uint64_t* replayed) {
  SimMachine machine(sim_options(seed), image);
  EngineFixture<E> heap(machine, shape());
  if (const Status status = heap.recover(); !status.ok()) {
    return status.to_string();
  }
  if (replayed != nullptr) {
    *replayed = heap.report().transactions;
  }
  return judge(heap, told);
}

TYPED_TEST(FurRecovery, ACrashInRecoveryIsRecoveredFrom) {
  uint64_t points = 0;
  uint64_t replayed = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Acknowledged told;
    for (const SimImage& image : crashed<TypeParam>(seed, 40 + 13 * seed, told)) {
      uint64_t transactions = 0;
      ASSERT_EQ(recover_and_check<TypeParam>(seed, image, told, &transactions), "")
          << "seed " << seed;
      replayed += transactions;
      for (uint64_t event = 0;; ++event, ++points) {
        std::vector<SimImage> again;
        bool crashed_again = false;
        {
          SimMachine machine(sim_options(seed), image);
          machine.crash_at(event);
          EngineFixture<TypeParam> heap(machine, shape());
          machine.run_threads(1, [&](int) { heap.recover().check(); });
          crashed_again = machine.crashed();
          Random random(event);
          again = {machine.earliest_image(), machine.latest_image(), machine.sample_image(random)};
        }
        for (const SimImage& second : again) {
          ASSERT_EQ(recover_and_check<TypeParam>(seed, second, told, nullptr), "")
              << "seed " << seed << ", power cut in recovery before event " << event;
        }
        if (!crashed_again) {
          break;
        }
      }
    }
  }
  EXPECT_GT(replayed, 80u) << "most images should leave something to replay";
  std::printf("[ %llu points in recoveries of %llu transactions ]\n",
              static_cast<unsigned long long>(points), static_cast<unsigned long long>(replayed));
}

/// The medium of a heap with a known set of live transactions.
template <class E>
SimImage with_live_transactions(std::vector<uint64_t>& words) {
  SimMachine machine(sim_options(1));
  EngineFixture<E> heap(machine, shape());
  heap.format().check();
  heap.recover().check();
  for (uint64_t i = 0; i < 10; ++i) {
    heap.engine().update([&] {
      heap.set(i, 100 + i);
      heap.set(20 + i, 200 + i);
    });
  }
  for (size_t i = 0; i < 32; ++i) {
    words.push_back(heap.read(i));
  }
  return machine.earliest_image();
}

TYPED_TEST(FurRecovery, EveryFlippedBitOfWhatRecoveryNeedsIsReportedOrHarmless) {
  std::vector<uint64_t> words;
  const SimImage image = with_live_transactions<TypeParam>(words);
  const size_t area =
      TypeParam::kDescription.area_bytes(shape().options, shape().max_threads).value();
  uint64_t reported = 0;
  uint64_t live = 0;
  Random random(5);
  for (size_t byte = 0; byte < area; ++byte) {
    if (image[byte] == std::byte{0} && byte % 16 != 0) {
      continue;  // empty space is sampled
    }
    SimImage bad = image;
    bad[byte] ^= static_cast<std::byte>(1u << random.below(8));
    SimMachine machine({}, bad);
    EngineFixture<TypeParam> heap(machine, shape());
    const Status status = heap.recover();
    if (!status.ok()) {
      ++reported;
      EXPECT_EQ(status.code(), Code::corrupt) << "byte " << byte;
      EXPECT_TRUE(machine.latest_image() == bad) << "byte " << byte << ": the medium was changed";
      continue;
    }
    // Accepted: then the byte did not matter.
    live += heap.report().transactions;
    for (size_t i = 0; i < words.size(); ++i) {
      ASSERT_EQ(heap.read(i), words[i]) << "byte " << byte << " was damaged, unnoticed";
    }
  }
  // At least: header and tail, and marker and log of ten transactions.
  EXPECT_GT(reported, 200u);
  EXPECT_GT(live, 0u);
  std::printf("[ %llu of the damaged bytes mattered ]\n",
              static_cast<unsigned long long>(reported));
}

TYPED_TEST(FurRecovery, OtherOptionsThanAtCreationAreRefused) {
  std::vector<uint64_t> words;
  const SimImage image = with_live_transactions<TypeParam>(words);
  EngineFixtureShape other = shape();
  other.options["markers"] = "32";
  SimMachine machine({}, image);
  EngineFixture<TypeParam> heap(machine, other);
  EXPECT_EQ(heap.recover().code(), Code::corrupt);
}

}  // namespace
}  // namespace holdfast::history_test::fur_recovery_test
