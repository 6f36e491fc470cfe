// SPDX-License-Identifier: Apache-2.0
//
// Does a heap keep the memory of its partitions apart, on every engine, and refuse wrong names?
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine_options.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::partitions_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;
constexpr uint64_t kChunk = 4096;
constexpr size_t kSmall = 48;
constexpr size_t kLarge = 3 * kChunk;

class HeapPartitions : public ::testing::TestWithParam<std::string> {
 protected:
  HeapPartitions() { make(); }

  void make(int partitions = 3) {
    heap_.reset();
    machine_.reset();
    machine_options_ = engine_rows_test::machine_for(description(), 1);
    machine_ = std::make_unique<SimMachine>(machine_options_);
    CreateOptions create;
    create.engine = GetParam();
    create.bytes = 512 << 10;
    create.max_bytes = 4 << 20;
    create.chunk_bytes = kChunk;
    create.partitions = partitions;
    create.options = known_options(description(), {{"log_bytes", "65536"}, {"markers", "1024"}});
    heap_ = H::create(*machine_, create).value();
  }
  static const Description& description() {
    return *EngineFactory<H::Engine>::describe(GetParam()).value();
  }
  /// Closes the heap and opens its image.
  void reopen() {
    heap_->close().check();
    heap_.reset();  // unmaps its pages, so that caches write their lines back
    const SimImage image = machine_->earliest_image();
    machine_.reset();
    machine_ = std::make_unique<SimMachine>(machine_options_, image);
    machine_->power_on();
    heap_ = H::open(*machine_).value();
  }

  std::vector<void*> allocate(Partitions partitions, size_t count, size_t bytes = kSmall) {
    std::vector<void*> blocks(count);
    for (void*& block : blocks) {
      heap_->update(partitions, [&] { block = H::allocate(bytes); }).check();
    }
    return blocks;
  }
  void free(Partitions partitions, const std::vector<void*>& blocks, size_t bytes = kSmall) {
    for (void* block : blocks) {
      heap_->update(partitions, [&] { H::deallocate(block, bytes); }).check();
    }
  }
  std::set<uint64_t> chunks(const std::vector<void*>& blocks) const {
    std::set<uint64_t> all;
    for (const void* block : blocks) {
      all.insert((reinterpret_cast<uint64_t>(block) - heap_->superblock().base) / kChunk);
    }
    return all;
  }
  void expect_apart(const std::vector<void*>& a, const std::vector<void*>& b) const {
    const std::set<uint64_t> others = chunks(b);
    for (const uint64_t chunk : chunks(a)) {
      EXPECT_EQ(others.count(chunk), 0u);
    }
  }
  void expect_sound(const std::vector<std::pair<std::vector<void*>, size_t>>& live) {
    const HeapCheck found = heap_
                                ->check([&](const BlockVisitor& see) {
                                  for (const auto& [blocks, bytes] : live) {
                                    for (const void* block : blocks) {
                                      see(block, bytes);
                                    }
                                  }
                                })
                                .value();
    EXPECT_TRUE(found.ok()) << (found.errors.empty() ? "leak" : found.errors[0]);
  }
  Status update(Partitions partitions) {
    return heap_->update(partitions, [] {});
  }

  SimOptions machine_options_;
  std::unique_ptr<SimMachine> machine_;
  std::unique_ptr<H> heap_;
};

INSTANTIATE_TEST_SUITE_P(Engines, HeapPartitions,
                         ::testing::ValuesIn(names_of(engine_rows<SimMachine>(),
                                                      [](const auto& row) {
                                                        return is_durable(*row.description) &&
                                                               has_fast_updates(*row.description);
                                                      })),
                         [](const auto& i) { return test_name(i.param); });

TEST_P(HeapPartitions, ChunksHaveBlocksOfOnePartition) {
  const std::vector<void*> none = allocate(Partitions::all(), 100);
  const std::vector<void*> first = allocate({0}, 200);
  const std::vector<void*> second = allocate({1, 2}, 200);
  expect_apart(first, second);
  expect_apart(none, first);
  free({0}, first);
  const std::vector<void*> third = allocate({1}, 200);
  expect_apart(third, first);
  const std::vector<void*> again = allocate({0}, 200);
  EXPECT_EQ(std::set(again.begin(), again.end()), std::set(first.begin(), first.end()));
  expect_sound({{none, kSmall}, {again, kSmall}, {second, kSmall}, {third, kSmall}});
}

