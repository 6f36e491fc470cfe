// SPDX-License-Identifier: Apache-2.0
// Do non-temporal stores of the simulated machine persist and cost as a copy around the caches
// does? The tests of time are numbered, one rule each.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/hardware/design_fixture.h"
#include "tests/unit/machine/sim/timed_machine.h"

namespace holdfast::nontemporal_test {
namespace {

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);
constexpr double kOp = 1;  ///< one memory operation

/// The first words of the medium after a power failure.
template <size_t N>
using Words = std::array<uint64_t, N>;

template <size_t N>
Words<N> words_of(const SimImage& image) {
  Words<N> words;
  std::memcpy(words.data(), image.data(), sizeof(words));
  return words;
}

struct OneMedium {
  explicit OneMedium(const SimOptions& options = {}) : machine(options) {
    machine.medium().grow(kPageBytes).check();
    words = reinterpret_cast<uint64_t*>(
        machine.medium().map(0, kPageBytes, nullptr, MapMode::shared).value());
  }

  void around(size_t word, uint64_t value, Site site = {}) {
    machine.store_nontemporal(words + word, &value, sizeof(value), site);
  }
  void plain(size_t word, uint64_t value) { SimMachine::store(words + word, value); }

  /// All legal images. Checks that samples and choices are among them.
  template <size_t N>
  std::set<Words<N>> images() {
    std::set<Words<N>> all;
    machine.for_each_image(kNever, [&](const SimImage& image) {
      all.insert(words_of<N>(image));
      return true;
    });
    Random random(1);
    for (int i = 0; i < 200; ++i) {
      EXPECT_TRUE(all.contains(words_of<N>(machine.sample_image(random))));
    }
    EXPECT_TRUE(all.contains(words_of<N>(machine.earliest_image())));
    EXPECT_TRUE(all.contains(words_of<N>(machine.surviving_image())));
    return all;
  }

  SimMachine machine;
  uint64_t* words = nullptr;
};

// ---- persistence

TEST(SimNontemporal, CertainAfterTheFenceOnly) {
  for (int how = 0; how < 4; ++how) {
    OneMedium m;
    auto* word = make_object<SimMachine::Atomic<uint64_t>>(m.machine);
    m.around(0, 7);
    EXPECT_EQ(m.images<1>(), (std::set<Words<1>>{{0}, {7}}));
    switch (how) {
      case 0:
        m.machine.pfence();
        break;
      case 1:
        m.machine.psync();
        break;
      case 2:
        m.machine.fence();
        break;
      default:
        word->fetch_add(1);
        break;
    }
    EXPECT_EQ(m.images<1>(), (std::set<Words<1>>{{7}})) << how;
  }
}

TEST(SimNontemporal, WhereReadModifyWritesOrderNothingTheyDoNotHere) {
  OneMedium m({.rmw_orders_pwb = false});
  auto* word = make_object<SimMachine::Atomic<uint64_t>>(m.machine);
  m.around(0, 7);
  word->fetch_add(1);
  m.machine.fence();
  EXPECT_EQ(m.images<1>(), (std::set<Words<1>>{{0}, {7}}));
  m.machine.pfence();
  EXPECT_EQ(m.images<1>(), (std::set<Words<1>>{{7}}));
}

TEST(SimNontemporal, OfALineAnyWordsMayBeLost) {
  OneMedium m;
  const uint64_t values[3] = {1, 1, 1};
  m.machine.store_nontemporal(m.words, values, sizeof(values));
  std::set<Words<3>> expected;
  for (uint64_t i = 0; i < 8; ++i) {
    expected.insert({i & 1, i >> 1 & 1, i >> 2 & 1});
  }
  EXPECT_EQ(m.images<3>(), expected);
  EXPECT_EQ(m.machine.image_count(), 8u) << "each once";
  EXPECT_EQ(words_of<3>(m.machine.latest_image()), (Words<3>{1, 1, 1}));
}

TEST(SimNontemporal, PlainStoresOfTheLineKeepTheirOrder) {
  {
    OneMedium m;
    m.plain(0, 1);
    m.around(1, 1);
    EXPECT_EQ(m.images<2>(), (std::set<Words<2>>{{0, 0}, {1, 0}, {1, 1}}));
  }
  OneMedium m;
  m.around(0, 1);
  m.plain(1, 1);
  m.plain(2, 1);
  EXPECT_EQ(m.images<3>(),
            (std::set<Words<3>>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 1, 1}, {1, 1, 1}}));
}

