// SPDX-License-Identifier: Apache-2.0
//
// Machines hand their host memory on. Does the next machine see nothing of the last one?
#include "holdfast/machine/sim/support/host_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/machine/sim/support/zeroed_array.h"
#include "holdfast/machine/sim/threads/fiber.h"

namespace holdfast::host_pages_test {
namespace {

using sim::HostPages;

constexpr size_t kMediumBytes = 16 * kPageBytes;
constexpr size_t kWords = kMediumBytes / sizeof(uint64_t);

TEST(HostPages, HandsOnWhatHasTheSameLength) {
  HostPages pages;
  void* const first = pages.take(3 * kPageBytes);
  pages.give_back(first, 3 * kPageBytes);
  void* const other = pages.take(2 * kPageBytes);
  EXPECT_NE(other, first);
  EXPECT_EQ(pages.take(3 * kPageBytes), first);
  pages.give_back(first, 3 * kPageBytes);
  EXPECT_EQ(pages.take_at(first, 3 * kPageBytes), first);
  EXPECT_EQ(pages.take_at(first, 3 * kPageBytes), nullptr);
  pages.give_back(first, 3 * kPageBytes);
  EXPECT_EQ(pages.take_at(first, kPageBytes), nullptr) << "too long, and gone now";
  EXPECT_EQ(pages.take_at(first, 3 * kPageBytes), nullptr);
  pages.give_back(other, 2 * kPageBytes);
}

TEST(HostPages, HandsStacksOnAsTheyAre) {
  HostPages pages;
  EXPECT_EQ(pages.take_stack(kPageBytes), nullptr) << "none yet";
  void* const stack = sim::map_zeroed(kPageBytes);
  *static_cast<int*>(stack) = 7;
  pages.give_stack_back(stack, kPageBytes);
  void* const zeros = pages.take(kPageBytes);
  EXPECT_NE(zeros, stack) << "it is not zero";
  pages.give_back(zeros, kPageBytes);
  EXPECT_EQ(pages.take_stack(2 * kPageBytes), nullptr);
  EXPECT_EQ(pages.take_stack(kPageBytes), stack);
  EXPECT_EQ(*static_cast<int*>(stack), 7);
  EXPECT_EQ(pages.take_stack(kPageBytes), nullptr);
  pages.give_stack_back(stack, kPageBytes);
}

TEST(HostPages, AStackGoesBackToItsPool) {
  HostPages pages;
  {
    const sim::FiberStack stack(&pages);
    *static_cast<int*>(stack.bottom()) = 7;
  }
  const sim::FiberStack first(&pages);
  const sim::FiberStack second(&pages);
  EXPECT_EQ(*static_cast<int*>(first.bottom()), 7) << "not a new mapping";
  EXPECT_EQ(*static_cast<int*>(second.bottom()), 0);
}

TEST(HostPages, ClearsExactlyTheRange) {
  for (const size_t n : {size_t{1}, kPageBytes, (size_t{1} << 20) + 1, (size_t{3} << 20) + 123}) {
    constexpr size_t kAt = 1000;
    std::vector<std::byte> bytes(kAt + n + 2 * kPageBytes, std::byte{7});
    sim::clear_pages(&bytes[kAt], n);
    const auto zeros = std::count(bytes.begin(), bytes.end(), std::byte{0});
    EXPECT_EQ(static_cast<size_t>(zeros), n);
    EXPECT_EQ(bytes[kAt - 1], std::byte{7});
    EXPECT_EQ(bytes[kAt], std::byte{0});
    EXPECT_EQ(bytes[kAt + n - 1], std::byte{0});
    EXPECT_EQ(bytes[kAt + n], std::byte{7});
  }
}

struct Outcome {
  SimImage earliest;
  SimImage latest;
  uint64_t events;
  uint64_t steps;
  std::array<uint64_t, kAbortCauses> aborts;
  uint64_t seen;  ///< a digest of all loaded values
  bool operator==(const Outcome&) const = default;
};

/// Runs stores, write-backs and transactions of three threads on volatile and persistent memory.
/// Now and then a power failure cuts the run off. The machine is left as it is.
Outcome run(SimOptions options, uint64_t seed, const sim::StartImage& start) {
  options.seed = seed;
  SimMachine machine(options, start);
  machine.medium().grow(kMediumBytes).check();
  auto* const words = reinterpret_cast<uint64_t*>(
      machine.medium().map(0, kMediumBytes, nullptr, MapMode::shared).value());
  machine.medium().grow(2 * kMediumBytes).check();
  std::byte* const beyond =
      machine.medium().map(kMediumBytes, kMediumBytes, nullptr, MapMode::shared).value();
  if (seed % 2 == 0) {
    machine.medium().unmap(beyond, kMediumBytes);
  }
  auto* const scratch =
      static_cast<uint64_t*>(machine.allocate(kWords * sizeof(uint64_t), kLineBytes));
  if (seed % 3 == 0) {
    machine.crash_at(machine.persist_events() + seed * 5);
  }
  uint64_t seen = 0;
  machine.run_threads(3, [&](int thread) {
    Random random(mix64(seed) + static_cast<uint64_t>(thread));
    SimMachine::HtmThread& htm = machine.htm(machine.self());
    for (int i = 0; i < 60; ++i) {
      uint64_t* const word = (random.below(3) == 0 ? scratch : words) + random.below(kWords);
      switch (random.below(4)) {
        case 0:
          SimMachine::store(word, random.next());
          machine.pwb(word);
          break;
        case 1:
          seen = mix64(seen ^ SimMachine::load(word));
          machine.pfence();
          break;
        default:
          try {
            htm.begin(Tracking::all);
            htm.store(word, htm.load(words + random.below(kWords)) + 1);
            machine.pause();
            htm.commit();
          } catch (const HtmAbort& abort) {
            htm.caught();
          }
      }
    }
  });
  return {machine.earliest_image(), machine.latest_image(),          machine.persist_events(),
          machine.steps(),          machine.statistics().htm_aborts, seen};
}

class SimHostPages : public testing::TestWithParam<Domain> {
 protected:
  static SimOptions small() {
    SimOptions options;
    options.domain = GetParam();
    options.arena_bytes = size_t{16} << 20;
    options.medium_limit = size_t{1} << 20;
    return options;
  }
};

TEST_P(SimHostPages, NothingReachesTheNextMachine) {
  const SimOptions own = small();
  SimOptions shared = own;
  shared.pages = std::make_shared<HostPages>();
  std::vector<Outcome> with;
  SimImage image;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    with.push_back(run(shared, seed, image));
    image = seed % 7 == 0 ? SimImage() : with.back().latest;
  }
  shared.pages = nullptr;  // gives the range of addresses back, too
  image = {};
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const Outcome alone = run(own, seed, image);
    ASSERT_EQ(alone, with[seed - 1]) << "seed " << seed;
    image = seed % 7 == 0 ? SimImage() : alone.latest;
  }
}

