// SPDX-License-Identifier: Apache-2.0
//
// Does Mnemosyne cost what its page says, and do its torn bits show the end of a log? tests/crash
// tests what survives.
#include "holdfast/engines/mnemosyne/mnemosyne.h"

#include <gtest/gtest.h>

#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::mnemosyne_test {
namespace {

using Heap = EngineFixture<Mnemosyne<SimMachine>>;
constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);
/// A block's words beside its records: checksum, length, time.
constexpr size_t kFrameBytes = CommitBlock::kFrameBytes;

EngineFixtureShape shape(bool tornbit, const char* log_bytes = "8192") {
  EngineFixtureShape s;
  s.options = {{"tornbit", tornbit ? "1" : "0"}, {"log_bytes", log_bytes}, {"locks", "64"}};
  s.bytes = 2 * kPageBytes;
  s.max_threads = 3;
  return s;
}

SimOptions sim_options(uint64_t seed = 1, size_t line = kLineBytes) {
  SimOptions o;
  o.threads = 3;
  o.seed = seed;
  o.line_bytes = line;
  return o;
}

class OneHeap {
 public:
  explicit OneHeap(bool tornbit, const SimOptions& sim = sim_options(),
                   const char* log_bytes = "8192")
      : machine_(sim), heap_(machine_, shape(tornbit, log_bytes)) {
    heap_.format().check();
    heap_.recover().check();
  }
  Heap* operator->() { return &heap_; }
  SimMachine& machine() { return machine_; }

  PersistCounters cost(FunctionRef<void()> f) {
    const PersistCounters before = machine_.counters();
    f();
    return machine_.counters() - before;
  }
  /// Transactions of n words in places of their own, every second word of the heap.
  PersistCounters cost_of(size_t n) {
    return cost([&] {
      heap_.engine().update([&] {
        for (size_t i = 0; i < n; ++i) {
          heap_.set(2 * i, n);
        }
      });
    });
  }

 private:
  SimMachine machine_;
  Heap heap_;
};

size_t ceil(size_t n, size_t unit) {
  return (n + unit - 1) / unit;
}

// ---- cost (Romulus, SPAA 2018, Table 1)

TEST(MnemosyneCost, FourFencesWhateverTheSize) {
  for (const size_t line : {64u, 128u}) {
    for (size_t n = 1; n <= 20; ++n) {
      OneHeap heap(false, sim_options(1, line));
      const PersistCounters c = heap.cost_of(n);
      EXPECT_EQ(c.pfence + c.psync, 4u);
      EXPECT_EQ(c.nontemporal, ceil(16 * n + kFrameBytes, line) + 1) << "block, commit record";
      EXPECT_EQ(c.pwb, ceil(16 * (n - 1) + 8, line) + 1) << "data, truncation";
    }
  }
}

TEST(MnemosyneCost, TwoFencesWithTornBits) {
  for (const size_t line : {64u, 128u}) {
    for (size_t n = 1; n <= 20; ++n) {
      OneHeap heap(true, sim_options(1, line));
      const PersistCounters c = heap.cost_of(n);
      EXPECT_EQ(c.pfence + c.psync, 2u);
      const size_t words = torn_bits::taken((16 * n + kFrameBytes) / 8);
      EXPECT_EQ(c.nontemporal, ceil(ceil(words, kLineWords) * kLineBytes, line));
      EXPECT_EQ(c.pwb, ceil(16 * (n - 1) + 8, line) + 1) << "data, head";
    }
  }
}

TEST(MnemosyneCost, ThreeTimesTheWordsAndFortyBytes) {
  for (const size_t n : {1u, 7u, 100u}) {
    OneHeap heap(false);
    const Statistics before = heap->engine().statistics();
    const PersistCounters c = heap.cost_of(n);
    EXPECT_EQ(c.bytes, n * 3 * 8 + kFrameBytes + 2 * sizeof(uint64_t));
    const Statistics counted = heap->engine().statistics() - before;
    EXPECT_EQ(counted.bytes_written, c.bytes);
    EXPECT_EQ(counted.bytes_stored, 8 * n);
  }
}

TEST(MnemosyneCost, ReadersAndAbortedAttemptsPersistNothing) {
  for (const bool tornbit : {false, true}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      OneHeap heap(tornbit, sim_options(seed));
      const PersistCounters c = heap.cost([&] {
        heap.machine().run_threads(3, [&](int) {
          for (int i = 0; i < 5; ++i) {
            heap->engine().update([&] { heap->set(0, heap->get(0) + 1); });
            heap->read(0);
          }
        });
      });
      EXPECT_EQ(c.pfence + c.psync, 15u * (tornbit ? 2 : 4));
    }
    OneHeap heap(tornbit);
    EXPECT_EQ(heap.cost([&] {
                    EXPECT_THROW(heap->engine().update([&] {
                      heap->set(0, 1);
                      throw 1;
                    }),
                                 int);
                    heap->engine().update([&] { static_cast<void>(heap->get(0)); });
                  })
                  .bytes,
              0u);
  }
}

