// SPDX-License-Identifier: Apache-2.0
// Do machines of many kinds run random operations of all sorts as ever? Each rule has a test of its
// own; here the rules meet. The timed machines have caches that evict all the time.
//
// TO UPDATE after an intended change of the model: run
//     unit_test --gtest_filter='SimVariants.*'
// and copy the numbers into kTimed or kFunctional. Name the changed rule in the commit message. If
// the numbers change without such a reason, that is a bug.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/base/random.h"
#include "holdfast/machine/double_word.h"
#include "tests/unit/machine/sim/timed_machine.h"

namespace holdfast::variants_golden_test {
namespace {

constexpr int kWorkers = 6;
constexpr int kOperations = 150;   ///< of each worker
constexpr size_t kVolatile = 200;  ///< lines, more than the caches have
constexpr size_t kPersistent = 100;

/// One run: random operations of a few workers, and a checksum of all that they saw.
class RandomRun {
 public:
  explicit RandomRun(const SimOptions& options)
      : m_(options),
        htm_(m_.htm_capabilities()),
        volatile_(static_cast<uint64_t*>(m_.allocate(kVolatile * kLine, size_t{1} << 16))) {
    m_.medium().grow(kMediumBytes).check();
    persistent_ = reinterpret_cast<uint64_t*>(
        m_.medium().map(0, kMediumBytes, nullptr, MapMode::shared).value());
    Random random(3);
    for (size_t i = 0; i < kVolatile; ++i) {  // each line leads to another one
      SimMachine::store(volatile_word(i, 1),
                        reinterpret_cast<uint64_t>(volatile_word(random.below(kVolatile), 0)));
    }
    m_.count_wear();
  }

  /// With `crash` the power fails before that persist event.
  uint64_t digest(uint64_t crash = kNever) {
    m_.crash_at(crash);
    m_.run_threads(kWorkers, [&](int worker) {
      Random random(mix64(static_cast<uint64_t>(worker) + 300));
      for (int i = 0; i < kOperations; ++i) {
        SimMachine::transaction(static_cast<TransactionKind>(random.below(3)));
        operate(random);
        see(m_.now());
      }
      SimMachine::transaction(TransactionKind::none);
    });
    see(m_.steps());
    see_counters(m_.statistics());
    const sim::MemoryCounters medium = m_.medium_counters();
    const sim::WearSummary wear = m_.medium_wear();
    for (const uint64_t count : {medium.reads, medium.writes, medium.forwarded, medium.merged,
                                 medium.row_hits, medium.reads_waited, medium.writes_waited,
                                 medium.highest_fill, wear.lines, wear.writes, wear.most}) {
      see(count);
    }
    for (const LintRow& row : m_.lint_report()) {
      see(static_cast<uint64_t>(row.kind) << 32 | row.count);
      see(row.example);
    }
    see(m_.image_count());
    for (const SimImage& image : {m_.surviving_image(), m_.earliest_image(), m_.latest_image()}) {
      seen_ = checksum(image.data(), image.size(), seen_);
    }
    return seen_;
  }

  uint64_t persist_events() const { return m_.persist_events(); }
  const std::string& text() const { return text_; }

 private:
  void operate(Random& random) {
    switch (random.below(12)) {
      case 0:
      case 1:
        for (int i = 0; i < 6; ++i) {
          see(SimMachine::load(any_word(random)));
        }
        break;
      case 2:
        follow(volatile_word(random.below(kVolatile), 1));
        break;
      case 3:
      case 4:
        transaction(random);
        break;
      case 5:
        persist(random);
        break;
      case 6:
        atomic(random);
        break;
      case 7:
        copy_around_caches(random);
        break;
      case 8:
        pass_time(random);
        break;
      case 9:
        small_and_large(random);
        break;
      case 10:
        for (int i = 0; i < 8; ++i) {
          store_somewhere(random);
        }
        break;
      default:
        random.chance(0.4) ? m_.fence() : random.chance(0.5) ? m_.light_fence() : m_.heavy_fence();
    }
  }

  /// Loads whose addresses depend on the load before.
  void follow(const uint64_t* link) {
    for (int i = 0; i < 4; ++i) {
      link = reinterpret_cast<const uint64_t*>(SimMachine::load(link)) + 1;
    }
    see(static_cast<uint64_t>(link - volatile_));
  }