TEST(SimNontemporal, AWordStoredTwiceHoldsOneOfItsValues) {
  OneMedium m;
  m.around(0, 1);
  m.around(0, 2);
  EXPECT_EQ(m.images<1>(), (std::set<Words<1>>{{0}, {1}, {2}}));
  m.machine.pfence();
  EXPECT_EQ(m.images<1>(), (std::set<Words<1>>{{2}}));
}

TEST(SimNontemporal, WhatCameAfterTheFenceMayStillBeLost) {
  OneMedium m;
  m.around(0, 1);
  m.machine.pfence();
  m.around(1, 1);
  m.around(2, 1);
  EXPECT_EQ(m.images<3>(), (std::set<Words<3>>{{1, 0, 0}, {1, 1, 0}, {1, 0, 1}, {1, 1, 1}}));
}

TEST(SimNontemporal, AFenceOfAnotherThreadMakesNoneCertain) {
  for (const bool writes_back : {false, true}) {
    OneMedium m({.rmw_orders_pwb = false});
    auto* turn = make_object<SimMachine::Atomic<uint64_t>>(m.machine);
    m.machine.run_threads(2, [&](int thread) {
      if (thread == 0) {
        m.around(0, 1);
        m.around(1, 1);
        turn->store(1, std::memory_order_relaxed);
        return;
      }
      m.machine.wait_while(*turn, uint64_t{0});
      m.around(1, 2);  // replaces what the other thread has stored
      m.plain(2, 1);
      if (writes_back) {
        m.machine.pwb(m.words);
      }
      m.machine.pfence();
    });
    std::set<Words<3>> expected = {{0, 2, 1}, {1, 2, 1}};
    if (!writes_back) {
      expected.insert({{0, 2, 0}, {1, 2, 0}});
    }
    EXPECT_EQ(m.images<3>(), expected);
  }
}

TEST(SimNontemporal, AFencedOneIsLostNoMoreWhenALaterStoreIs) {
  OneMedium m;
  m.around(0, 1);
  m.plain(1, 1);
  m.machine.pfence();
  EXPECT_EQ(m.images<2>(), (std::set<Words<2>>{{1, 0}, {1, 1}}));
  EXPECT_EQ(m.machine.image_count(), 2u);
}

TEST(SimNontemporal, OfManyUnfencedStoresToALineTheOldOnesAreInOrder) {
  OneMedium m;
  for (uint64_t i = 1; i <= 12; ++i) {
    m.around(i % kLineWords, i);
  }
  // A prefix of k stores ends with a store that is in the image. It may miss any of at most 8
  // stores before that.
  EXPECT_EQ(m.machine.image_count(), 1u + 511u + 3u * 256u);
}

TEST(SimNontemporal, ChoicesAreTheImagesLineByLine) {
  OneMedium m;
  m.machine.watch_images();
  const std::vector<uint64_t> values(kLineWords + 1, 5);
  m.machine.store_nontemporal(m.words, values.data(), values.size() * sizeof(uint64_t));
  const auto lines = m.machine.image_choices();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]->contents.size(), 256 * kLineBytes);
  EXPECT_EQ(lines[1]->contents.size(), 2 * kLineBytes);
  uint64_t last[kLineWords];
  std::memcpy(last, &lines[0]->contents[lines[0]->latest * kLineBytes], kLineBytes);
  EXPECT_EQ(std::set<uint64_t>(std::begin(last), std::end(last)), (std::set<uint64_t>{5}));
}

TEST(SimNontemporal, APowerFailureMayFallBetweenTwoWords) {
  for (uint64_t event = 0; event < 3; ++event) {
    OneMedium m({.threads = 1});
    m.machine.crash_at(event);
    m.machine.run_threads(1, [&](int) {
      const uint64_t values[2] = {1, 1};
      m.machine.store_nontemporal(m.words, values, sizeof(values));
      m.machine.pfence();
    });
    ASSERT_TRUE(m.machine.crashed());
    EXPECT_EQ(words_of<2>(m.machine.latest_image()), (Words<2>{event > 0, event > 1}));
    EXPECT_EQ(words_of<2>(m.machine.earliest_image()), (Words<2>{0, 0}));
  }
}

