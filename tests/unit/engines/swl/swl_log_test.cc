// SPDX-License-Identifier: Apache-2.0
// Are old bytes durable before they are overwritten, does the log stream, and is recovery exact?
#include <gtest/gtest.h>

#include <set>
#include <type_traits>
#include <vector>

#include "holdfast/heap/heap.h"
#include "tests/unit/engines/swl/swl_heap.h"

namespace holdfast::swl_log_test {
namespace {

using swl_test::EadrHeap;
using swl_test::FlushHeap;
using swl_test::images_during;
using swl_test::kEntryHeader;
using swl_test::kLineEntry;
using swl_test::log_of;
using swl_test::Reopened;
using swl_test::word_at;

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);
constexpr size_t kSlots = 16;

/// The slots of the log whose entries save a line that begins with `value`. The engine area is the
/// beginning of the image.
std::set<size_t> slots_with(const SimImage& image, uint64_t value) {
  std::set<size_t> slots;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    if (word_at(image, kLineBytes + slot * kLineEntry + kEntryHeader) == value) {
      slots.insert(slot);
    }
  }
  return slots;
}

template <class H>
class SwlLog : public testing::Test {
 public:
  using Engine = std::remove_reference_t<decltype(std::declval<H&>()->engine())>;
};
using Both = testing::Types<FlushHeap, EadrHeap>;
TYPED_TEST_SUITE(SwlLog, Both);

/// In each legal image in which the word has changed, the log has its old value.
TYPED_TEST(SwlLog, OldBytesAreDurableBeforeTheyAreOverwritten) {
  constexpr uint64_t kOld = 0x0123456789abcdef;
  constexpr uint64_t kNew = 0xfedcba9876543210;
  TypeParam heap(log_of(kSlots));
  heap->write(0, kOld);
  const size_t data = heap->regions().area_bytes;
  int changed = 0;
  for (const SimImage& image : images_during(heap.machine(), 64, [&] { heap->write(0, kNew); })) {
    if (word_at(image, data) == kNew) {
      ++changed;
      EXPECT_EQ(slots_with(image, kOld).size(), 1u);
    }
  }
  EXPECT_GT(changed, 0);
}

/// Consecutive transactions take consecutive slots; behind the last slot comes the first one.
TYPED_TEST(SwlLog, StreamsThroughTheWholeArea) {
  TypeParam heap(log_of(kSlots));
  for (uint64_t i = 1; i <= 3 * kSlots; ++i) {
    heap->write(0, i);  // saves i - 1
    if (i > 1) {
      EXPECT_EQ(slots_with(heap.machine().latest_image(), i - 1),
                std::set<size_t>{(i - 1) % kSlots});
    }
  }
}

/// The power fails behind each of many transactions, in the next one. Their entries lie at all
/// slots of the log, and cross its end.
TYPED_TEST(SwlLog, RecoversAtEachPlaceOfTheLog) {
  for (uint64_t n = 0; n < 2 * kSlots; ++n) {
    SimImage image;
    {
      TypeParam heap(log_of(kSlots));
      heap->write(0, 1);
      for (uint64_t i = 0; i < n; ++i) {
        heap->write((1 + i % 3) * kLineWords, i);
      }
      heap.machine().run_threads(1, [&](int) {
        EXPECT_THROW(heap->engine().update([&] {
          for (size_t line = 0; line < 5; ++line) {
            heap->set(line * kLineWords, 1000);
          }
          image = heap.machine().latest_image();
          throw 1;
        }),
                     int);
      });
    }
    Reopened<TypeParam> again(image, log_of(kSlots));
    ASSERT_TRUE(again.status().ok()) << again.status().to_string();
    EXPECT_EQ(again->report().transactions, 1u);
    EXPECT_EQ(again->read(0), 1u);
    for (uint64_t i = n < 3 ? 0 : n - 3; i < n; ++i) {
      EXPECT_EQ(again->read((1 + i % 3) * kLineWords), i) << n;
    }
    EXPECT_EQ(again->read(4 * kLineWords), 0u);
  }
}

