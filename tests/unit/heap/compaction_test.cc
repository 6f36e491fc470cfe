// SPDX-License-Identifier: Apache-2.0
//
// Does an interrupted compaction lose or duplicate space?
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "tests/sanitized.h"
#include "tests/superblock_of.h"
#include "tests/unit/engines/engine_rows.h"
#include "tests/unit/heap/small_heap.h"

namespace holdfast::compaction_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;

struct Box {
  static constexpr const char* kTypeName = "compaction_test.box";
  H::Field<uint64_t> value;
  H::Field<Box*> next{nullptr};
  H::Field<void*> filler{nullptr};  // of the first box: a block that fills the heap
  H::Field<uint64_t> filler_bytes{0};
  H::Field<uint64_t> more[4];
};

class HeapCompaction : public ::testing::TestWithParam<std::string> {};
/// On the simulated machine an engine with a design needs simulated time, so it is left out.
std::vector<std::string> engines() {
  return names_of(engine_rows<SimMachine>(), [](const auto& row) {
    const Description& engine = *row.description;
    return is_durable(engine) && !engine.needs_design && has_fast_updates(engine);
  });
}
INSTANTIATE_TEST_SUITE_P(Engines, HeapCompaction, ::testing::ValuesIn(engines()),
                         [](const auto& i) { return test_name(i.param); });

constexpr uint64_t kBoxes = 900;
/// In the first chunks of boxes one in each is kept, so that some batches of free blocks have none
/// in a chunk that compaction empties.
bool is_kept(uint64_t box) {
  return box % 50 == 0 && box < kBoxes / 2;
}

/// Makes the boxes and destroys those that are not kept.
void fill(H& heap) {
  Box* first = heap.root<Box>("boxes").value();
  std::vector<Box*> boxes(kBoxes);
  for (uint64_t i = 0; i < kBoxes; ++i) {
    heap.update([&] {
          boxes[i] = H::make<Box>();
          boxes[i]->value = i;
        })
        .check();
  }
  for (uint64_t i = 0; i < kBoxes; ++i) {
    heap.update([&] {
          if (is_kept(i)) {
            boxes[i]->next = first->next.load();
            first->next = boxes[i];
          } else {
            H::destroy(boxes[i]);
          }
        })
        .check();
  }
}

/// Allocates the chunks that were never used, which have these bytes, in a heap that cannot grow.
void use_up(H& heap, uint64_t untouched) {
  Box* first = heap.find_root<Box>("boxes").value();
  const uint64_t bytes = untouched - kChunkHeaderBytes;
  heap.update([&] {
        first->filler = H::allocate(bytes);
        first->filler_bytes = bytes;
      })
      .check();
}

/// The first byte of the data region.
std::byte* data_of(H& heap) {
  std::byte* data = nullptr;
  heap.read([&] { data = static_cast<const Context*>(SimMachine::context())->data; }).check();
  return data;
}

/// Parks each free run for a moment, as it is done where pages can be given back.
void park_runs(H& heap, FunctionRef<void(std::byte*, size_t)> give_back) {
  Compaction<H::Engine>(
      data_of(heap), [&](FunctionRef<void()> body) { heap.update(body).check(); },
      [&](FunctionRef<void()> body) { heap.read(body).check(); })
      .for_each_free_run(give_back);
}
void compact(H& heap, FunctionRef<void(std::byte*, size_t)> give_back) {
  heap.compact().status().check();
  park_runs(heap, give_back);
}
void compact(H& heap) {
  compact(heap, [](std::byte*, size_t) {});
}

SimOptions machine_for(const std::string& engine) {
  return {.threads = 2,
          .domain = usual_domain(*EngineFactory<H::Engine>::describe(engine).value())};
}