TEST_P(HeapPartitions, LargeBlocksAreReused) {
  std::vector<void*> first = allocate({0}, 4, kLarge);
  std::vector<void*> second = allocate({1}, 4, kLarge);
  const std::vector<void*> small = allocate({1}, 100);
  free({0}, first, kLarge);
  const std::vector<void*> again = allocate({1}, 4, kLarge);
  EXPECT_EQ(std::set(again.begin(), again.end()), std::set(first.begin(), first.end()));
  expect_sound({{second, kLarge}, {again, kLarge}, {small, kSmall}});
  // Transactions without names meet runs of both kinds.
  free({1}, again, kLarge);
  free(Partitions::all(), second, kLarge);
  expect_sound({{small, kSmall}});
  first = allocate(Partitions::all(), 3, kLarge);
  second = allocate({2}, 3, kLarge);
  expect_sound({{first, kLarge}, {second, kLarge}, {small, kSmall}});
  free({2}, second, kLarge);
  free(Partitions::all(), first, kLarge);
  free({1}, small);
  expect_sound({});
}

TEST_P(HeapPartitions, TheHeapGrowsForAPartition) {
  const std::vector<void*> blocks = allocate({1}, 100, 2 * kLarge);
  EXPECT_GT(heap_->superblock().data_bytes(), size_t{512} << 10);
  expect_sound({{blocks, 2 * kLarge}});
}

TEST_P(HeapPartitions, CompactionGivesBackChunksAndKeepsTheOthersApart) {
  std::vector<void*> first = allocate({0}, 400);
  std::vector<void*> second = allocate({1}, 400);
  const std::vector<void*> kept(first.begin(), first.begin() + 20);
  free({0}, {first.begin() + 20, first.end()});
  free({1}, second);
  const uint64_t before = heap_->space().value().untouched;
  machine_->run_threads(1, [&](int) { heap_->compact().status().check(); });
  expect_sound({{kept, kSmall}});
  // Chunks that only partition 1 could use hold a large block now, or are as if never used.
  const std::vector<void*> large = allocate(Partitions::all(), 1, kLarge);
  EXPECT_GE(heap_->space().value().untouched, before);
  free(Partitions::all(), large, kLarge);
  first = allocate({0}, 300);
  second = allocate({1}, 300);
  expect_apart(second, first);
  expect_apart(second, kept);
  expect_sound({{kept, kSmall}, {first, kSmall}, {second, kSmall}});
}

TEST_P(HeapPartitions, ACompactionThatFailsKeepsThemApart) {
  for (const bool reopens : {false, true}) {
    make();
    std::vector<void*> kept;
    std::vector<void*> freed;
    const std::vector<void*> blocks = allocate({2}, 900);
    for (size_t i = 0; i < blocks.size(); ++i) {  // chunks of the first half do not drain
      (i < 450 && i % 50 == 0 ? kept : freed).push_back(blocks[i]);
    }
    free({2}, freed);
    const auto& header = *reinterpret_cast<DataHeader<H::Engine>*>(heap_->superblock().base);
    const auto reading = [&](FunctionRef<void()> body) { heap_->read(body).check(); };
    const auto failing = [&](FunctionRef<void()> body) {
      heap_->update(body).check();
      bool sweeps = false;
      reading([&] { sweeps = header.swept.load() != nullptr; });
      if (sweeps) {
        throw Error(Status(Code::out_of_space, "no room"));
      }
    };
    EXPECT_THROW(Compaction<H::Engine>(reinterpret_cast<std::byte*>(heap_->superblock().base),
                                       failing, reading)
                     .drain(),
                 Error);
    if (reopens) {
      reopen();
    } else {
      machine_->run_threads(1, [&](int) { heap_->compact().status().check(); });
    }
    const std::vector<void*> others = allocate(Partitions::all(), 900);
    expect_apart(others, kept);
    expect_sound({{kept, kSmall}, {others, kSmall}});
  }
}

