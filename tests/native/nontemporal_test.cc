// SPDX-License-Identifier: Apache-2.0
//
// Do the native machine's non-temporal stores write exactly the given bytes, in every domain? Does
// a fence order them?
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "holdfast/machine/native/native_machine.h"
#include "tests/native/test_file.h"

namespace holdfast::nontemporal_test {
namespace {

struct Mapped {
  static constexpr size_t kBytes = 4 * kPageBytes;

  explicit Mapped(Domain domain) {
    const auto no_disk = [](int) { return 0; };
    machine = NativeMachine::open(
                  file.path(), {.create = true, .domain = domain, .force = true, .sync = no_disk})
                  .value();
    machine->medium().grow(kBytes).check();
    words = reinterpret_cast<uint64_t*>(
        machine->medium().map(0, kBytes, nullptr, MapMode::shared).value());
  }

  NativeTestFile file;
  std::unique_ptr<NativeMachine> machine;
  uint64_t* words = nullptr;
};

class NativeNontemporal : public testing::TestWithParam<Domain> {};

TEST_P(NativeNontemporal, BringsTheWordsAskedForAndNoOthers) {
  const Mapped m(GetParam());
  std::vector<uint64_t> source(40);
  for (size_t i = 0; i < source.size(); ++i) {
    source[i] = 0x0123456789abcdef * (i + 1);
  }
  for (const size_t at : {0, 1, 7, 8, 13}) {
    for (const size_t n : {0, 1, 2, 7, 8, 9, 16, 31}) {
      std::fill_n(m.words, 64, uint64_t{7});
      m.machine->store_nontemporal(m.words + at, source.data() + 3, n * sizeof(uint64_t), Site{});
      EXPECT_TRUE(std::equal(m.words + at, m.words + at + n, source.begin() + 3))
          << "the thread itself sees it at once";
      m.machine->pfence(Site{});
      for (size_t i = 0; i < 64; ++i) {
        ASSERT_EQ(m.words[i], i >= at && i < at + n ? source[3 + i - at] : 7)
            << at << " " << n << " " << i;
      }
    }
  }
}

TEST_P(NativeNontemporal, CountsTheLines) {
  const Mapped m(GetParam());
  const std::vector<uint64_t> source(40);
  const PersistCounters before = m.machine->counters();
  const auto store = [&](size_t at, size_t n) {
    m.machine->store_nontemporal(m.words + at, source.data(), n * sizeof(uint64_t), Site{"test"});
  };
  constexpr size_t kLineWords = native::kNativeLineBytes / sizeof(uint64_t);
  store(0, kLineWords);      // one line
  store(kLineWords - 1, 2);  // two lines
  store(1, 2 * kLineWords);  // three lines
  store(3, 0);               // no line
  const PersistCounters counted = m.machine->counters() - before;
  EXPECT_EQ(counted.nontemporal, 6u);
  EXPECT_EQ(counted.pwb, 0u);
}

TEST_P(NativeNontemporal, RefusesWhatIsNotWholeWords) {
  const Mapped m(GetParam());
  auto* to = reinterpret_cast<std::byte*>(m.words);
  alignas(8) std::byte from[64];
  std::fill(std::begin(from), std::end(from), std::byte{1});
  const auto refused = [&](size_t to_skew, size_t from_skew, size_t n) {
    try {
      m.machine->store_nontemporal(to + to_skew, from + from_skew, n, Site{});
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), Code::misuse);
      EXPECT_NE(error.status().message().find("multiples of 8"), std::string::npos);
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused(4, 0, 8));
  EXPECT_TRUE(refused(0, 1, 8));
  EXPECT_TRUE(refused(0, 0, 12));
  EXPECT_TRUE(std::all_of(to, to + 64, [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_FALSE(refused(0, 0, 64));
}

TEST_P(NativeNontemporal, AFenceOrdersItBeforeLaterStores) {
  const Mapped m(GetParam());
  constexpr uint64_t kRounds = 2000;
  auto* turn = make_array<NativeMachine::Atomic<uint64_t>>(*m.machine, 1);
  uint64_t wrong = 0;
  m.machine->run_threads(2, [&](int thread) {
    for (uint64_t round = 1; round <= kRounds; ++round) {
      if (thread == 0) {
        const std::vector<uint64_t> values(24, round);
        m.machine->store_nontemporal(m.words + 4, values.data(), 24 * sizeof(uint64_t), Site{});
        m.machine->pfence(Site{});
        turn->store(2 * round, std::memory_order_release);
        while (m.machine->wait_while(*turn, 2 * round) != 2 * round + 1) {
        }
      } else {
        while (turn->load(std::memory_order_acquire) != 2 * round) {
          m.machine->wait_while(*turn, 2 * round - 1);
        }
        for (size_t i = 4; i < 28; ++i) {
          wrong += NativeMachine::load(m.words + i) != round ? 1 : 0;
        }
        turn->store(2 * round + 1, std::memory_order_release);
      }
    }
  });
  EXPECT_EQ(wrong, 0u);
}

TEST_P(NativeNontemporal, IsInTheFile) {
  const NativeTestFile file;
  const std::vector<uint64_t> source(24, 42);
  {
    auto machine =
        NativeMachine::open(file.path(), {.create = true, .domain = GetParam(), .force = true})
            .value();
    machine->medium().grow(kPageBytes).check();
    std::byte* p = machine->medium().map(0, kPageBytes, nullptr, MapMode::shared).value();
    machine->store_nontemporal(p + 64, source.data(), source.size() * sizeof(uint64_t), Site{});
    machine->psync(Site{});
    machine->medium().unmap(p, kPageBytes);
  }
  auto machine = NativeMachine::open(file.path(), {.domain = GetParam(), .force = true}).value();
  std::byte* p = machine->medium().map(0, kPageBytes, nullptr, MapMode::shared).value();
  EXPECT_EQ(std::memcmp(p + 64, source.data(), source.size() * sizeof(uint64_t)), 0);
  machine->medium().unmap(p, kPageBytes);
}

INSTANTIATE_TEST_SUITE_P(Domains, NativeNontemporal,
                         testing::Values(Domain::process, Domain::file, Domain::pmem, Domain::eadr),
                         [](const auto& instance) { return to_string(instance.param); });

}  // namespace
}  // namespace holdfast::nontemporal_test