/// A store that finds no room makes the filter forget the lines. The next entry of a line then
/// saves bytes of the transaction itself. It is restored before the older entry.
TYPED_TEST(SwlLog, TheOldestEntryOfALineIsRestoredLast) {
  const std::vector<std::byte> large((kSlots + 1) * kLineBytes);
  SimImage image;
  {
    TypeParam heap(log_of(kSlots));
    heap->write(0, 7);
    heap.machine().run_threads(1, [&](int) {
      EXPECT_THROW(heap->engine().update([&] {
        heap->set(0, 8);
        EXPECT_THROW(TestFixture::Engine::store_range(heap->word(64), large.data(), large.size()),
                     Error);
        heap->set(0, 9);  // saves 8
        heap->set(kLineWords, 9);
        image = heap.machine().latest_image();
        throw 1;
      }),
                   int);
    });
    EXPECT_EQ(slots_with(image, 8).size(), 1u);
    EXPECT_EQ(heap->read(0), 7u);
    EXPECT_EQ(heap->read(kLineWords), 0u);
  }
  Reopened<TypeParam> again(image, log_of(kSlots));
  ASSERT_TRUE(again.status().ok()) << again.status().to_string();
  EXPECT_EQ(again->read(0), 7u);
  EXPECT_EQ(again->read(kLineWords), 0u);
}

TYPED_TEST(SwlLog, ATransactionMayFillTheWholeLogAndNoMore) {
  TypeParam heap(log_of(kSlots));
  for (uint64_t round = 1; round <= 3; ++round) {
    heap->write(1, round);  // so that the log begins elsewhere
    heap->engine().update([&] {
      for (size_t line = 0; line < kSlots; ++line) {
        heap->set(line * kLineWords, round);
      }
    });
    for (size_t line = 0; line < kSlots; ++line) {
      EXPECT_EQ(heap->read(line * kLineWords), round);
    }
    try {
      heap->engine().update([&] {
        for (size_t line = 0; line <= kSlots; ++line) {
          heap->set(line * kLineWords, 100);
        }
      });
      FAIL() << "nothing bounds the log";
    } catch (const Error& e) {
      EXPECT_EQ(e.status().code(), Code::too_large);
      EXPECT_NE(e.status().message().find("log_bytes"), std::string::npos);
    }
    for (size_t line = 0; line < kSlots; ++line) {
      EXPECT_EQ(heap->read(line * kLineWords), round);
    }
  }
}

TYPED_TEST(SwlLog, LargeTransactionsCommitAndRollBack) {
  constexpr size_t kLines = 1000;
  TypeParam heap(log_of(2 * kLines));
  const auto set_all = [&](uint64_t value) {
    for (size_t line = 0; line < kLines; ++line) {
      heap->set(line * kLineWords, value + line);
    }
  };
  heap->engine().update([&] { set_all(5); });
  EXPECT_THROW(heap->engine().update([&] {
    set_all(5000);
    throw 1;
  }),
               int);
  for (size_t line = 0; line < kLines; ++line) {
    ASSERT_EQ(heap->read(line * kLineWords), 5 + line);
  }
}

/// A store of two lines has two entries and one fence, so the second entry may survive without the
/// first one. After recovery the next transaction's entry takes the place of the first one. The
/// second one must not count behind it.
TEST(SwlLogFlush, EntriesBehindATornOneNeverCount) {
  const std::vector<std::byte> block(2 * kLineBytes, std::byte{9});
  std::vector<SimImage> images;
  size_t data = 0;
  {
    FlushHeap heap(log_of(kSlots));
    data = heap->regions().area_bytes;
    heap->write(0, 1);
    heap->write(kLineWords, 1);
    images = images_during(heap.machine(), 200, [&] {
      heap->engine().update(
          [&] { SwlFlush<SimMachine>::store_range(heap->word(0), block.data(), block.size()); });
    });
  }
  int torn = 0;
  for (const SimImage& image : images) {
    const std::set<size_t> slots = slots_with(image, 1);
    if (!slots.contains(2) && slots.contains(3) && torn < 20) {
      ++torn;
      EXPECT_EQ(word_at(image, data), 1u);
      SimImage next;
      {
        Reopened<FlushHeap> heap(image, log_of(kSlots));
        ASSERT_TRUE(heap.status().ok()) << heap.status().to_string();
        heap->write(kLineWords, 5);
        next = heap.machine().earliest_image();
      }
      Reopened<FlushHeap> again(next, log_of(kSlots));
      ASSERT_TRUE(again.status().ok()) << again.status().to_string();
      EXPECT_EQ(again->report().transactions, 0u);
      EXPECT_EQ(again->read(kLineWords), 5u);
    }
  }
  EXPECT_GT(torn, 0);
}