void expect_sound(H& heap) {
  Box* first = heap.find_root<Box>("boxes").value();
  uint64_t sum = 0;
  const auto visit = [&](const BlockVisitor& see) {
    sum = 0;
    if (void* const filler = first->filler) {
      see(filler, first->filler_bytes);
    }
    for (Box* box = first->next; box != nullptr; box = box->next) {
      see(box, sizeof(Box));
      sum += box->value;
    }
  };
  const HeapCheck found = heap.check(visit).value();
  EXPECT_TRUE(found.ok()) << (found.errors.empty() ? "leak" : found.errors[0]);
  uint64_t kept = 0;
  for (uint64_t i = 0; i < kBoxes; ++i) {
    kept += is_kept(i) ? i : 0;
  }
  EXPECT_EQ(sum, kept);
}

/// Whether a compaction's parked run or swept blocks are outside of their lists.
bool has_leftovers(H& heap) {
  const auto& header = *reinterpret_cast<const DataHeader<H::Engine>*>(data_of(heap));
  bool found = false;
  heap.read([&] {
        found = header.parked.load() != nullptr || header.swept.load() != nullptr ||
                header.rest.load() != nullptr;
      })
      .check();
  return found;
}

/// Whether a word on the medium leads to a parked run or swept batches.
bool had_leftovers(const SimImage& image) {
  DataOf data(image, sizeof(DataHeader<H::Engine>));
  const auto& header = data.header<DataHeader<H::Engine>>();
  uint64_t words[3];
  std::memcpy(&words[0], &header.parked, sizeof words[0]);
  std::memcpy(&words[1], &header.swept, sizeof words[1]);
  std::memcpy(&words[2], &header.rest, sizeof words[2]);
  return words[0] != 0 || words[1] != 0 || words[2] != 0;
}

/// The bytes of all chunks that serve blocks of any size.
uint64_t room_of(H& heap) {
  const HeapSpace space = heap.space().value();
  return space.reusable + space.untouched;
}

/// Interrupts `work` on a heap with this content at many points, and judges what recovery leaves.
/// Returns how often the words on the medium led to a parked run or swept batches.
int interrupt(const std::string& engine, const SimImage& content, FunctionRef<void(H&)> work) {
  uint64_t events = 0;
  uint64_t room = 0;
  {
    SimMachine machine(machine_for(engine), content);
    auto heap = H::open(machine).value();
    const uint64_t untouched = heap->space().value().untouched;
    const uint64_t before = machine.persist_events();
    machine.run_threads(1, [&](int) { work(*heap); });
    events = machine.persist_events() - before;
    expect_sound(*heap);
    room = room_of(*heap);
    EXPECT_GT(room, untouched + 4 * 4096U);
  }
  EXPECT_GT(events, 20U);
  int interrupted = 0;
  constexpr uint64_t kLast = 30 / kShare;  // free runs are parked at the end
  const uint64_t step = kStep * std::max<uint64_t>(events / 40, 1);
  for (uint64_t event = 3; event < events && !testing::Test::HasFailure();
       event += event + kLast < events ? step : 1) {
    SCOPED_TRACE("event " + std::to_string(event));
    std::vector<SimImage> images;
    {
      SimMachine machine(machine_for(engine), content);
      auto heap = H::open(machine).value();
      machine.crash_at(machine.persist_events() + event);
      machine.run_threads(1, [&](int) { work(*heap); });
      images = {machine.earliest_image(), machine.latest_image()};
    }
    for (const SimImage& image : images) {
      SimMachine after(machine_for(engine), image);
      interrupted += had_leftovers(image) ? 1 : 0;
      auto heap = H::open(after).value();
      EXPECT_FALSE(has_leftovers(*heap));
      expect_sound(*heap);
      after.run_threads(1, [&](int) { work(*heap); });
      expect_sound(*heap);
      EXPECT_EQ(room_of(*heap), room);
    }
  }
  return interrupted;
}

TEST_P(HeapCompaction, APowerFailureDuringItLosesNoSpace) {
  SimImage full;
  {
    SimMachine machine(machine_for(GetParam()));
    auto heap = H::create(machine, small_heap_options(GetParam())).value();
    fill(*heap);
    expect_sound(*heap);
    heap->close().check();
    full = machine.earliest_image();
  }
  const int interrupted = interrupt(GetParam(), full, [](H& heap) { compact(heap); });
  // The first engine has the words in place. Others may have them in a log. Under a sanitizer few
  // images are looked at, perhaps none of them without the leftovers.
  EXPECT_TRUE(kSanitized || interrupted > 0 || GetParam() != engines().front());
}

