// SPDX-License-Identifier: Apache-2.0
// Do the durable engines in software survive a power cut at any event, also during recovery?
// (tests/crash searches deeper, over a heap.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "holdfast/engines/dudetm/dudetm.h"
#include "holdfast/engines/mnemosyne/mnemosyne.h"
#include "holdfast/engines/pisces/pisces.h"
#include "holdfast/engines/spec_pmt/spec_pmt.h"
#include "holdfast/engines/trinity/trinity.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/fur_history.h"

namespace holdfast::fur_test {
namespace {

template <class E>
EngineFixtureShape shape(bool background) {
  const Options wished = {{"log_bytes", "768"},
                          {"records", "32"},
                          {"locks", "64"},
                          {"background", background ? "1" : "0"}};
  EngineFixtureShape s;
  for (size_t i = 0; i < E::kDescription.option_count; ++i) {
    const auto found = wished.find(E::kDescription.options[i].name);
    if (found != wished.end()) {
      s.options.insert(*found);
    }
  }
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

struct Run {
  std::vector<SimImage> images;
  bool crashed = false;
};

/// A run that ends before persist event `event`, and images it may leave.
template <class E>
Run run_until(uint64_t seed, uint64_t event, Acknowledged& told) {
  SimMachine machine(sim_options(seed));
  EngineFixture<E> heap(machine, shape<E>(seed % 2 == 0));
  heap.format().check();
  heap.recover().check();
  uint64_t next = 1;
  Worker<E> before(heap, told, seed);
  for (int i = 0; i < 6; ++i) {
    before.update(next++);
  }
  machine.crash_at(machine.persist_events() + event);
  machine.run_threads(3, [&](int w) {
    Worker<E> worker(heap, told, seed * 3 + static_cast<uint64_t>(w));
    for (int i = 0; i < 5; ++i) {
      i % 3 == w % 3 ? worker.read() : worker.update(next++);
    }
  });
  Random random(seed + event);
  return {{machine.earliest_image(), machine.latest_image(), machine.sample_image(random)},
          machine.crashed()};
}

template <class E>
std::string recover_and_judge(uint64_t seed, const SimImage& image, const Acknowledged& told,
                              uint64_t* replayed) {
  SimMachine machine(sim_options(seed), image);
  EngineFixture<E> heap(machine, shape<E>(false));
  if (const Status status = heap.recover(); !status.ok()) {
    return status.to_string();
  }
  if (replayed != nullptr) {
    *replayed += heap.report().transactions;
  }
  if (std::string wrong = judge(heap, told); !wrong.empty()) {
    return wrong;
  }
  // It is a heap to work with.
  heap.write(1, 77);
  return heap.read(1) == 77 ? "" : "a store after recovery is lost";
}

/// The option that bounds what a transaction stores.
template <class E>
std::string bound() {
  return shape<E>(false).options.count("log_bytes") == 1 ? "log_bytes" : "records";
}

/// Its other kind of log.
struct TornbitMnemosyne : Mnemosyne<SimMachine> {
  TornbitMnemosyne(SimMachine& machine, const Regions& regions, Options options, int max_threads)
      : Mnemosyne(machine, regions, (options["tornbit"] = "1", options), max_threads) {}
};

template <class E>
class StmRecovery : public testing::Test {};
using Engines = testing::Types<SpecPmt<SimMachine>, DudeTm<SimMachine>, Pisces<SimMachine>,
                               Trinity<SimMachine>, Mnemosyne<SimMachine>, TornbitMnemosyne>;
TYPED_TEST_SUITE(StmRecovery, Engines);

TYPED_TEST(StmRecovery, APowerCutAtEveryEvent) {
  uint64_t points = 0;
  uint64_t replayed = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    for (uint64_t event = 0;; ++event, ++points) {
      Acknowledged told;
      const Run run = run_until<TypeParam>(seed, event, told);
      for (const SimImage& image : run.images) {
        ASSERT_EQ(recover_and_judge<TypeParam>(seed, image, told, &replayed), "")
            << "seed " << seed << ", power cut before event " << event;
      }
      if (!run.crashed) {
        break;
      }
    }
  }
  std::printf("[ %llu points, %llu transactions replayed ]\n",
              static_cast<unsigned long long>(points), static_cast<unsigned long long>(replayed));
  EXPECT_GT(replayed, 100u);
}

TYPED_TEST(StmRecovery, APowerCutInRecovery) {
  uint64_t points = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Acknowledged told;
    const Run run = run_until<TypeParam>(seed, 30 + 11 * seed, told);
    for (const SimImage& image : run.images) {
      for (uint64_t event = 0;; ++event, ++points) {
        std::vector<SimImage> again;
        bool crashed_again = false;
        {
          SimMachine machine(sim_options(seed), image);
          machine.crash_at(event);
          EngineFixture<TypeParam> heap(machine, shape<TypeParam>(false));
          machine.run_threads(1, [&](int) { heap.recover().check(); });
          crashed_again = machine.crashed();
          Random random(event);
          again = {machine.earliest_image(), machine.latest_image(), machine.sample_image(random)};
        }
        for (const SimImage& second : again) {
          ASSERT_EQ(recover_and_judge<TypeParam>(seed, second, told, nullptr), "")
              << "seed " << seed << ", power cut in recovery before event " << event;
        }
        if (!crashed_again) {
          break;
        }
      }
    }
  }
  EXPECT_GT(points, 20u);
}

TYPED_TEST(StmRecovery, ACleanCloseLeavesNothingToDo) {
  SimImage image;
  {
    SimMachine machine(sim_options(1));
    EngineFixture<TypeParam> heap(machine, shape<TypeParam>(true));
    heap.format().check();
    heap.recover().check();
    for (size_t i = 0; i < 200; ++i) {
      heap.write(i, i + 1);
    }
    heap.engine().close().check();
    image = machine.earliest_image();
  }
  SimMachine machine(sim_options(2), image);
  EngineFixture<TypeParam> heap(machine, shape<TypeParam>(false));
  heap.recover().check();
  EXPECT_FALSE(heap.report().needed);
  for (size_t i = 0; i < 200; ++i) {
    ASSERT_EQ(heap.read(i), i + 1);
  }
}

TYPED_TEST(StmRecovery, OtherOptionsThanAtCreationAreRefused) {
  SimImage image;
  {
    SimMachine machine(sim_options(1));
    EngineFixture<TypeParam> heap(machine, shape<TypeParam>(false));
    heap.format().check();
    image = machine.earliest_image();
  }
  EngineFixtureShape other = shape<TypeParam>(false);
  other.options[bound<TypeParam>()] = "4096";
  SimMachine machine(sim_options(1), image);
  EngineFixture<TypeParam> heap(machine, other);
  EXPECT_EQ(heap.recover().code(), Code::corrupt);
}

TYPED_TEST(StmRecovery, ATransactionLargerThanItsLogIsRefusedClearly) {
  SimMachine machine(sim_options(1));
  EngineFixture<TypeParam> heap(machine, shape<TypeParam>(false));
  heap.format().check();
  heap.recover().check();
  try {
    heap.engine().update([&] {
      for (size_t i = 0; i < 100; ++i) {
        heap.set(i * 2, i);
      }
    });
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), Code::out_of_space);
    EXPECT_NE(error.status().message().find(bound<TypeParam>()), std::string::npos);
  }
  heap.write(2, 5);
  EXPECT_EQ(heap.read(2), 5u);
  EXPECT_EQ(heap.read(4), 0u);
}