  void transaction(Random& random) {
    if (htm_.backend == std::string("none")) {
      return;
    }
    SimMachine::HtmThread& htm = m_.htm(m_.self());
    htm.begin(htm_.untracked_loads && random.chance(0.3) ? Tracking::stores : Tracking::all);
    try {
      const uint64_t accesses = random.chance(0.2) ? 24 : 4;  // more than tables hold, or few
      for (uint64_t i = 0; i < accesses; ++i) {
        uint64_t* word =
            random.chance(0.5) ? persistent_word(random.below(12), 0) : any_word(random);
        random.chance(0.5) ? see(htm.load(word)) : htm.store(word, random.next());
      }
      if (htm_.suspend && random.chance(0.3)) {
        htm.suspend();
        see(SimMachine::load(any_word(random)));
        store_somewhere(random);
        htm.resume();
      }
      if (htm_.suspend_loads && random.chance(0.3)) {
        htm.track(Tracking::stores);
        see(htm.load(any_word(random)));
        htm.track(Tracking::all);
      }
      if (random.chance(0.1)) {
        htm.abort(static_cast<AbortCode>(1));
      }
      htm.commit();
    } catch (const HtmAbort&) {
      see(static_cast<uint64_t>(htm.caught()));
    }
  }

  void persist(Random& random) {
    const size_t first = random.below(kPersistent);
    const size_t lines = 1 + random.below(4);
    for (size_t i = 0; i < lines; ++i) {
      uint64_t* word = persistent_word((first + i) % kPersistent, random.below(8));
      SimMachine::store(word, random.next());
      m_.pwb(word);
    }
    random.chance(0.5) ? m_.pfence() : m_.psync();
  }

  void atomic(Random& random) {
    const size_t line = random.below(4);
    if (random.chance(0.5)) {
      see(reinterpret_cast<SimMachine::Atomic<uint64_t>*>(volatile_word(line, 0))->fetch_add(1));
      return;
    }
    auto* at = reinterpret_cast<DoubleWord*>(random.chance(0.5) ? volatile_word(line, 2)
                                                                : persistent_word(line, 2));
    DoubleWord expected = {SimMachine::load(&at->first), SimMachine::load(&at->second)};
    const DoubleWord desired = {expected.first + 1, random.next()};
    see(compare_exchange(m_, at, expected, desired) ? 1 : 0);
  }

  void copy_around_caches(Random& random) {
    const uint64_t words = 1 + random.below(20);
    uint64_t local[20];
    for (uint64_t& word : local) {
      word = random.next();
    }
    const uint64_t* from =
        random.chance(0.5) ? local : volatile_word(random.below(kVolatile - 3), 0);
    uint64_t* to = persistent_word(random.below(kPersistent - 4), 0) + random.below(8);
    m_.store_nontemporal(to, from, words * sizeof(uint64_t));
    if (random.chance(0.5)) {
      m_.psync();
    }
  }

  void pass_time(Random& random) {
    const uint64_t what = random.below(3);
    what == 0                  ? m_.pause()
    : what == 1 || !m_.timed() ? m_.work(random.below(300))
                               : m_.sleep_until(m_.now() + random.below(2'000'000));
  }

  /// Parts of words, pieces of two words, and whole ranges.
  void small_and_large(Random& random) {
    auto* bytes = reinterpret_cast<std::byte*>(any_word(random));
    bytes += random.below(5);
    SimMachine::store(reinterpret_cast<uint8_t*>(bytes), static_cast<uint8_t>(random.next()));
    see(SimMachine::load(reinterpret_cast<const uint8_t*>(bytes + 1)));
    std::byte local[100];
    SimMachine::copy(local, bytes, sizeof local);
    seen_ = checksum(local, sizeof local, seen_);
    SimMachine::copy(bytes, local + 3, random.below(36));  // up to the next line's link
  }