TEST_P(SimHostPages, StacksOfThreadsAreHandedOn) {
  SimOptions options = small();
  options.pages = std::make_shared<HostPages>();
  run(options, 1, {});
  constexpr size_t kMapped = sim::FiberStack::kBytes + 2 * kPageBytes;
  void* const stack = options.pages->take_stack(kMapped);
  ASSERT_NE(stack, nullptr);
  options.pages->give_stack_back(stack, kMapped);
}

TEST_P(SimHostPages, WhatIsHandedOnIsZero) {
  SimOptions options = small();
  options.pages = std::make_shared<HostPages>();
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    run(options, seed, {});
    const auto* const arena = static_cast<const std::byte*>(options.pages->take_at(
        reinterpret_cast<const void*>(sim::kArenaBase), options.arena_bytes));
    ASSERT_NE(arena, nullptr);
    EXPECT_TRUE(std::all_of(arena, arena + options.arena_bytes,
                            [](std::byte b) { return b == std::byte{0}; }))
        << "seed " << seed;
    options.pages->give_back(const_cast<std::byte*>(arena), options.arena_bytes);
  }
}

/// Changes some lines of a medium. Returns the difference, and makes `whole` the changed medium.
sim::ImageDelta change(const SimImage& base, uint64_t seed, SimImage* whole) {
  Random random(seed);
  *whole = base;
  whole->resize(base.size() + (seed % 4) * kPageBytes);
  sim::ImageDelta delta;
  delta.bytes = whole->size();
  for (uint64_t i = 0; i < seed % 20; ++i) {
    const auto line = static_cast<uint32_t>(random.below(whole->size() / kLineBytes));
    const std::vector<std::byte> content(kLineBytes, static_cast<std::byte>(random.below(3)));
    delta.lines.push_back(line);
    delta.contents.insert(delta.contents.end(), content.begin(), content.end());
    std::copy(content.begin(), content.end(),
              whole->begin() + static_cast<ptrdiff_t>(line * kLineBytes));
  }
  return delta;
}

/// A machine that begins with a shared image and a difference does what one does that begins with
/// the whole image, and the next machine finds the shared image as it was.
TEST_P(SimHostPages, ASharedImageServesManyMachines) {
  SimOptions options = small();
  SimImage base = run(options, 5, {}).latest;
  std::fill_n(base.begin() + 3 * kPageBytes, 2 * kPageBytes, std::byte{0});
  const sim::SharedImage shared(base);
  std::vector<Outcome> expected;
  SimImage whole;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    change(base, seed, &whole);
    expected.push_back(run(options, seed, whole));
  }
  options.pages = std::make_shared<HostPages>();
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const sim::ImageDelta delta = change(base, seed, &whole);
    ASSERT_EQ(run(options, seed, {shared, delta}), expected[seed - 1]) << "seed " << seed;
    ASSERT_EQ(shared.padded(), base) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Domains, SimHostPages,
                         testing::Values(Domain::process, Domain::file, Domain::pmem, Domain::eadr),
                         [](const auto& instance) {
                           return std::string(to_string(instance.param));
                         });