/// Write-backs and fences of an update of n scattered words.
template <class E>
PersistCounters cost(size_t n, size_t line) {
  SimOptions sim = sim_options(1);
  sim.line_bytes = line;
  SimMachine machine(sim);
  EngineFixtureShape s = shape<E>(false);
  s.options["log_bytes"] = "8192";
  EngineFixture<E> heap(machine, s);
  heap.format().check();
  heap.recover().check();
  const PersistCounters before = machine.counters();
  heap.engine().update([&] {
    for (size_t i = 0; i < n; ++i) {
      heap.set(i * 2, n);
    }
  });
  return machine.counters() - before;
}

/// A torn block that recovery has dropped does not come back when the block that is being written
/// over it is torn in turn, with just the line on the medium that both have in common.
template <class E>
void expect_a_torn_block_stays_dropped(const std::vector<Mutation>& mutations,
                                       uint64_t comes_back) {
  SimImage whole;
  {
    SimMachine machine(sim_options(1));
    EngineFixture<E> heap(machine, shape<E>(false));
    heap.format().check();
    heap.recover().check();
    heap.engine().update([&] {
      for (size_t i = 1; i <= 8; ++i) {
        heap.set(2 * i, i);
      }
    });
    whole = machine.earliest_image();
  }
  const size_t area = E::kDescription.area_bytes(shape<E>(false).options, 3).value();
  // The lines that differ from an empty area, all but the header and the first of the block.
  std::vector<size_t> lines;
  for (size_t line = 2 * kPageBytes; line < area; line += kLineBytes) {
    if (std::any_of(whole.begin() + static_cast<std::ptrdiff_t>(line),
                    whole.begin() + static_cast<std::ptrdiff_t>(line + kLineBytes),
                    [](std::byte b) { return b != std::byte{0}; })) {
      lines.push_back(line);
    }
  }
  ASSERT_GE(lines.size(), 2u);
  const size_t cut = lines.back();
  const auto at = [&](SimImage& image) { return image.begin() + static_cast<std::ptrdiff_t>(cut); };
  SimImage torn = whole;
  std::fill_n(at(torn), kLineBytes, std::byte{0});
  std::fill(torn.begin() + static_cast<std::ptrdiff_t>(area), torn.end(), std::byte{0});
  SimImage recovered;
  {
    SimOptions options = sim_options(1);
    options.mutations = mutations;
    SimMachine machine(options, torn);
    EngineFixture<E> heap(machine, shape<E>(false));
    heap.recover().check();
    EXPECT_EQ(heap.report().transactions, 0u);
    EXPECT_EQ(heap.read(2), 0u);
    recovered = machine.earliest_image();
  }
  std::copy_n(at(whole), kLineBytes, at(recovered));
  SimMachine machine(sim_options(1), recovered);
  EngineFixture<E> heap(machine, shape<E>(false));
  heap.recover().check();
  EXPECT_EQ(heap.report().transactions, comes_back);
}