TEST(SimNontemporal, InOtherDomainsItIsAStore) {
  for (const Domain domain : {Domain::process, Domain::eadr, Domain::file}) {
    OneMedium m({.domain = domain});
    m.around(0, 1);
    const bool certain = domain != Domain::file;
    EXPECT_EQ(m.images<1>(), (certain ? std::set<Words<1>>{{1}} : std::set<Words<1>>{{0}, {1}}))
        << to_string(domain);
    m.machine.pfence();
    EXPECT_EQ(m.images<1>(), (std::set<Words<1>>{{1}})) << to_string(domain);
  }
}

// ---- visibility to other threads

TEST(SimNontemporal, TheThreadItselfSeesItAtOnceAndOthersInOrder) {
  bool alone = false;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    OneMedium m({.threads = 2, .seed = seed});
    m.machine.run_threads(2, [&](int i) {
      if (i == 0) {
        m.around(0, 1);
        EXPECT_EQ(SimMachine::load(m.words), 1u);
        m.around(kLineWords, 1);
      } else {
        const uint64_t second = SimMachine::load(m.words + kLineWords);
        const uint64_t first = SimMachine::load(m.words);
        EXPECT_LE(second, first);
        alone |= first > second;
      }
    });
  }
  EXPECT_TRUE(alone) << "some schedule came between the two";
}

TEST(SimNontemporal, CopiesFromSharedMemoryAndFromTheStack) {
  OneMedium m({.threads = 1});
  auto* shared = make_array<uint64_t>(m.machine, 2 * kLineWords);
  m.machine.run_threads(1, [&](int) {
    for (uint64_t i = 0; i < 2 * kLineWords; ++i) {
      SimMachine::store(shared + i, i + 1);  // still in the store buffer
    }
    m.machine.store_nontemporal(m.words + 3, shared, 2 * kLineBytes);
    m.machine.store_nontemporal(m.words, shared, 0);
    m.machine.pfence();
  });
  EXPECT_EQ(m.machine.counters().nontemporal, 3u) << "lines";
  EXPECT_EQ(m.machine.counters().bytes, 2 * kLineBytes);
  EXPECT_EQ(m.machine.counters().pwb, 0u);
  const auto words = words_of<32>(m.machine.earliest_image());
  for (uint64_t i = 0; i < 32; ++i) {
    EXPECT_EQ(words[i], i < 3 || i >= 3 + 2 * kLineWords ? 0 : i - 2);
  }
}

TEST(SimNontemporal, DoomsATransactionThatHasTheLine) {
  for (const bool timed : {false, true}) {
    for (const bool stores : {false, true}) {
      SimOptions o;
      if (timed) {
        o = TimedBench::options(round_machine(), Domain::pmem);
      }
      OneMedium m(o);
      AbortCause cause = AbortCause::none;
      m.machine.run_threads(2, [&](int i) {
        auto& htm = m.machine.htm(m.machine.self());
        auto& flag = *reinterpret_cast<SimMachine::Atomic<uint64_t>*>(m.words + 4 * kLineWords);
        if (i == 1) {
          while (m.machine.wait_while(flag, 0) == 0) {
          }
          m.around(1, 1);
          m.machine.pfence();
          flag.store(2);
          return;
        }
        htm.begin(Tracking::all);
        try {
          if (stores) {
            SimMachine::store(m.words, uint64_t{9});
          }
          SimMachine::load(m.words);
          htm.suspend();
          flag.store(1);
          while (m.machine.wait_while(flag, 1) != 2 && !htm.doomed()) {
          }
          htm.resume();
          htm.commit();
        } catch (const HtmAbort&) {
          cause = htm.caught();
        }
      });
      EXPECT_EQ(cause, AbortCause::conflict) << timed << stores;
      EXPECT_EQ(SimMachine::load(m.words), 0u);
      EXPECT_EQ(SimMachine::load(m.words + 1), 1u);
    }
  }
}