/// Chunks of freed boxes are the only room for a block of another size.
TEST_P(HeapCompaction, AFullHeapFreesChunksAndAPowerFailureLosesNone) {
  SimImage full;
  {
    SimMachine machine(machine_for(GetParam()));
    CreateOptions create = small_heap_options(GetParam());
    create.max_bytes = create.bytes;
    auto heap = H::create(machine, create).value();
    fill(*heap);
    use_up(*heap, heap->space().value().untouched);
    expect_sound(*heap);
    heap->close().check();
    full = machine.earliest_image();
  }
  interrupt(GetParam(), full,
            [](H& heap) { heap.update([] { H::deallocate(H::allocate(1000), 1000); }).check(); });
}

constexpr size_t kOneChunk = kSmallChunk - kChunkHeaderBytes;  // a block that takes all of it

/// Fills the heap with blocks of this size, frees them, and returns their number.
size_t fill_and_free(H& heap, size_t bytes) {
  std::vector<void*> blocks;
  for (;;) {
    Result<void*> block = heap.update([&] { return H::allocate(bytes); });
    if (!block) {
      EXPECT_EQ(block.status().code(), Code::out_of_space) << block.status().to_string();
      break;
    }
    blocks.push_back(*block);
  }
  for (void* block : blocks) {
    heap.update([&] { H::deallocate(block, bytes); }).check();
  }
  return blocks.size();
}

/// Chunks with blocks that were never handed out included.
TEST_P(HeapCompaction, AFullHeapHasTheSameRoomForBlocksOfAnySize) {
  SimMachine machine(machine_for(GetParam()));
  CreateOptions create = small_heap_options(GetParam());
  create.max_bytes = create.bytes;
  auto heap = H::create(machine, create).value();
  const size_t chunks = fill_and_free(*heap, kOneChunk);
  EXPECT_GT(chunks, 32U);
  for (const size_t bytes : {300, 1000}) {
    EXPECT_GE(fill_and_free(*heap, bytes), 3 * chunks);
    EXPECT_EQ(fill_and_free(*heap, kOneChunk), chunks) << bytes;
    EXPECT_TRUE(heap->check().value().ok());
  }
}

/// Psyncs do not wait any more once an update has committed later.
TEST_P(HeapCompaction, AFullHeapWithDurableUpdatesCommitsNoneLater) {
  const Description& about = *EngineFactory<H::Engine>::describe(GetParam()).value();
  if (usual_domain(about) == Domain::eadr) {
    GTEST_SKIP() << "an engine without write-backs has no journal";
  }
  SimMachine machine({.threads = 2, .domain = Domain::file, .journal = true});
  CreateOptions create = small_heap_options(GetParam());
  create.max_bytes = create.bytes;
  create.options.merge(known_options(about, {{"lag", "16"}, {"commit", "durable"}}));
  auto heap = H::create(machine, create).value();
  const size_t small = fill_and_free(*heap, 300);
  EXPECT_EQ(4 * fill_and_free(*heap, 1000), small);
  EXPECT_NE(machine.begin_psync(Site{"test.position"}), 0U);
}

TEST_P(HeapCompaction, ThreadsFreeChunksOfAFullHeapBesideEachOther) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 1 : 2); ++seed) {
    SimOptions options = machine_for(GetParam());
    options.seed = seed;
    SimMachine machine(options);
    CreateOptions create = small_heap_options(GetParam());
    create.max_bytes = create.bytes;
    auto heap = H::create(machine, create).value();
    const size_t chunks = fill_and_free(*heap, kOneChunk);
    machine.run_threads(2, [&](int thread) {
      fill_and_free(*heap, thread == 0 ? 400 : 1000);
      fill_and_free(*heap, thread == 0 ? 2000 : 1500);
    });
    EXPECT_TRUE(heap->check().value().ok());
    EXPECT_EQ(fill_and_free(*heap, kOneChunk), chunks) << "seed " << seed;
  }
}

