// SPDX-License-Identifier: Apache-2.0
// Does the simulated compare-exchange of 16 bytes change both words at one instant: for other
// threads, for hardware transactions and for the images after a crash? Does it order write-backs?
#include "holdfast/machine/double_word.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::double_word_test {
namespace {

using Words = std::array<uint64_t, 4>;  // a double word, and the first two of the next line

Words words_of(const SimImage& image) {
  Words words;
  std::memcpy(words.data(), image.data(), 2 * sizeof(uint64_t));
  std::memcpy(words.data() + 2, image.data() + kLineBytes, 2 * sizeof(uint64_t));
  return words;
}

struct OneMedium {
  explicit OneMedium(const SimOptions& options = {}) : machine(options) {
    machine.medium().grow(kPageBytes).check();
    auto* const page = machine.medium().map(0, kPageBytes, nullptr, MapMode::shared).value();
    at = reinterpret_cast<DoubleWord*>(page);
    next_line = reinterpret_cast<uint64_t*>(page + kLineBytes);
  }
  bool exchange(DoubleWord expected, const DoubleWord& desired) {
    return compare_exchange(machine, at, expected, desired);
  }
  std::set<Words> images() const {
    std::set<Words> all;
    machine.for_each_image(kNever, [&](const SimImage& image) {
      all.insert(words_of(image));
      return true;
    });
    return all;
  }

  SimMachine machine;
  DoubleWord* at = nullptr;
  uint64_t* next_line = nullptr;
};

TEST(SimDoubleWord, ChangesBothWordsOrNoneAndSaysWhatIsThere) {
  OneMedium m;
  DoubleWord expected = {0, 0};
  EXPECT_TRUE(compare_exchange(m.machine, m.at, expected, {1, 2}));
  EXPECT_EQ(expected, (DoubleWord{0, 0}));
  for (const DoubleWord wrong : {DoubleWord{1, 3}, DoubleWord{0, 2}, DoubleWord{0, 0}}) {
    expected = wrong;
    EXPECT_FALSE(compare_exchange(m.machine, m.at, expected, {7, 8}));
    EXPECT_EQ(expected, (DoubleWord{1, 2}));
  }
  EXPECT_EQ(SimMachine::load(&m.at->first), 1u);
  EXPECT_EQ(SimMachine::load(&m.at->second), 2u);
  EXPECT_EQ(m.machine.statistics().atomics, 4u);
}

TEST(SimDoubleWord, WorksInVolatileMemoryToo) {
  OneMedium m;
  auto* const word = static_cast<DoubleWord*>(m.machine.allocate(sizeof(DoubleWord), 16));
  DoubleWord expected;
  EXPECT_TRUE(compare_exchange(m.machine, word, expected, {3, 4}));
  EXPECT_EQ(SimMachine::load(&word->second), 4u);
}

TEST(SimDoubleWord, AMisalignedAddressIsRefused) {
  OneMedium m;
  auto* const odd = reinterpret_cast<DoubleWord*>(&m.at->second);
  DoubleWord expected;
  try {
    compare_exchange(m.machine, odd, expected, {1, 2});
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), Code::misuse);
  }
  EXPECT_EQ(SimMachine::load(&m.at->second), 0u);
}

TEST(SimDoubleWord, NoImageTearsIt) {
  for (const Domain domain : {Domain::pmem, Domain::file, Domain::eadr, Domain::process}) {
    OneMedium m({.domain = domain});
    EXPECT_TRUE(m.exchange({0, 0}, {1, 2}));
    EXPECT_TRUE(m.exchange({1, 2}, {3, 4}));
    if (domain == Domain::pmem || domain == Domain::file) {
      EXPECT_EQ(m.images(), (std::set<Words>{{0, 0}, {1, 2}, {3, 4}}));
    } else {
      EXPECT_EQ(m.images(), (std::set<Words>{{3, 4}}));
    }
  }
}

/// No image at any moment of a run tears it: both words are one persist event.
TEST(SimDoubleWord, NoImageOfARunTearsIt) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    OneMedium m({.threads = 3, .seed = seed});
    uint64_t events = 0;
    m.machine.before_persist_event([&](uint64_t) {
      ++events;
      for (const Words& words : m.images()) {
        ASSERT_EQ(words[1], 10 * words[0]) << "seed " << seed;
      }
    });
    m.machine.run_threads(3, [&](int) {
      for (int done = 0; done < 5;) {
        const DoubleWord seen = {SimMachine::load(&m.at->first), SimMachine::load(&m.at->second)};
        done += m.exchange(seen, {seen.first + 1, seen.second + 10}) ? 1 : 0;
      }
    });
    m.machine.before_persist_event({});
    EXPECT_EQ(SimMachine::load(&m.at->first), 15u);
    EXPECT_EQ(SimMachine::load(&m.at->second), 150u);
    EXPECT_EQ(events, 15u) << "one for each that succeeded";
  }
}