TEST(SharedImage, HasWholePagesAndKnowsWhichAreZero) {
  SimImage image(2 * kPageBytes + 100);
  image[kPageBytes - 1] = std::byte{1};
  image.back() = std::byte{2};
  const sim::SharedImage shared(image);
  ASSERT_EQ(shared.pages(), 3u);
  EXPECT_EQ(shared.padded().size(), 3 * kPageBytes);
  EXPECT_EQ(shared.page(0), shared.padded().data());
  EXPECT_EQ(shared.page(1), nullptr);
  EXPECT_EQ(shared.page(2)[99], std::byte{2});
  EXPECT_EQ(shared.page(2)[100], std::byte{0});
}

TEST(SimHostPages, AnArenaOfAnotherSizeTakesThePlace) {
  SimOptions options;
  options.pages = std::make_shared<HostPages>();
  for (const size_t mib : {16, 64, 16}) {
    options.arena_bytes = mib << 20;
    const SimMachine machine(options);
    EXPECT_THROW(SimMachine{options}, Error) << "one machine at a time";
  }
}

TEST(HostPages, StrayStoresEndWithTheirMachine) {
  SimOptions options;
  options.arena_bytes = size_t{16} << 20;
  options.pages = std::make_shared<HostPages>();
  {
    SimMachine machine(options);
    std::byte* const not_allocated = machine.persistent_base() - kPageBytes;
    std::byte* const not_reserved = machine.persistent_base() + 5 * kPageBytes;
    machine.run_threads(1, [&](int) {
      for (std::byte* const stray : {not_allocated, not_reserved}) {
        SimMachine::store(reinterpret_cast<uint64_t*>(stray), uint64_t{7});
      }
    });
  }
  const auto* const arena = static_cast<const std::byte*>(
      options.pages->take_at(reinterpret_cast<const void*>(sim::kArenaBase), options.arena_bytes));
  ASSERT_NE(arena, nullptr);
  EXPECT_EQ(std::count(arena, arena + options.arena_bytes, std::byte{0}),
            static_cast<ptrdiff_t>(options.arena_bytes));
  options.pages->give_back(const_cast<std::byte*>(arena), options.arena_bytes);
}

TEST(HostPages, AMappingIsFreeOfEarlierStrayStores) {
  SimMachine machine;
  machine.medium().grow(kMediumBytes).check();
  std::byte* const base = machine.persistent_base();
  machine.run_threads(1, [&](int) {
    SimMachine::store(reinterpret_cast<uint64_t*>(base + kPageBytes), uint64_t{7});
  });
  machine.medium().map(0, kMediumBytes, base, MapMode::shared).value();
  EXPECT_EQ(std::count(base, base + kMediumBytes, std::byte{0}), ptrdiff_t{kMediumBytes});
}

/// A stray store beyond a mapping does not become content of a later one.
void store_beyond_a_mapping(SimMachine& machine, bool unmaps) {
  machine.medium().grow(kPageBytes).check();
  std::byte* const base = machine.medium().reserve(kMediumBytes, nullptr).value();
  machine.medium().map(0, kPageBytes, base, MapMode::shared).value();
  machine.run_threads(1, [&](int) {
    SimMachine::store(reinterpret_cast<uint64_t*>(base + 5 * kPageBytes), uint64_t{7});
  });
  if (unmaps) {
    machine.medium().unmap(base, kMediumBytes);
  }
}

TEST(HostPages, AMappingIsFreeOfStrayStores) {
  SimOptions options;
  options.pages = std::make_shared<HostPages>();
  for (const bool unmaps : {false, true}) {
    {
      SimMachine machine(options);
      store_beyond_a_mapping(machine, unmaps);
    }
    SimMachine next(options);
    next.medium().grow(kMediumBytes).check();
    const std::byte* const all =
        next.medium().map(0, kMediumBytes, nullptr, MapMode::shared).value();
    EXPECT_EQ(std::count(all, all + kMediumBytes, std::byte{0}), ptrdiff_t{kMediumBytes}) << unmaps;
  }
  options.pages = nullptr;
  SimMachine machine(options);
  store_beyond_a_mapping(machine, true);
  machine.medium().grow(kMediumBytes).check();
  const std::byte* const all =
      machine.medium().map(0, kMediumBytes, nullptr, MapMode::shared).value();
  EXPECT_EQ(std::count(all, all + kMediumBytes, std::byte{0}), ptrdiff_t{kMediumBytes});
}

}  // namespace
}  // namespace holdfast::host_pages_test