/// An error during compaction, and the heap is closed with a parked run. The next opening links it.
/// If the file still said that the heap is closed, a recovery would not look for that transaction.
TEST_P(HeapCompaction, OpeningLinksAParkedRunOnceTheFileSaysOpen) {
  SimImage left;
  {
    SimMachine machine(machine_for(GetParam()));
    auto heap = H::create(machine, small_heap_options(GetParam())).value();
    fill(*heap);
    const auto fails = [](std::byte*, size_t) { throw Error(Status(Code::out_of_space, "full")); };
    EXPECT_THROW(compact(*heap, fails), Error);
    EXPECT_TRUE(has_leftovers(*heap));
    heap->close().check();
    left = machine.earliest_image();
  }
  EXPECT_TRUE(superblock_of(left).clean);
  SimOptions options = machine_for(GetParam());
  options.count_main_events = true;
  SimMachine machine(options, left);
  int linked = 0;
  machine.before_persist_event([&](uint64_t event) {
    if (event % kStep != 0) {
      return;
    }
    const SimImage image = machine.latest_image();
    if (!had_leftovers(image)) {
      ++linked;
      EXPECT_FALSE(superblock_of(image).clean);
    }
  });
  auto heap = H::open(machine).value();
  machine.before_persist_event({});
  EXPECT_FALSE(has_leftovers(*heap));
  ASSERT_NO_FATAL_FAILURE(expect_sound(*heap));
  // The first engine has the words in place. Others may have them in a log.
  EXPECT_TRUE(kSanitized || linked > 0 || GetParam() != engines().front());
}

TEST_P(HeapCompaction, AnotherOneLeavesAParkedRunAlone) {
  SimMachine machine(machine_for(GetParam()));
  auto heap = H::create(machine, small_heap_options(GetParam())).value();
  fill(*heap);
  int parked = 0;
  compact(*heap, [&](std::byte*, size_t) {
    park_runs(*heap, [](std::byte*, size_t) {});
    EXPECT_TRUE(has_leftovers(*heap));
    ++parked;
  });
  EXPECT_GT(parked, 0);
  EXPECT_FALSE(has_leftovers(*heap));
  expect_sound(*heap);
}

/// An update of a compaction that gets no memory leaves a run parked.
TEST_P(HeapCompaction, TheNextOneLinksARunThatAFailedOneLeavesParked) {
  SimMachine machine(machine_for(GetParam()));
  CreateOptions create = small_heap_options(GetParam());
  create.max_bytes = create.bytes;
  auto heap = H::create(machine, create).value();
  fill(*heap);
  compact(*heap);
  const uint64_t room = room_of(*heap);
  const uint64_t untouched = heap->space().value().untouched;
  const auto fails = [&](std::byte*, size_t bytes) {
    if (bytes + kChunkHeaderBytes == untouched) {
      throw std::bad_alloc();
    }
  };
  for (const bool needs_room : {false, true}) {
    EXPECT_THROW(compact(*heap, fails), std::bad_alloc);
    EXPECT_TRUE(has_leftovers(*heap));
    EXPECT_EQ(room_of(*heap), room - untouched);
    if (needs_room) {
      use_up(*heap, untouched);
    } else {
      heap->compact().status().check();
      EXPECT_EQ(room_of(*heap), room);
    }
    EXPECT_FALSE(has_leftovers(*heap));
    expect_sound(*heap);
  }
  EXPECT_EQ(room_of(*heap), room - untouched);
}