TEST(SimNontemporal, NotInsideATransactionUnlessSuspended) {
  OneMedium m({.threads = 1});
  m.machine.run_threads(1, [&](int) {
    auto& htm = m.machine.htm(m.machine.self());
    htm.begin(Tracking::all);
    EXPECT_THROW(m.around(0, 1), Error);
    htm.suspend();
    m.around(1, 1);
    htm.resume();
    try {
      htm.abort(AbortCode::none);
    } catch (const HtmAbort&) {
      htm.caught();
    }
    m.machine.pfence();
  });
  EXPECT_EQ(words_of<2>(m.machine.earliest_image()), (Words<2>{0, 1}));
}

TEST(SimNontemporal, WholeAlignedWordsOnly) {
  OneMedium m;
  alignas(8) const std::byte source[32] = {std::byte{1}};
  auto* to = reinterpret_cast<std::byte*>(m.words);
  EXPECT_THROW(m.machine.store_nontemporal(to + 4, source, 8), Error);
  EXPECT_THROW(m.machine.store_nontemporal(to, source + 1, 8), Error);
  EXPECT_THROW(m.machine.store_nontemporal(to, source, 12), Error);
  EXPECT_EQ(SimMachine::load(m.words), 0u);
}

// ---- planted bugs, lint, hardware designs

TEST(SimNontemporal, AMutationChangesItsWriteBackOnly) {
  const auto after = [](const std::string& mutation, int fences) {
    OneMedium m({.mutations = {parse_mutation(mutation).value()}, .list_sites = true});
    m.around(0, 1, Site{"log"});
    EXPECT_EQ(SimMachine::load(m.words), 1u) << mutation;
    for (int i = 0; i < fences; ++i) {
      m.machine.pfence(Site{"fence"});
    }
    EXPECT_EQ(m.machine.sites().back().name, "log");
    EXPECT_EQ(m.machine.sites().back().kind, SiteKind::write_back);
    EXPECT_EQ(m.machine.mutated(), mutation.starts_with("log") ? 1u : 0u);
    return m.images<1>();
  };
  const std::set<Words<1>> certain = {{1}};
  const std::set<Words<1>> either = {{0}, {1}};
  EXPECT_EQ(after("other=drop", 1), certain);
  EXPECT_EQ(after("log=drop", 2), either);
  EXPECT_EQ(after("log=delay", 1), either);
  EXPECT_EQ(after("log=delay", 2), certain);
  EXPECT_EQ(after("log=swap", 1), either);
  EXPECT_EQ(after("log=swap", 2), certain);
}

TEST(SimNontemporal, LintKnowsItAsAStoreAndItsWriteBack) {
  for (const bool fenced : {false, true}) {
    OneMedium m({.threads = 1, .lint = true});
    m.machine.run_threads(1, [&](int) {
      const TransactionScope<SimMachine> scope(TransactionKind::update);
      m.around(0, 1, Site{"log"});
      m.around(kLineWords, 1, Site{"log"});
      if (fenced) {
        m.machine.pfence(Site{"fence"});
      }
    });
    const std::vector<LintRow> rows = m.machine.lint_report();
    ASSERT_EQ(rows.size(), fenced ? 0u : 1u);
    if (!fenced) {
      EXPECT_EQ(rows[0].kind, LintKind::not_fenced);
      EXPECT_EQ(rows[0].where, "log");
      EXPECT_EQ(rows[0].count, 2u);
    }
  }
}

TEST(SimNontemporal, AHardwareDesignSeesAStore) {
  for (const bool commits : {false, true}) {
    design_test::DesignMachine d(
        design_test::options(design_test::roomy(), design_test::durable_design()));
    const uint64_t values[2] = {1, 2};
    d->tx_start();
    d->store_nontemporal(d.word(0), values, sizeof(values));
    EXPECT_EQ(SimMachine::load(d.word(0)), 1u);
    commits ? d->tx_commit() : static_cast<void>(d->tx_abort());
    d->psync();
    EXPECT_EQ(SimMachine::load(d.word(0, 1)), commits ? 2u : 0u) << "undone with the others";
    EXPECT_EQ(d->design_counters().first_stores, 1u);
    EXPECT_EQ(d->statistics().nontemporal, 0u);
  }
  // A fenced store outside the design's transactions is durable, too.
  const uint64_t value = 3;
  SimImage image;
  {
    design_test::DesignMachine d(
        design_test::options(design_test::roomy(), design_test::volatile_design()));
    d->store_nontemporal(d.word(0), &value, sizeof(value));
    d->psync();
    image = d->earliest_image();
  }
  EXPECT_EQ(words_of<1>(image), (Words<1>{3}));
}