  uint64_t* volatile_word(size_t line, size_t i) { return volatile_ + line * kLineWords + i; }
  uint64_t* persistent_word(size_t line, size_t i) { return persistent_ + line * kLineWords + i; }
  /// A word that is no link.
  uint64_t* any_word(Random& random) {
    if (random.chance(0.5)) {
      return volatile_word(8 + random.below(kVolatile - 8), 4);
    }
    const size_t line = random.below(kPersistent - 4);
    return persistent_word(line, random.below(4));
  }
  void store_somewhere(Random& random) {
    uint64_t* word = any_word(random);
    SimMachine::store(word, random.next());
  }

  void see(uint64_t value) { seen_ = mix64(seen_ ^ value); }

  void see_counters(const SimCounters& c) {
    std::ostringstream out;
    out << "now " << m_.now() << " loads " << c.loads << " stores " << c.stores << " atomics "
        << c.atomics << " instructions " << c.instructions << " from";
    for (size_t i = 0; i < sim::kLevels; ++i) {
      out << ' ' << c.load_from[i] << '+' << c.own_from[i];
    }
    out << " stolen " << c.stolen << " medium " << c.medium_reads << '/' << c.medium_writes << '/'
        << c.nontemporal << " table " << c.table_hits << '/' << c.table_misses << '/'
        << c.table_reads << " dram " << c.dram_reads << '/' << c.dram_writes << " tlb "
        << c.tlb_second << '/' << c.page_walks << " stalls " << c.stall_load << ' '
        << c.stall_buffer << ' ' << c.stall_fence << " htm " << c.htm_begins << '/'
        << c.htm_commits;
    for (const uint64_t aborts : c.htm_aborts) {
      out << ' ' << aborts;
    }
    const PersistCounters p = m_.counters();
    out << " persist " << p.pwb << ' ' << p.pfence << ' ' << p.psync << ' ' << p.fence << ' '
        << p.nontemporal << ' ' << p.bytes << " events " << m_.persist_events();
    text_ = out.str();
    seen_ = checksum(text_.data(), text_.size(), seen_);
  }

  static constexpr size_t kLine = 64;
  static constexpr size_t kLineWords = kLine / sizeof(uint64_t);
  static constexpr size_t kMediumBytes = 4 * kPageBytes;