/// Batches that wait until a size class is done have one place for all classes.
TEST_P(HeapCompaction, ThreadsTakeTurns) {
  constexpr size_t kSize = 160;  // not of the class of boxes
  for (uint64_t seed = 1; seed <= (kSanitized ? 1 : 4); ++seed) {
    SimOptions options = machine_for(GetParam());
    options.seed = seed;
    SimMachine machine(options);
    auto heap = H::create(machine, small_heap_options(GetParam())).value();
    fill(*heap);
    std::vector<void*> others(400);
    for (void*& block : others) {
      heap->update([&] { block = H::allocate(kSize); }).check();
    }
    for (void* block : others) {
      heap->update([&] { H::deallocate(block, kSize); }).check();
    }
    machine.run_threads(2, [&](int) { heap->compact().status().check(); });
    EXPECT_FALSE(has_leftovers(*heap));
    ASSERT_NO_FATAL_FAILURE(expect_sound(*heap));
  }
}

/// Returns the most compactions that have ended while an update of a full heap waited, beside a
/// thread that compacts in a loop.
int most_compactions_before_an_update(const std::string& engine, uint64_t seed) {
  SimOptions options = machine_for(engine);
  options.seed = seed;
  options.switch_probability = 0.001;
  SimMachine machine(options);
  CreateOptions create = small_heap_options(engine);
  create.max_bytes = create.bytes;
  auto heap = H::create(machine, create).value();
  heap->compact().status().check();
  bool done = false;
  int compactions = 0;
  int most = 0;
  machine.run_threads(2, [&](int thread) {
    if (thread == 0) {
      for (; !done; ++compactions) {
        heap->compact().status().check();
      }
      return;
    }
    for (int i = 0; i < 4; ++i) {
      int before = -1;
      const Status status = heap->update([&] {
        most = before < 0 ? most : std::max(most, compactions - before);
        before = compactions;
        static_cast<void>(H::allocate(heap->superblock().data_bytes()));
      });
      EXPECT_EQ(status.code(), Code::out_of_space) << status.to_string();
    }
    done = true;
  });
  return most;
}

/// With some seeds compactions end before the update begins to wait.
TEST_P(HeapCompaction, AnUpdateWaitsForOneCompactionAtMost) {
  EXPECT_LE(std::min(most_compactions_before_an_update(GetParam(), 1),
                     most_compactions_before_an_update(GetParam(), 2)),
            1);
}

/// Compacts without giving anything back, with an own way to run its updates.
void drain(H& heap, Compaction<H::Engine>::Transaction update) {
  Compaction<H::Engine>(data_of(heap), update, [&](FunctionRef<void()> body) {
    heap.read(body).check();
  }).drain();
}

/// A compaction looks once at each batch of free blocks. If it also looked at those that come in
/// meanwhile, it would not end before the other thread does.
TEST_P(HeapCompaction, EndsBesideAThreadThatFreesMoreAndMore) {
  constexpr uint64_t kBatch = Allocator<H::Engine>::kBatch;
  SimMachine machine(machine_for(GetParam()));
  auto heap = H::create(machine, small_heap_options(GetParam())).value();
  std::vector<Box*> others(100 * kBatch);
  constexpr size_t kAtOnce = kBatch / 4;
  for (size_t first = 0; first < others.size(); first += kAtOnce) {
    heap->update([&] {
          for (size_t i = 0; i < kAtOnce; ++i) {
            others[first + i] = H::make<Box>();
          }
        })
        .check();
  }
  const auto destroy_some = [&] {
    heap->update([&] {
          for (size_t i = 0; i < kAtOnce; ++i) {
            H::destroy(others[others.size() - 1 - i]);
          }
        })
        .check();
    others.resize(others.size() - kAtOnce);
  };
  fill(*heap);
  drain(*heap, [&](FunctionRef<void()> body) {
    heap->update(body).check();
    for (int i = 0; i < 4 && !others.empty(); ++i) {
      destroy_some();
    }
  });
  EXPECT_FALSE(others.empty());
  while (!others.empty()) {
    destroy_some();
  }
  expect_sound(*heap);
}