/// Earlier write-backs are durable before the words that it stores.
/// In domain process the store buffers reach memory as well.
TEST(SimDoubleWord, NoCrashTearsItInAnyDomain) {
  for (const Domain domain : {Domain::process, Domain::file, Domain::pmem, Domain::eadr}) {
    for (uint64_t event = 0; event < 6; ++event) {
      OneMedium m({.domain = domain});
      m.machine.crash_at(m.machine.persist_events() + event);
      m.machine.run_threads(1, [&](int) {
        for (uint64_t i = 0; i < 5; ++i) {
          m.exchange({i, i}, {i + 1, i + 1});
        }
      });
      const Words words = words_of(m.machine.latest_image());
      EXPECT_EQ(words[0], words[1]) << to_string(domain) << ", event " << event;
    }
  }
}

TEST(SimDoubleWord, OrdersWriteBacksBeforeItWhereReadModifyWritesDo) {
  for (const bool orders : {true, false}) {
    OneMedium m({.threads = 1, .rmw_orders_pwb = orders});
    std::set<Words> seen;
    m.machine.before_persist_event([&](uint64_t) { seen.merge(m.images()); });
    m.machine.run_threads(1, [&](int) {
      SimMachine::store(m.next_line, uint64_t{9});
      m.machine.pwb(m.next_line);
      EXPECT_TRUE(m.exchange({0, 0}, {1, 2}));
    });
    m.machine.before_persist_event({});
    seen.merge(m.images());
    EXPECT_EQ(seen.contains({1, 2, 0, 0}), !orders);
    EXPECT_TRUE(seen.contains({1, 2, 9, 0}));
    EXPECT_EQ(m.images().contains({0, 0, 0, 0}), !orders);
  }
}

TEST(SimDoubleWord, OneThatFailsOrdersWriteBacksAsWell) {
  OneMedium m;
  SimMachine::store(m.next_line, uint64_t{9});
  m.machine.pwb(m.next_line);
  EXPECT_FALSE(m.exchange({5, 5}, {1, 2}));
  EXPECT_EQ(m.images(), (std::set<Words>{{0, 0, 9, 0}}));
}

TEST(SimDoubleWord, DoomsHardwareTransactionsThatHaveLoadedTheLine) {
  OneMedium m({.threads = 2, .drain_probability = 1});
  auto* const step = make_object<SimMachine::Atomic<uint64_t>>(m.machine);
  bool aborted = false;
  m.machine.run_threads(2, [&](int worker) {
    if (worker == 0) {
      auto& htm = m.machine.htm(m.machine.self());
      try {
        htm.begin(Tracking::all);
        static_cast<void>(htm.load(&m.at->second));
        htm.suspend();
        step->store(1);
        while (m.machine.wait_while(*step, uint64_t{1}) == 1 && !htm.doomed()) {
        }
        htm.resume();
        htm.commit();
      } catch (const HtmAbort&) {
        htm.caught();
        aborted = true;
      }
    } else {
      m.machine.wait_while(*step, uint64_t{0});
      EXPECT_TRUE(m.exchange({0, 0}, {1, 2}));
      step->store(2);
    }
  });
  EXPECT_TRUE(aborted);
}

TEST(SimDoubleWord, InsideAHardwareTransactionItIsPartOfIt) {
  OneMedium m({.threads = 1});
  m.machine.run_threads(1, [&](int) {
    auto& htm = m.machine.htm(m.machine.self());
    for (const bool commits : {false, true}) {
      try {
        htm.begin(Tracking::all);
        EXPECT_TRUE(m.exchange({0, 0}, {1, 2}));
        EXPECT_EQ(htm.load(&m.at->second), 2u);
        EXPECT_EQ(m.images(), (std::set<Words>{{0, 0}}));
        if (commits) {
          htm.commit();
        } else {
          htm.abort(AbortCode::none);
        }
      } catch (const HtmAbort&) {
        htm.caught();
      }
      EXPECT_EQ(SimMachine::load(&m.at->first), commits ? 1u : 0u);
    }
  });
}

}  // namespace
}  // namespace holdfast::double_word_test