/// An image of an update that has made two stores, to lines whose content was 7 and 8.
SimImage interrupted() {
  SimImage image;
  FlushHeap heap(log_of(kSlots));
  heap->write(0, 7);
  heap->write(kLineWords, 8);
  heap.machine().run_threads(1, [&](int) {
    EXPECT_THROW(heap->engine().update([&] {
      heap->set(0, 9);
      heap->set(kLineWords, 9);
      image = heap.machine().latest_image();
      throw 1;
    }),
                 int);
  });
  return image;
}

TEST(SwlLogDamage, AnEntryThatOthersFollowIsReported) {
  const SimImage sound = interrupted();
  EXPECT_EQ(slots_with(sound, 7), std::set<size_t>{2});
  for (size_t at = 0; at < kLineEntry; ++at) {
    SimImage image = sound;
    image[kLineBytes + 2 * kLineEntry + at] ^= std::byte{0x10};
    Reopened<FlushHeap> again(image, log_of(kSlots));
    EXPECT_EQ(again.status().code(), Code::corrupt) << at;
  }
  Reopened<FlushHeap> again(sound, log_of(kSlots));
  EXPECT_EQ(again->read(0), 7u);
  EXPECT_EQ(again->read(kLineWords), 8u);
}

TEST(SwlLogDamage, ADamagedStateIsReported) {
  const SimImage sound = interrupted();
  for (size_t at = 0; at < 2 * sizeof(uint64_t); ++at) {
    SimImage image = sound;
    image[at] ^= std::byte{1};
    Reopened<FlushHeap> again(image, log_of(kSlots));
    EXPECT_EQ(again.status().code(), Code::corrupt) << at;
  }
}

// ---- options and domains

TEST(SwlOptions, ValuesOutOfRangeAreRefused) {
  const auto parse = [](const Options& options) {
    return swl::SwlOptions::parse(options).status();
  };
  EXPECT_TRUE(parse({}).ok());
  EXPECT_TRUE(parse({{"unit", "8"}, {"log_bytes", "1024"}}).ok());
  for (const Options& options : {Options{{"unit", "16"}}, Options{{"unit", "128"}},
                                 Options{{"log_bytes", "1023"}}, Options{{"log_bytes", "many"}}}) {
    EXPECT_EQ(parse(options).code(), Code::invalid_argument);
  }
}

CreateOptions small_log() {
  CreateOptions create;
  create.options = log_of(64);
  return create;
}

TEST(SwlDomain, WithoutWriteBacksCachesMustSurvive) {
  using EadrEngine = SwlEadr<SimMachine>;
  for (const Domain domain : {Domain::process, Domain::file, Domain::pmem, Domain::eadr}) {
    SimOptions options;
    options.domain = domain;
    SimMachine machine(options);
    const auto heap = Heap<EadrEngine>::create(machine, small_log());
    const bool lasts = domain == Domain::process || domain == Domain::eadr;
    EXPECT_EQ(heap.ok(), lasts) << to_string(domain);
    if (!lasts) {
      EXPECT_EQ(heap.status().code(), Code::unsupported);
      EXPECT_NE(heap.status().message().find("domain eadr"), std::string::npos);
    }
  }
}

TEST(SwlDomain, AHeapIsNotOpenedWhereStoresMayBeLost) {
  using EadrEngine = SwlEadr<SimMachine>;
  SimOptions options;
  options.domain = Domain::eadr;
  SimImage image;
  {
    SimMachine machine(options);
    const auto heap = Heap<EadrEngine>::create(machine, small_log()).value();
    image = machine.latest_image();
  }
  for (const Domain domain : {Domain::pmem, Domain::file, Domain::eadr}) {
    options.domain = domain;
    SimMachine machine(options, image);
    const auto heap = Heap<EadrEngine>::open(machine);
    EXPECT_EQ(heap.status().code(), domain == Domain::eadr ? Code::ok : Code::unsupported)
        << to_string(domain);
    if (domain != Domain::eadr) {
      EXPECT_EQ(machine.latest_image(), image);
    }
  }
}

}  // namespace
}  // namespace holdfast::swl_log_test