/// An update of a compaction that fails, for instance because the log is too small, leaves batches
/// of one size class behind. The next compaction may sweep those of another one first.
TEST_P(HeapCompaction, TheNextOneMendsWhatAFailedOneLeaves) {
  constexpr size_t kSize = 48;  // of a class before that of boxes
  SimImage full;
  std::vector<void*> others(400);
  {
    SimMachine machine(machine_for(GetParam()));
    auto heap = H::create(machine, small_heap_options(GetParam())).value();
    for (void*& block : others) {
      heap->update([&] { block = H::allocate(kSize); }).check();
    }
    fill(*heap);
    heap->close().check();
    full = machine.earliest_image();
  }
  constexpr int kEach = 3 * static_cast<int>(kStep);
  int updates = 0;
  for (int failing = 1; updates >= failing - kEach; failing += kEach) {
    SCOPED_TRACE("update " + std::to_string(failing));
    SimMachine machine(machine_for(GetParam()), full);
    auto heap = H::open(machine).value();
    updates = 0;
    try {
      drain(*heap, [&](FunctionRef<void()> body) {
        if (++updates == failing) {
          throw Error(Status(Code::out_of_space, "the log is full"));
        }
        heap->update(body).check();
      });
    } catch (const Error&) {
      // as planned
    }
    for (void* block : others) {
      heap->update([&] { H::deallocate(block, kSize); }).check();
    }
    compact(*heap);
    EXPECT_FALSE(has_leftovers(*heap));
    ASSERT_NO_FATAL_FAILURE(expect_sound(*heap));
  }
  EXPECT_GT(updates, 20);
}

/// Whether each update copies the whole heap.
bool copies_all(const std::string& engine) {
  return EngineFactory<H::Engine>::describe(engine).value()->rewrites_heap;
}

/// A heap with the smallest log that the engine takes.
std::unique_ptr<H> heap_with_small_log(SimMachine& machine, const std::string& engine,
                                       size_t chunks) {
  const Description& about = *EngineFactory<H::Engine>::describe(engine).value();
  CreateOptions create = small_heap_options(engine);
  create.max_bytes = create.bytes = chunks * kSmallChunk;
  const auto make = [&](const char* log_bytes) {
    create.options = known_options(about, {{"log_bytes", log_bytes}, {"records", "28"}});
    return H::create(machine, create);
  };
  Result<std::unique_ptr<H>> made = make("512");
  return std::move(made ? made : made = make("1024")).value();
}