  SimMachine m_;
  HtmCapabilities htm_;
  uint64_t* volatile_;
  uint64_t* persistent_ = nullptr;
  uint64_t seen_ = 0;
  std::string text_;
};

/// round_machine() with caches that these runs overflow.
MachineDescription small_machine() {
  MachineDescription m = round_machine();
  m.l1.bytes = 4 * 4 * 64;
  m.l1.ways = 4;
  m.l2.bytes = 4 * 8 * 64;
  m.llc.bytes = 6 * 16 * 64;
  m.dram.row_bytes = m.medium.row_bytes = 512;
  m.dram.row_hit_ns = 30;
  m.medium.row_hit_ns = 50;
  m.medium.turnaround_ns = 5;
  m.medium.write_queue = 8;
  m.medium.drain_batch = 4;
  m.htm.interrupt_us = 40;
  m.htm.store_lines = 6;
  m.htm.load_lines = 10;
  m.htm.begin_cycles = 7;
  m.htm.commit_cycles = 11;
  m.htm.abort_cycles = 40;
  m.htm.suspend_resume_ns = 10;
  m.htm.suspend_resume_full_ns = 30;
  m.persistence.write_back_ns = 25;
  m.persistence.fence_ns = 9;
  return m;
}

struct Variant {
  const char* name;
  void (*change)(MachineDescription&);
  Domain domain;
  uint64_t digest;
};

const Variant kTimed[] = {
    {"usual", [](MachineDescription&) {}, Domain::pmem, 9584263237314194005U},
    {"inclusive last level, evicting write-backs",
     [](MachineDescription& m) {
       m.llc.inclusive = true;
       m.persistence.write_back = WriteBackKind::evict;
     },
     Domain::pmem, 16458923968493122456U},
    {"misses fill the last level, serial write-backs",
     [](MachineDescription& m) {
       m.llc.fills_on_miss = true;
       m.persistence.write_back = WriteBackKind::serial;
     },
     Domain::pmem, 6914401424600528061U},
    {"pairs share L2, and no last level",
     [](MachineDescription& m) {
       m.l2.cores = 2;
       m.llc = {};
       m.persistence.rmw_orders_pwb = false;
     },
     Domain::pmem, 6733072425128656546U},
    {"no L2, emulated write-backs",
     [](MachineDescription& m) {
       m.l2 = {};
       m.persistence.write_back = WriteBackKind::emulated;
     },
     Domain::pmem, 12847780412752907727U},
    {"delayed write-backs, tracking in caches",
     [](MachineDescription& m) {
       m.persistence.write_back = WriteBackKind::delayed;
       m.htm.store_lines = m.htm.load_lines = 0;
       m.htm.stores = HtmTracking::l1;
       m.htm.loads = HtmTracking::llc;
       m.htm.suspend_load_tracking = true;
     },
     Domain::pmem, 16969963474882269293U},
    {"parts of tables, and caches that survive",
     [](MachineDescription& m) {
       m.htm.smt_shares = false;
       m.htm.smt_splits = true;
       m.persistence.eadr = true;
     },
     Domain::eadr, 6390001638677519540U},
    {"TLBs and an address table",
     [](MachineDescription& m) {
       m.tlb = {.l1_sets = 1, .l1_ways = 2, .l2_sets = 2, .l2_ways = 2, .l2_cycles = 8};
       m.ait = {.sets = 2, .ways = 2, .lines = 16, .hit_cycles = 20};
     },
     Domain::pmem, 8842497851972004676U},
    {"one memory with TLBs",
     [](MachineDescription& m) {
       m.tlb = {.l1_sets = 1, .l1_ways = 2, .l2_sets = 2, .l2_ways = 2, .l2_cycles = 8};
       m.one_memory = true;
     },
     Domain::pmem, 10540837449856497065U},
    {"over a file", [](MachineDescription&) {}, Domain::file, 11325074222573426451U},
    {"a clock of 1.7 GHz, and few buffers",
     [](MachineDescription& m) {
       m.core.ghz = 1.7;
       m.core.store_buffer = 3;
       m.core.window = 24;
       m.core.misses = 2;
       m.core.cycles_per_operation = 1.5;
       m.llc.inclusive = true;
     },
     Domain::pmem, 6541555736304542692U},
};

struct FunctionalVariant {
  const char* name;
  void (*change)(SimOptions&);
  uint64_t digest;
};

const FunctionalVariant kFunctional[] = {
    {"usual", [](SimOptions&) {}, 17920196027244576273U},
    {"lint", [](SimOptions& o) { o.lint = true; }, 8415537531400961924U},
    {"few buffers, and one small table",
     [](SimOptions& o) {
       o.store_buffer = 3;
       o.htm_store_lines = 5;
       o.htm_lines_together = true;
       o.rmw_orders_pwb = false;
     },
     14831287006461705475U},
    {"no buffers", [](SimOptions& o) { o.store_buffer = 0; }, 15298072184385443251U},
    {"a process that dies", [](SimOptions& o) { o.domain = Domain::process; },
     3014580909418701962U},
    {"caches that survive", [](SimOptions& o) { o.domain = Domain::eadr; }, 14448045333505790613U},
    {"a file", [](SimOptions& o) { o.domain = Domain::file; }, 17567086510620714052U},
    {"a journal", [](SimOptions& o) { o.domain = Domain::file, o.journal = true; },
     1212240804614390690U},
};

void expect_digest(const char* name, const SimOptions& options, uint64_t digest) {
  uint64_t events = 0;
  uint64_t found = 0;
  std::string text;
  {
    RandomRun run(options);
    found = run.digest();
    events = run.persist_events();
    text = run.text();
  }
  RandomRun crashes(options);
  found = mix64(found ^ crashes.digest(events * 2 / 3));
  EXPECT_EQ(found, digest) << name << ": " << text << "\nuntil a crash: " << crashes.text();
}

TEST(SimVariants, TimedMachinesRunAsEver) {
  for (const Variant& variant : kTimed) {
    MachineDescription machine = small_machine();
    variant.change(machine);
    expect_digest(variant.name, TimedBench::options(machine, variant.domain), variant.digest);
  }
}

TEST(SimVariants, FunctionalMachinesRunAsEver) {
  for (const FunctionalVariant& variant : kFunctional) {
    SimOptions options;
    options.threads = kWorkers;
    variant.change(options);
    expect_digest(variant.name, options, variant.digest);
  }
}

}  // namespace
}  // namespace holdfast::variants_golden_test