// ---- time

void copy_lines(TimedBench& b, size_t first, size_t n) {
  const std::vector<uint64_t> values(n * kLineWords, 1);
  b.m.store_nontemporal(b.medium_line(first), values.data(), n * kLineBytes);
}

// 1. The line is not read, and a large copy moves half the lines of stores and their write-backs.
TEST(SimNontemporal, R01_ALargeCopyMovesHalfTheLines) {
  constexpr size_t kLines = 1024;  // four times the last level
  TimedBench b;
  b.on(0, [&] {
    copy_lines(b, 0, kLines);
    b.m.psync();
  });
  const SimCounters around = b.m.statistics();
  EXPECT_EQ(around.medium_reads, 0u);
  EXPECT_EQ(around.medium_writes, kLines);
  EXPECT_EQ(around.nontemporal, kLines);
  b.on(0, [&] {
    const std::vector<uint64_t> values(kLines * kLineWords, 1);
    SimMachine::copy(b.medium_line(kLines), values.data(), kLines * kLineBytes);
    b.m.pwb_range(b.medium_line(kLines), kLines * kLineBytes);
    b.m.psync();
  });
  const SimCounters through = b.m.statistics() - around;
  EXPECT_EQ(through.medium_reads, kLines);
  EXPECT_EQ(through.medium_writes, kLines);
  EXPECT_EQ(through.nontemporal, 0u);
}

// 2. Words leave one per cycle. With its last word the line goes to the write queue, like a
// write-back.
TEST(SimNontemporal, R02_AFenceWaitsUntilTheWriteQueueHasIt) {
  TimedBench b;
  b.on(0, [&] {
    EXPECT_EQ(b.cycles([&] { copy_lines(b, 0, 1); }), kLineWords) << "it does not wait itself";
    b.m.psync();
    EXPECT_EQ(b.cycles([&] {
      copy_lines(b, 1, 1);
      b.m.psync();
    }),
              kLineWords + kAccept);
    EXPECT_EQ(b.cycles([&] {
      copy_lines(b, 2, 4);
      b.m.psync();
    }),
              4 * kLineWords + kAccept)
        << "lines overlap";
  });
}

// 3. Part of a line waits in the write-combining buffer for the rest, another line, or a fence.
TEST(SimNontemporal, R03_WordsOfALineAreCombined) {
  TimedBench b;
  const auto word = [&](size_t line, size_t i) {
    const uint64_t value = 1;
    b.m.store_nontemporal(b.medium_line(line) + i, &value, sizeof(value));
  };
  const auto sent = [&](auto&& stores) {
    const uint64_t before = b.m.statistics().nontemporal;
    b.on(0, [&] {
      stores();
      b.m.fence();
    });
    return b.m.statistics().nontemporal - before;
  };
  EXPECT_EQ(sent([&] {
              for (size_t i = kLineWords; i-- > 0;) {
                word(0, i);
              }
            }),
            1u)
      << "whatever the order";
  EXPECT_EQ(sent([&] { word(0, 3); }), 1u) << "the fence sends it";
  EXPECT_EQ(sent([&] { word(0, 0), word(1, 0), word(0, 1), word(0, 2), word(1, 1); }), 4u)
      << "there is one buffer";
  const uint64_t before = b.m.statistics().nontemporal;
  b.on(0, [&] { word(0, 0); });
  EXPECT_EQ(b.m.statistics().nontemporal - before, 1u) << "the end of the run does";
}