/// Fills the heap with small blocks, and frees them in an order that spreads those of a batch over
/// many chunks, of which a compaction stores to each.
void fill_and_free_spread(H& heap) {
  std::vector<void*> blocks;
  while (Result<void*> block = heap.update([] { return H::allocate(48); })) {
    blocks.push_back(*block);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {  // 101 is prime, so each is freed
    void* const block = blocks[i * 101 % blocks.size()];
    heap.update([&] { H::deallocate(block, 48); }).check();
  }
}

/// Held chunks make the last lists shorter.
TEST_P(HeapCompaction, ASmallLogIsEnough) {
  if (copies_all(GetParam())) {
    GTEST_SKIP() << "no log, and each update takes long";
  }
  SimMachine machine(machine_for(GetParam()));
  const std::unique_ptr<H> heap = heap_with_small_log(machine, GetParam(), 24);
  const size_t chunks = fill_and_free(*heap, kOneChunk);
  EXPECT_GT(chunks, 16U);
  for (size_t held = 0; held < 3; ++held) {
    fill_and_free_spread(*heap);
    EXPECT_EQ(fill_and_free(*heap, kOneChunk), chunks - held);
    EXPECT_FALSE(has_leftovers(*heap));
    EXPECT_TRUE(heap->check().value().ok());
    heap->update([] { static_cast<void>(H::allocate(kOneChunk)); }).check();
  }
}

/// Recovery cannot borrow room for a log.
TEST_P(HeapCompaction, AnOpeningEndsOneWithASmallLog) {
  if (copies_all(GetParam())) {
    GTEST_SKIP() << "no log, and each update takes long";
  }
  SimImage full;
  {
    SimMachine machine(machine_for(GetParam()));
    const std::unique_ptr<H> heap = heap_with_small_log(machine, GetParam(), 44);
    fill_and_free_spread(*heap);
    heap->close().check();
    full = machine.earliest_image();
  }
  // Compacts up to a persist event, or to the end. Returns the number of events.
  const auto compact_until = [&](uint64_t event, SimImage* left) {
    SimMachine machine(machine_for(GetParam()), full);
    const std::unique_ptr<H> heap = H::open(machine).value();
    const uint64_t before = machine.persist_events();
    machine.crash_at(before + event);
    machine.run_threads(1, [&](int) { heap->compact().status().check(); });
    *left = machine.latest_image();
    return machine.persist_events() - before;
  };
  SimImage image;
  const uint64_t events = compact_until(uint64_t{1} << 40, &image);
  const uint64_t step = std::max<uint64_t>(events / (kSanitized ? 5 : 25), 1);
  int interrupted = 0;
  for (uint64_t event = step; event < events; event += step) {
    compact_until(event, &image);
    interrupted += had_leftovers(image) ? 1 : 0;
    SimMachine machine(machine_for(GetParam()), image);
    const std::unique_ptr<H> heap = H::open(machine).value();
    EXPECT_FALSE(has_leftovers(*heap));
    EXPECT_TRUE(heap->check().value().ok());
  }
  EXPECT_TRUE(kSanitized || interrupted > 0 || GetParam() != engines().front());
}

/// While a heap drains, nearly all free blocks of a class may be in draining chunks.
TEST_P(HeapCompaction, AnAllocationTakesAFewDrainingBlocksOutOfTheirLists) {
  using Chunk = ChunkHeader<H::Engine>;
  constexpr uint64_t kBatch = Allocator<H::Engine>::kBatch;
  SimMachine machine(machine_for(GetParam()));
  auto heap = H::create(machine, small_heap_options(GetParam())).value();
  fill(*heap);
  std::byte* const data = data_of(*heap);
  // Returns the number of draining chunks. Stores that of the blocks that have left their lists.
  const auto look = [&](uint64_t* gone) {
    uint64_t chunks = 0;
    heap->read([&] {
          const auto& header = *reinterpret_cast<DataHeader<H::Engine>*>(data);
          chunks = 0;
          *gone = 0;
          for (uint64_t at = header.chunks(); at < header.top; ++at) {
            auto* chunk = reinterpret_cast<Chunk*>(data + at * kSmallChunk);
            const auto kind = static_cast<ChunkKind>(chunk->kind.load());
            const bool drains = kind == ChunkKind::draining;
            chunks += drains ? 1 : 0;
            *gone += drains ? chunk->bytes.load() : 0;
          }
        })
        .check();
    return chunks;
  };
  uint64_t gone = 0;
  uint64_t before = 0;
  EXPECT_THROW(drain(*heap,
                     [&](FunctionRef<void()> body) {
                       heap->update(body).check();
                       if (look(&gone) == std::exchange(before, look(&gone))) {
                         throw Error(Status(Code::out_of_space, "all chunks are marked"));
                       }
                     }),
               Error);
  ASSERT_GT(before, 4U);
  std::vector<Box*> boxes(400);
  uint64_t most = 0;
  for (Box*& box : boxes) {
    look(&before);
    heap->update([&] { box = H::make<Box>(); }).check();
    if (look(&gone) > 0 && gone > before) {
      most = std::max(most, gone - before);
    }
  }
  EXPECT_GT(most, 0U);
  EXPECT_LE(most, kBatch);
  for (Box* box : boxes) {
    heap->update([&] { H::destroy(box); }).check();
  }
  compact(*heap);
  expect_sound(*heap);
}

/// A transaction may bring back what it has freed.
TEST_P(HeapCompaction, IsRefusedInATransaction) {
  SimMachine machine(machine_for(GetParam()));
  auto heap = H::create(machine, small_heap_options(GetParam())).value();
  Status status;
  heap->update([&] { status = heap->compact().status(); }).check();
  EXPECT_EQ(status.code(), Code::misuse) << status.to_string();
  heap->read([&] { status = heap->compact().status(); }).check();
  EXPECT_EQ(status.code(), Code::misuse) << status.to_string();
}

}  // namespace
}  // namespace holdfast::compaction_test