TEST(StampedLogsTest, ATornBlockStaysDropped) {
  expect_a_torn_block_stays_dropped<SpecPmt<SimMachine>>({}, 0);
  expect_a_torn_block_stays_dropped<DudeTm<SimMachine>>({}, 0);
  // Which this test would notice.
  expect_a_torn_block_stays_dropped<SpecPmt<SimMachine>>(
      {parse_mutation("logs.recover.empty=drop").value()}, 1);
}

TEST(DudeTmCost, OneFenceAndTheLinesOfTheBlock) {
  for (size_t n = 1; n <= 20; ++n) {
    const PersistCounters c = cost<DudeTm<SimMachine>>(n, 64);
    EXPECT_EQ(c.pfence + c.psync, 1u);
    EXPECT_EQ(c.pwb, (16 * n + CommitBlock::kFrameBytes + 63) / 64) << n << " words";
  }
}

TEST(PiscesCost, ThreeFencesTheBlockTheDataAndItsRetirement) {
  for (const size_t line : {64u, 128u}) {
    for (size_t n = 1; n <= 20; ++n) {
      const PersistCounters c = cost<Pisces<SimMachine>>(n, line);
      EXPECT_EQ(c.pfence + c.psync, 3u);
      EXPECT_EQ(c.pwb, (16 * n + CommitBlock::kFrameBytes + line - 1) / line  // block
                           + (16 * (n - 1) + 8 + line - 1) / line             // data
                           + 1)
          << n << " words";
    }
  }
}

TEST(SpecPmtCost, OneFenceAndTheLinesOfTheBlock) {
  for (const size_t line : {64u, 128u}) {
    for (size_t n = 1; n <= 20; ++n) {
      const PersistCounters c = cost<SpecPmt<SimMachine>>(n, line);
      EXPECT_EQ(c.pfence + c.psync, 1u);
      EXPECT_EQ(c.pwb, (16 * n + CommitBlock::kFrameBytes + line - 1) / line) << n << " words";
    }
  }
}

TEST(CommitBlockTest, TornAndForeignBlocksAreNone) {
  constexpr size_t kBytes =
      CommitBlock::kFrameBytes + sizeof(uint64_t) * (2 + 3);  // two headers, three words
  CommitBlock block;
  block.clear();
  EXPECT_TRUE(block.empty());
  block.add(64, 1);
  block.add(72, 2);
  block.add(160, 3);
  EXPECT_EQ(block.bytes(), kBytes);
  block.seal(42, 7);
  EXPECT_EQ(block.bytes(), kBytes);
  const std::vector<uint64_t> words(block.words(), block.words() + block.bytes() / 8);
  EXPECT_EQ(claimed_block_bytes(words[1], 1024), block.bytes());
  EXPECT_EQ(claimed_block_bytes(words[1], block.bytes() - 1), 0u);
  EXPECT_EQ(claimed_block_bytes(words[1] + 1, 1024), 0u);
  EXPECT_EQ(block_timestamp(words, 7), 42u);
  EXPECT_EQ(block_timestamp(words, 8), std::nullopt);
  for (size_t i = 0; i < words.size(); ++i) {
    std::vector<uint64_t> torn = words;
    torn[i] = 0;
    EXPECT_EQ(block_timestamp(torn, 7), std::nullopt) << i;
  }
  std::vector<uint64_t> offsets;
  EXPECT_TRUE(for_each_block_record(words, [&](RedoRecord record, const uint64_t* payload) {
    for (uint64_t k = 0; k < record.bytes / 8; ++k) {
      offsets.push_back(record.offset + 8 * k);
      EXPECT_EQ(payload[k], offsets.size());
    }
  }));
  EXPECT_EQ(offsets, (std::vector<uint64_t>{64, 72, 160}));
  block.clear();
  EXPECT_TRUE(block.empty());
}

}  // namespace
}  // namespace holdfast::fur_test