// 3. psync empties the buffer. Fences and atomics do so on machines where they order write-backs.
TEST(SimNontemporal, R03_WhichOperationsEmptyTheBuffer) {
  for (const bool x86 : {true, false}) {
    MachineDescription machine = round_machine();
    machine.persistence.rmw_orders_pwb = x86;
    TimedBench b(machine);
    b.on(0, [&] {
      b.store_latency(b.line(0));
      const auto timed = [&](auto&& operation) {
        const double taken = b.cycles([&] {
          const uint64_t value = 1;
          b.m.store_nontemporal(b.medium_line(0), &value, sizeof(value));
          operation();
        });
        b.m.psync();
        return taken;
      };
      EXPECT_EQ(timed([&] { b.m.psync(); }), kOp + kAccept);
      EXPECT_EQ(timed([&] { b.m.fence(); }), kOp + (x86 ? kAccept : 0));
      EXPECT_EQ(timed([&] { b.atomic(0).fetch_add(1); }),
                kOp + (x86 ? kAccept : 0) + kAtomic + kOp);
    });
  }
}

// 4. No cache has the line afterwards, neither the thread's own nor another core's.
TEST(SimNontemporal, R04_CachedCopiesGo) {
  for (const bool dirty : {false, true}) {
    TimedBench b;
    for (const int holder : {0, 1, 2}) {  // the same core, another core, another socket
      const auto line = static_cast<size_t>(holder);
      b.on(holder, [&] {
        dirty ? static_cast<void>(b.store_latency(b.medium_line(line)))
              : b.touch(b.medium_line(line));
        EXPECT_EQ(b.level(b.medium_line(line)), Level::l1);
      });
      const SimCounters before = b.m.statistics();
      b.on(0, [&] {
        copy_lines(b, line, 1);
        b.m.psync();
      });
      const SimCounters did = b.m.statistics() - before;
      EXPECT_EQ(did.medium_reads, 0u);
      EXPECT_EQ(did.medium_writes, dirty ? 2u : 1u) << "what was dirty is written back first";
      b.on(holder, [&] {
        EXPECT_EQ(b.level(b.medium_line(line)), Level::medium);
        EXPECT_EQ(SimMachine::load(b.medium_line(line)), 1u);
      });
    }
  }
}

// 5. A machine that emulates the medium's latency spins, as for a store and its write-back.
TEST(SimNontemporal, R05_AnEmulatedMediumCostsItsSpin) {
  MachineDescription machine = round_machine();
  machine.persistence.write_back = WriteBackKind::emulated;
  machine.persistence.write_back_ns = 310;
  TimedBench b(machine);
  const auto taken = [&](auto&& f) {
    double cycles = 0;
    b.on(0, [&] { cycles = b.cycles(f); });
    return cycles;
  };
  const double around = taken([&] {
    copy_lines(b, 0, 2);
    b.m.psync();
  });
  const double through = taken([&] {
    const std::vector<uint64_t> values(2 * kLineWords, 1);
    SimMachine::copy(b.medium_line(2), values.data(), 2 * kLineBytes);
    b.m.pwb_range(b.medium_line(2), 2 * kLineBytes);
    b.m.psync();
  });
  EXPECT_EQ(around, through);
  EXPECT_GT(around, 2 * 310);
  EXPECT_EQ(b.m.statistics().nontemporal, 0u);
}

// 6. Lines in the write queue survive; lines that wait to be combined are lost.
TEST(SimNontemporal, R06_TheSurvivingImageHasWhatWasSent) {
  TimedBench b;
  const auto survives = [&](size_t line) {
    uint64_t value = 0;
    std::memcpy(&value, &b.m.surviving_image()[line * kLineBytes], sizeof(value));
    return value;
  };
  b.on(0, [&] {
    copy_lines(b, 0, 1);
    const uint64_t value = 1;
    b.m.store_nontemporal(b.medium_line(1), &value, sizeof(value));
    b.m.light_fence();
    EXPECT_EQ(survives(0), 1u);
    EXPECT_EQ(survives(1), 1u) << "a full fence, where these order write-backs";
    b.m.store_nontemporal(b.medium_line(2), &value, sizeof(value));
    b.m.work(1000);
    SimMachine::load(b.line(0));  // by then the word has left the store buffer
    b.m.now();
    EXPECT_EQ(SimMachine::load(b.medium_line(2)), 1u);
    EXPECT_EQ(survives(2), 0u);
    b.m.psync();
    EXPECT_EQ(survives(2), 1u);
  });
}

}  // namespace
}  // namespace holdfast::nontemporal_test