// ---- torn bits

TEST(TornBits, WordsComeBack) {
  Random random(5);
  for (size_t n = 1; n <= 200; ++n) {
    std::vector<uint64_t> words(n);
    for (uint64_t& word : words) {
      word = random.chance(0.1) ? ~uint64_t{0} : random.next();
    }
    std::vector<uint64_t> log(torn_bits::taken(n));
    for (size_t i = 0; i < log.size(); ++i) {
      log[i] = torn_bits::packed(words.data(), n, i);
      ASSERT_EQ(log[i] & torn_bits::kTorn, 0u);
      log[i] |= random.chance(0.5) ? torn_bits::kTorn : 0;
    }
    for (size_t i = 0; i < n; ++i) {
      ASSERT_EQ(torn_bits::unpacked(log.data(), i), words[i]) << i << " of " << n;
    }
    ASSERT_LE(63 * (log.size() - 1), 64 * n) << "a word too many";
  }
}

/// Whichever words of the block are missing, in whichever lap, recovery finds none of it, and what
/// is left of it does not stand in for parts of the next one.
TEST(TornBits, ABlockThatMissesAWordIsNone) {
  const auto store = [](Heap& heap, uint64_t value) {
    heap.engine().update([&] {
      for (size_t i = 0; i < 8; ++i) {
        heap.set(2 * i, value);
      }
    });
  };
  for (uint64_t laps = 0; laps < 9; ++laps) {
    SimImage before;
    SimImage after;
    {
      OneHeap heap(true, sim_options(), "512");
      for (uint64_t i = 0; i < laps; ++i) {
        store(*heap.operator->(), i + 1);
      }
      heap->engine().close().check();
      before = heap.machine().earliest_image();
      // The power fails in the second fence: all of the block is there, and nothing in place.
      const uint64_t fences = heap.machine().counters().pfence;
      heap.machine().before_persist_event([&](uint64_t) {
        if (after.empty() && heap.machine().counters().pfence == fences + 2) {
          after = heap.machine().earliest_image();
        }
      });
      heap.machine().run_threads(1, [&](int) { store(*heap.operator->(), 77); });
      heap.machine().before_persist_event({});
    }
    ASSERT_FALSE(after.empty());
    std::vector<size_t> written;  // words that the block has changed
    for (size_t at = 0; at < after.size(); at += 8) {
      if (!std::equal(&after[at], &after[at] + 8, &before[at])) {
        written.push_back(at);
      }
    }
    ASSERT_GE(written.size(), 19u) << laps;
    const auto recovered = [&](const SimImage& image, uint64_t* transactions) {
      SimMachine machine(sim_options(), image);
      Heap heap(machine, shape(true, "512"));
      heap.recover().check();
      *transactions = heap.report().transactions;
      for (size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(heap.read(2 * i), *transactions == 1 ? 77 : laps) << laps;
      }
      return machine.earliest_image();
    };
    uint64_t transactions = 0;
    recovered(after, &transactions);
    EXPECT_EQ(transactions, 1u);
    for (const size_t missing : written) {
      SimImage torn = after;
      std::copy_n(&before[missing], 8, &torn[missing]);
      SimImage cleaned = recovered(torn, &transactions);
      EXPECT_EQ(transactions, 0u) << laps << ", without " << missing;
      // The missing word, on its own, does not bring it back.
      std::copy_n(&after[missing], 8, &cleaned[missing]);
      recovered(cleaned, &transactions);
      EXPECT_EQ(transactions, 0u) << laps << ", with " << missing << " late";
    }
  }
}

struct Moment {
  SimImage image;
  bool told;  ///< of the second update
};

/// One thread stores 1 to word 0 and returns; then another one 2 to words 0 and 50. The test checks
/// what a power failure may leave from then on; `first` is the thread that begins.
std::vector<Moment> one_after_the_other(int first, const std::vector<Mutation>& mutations) {
  SimOptions options = sim_options();
  options.mutations = mutations;
  options.rmw_orders_pwb = false;  // else the first thread's hand-over would fence
  OneHeap heap(true, options);
  SimMachine& machine = heap.machine();
  auto* turn = make_object<SimMachine::Atomic<uint64_t>>(machine);
  bool began = false;
  bool told = false;
  const auto await = [&](uint64_t wanted) {
    for (uint64_t seen = turn->load(); seen < wanted; seen = turn->load()) {
      machine.wait_while(*turn, seen);
    }
  };
  std::vector<Moment> moments;
  machine.before_persist_event([&](uint64_t) {
    if (began) {
      machine.for_each_image(12, [&](const SimImage& image) {
        moments.push_back({image, told});
        return true;
      });
    }
  });
  machine.run_threads(2, [&](int worker) {
    if (worker == first) {
      heap->write(0, 1);
      turn->store(1);
      await(2);
    } else {
      await(1);
      began = true;
      heap->engine().update([&] {
        heap->set(0, 2);
        heap->set(50, 2);
      });
      told = true;
      heap->write(100, 3);  // goes on for a while
      turn->store(2);
    }
  });
  machine.before_persist_event({});
  return moments;
}