TEST_P(HeapPartitions, ARefusalInAFullHeapLeavesTheOthersTheirRoom) {
  const std::vector<void*> small = allocate({0}, 100);
  free({0}, small);
  Status status;
  while (status.ok()) {
    status = heap_->update({1}, [] { static_cast<void>(H::allocate(kLarge)); });
  }
  EXPECT_EQ(status.code(), Code::out_of_space);
  EXPECT_EQ(chunks(allocate({0}, 100)), chunks(small));
}

TEST_P(HeapPartitions, AnOpeningFindsThem) {
  const std::vector<void*> first = allocate({0}, 100);
  const std::vector<void*> second = allocate({2}, 100);
  reopen();
  EXPECT_EQ(heap_->partitions(), 3);
  const std::vector<void*> more = allocate({2}, 100);
  expect_apart(more, first);
  expect_sound({{first, kSmall}, {second, kSmall}, {more, kSmall}});
}

TEST_P(HeapPartitions, WrongNamesAreMisuse) {
  EXPECT_TRUE(update({2}).ok());
  EXPECT_EQ(update({3}).code(), Code::misuse);
  EXPECT_NE(update({3}).message().find("3 partitions"), std::string::npos);
  EXPECT_EQ(update(Partitions::none()).code(), Code::misuse);
  EXPECT_THROW(Partitions({Partitions::kMost}), Error);
  EXPECT_THROW(Partitions({-1}), Error);
  Status inner;
  const auto within = [&](Partitions outer, Partitions named) {
    heap_->update(outer, [&] { inner = update(named); }).check();
    return inner.code();
  };
  EXPECT_EQ(within({0, 1}, {1}), Code::ok);
  EXPECT_EQ(within(Partitions::all(), {1}), Code::ok);
  EXPECT_EQ(within({0}, Partitions::all()), Code::ok) << "the inner one names nothing more";
  EXPECT_EQ(within({0}, {1}), Code::misuse);
  EXPECT_EQ(within(Partitions::all(), {3}), Code::misuse);
  EXPECT_EQ(heap_->read({3}, [] {}).code(), Code::misuse);
  make(0);
  EXPECT_EQ(heap_->partitions(), 0);
  EXPECT_EQ(update({0}).code(), Code::misuse);
}

TEST_P(HeapPartitions, AnInnerTransactionAllocatesInItsPartition) {
  const std::vector<void*> first = allocate({0}, 50);
  std::vector<void*> inner(50);
  heap_
      ->update([&] {
        for (void*& block : inner) {
          heap_->update({1}, [&] { block = H::allocate(kSmall); }).check();
        }
      })
      .check();
  expect_apart(inner, first);
  expect_apart(allocate(Partitions::all(), 50), inner);
}

TEST(HeapPartitionsOptions, ThereIsALimit) {
  SimMachine machine({.threads = 1});
  for (const int partitions : {-1, Partitions::kMost + 1}) {
    CreateOptions create;
    create.engine = engine_rows<SimMachine>().front().description->name;
    create.partitions = partitions;
    EXPECT_EQ(H::create(machine, create).status().code(), Code::invalid_argument);
  }
}

// Frees of a partition merge no runs, so compaction does, and finds an entry of its list inside of
// a run that it has merged.
TEST_P(HeapPartitions, CompactionMergesRunsOnce) {
  constexpr size_t kTwo = kChunk + 100;
  constexpr size_t kFive = 4 * kChunk + 100;
  const std::vector<void*> two = allocate({0}, 1, kTwo);
  const std::vector<void*> five = allocate({0}, 1, kFive);
  const std::vector<void*> last = allocate({0}, 1, kTwo);
  ASSERT_EQ(*chunks(five).begin(), *chunks(two).begin() + 2);
  free({0}, five, kFive);
  free({0}, two, kTwo);
  Compaction<H::Engine>(
      reinterpret_cast<std::byte*>(heap_->superblock().base),
      [&](FunctionRef<void()> body) { heap_->update(body).check(); },
      [&](FunctionRef<void()> body) { heap_->read(body).check(); })
      .for_each_free_run([](std::byte*, size_t) {});
  expect_sound({{last, kTwo}});
  const std::vector<void*> again = allocate({0}, 3, kTwo);
  expect_apart(again, last);
  expect_sound({{last, kTwo}, {again, kTwo}});
}

}  // namespace
}  // namespace holdfast::partitions_test