/// How often recovery loses the second update, or finds half of it.
size_t wrong(const std::vector<Moment>& moments, const std::vector<Mutation>& mutations) {
  size_t count = 0;
  for (const Moment& moment : moments) {
    SimOptions options = sim_options();
    options.mutations = mutations;
    SimMachine machine(options, moment.image);
    Heap again(machine, shape(true));
    again.recover().check();
    const bool there = again.read(0) == 2;
    count += (moment.told && !there) || there != (again.read(50) == 2) ? 1 : 0;
  }
  return count;
}

/// A trap: truncations without fences. Whichever heads are on the medium, the newer value stays.
TEST(TornBits, AnOlderBlockIsNeverReplayedOverANewerOne) {
  const std::vector<Mutation> unhelpful = {parse_mutation("mnemosyne.torn.help=drop").value()};
  const std::vector<Mutation> unsorted = {parse_mutation("mnemosyne.recover.sort=drop").value()};
  size_t without_help = 0;
  size_t without_order = 0;
  for (const int first : {0, 1}) {
    const std::vector<Moment> moments = one_after_the_other(first, {});
    EXPECT_GT(moments.size(), 20u);
    EXPECT_EQ(wrong(moments, {}), 0u);
    without_order += wrong(moments, unsorted);
    without_help += wrong(one_after_the_other(first, unhelpful), {});
  }
  EXPECT_GT(without_help, 0u) << "this test would not notice";
  EXPECT_GT(without_order, 0u) << "this test would not notice";
}

// ---- recovery

TEST(MnemosyneRecovery, DamageToACommittedLogIsReported) {
  for (const bool tornbit : {false, true}) {
    SimImage image;
    size_t log = 0;
    {
      OneHeap heap(tornbit);
      SimMachine& machine = heap.machine();
      machine.before_persist_event([&](uint64_t) {
        if (machine.counters().pfence == (tornbit ? 2u : 3u) && image.empty()) {
          image = machine.earliest_image();  // committed, and not truncated yet
        }
      });
      machine.run_threads(1, [&](int) { heap->write(3, 5); });
      machine.before_persist_event({});
      log = MnemosyneOptions::parse(shape(tornbit).options).value().area(3).log_offset;
    }
    ASSERT_FALSE(image.empty());
    {
      SimMachine machine(sim_options(), image);
      Heap heap(machine, shape(tornbit));
      heap.recover().check();
      EXPECT_EQ(heap.report().transactions, 1u);
      EXPECT_EQ(heap.read(3), 5u);
    }
    // The worker may have any slot: find its log.
    const size_t bytes = 8192;
    while (image[log] == std::byte{0} && log < image.size()) {
      log += bytes;
    }
    ASSERT_LT(log, image.size());
    for (size_t word = 2; word < 4; ++word) {
      SimImage damaged = image;
      damaged[log + 8 * word] ^= std::byte{1};
      SimMachine machine(sim_options(), damaged);
      Heap heap(machine, shape(tornbit));
      EXPECT_EQ(heap.recover().code(), Code::corrupt) << tornbit << " word " << word;
      EXPECT_EQ(machine.latest_image(), damaged);
    }
  }
}

TEST(MnemosyneRecovery, TheOtherKindOfLogIsRefused) {
  for (const bool tornbit : {false, true}) {
    SimImage image;
    {
      OneHeap heap(tornbit);
      heap->engine().close().check();
      image = heap.machine().earliest_image();
    }
    SimMachine machine(sim_options(), image);
    Heap heap(machine, shape(!tornbit));
    EXPECT_EQ(heap.recover().code(), Code::corrupt);
  }
}

TEST(MnemosyneOptionsTest, AreChecked) {
  EXPECT_FALSE(mnemosyne_area_bytes({{"tornbit", "2"}}, 1).ok());
  EXPECT_FALSE(mnemosyne_area_bytes({{"log_bytes", "8"}}, 1).ok());
  EXPECT_FALSE(mnemosyne_area_bytes({{"locks", "1"}}, 1).ok());
  EXPECT_EQ(mnemosyne_area_bytes({{"tornbit", "1"}}, 1).value(),
            mnemosyne_area_bytes({}, 1).value());
}

}  // namespace
}  // namespace holdfast::mnemosyne_test
