// SPDX-License-Identifier: Apache-2.0
//
// Is a machine description read as written, and is a wrong one refused with the place and the
// reason?
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "holdfast/machine/sim/caches/memory_controller.h"
#include "holdfast/machine/sim/description/machine_check.h"
#include "holdfast/machine/sim/description/machine_description.h"
#include "holdfast/runner/catalog.h"
#include "holdfast/runner/spec/machines.h"

namespace holdfast::description_test {
namespace {

/// A small complete description. Every table is one string, so that a test can change a line.
class Text {
 public:
  Text() {
    for (const char* memory : {"dram", "medium"}) {
      tables_[memory] =
          "channels = 1\nbanks = 8\nread_ns = 50.5\nwrite_ns = 100\nbus_ns = 3\nturnaround_ns = 2\n"
          "path_ns = 10\nread_queue = 8\nwrite_queue = 8\ndrain_high = 0.75\ndrain_low = 0.25\n"
          "drain_batch = 4\nforwards = true\nmerges = false\n";
    }
  }

  /// Replaces the line of `key` in `table` ("" for the top) by `line`, or adds it.
  Text& with(const std::string& table, const std::string& key, const std::string& line) {
    std::string& text = tables_[table];
    const std::string around = "\n" + text;
    const size_t at = around.find("\n" + key + " =");
    if (at == std::string::npos) {
      text += line + "\n";
    } else {
      text.replace(at, text.find('\n', at) + 1 - at, line.empty() ? "" : line + "\n");
    }
    return *this;
  }
  Text& without(const std::string& table) {
    tables_.erase(table);
    return *this;
  }

  std::string str() const {
    std::string all = tables_.at("");
    for (const auto& [name, text] : tables_) {
      if (!name.empty()) {
        all.append("[").append(name).append("]\n").append(text);
      }
    }
    return all;
  }
  Result<MachineDescription> parse() const { return parse_machine(str(), "test.toml"); }
  MachineDescription value() const { return parse().value(); }

  /// Returns the number of the line with this beginning.
  size_t line(const std::string& beginning) const {
    const std::string all = "\n" + str();
    const size_t at = all.find("\n" + beginning);
    EXPECT_NE(at, std::string::npos) << beginning;
    return static_cast<size_t>(std::count(all.begin(), all.begin() + static_cast<long>(at), '\n')) +
           1;
  }

 private:
  std::map<std::string, std::string> tables_ = {
      {"", "name = \"test\"\ntitle = \"a test\"\ncores = 4\nline_bytes = 64\ntransfer_ns = 20\n"},
      {"core",
       "ghz = 2\ncycles_per_operation = 1.5\ninstructions_per_operation = 3\nwindow = 64\n"
       "misses = 10\nstore_buffer = 16\npause_cycles = 10\natomic_cycles = 18\n"},
      {"l1", "bytes = 4096\nways = 4\nhit_cycles = 2\n"},
      {"l2", "bytes = 16384\nways = 8\nhit_cycles = 10\n"},
      {"llc", "bytes = 65536\nways = 16\nhit_cycles = 40\ninclusive = true\n"},
      {"persistence",
       "eadr = false\nwrite_back = \"evict\"\nwrite_back_ns = 1\nfence_ns = 2\n"
       "rmw_orders_pwb = true\n"},
      {"htm",
       "stores = \"count\"\nloads = \"llc\"\nstore_lines = 16\nsmt_shares = true\n"
       "begin_cycles = 10\ncommit_cycles = 20\nabort_cycles = 30\ninterrupt_us = 1000\n"},
  };
};

/// Expects that the description is refused, with a message that has all the parts.
void expect_refused(const Text& text, const std::vector<std::string>& parts) {
  const Result<MachineDescription> result = text.parse();
  ASSERT_FALSE(result.ok()) << "accepted: " << text.str();
  EXPECT_EQ(result.status().code(), Code::invalid_argument);
  for (const std::string& part : parts) {
    EXPECT_NE(result.status().message().find(part), std::string::npos)
        << "'" << part << "' is not in: " << result.status().message();
  }
}

TEST(SimDescription, ReadsWhatIsWritten) {
  const MachineDescription m = Text().value();
  EXPECT_EQ(m.name, "test");
  EXPECT_EQ(m.title, "a test");
  EXPECT_EQ(m.hardware_threads(), 4);
  EXPECT_EQ(m.core.cycles_per_operation, 1.5);
  EXPECT_EQ(m.core.store_buffer, 16);
  EXPECT_EQ(m.l1.bytes, 4096u);
  EXPECT_EQ(m.l2.ways, 8);
  EXPECT_TRUE(m.llc.inclusive);
  EXPECT_FALSE(m.l2.inclusive);
  EXPECT_EQ(m.dram.read_ns, 50.5);
  EXPECT_EQ(m.medium.drain_low, 0.25);
  EXPECT_TRUE(m.medium.forwards);
  EXPECT_FALSE(m.medium.merges);
  EXPECT_EQ(m.persistence.write_back, WriteBackKind::evict);
  EXPECT_TRUE(m.htm.present);
  EXPECT_EQ(m.htm.stores, HtmTracking::count);
  EXPECT_EQ(m.htm.loads, HtmTracking::llc);
  EXPECT_EQ(m.htm.store_lines, 16u);
  EXPECT_EQ(m.htm.interrupt_us, 1000);
}

TEST(SimDescription, LeavesOutWhatAMachineDoesNotHave) {
  const MachineDescription m =
      Text().without("l2").without("llc").with("htm", "loads", "loads = \"l1\"").value();
  EXPECT_EQ(m.l2.bytes, 0u);
  EXPECT_EQ(m.llc.bytes, 0u);
  EXPECT_FALSE(Text().value().one_memory);
  const MachineDescription one = Text().without("dram").value();
  EXPECT_TRUE(one.one_memory);
  EXPECT_EQ(one.dram.read_ns, one.medium.read_ns);
  EXPECT_FALSE(Text().without("htm").value().htm.present);
}

TEST(SimDescription, TheLastLevelMayHaveATimeForWrites) {
  EXPECT_EQ(Text().value().llc.write_cycles, 0) << "as hit_cycles";
  const MachineDescription m = Text().with("llc", "write_cycles", "write_cycles = 50.5").value();
  EXPECT_EQ(m.llc.write_cycles, 50.5);
  EXPECT_EQ(m.llc.hit_cycles, 40);
  expect_refused(Text().with("llc", "write_cycles", "write_cycles = -1"), {"write_cycles"});
  for (const char* upper : {"l1", "l2"}) {
    expect_refused(Text().with(upper, "write_cycles", "write_cycles = 50"),
                   {upper, "write_cycles", "llc"});
  }
}

TEST(SimDescription, TheTlbHasAllOfItsKeysOrNone) {
  EXPECT_EQ(Text().value().tlb.l1_sets, 0);
  const char* const keys[] = {"l1_sets", "l1_ways", "l2_sets", "l2_ways", "l2_cycles"};
  Text whole;
  for (size_t i = 0; i < std::size(keys); ++i) {
    whole.with("tlb", keys[i], std::string(keys[i]) + " = " + std::to_string(i + 2));
  }
  const MachineDescription m = whole.value();
  EXPECT_EQ(m.tlb.l1_sets, 2);
  EXPECT_EQ(m.tlb.l2_ways, 5);
  EXPECT_EQ(m.tlb.l2_cycles, 6);
  for (const char* key : keys) {
    expect_refused(Text(whole).with("tlb", key, ""), {"tlb." + std::string(key) + " is missing"});
  }
  expect_refused(Text(whole).with("tlb", "l1_ways", "l1_ways = 0"), {"tlb.l1_ways", "0"});
}

TEST(SimDescription, NaturalDefaults) {
  const MachineDescription m = Text().value();
  EXPECT_EQ(m.sockets, 1);
  EXPECT_EQ(m.smt, 1);
  EXPECT_EQ(m.core.smt_speed, 1);
  EXPECT_EQ(m.l1.cores, 1);
  EXPECT_EQ(m.llc.cores, 4);  // all cores of a socket
  EXPECT_EQ(m.dram.row_bytes, 0u);
  EXPECT_FALSE(m.htm.suspend || m.htm.suspend_load_tracking || m.htm.rollback_only);
  EXPECT_FALSE(m.htm.loads_and_stores_share);
}

TEST(SimDescription, EveryKeyWithoutADefaultIsMissed) {
  const std::map<std::string, std::vector<std::string>> keys = {
      {"", {"name", "title", "cores", "line_bytes", "transfer_ns"}},
      {"core",
       {"ghz", "cycles_per_operation", "instructions_per_operation", "window", "misses",
        "store_buffer", "pause_cycles", "atomic_cycles"}},
      {"l2", {"bytes", "ways", "hit_cycles"}},
      {"medium",
       {"channels", "banks", "read_ns", "write_ns", "bus_ns", "turnaround_ns", "path_ns",
        "read_queue", "write_queue", "drain_high", "drain_low", "drain_batch", "forwards",
        "merges"}},
      {"persistence", {"eadr", "write_back", "write_back_ns", "fence_ns", "rmw_orders_pwb"}},
      {"htm",
       {"stores", "loads", "store_lines", "smt_shares", "begin_cycles", "commit_cycles",
        "abort_cycles", "interrupt_us"}},
  };
  for (const auto& [table, names] : keys) {
    const std::string prefix = table.empty() ? "" : table + ".";
    for (const std::string& name : names) {
      expect_refused(Text().with(table, name, ""), {"test.toml", prefix + name + " is missing"});
    }
  }
}

TEST(SimDescription, EveryTableThatMustBeThereIsMissed) {
  for (const char* table : {"core", "l1", "medium", "persistence"}) {
    expect_refused(Text().without(table),
                   {"test.toml: the table [" + std::string(table) + "] is missing"});
  }
}

TEST(SimDescription, WhatDependsOnSomethingElseIsMissed) {
  expect_refused(Text().with("", "smt", "smt = 2"),
                 {"core.smt_speed is missing", "several threads"});
  expect_refused(Text().with("", "sockets", "sockets = 2"), {"transfer_remote_ns is missing"});
  expect_refused(Text().with("dram", "row_bytes", "row_bytes = 1024"),
                 {"dram.row_hit_ns is missing"});
  expect_refused(Text().with("htm", "loads", "loads = \"count\""), {"htm.load_lines is missing"});
  expect_refused(Text().with("htm", "suspend", "suspend = true"),
                 {"htm.suspend_resume_ns is missing", "suspended"});
}

TEST(SimDescription, UnknownKeysListTheRightOnes) {
  const Text text = Text().with("l1", "way", "way = 4");
  expect_refused(text, {"test.toml:" + std::to_string(text.line("way = 4")), "[l1]", "'way'",
                        "bytes, ways, cores, hit_cycles, write_cycles, inclusive, fills_on_miss"});
  expect_refused(Text().with("", "core_count", "core_count = 4"),
                 {"'core_count'", "line_bytes", "llc"});
  expect_refused(Text().with("l4", "bytes", "bytes = 64"), {"'l4'", "persistence"});
}

TEST(SimDescription, NamesFileAndLineOfAWrongValue) {
  const Text text = Text().with("l2", "ways", "ways = 0");
  expect_refused(text,
                 {"test.toml:" + std::to_string(text.line("[l2]") + 2) + ": l2.ways: 0 is not",
                  "between 1 and"});
}

struct Wrong {
  const char* table;
  const char* key;
  const char* line;
  const char* reason;
};

TEST(SimDescription, RefusesWhatIsNoValue) {
  const Wrong cases[] = {
      {"", "cores", "cores = \"4\"", "cores must be a whole number"},
      {"", "cores", "cores = 4.0", "cores must be a whole number"},
      {"", "cores", "cores = 99999999999", "between 1 and 126"},
      {"", "name", "name = 7", "name must be a text"},
      {"", "name", "name = \"../x\"", "small letters"},
      {"", "title", "title = \"\"", "title: it is empty"},
      {"core", "ghz", "ghz = true", "core.ghz must be a number"},
      {"core", "ghz", "ghz = nan", "core.ghz: nan is not between"},
      {"core", "ghz", "ghz = inf", "core.ghz: inf is not between"},
      {"core", "ghz", "ghz = 0", "is not between"},
      {"core", "store_buffer", "store_buffer = 0", "is not between"},
      {"dram", "read_ns", "read_ns = -1", "dram.read_ns: -1 is not between 0"},
      {"dram", "read_queue", "read_queue = 0", "is not between"},
      {"dram", "write_queue", "write_queue = 0", "is not between"},
      {"dram", "forwards", "forwards = 1", "must be true or false"},
      {"l1", "bytes", "bytes = 9223372036854775807", "is not between"},
      {"l1", "bytes", "bytes = -64", "is not between"},
      {"htm", "stores", "stores = \"l3\"", "must be one of \"count\", \"l1\", \"llc\""},
      {"htm", "stores", "stores = 1", "must be one of"},
      {"persistence", "write_back", "write_back = \"clwb\"",
       "must be one of \"keep\", \"evict\", \"serial\", \"emulated\", \"delayed\""},
  };
  for (const Wrong& c : cases) {
    expect_refused(Text().with(c.table, c.key, c.line), {"test.toml:", c.reason});
  }
}

TEST(SimDescription, RefusesImpossibleGeometry) {
  const Wrong cases[] = {
      {"", "line_bytes", "line_bytes = 96", "64 or 128"},
      {"", "cores", "cores = 126\nsockets = 2\ntransfer_remote_ns = 50", "make 252 threads"},
      {"", "transfer_ns", "transfer_ns = 20\nsockets = 2\ntransfer_remote_ns = 5", "faster"},
      {"l1", "bytes", "bytes = 4000", "l1.bytes: 4000 bytes are no whole number of sets of 4 ways"},
      {"l1", "bytes", "bytes = 128", "no whole number of sets"},
      {"l1", "bytes", "bytes = 4096\ncores = 2", "l1.cores: the first level belongs to one core"},
      {"l2", "bytes", "bytes = 16384\ncores = 3", "do not divide the 4 cores"},
      {"llc", "bytes", "bytes = 65536\ncores = 3", "do not divide the 4 cores"},
      {"llc", "bytes", "bytes = 8192", "cannot include the larger one"},
      {"l2", "hit_cycles", "hit_cycles = 2", "l2.hit_cycles: a hit takes no longer"},
      {"llc", "hit_cycles", "hit_cycles = 9", "llc.hit_cycles: a hit takes no longer"},
      {"l2", "ways", "ways = 8\nfills_on_miss = true",
       "l2.fills_on_miss: it is for the last level"},
      {"llc", "ways", "ways = 16\nfills_on_miss = true", "misses fill an inclusive cache anyway"},
      {"medium", "drain_low", "drain_low = 0.8", "before it begins"},
      {"medium", "drain_batch", "drain_batch = 9", "more than the 8 entries"},
      {"medium", "drain_high", "drain_high = 0\ndrain_low = 0",
       "medium.drain_high: it must be above 0"},
      {"dram", "row_bytes", "row_bytes = 100\nrow_hit_ns = 1", "no whole number of lines"},
      {"dram", "row_bytes", "row_bytes = 256\nrow_hit_ns = 51", "slower to read"},
      {"htm", "store_lines", "store_lines = 1025", "more than the largest cache holds (1024)"},
      {"htm", "store_lines", "store_lines = 0", "could not store a line"},
      {"htm", "store_lines", "store_lines = 8\nload_lines = 8", "the cache is the limit"},
      {"htm", "smt_shares", "smt_shares = true\nloads_and_stores_share = true", "must both be"},
      {"htm", "smt_shares", "smt_shares = true\nsmt_splits = true", "each has its part"},
      {"htm", "smt_shares",
       "smt_shares = true\nsuspend = true\nsuspend_resume_ns = 9\nsuspend_resume_full_ns = 8",
       "less than with one thread"},
      {"persistence", "write_back", "write_back = \"emulated\"\nwrite_back_ns = 0", "takes time"},
  };
  for (const Wrong& c : cases) {
    Text text;
    if (std::string(c.reason) == "takes time") {
      text.with("persistence", "write_back_ns", "");
    }
    if (std::string(c.line).find("drain_high = 0\n") == 0) {
      text.with("medium", "drain_low", "");
    }
    expect_refused(text.with(c.table, c.key, c.line), {"test.toml:", c.reason});
  }
  expect_refused(
      Text().with("l2", "ways", "ways = 8\ncores = 4").with("llc", "ways", "ways = 16\ncores = 2"),
      {"llc.cores: fewer cores"});
  expect_refused(Text().without("llc"), {"htm.loads: the machine has no last-level cache"});
}

TEST(SimDescription, ALimitIsAllowedAndOneBeyondIsNot) {
  EXPECT_EQ(Text().with("htm", "store_lines", "store_lines = 1024").value().htm.store_lines, 1024u);
  EXPECT_EQ(Text().with("", "cores", "cores = 126").value().hardware_threads(), 126);
  EXPECT_FALSE(Text().with("", "cores", "cores = 127").parse().ok());
  EXPECT_EQ(Text().with("medium", "drain_batch", "drain_batch = 8").value().medium.drain_batch, 8);
  EXPECT_EQ(Text().with("medium", "drain_low", "drain_low = 0.75").value().medium.drain_low, 0.75);
}

TEST(SimDescription, OneTableForLoadsAndStores) {
  Text text;
  text.with("htm", "loads", "loads = \"count\"\nloads_and_stores_share = true");
  EXPECT_TRUE(text.value().htm.loads_and_stores_share);
  expect_refused(text.with("htm", "load_lines", "load_lines = 8"), {"one table"});
}

TEST(SimDescription, RefusesTextThatIsNotToml) {
  for (const char* text : {"name = \"test", "[  # core", "[core\nghz = 1", "cores = 1\ncores = 2",
                           "= 3", "\xff\xfe"}) {
    const Result<MachineDescription> result = parse_machine(text, "test.toml");
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.status().code(), Code::invalid_argument);
    EXPECT_EQ(result.status().message().find("test.toml:"), 0u) << result.status().message();
    EXPECT_NE(result.status().message().find("not TOML"), std::string::npos);
  }
  const auto line_two = parse_machine("cores = 1\nsmt = \n", "test.toml");
  EXPECT_EQ(line_two.status().message().find("test.toml:2: not TOML"), 0u);
  expect_refused(Text().without("l1").with("", "l1", "l1 = 3"),
                 {"test.toml:6: l1 must be a table"});
  EXPECT_FALSE(parse_machine("", "empty.toml").ok());
}

TEST(SimDescription, ValuesCanBeSetInThePlaceOfTheFiles) {
  const std::string text = Text().str();
  const auto with = [&](const MachineChanges& changes) {
    return parse_machine(text, "test.toml", changes);
  };
  const MachineDescription m = with({{"transfer_ns", "77"},
                                     {"core.ghz", "2.5"},
                                     {"l1.inclusive", "false"},
                                     {"persistence.write_back", "evict"}})
                                   .value();
  EXPECT_EQ(m.transfer_ns, 77);
  EXPECT_EQ(m.core.ghz, 2.5);
  EXPECT_EQ(m.persistence.write_back, WriteBackKind::evict);
  const struct {
    MachineChanges changes;
    const char* said;
  } wrong[] = {
      {{{"core.speed", "2"}}, "there is no key 'speed'"},
      {{{"kernel.ghz", "2"}}, "no value 'kernel.ghz' to set"},
      {{{"core", "2"}}, "no value 'core' to set"},
      {{{"core.ghz = 2\nx", "2"}}, "to set"},
      {{{"core.ghz", "fast"}}, "core.ghz must be a number"},
      {{{"core.ghz", "2\nwindow = 3"}}, "core.ghz must be a number"},
      {{{"core.ghz", "-2"}}, "core.ghz: -2 is not between"},
      {{{"persistence.write_back", "never"}}, "must be one of"},
  };
  for (const auto& w : wrong) {
    const Status status = with(w.changes).status();
    EXPECT_EQ(status.code(), Code::invalid_argument) << w.said;
    EXPECT_NE(status.message().find(w.said), std::string::npos) << status.message();
  }
}

TEST(SimDescription, FilesThatCannotBeRead) {
  EXPECT_EQ(load_machine("/nonexistent/m.toml").status().code(), Code::not_found);
  EXPECT_EQ(load_machine("/tmp").status().code(), Code::invalid_argument);
  const auto missing = load_machine("/nonexistent/m.toml").status().message();
  EXPECT_NE(missing.find("/nonexistent/m.toml"), std::string::npos);
}

// ---- the machines that come with the project ----------------------------------------------------

std::string directory() {
  return HOLDFAST_SOURCE_DIR "/experiments/machines";
}
MachineDescription machine(const std::string& name) {
  return find_machine(name, directory()).value();
}
size_t sets(const CacheDescription& cache, const MachineDescription& m) {
  return cache.bytes / (static_cast<size_t>(cache.ways) * m.line_bytes);
}

TEST(SimDescriptionFiles, AllAreReadAndCalledAsTheirFile) {
  const std::vector<std::string> names = machine_names(directory());
  EXPECT_GE(names.size(), 10u);
  for (const std::string& name : names) {
    const Result<MachineDescription> m = find_machine(name, directory());
    ASSERT_TRUE(m.ok()) << m.status().message();
    EXPECT_EQ(m.value().name, name);
    EXPECT_EQ(sim::find_problem(m.value()), std::nullopt) << name;
  }
}

TEST(SimDescriptionFiles, TheAddressTableOfEhouHas64Megabytes) {
  const AitDescription ait = machine("champsim-ehou").ait;
  EXPECT_EQ(ait.sets * static_cast<size_t>(ait.ways) * static_cast<size_t>(ait.lines) * 8,
            size_t{64} << 20);
  MachineDescription uneven = machine("champsim-ehou");
  uneven.ait.lines = 12;
  EXPECT_NE(sim::find_problem(uneven), std::nullopt) << "an entry would not be aligned";
  EXPECT_EQ(machine("tiny").ait.sets, 0u);
}

TEST(SimDescriptionFiles, RoundNumbers) {
  const MachineDescription power9 = machine("power9");
  EXPECT_EQ(power9.hardware_threads(), 64);
  EXPECT_EQ(power9.line_bytes, 128u);
  EXPECT_EQ(sets(power9.l1, power9), 32u);
  EXPECT_EQ(sets(power9.l2, power9), 512u);
  EXPECT_EQ(sets(power9.llc, power9), 4096u);
  EXPECT_EQ(power9.persistence.write_back, WriteBackKind::delayed);
  EXPECT_EQ(power9.persistence.write_back_ns, 310);
  EXPECT_EQ(power9.htm.suspend_resume_ns, 350);
  EXPECT_EQ(power9.htm.suspend_resume_full_ns, 1500);
  EXPECT_EQ(machine("power9-pm").persistence.write_back, WriteBackKind::keep);

  const MachineDescription haswell = machine("haswell-e5-2699v3");
  EXPECT_EQ(sets(haswell.l1, haswell), 64u);
  EXPECT_EQ(sets(haswell.llc, haswell), 18u * 2048);
  EXPECT_EQ(machine("broadwell-e5-2683v4").hardware_threads(), 64);
  EXPECT_EQ(machine("broadwell-e5-2683v4").persistence.write_back, WriteBackKind::serial);
  const MachineDescription skylake = machine("skylake-c5");
  EXPECT_EQ(sets(skylake.llc, skylake), 18u * 2048);
  const MachineDescription sapphire = machine("sapphire-rapids");
  EXPECT_EQ(sets(sapphire.llc, sapphire), 56u * 2048);
  EXPECT_TRUE(sapphire.htm.suspend_load_tracking);
  EXPECT_FALSE(sapphire.htm.suspend);

  const MachineDescription champsim = machine("champsim-ehou");
  EXPECT_EQ(champsim.tlb.l1_sets * champsim.tlb.l1_ways, 24);
  EXPECT_EQ(champsim.tlb.l2_sets * champsim.tlb.l2_ways, 1536);

  const MachineDescription tiny = machine("tiny");
  EXPECT_EQ(tiny.l1.bytes / tiny.line_bytes, 8u);
  EXPECT_EQ(tiny.l2.bytes / tiny.line_bytes, 8u);
}

/// Nanoseconds of a load that misses in all caches, from the core.
double load_ns(const MachineDescription& m, const MemoryDescription& memory) {
  return m.llc.hit_cycles / m.core.ghz + memory.path_ns + memory.read_ns + memory.bus_ns;
}

TEST(SimDescriptionFiles, LoadsTakeWhatTheSourcesSay) {
  EXPECT_NEAR(load_ns(machine("power9"), machine("power9").dram), 100, 1);
  EXPECT_NEAR(load_ns(machine("power9-pm"), machine("power9-pm").medium), 305, 1);
  EXPECT_NEAR(load_ns(machine("haswell-e5-2699v3"), machine("haswell-e5-2699v3").dram), 92, 1);
  EXPECT_NEAR(load_ns(machine("broadwell-e5-2683v4"), machine("broadwell-e5-2683v4").dram), 92, 1);
  EXPECT_NEAR(load_ns(machine("skylake-c5"), machine("skylake-c5").dram), 90, 1);
  EXPECT_NEAR(load_ns(machine("cxl-pm"), machine("cxl-pm").medium), 200, 1);
  // gem5's controller and device take 10 + 150 + 14.2 + 3.3 + 10 ns past the last level.
  const MachineDescription gem5 = machine("gem5-hercules");
  EXPECT_NEAR(load_ns(gem5, gem5.medium) - gem5.llc.hit_cycles / gem5.core.ghz, 187.5, 0.5);
}

/// The time between two writes that the controller accepts while nothing but writes comes, to all
/// banks in turn.
double steady_ns_per_line(const std::string& name) {
  constexpr uint64_t kWrites = 10'000;
  const MachineDescription m = machine(name);
  sim::MemoryController memory(m.medium, m.line_bytes);
  const uint64_t lines_per_row = std::max<size_t>(m.medium.row_bytes / m.line_bytes, 1);
  sim::Time begin = 0;
  sim::Time accepted = 0;
  for (uint64_t i = 0; i < 2 * kWrites; ++i) {
    begin = i == kWrites ? accepted : begin;
    accepted = memory.write(i * lines_per_row, 0);
  }
  return static_cast<double>(accepted - begin) / 1000 / kWrites;
}

TEST(SimDescriptionFiles, SteadyWritesReachThePeakRates) {
  EXPECT_NEAR(steady_ns_per_line("gem5-hercules"), 6.25, 0.05);
  EXPECT_NEAR(steady_ns_per_line("champsim-ehou"), 37.5, 0.3);
}

TEST(SimDescriptionFiles, PeakWriteRates) {
  const auto ns_per_line = [](const MemoryDescription& m) {
    return m.write_ns / (m.channels * m.banks);
  };
  EXPECT_NEAR(ns_per_line(machine("gem5-hercules").medium), 6.25, 0.01);
  EXPECT_NEAR(ns_per_line(machine("champsim-ehou").medium), 37.5, 0.01);
  // 13.9 GB/s in lines of 128 bytes.
  EXPECT_NEAR(ns_per_line(machine("power9-pm").medium), 128 / 13.9, 0.1);
}

TEST(SimDescriptionFiles, AreFoundByNameAndByPath) {
  EXPECT_EQ(find_machine(directory() + "/tiny.toml").value().name, "tiny");
  EXPECT_EQ(find_machine("tiny").value().name, "tiny");  // the one of the source tree
  const Status wrong = find_machine("power8", directory()).status();
  EXPECT_EQ(wrong.code(), Code::not_found);
  for (const char* part : {"power8", "power9, power9-pm", "tiny", ".toml"}) {
    EXPECT_NE(wrong.message().find(part), std::string::npos) << wrong.message();
  }
  EXPECT_EQ(find_machine("../machines/tiny", directory()).status().code(), Code::not_found);
  const Status nothing = find_machine("tiny", "/nonexistent").status();
  EXPECT_NE(nothing.message().find("/nonexistent has no descriptions"), std::string::npos);
}

TEST(SimDescriptionFiles, TheCatalogShowsABrokenFileAsUnsupported) {
  char folder[] = "/tmp/holdfast-machines-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/broken.toml";
  std::ofstream(path) << "name = 3\n";
  const Json list = machine_catalog(folder);
  std::remove(path.c_str());
  rmdir(folder);
  ASSERT_EQ(list.size(), 3u);  // native, sim and this one
  EXPECT_EQ(list[2].at("name"), "broken");
  EXPECT_FALSE(list[2].at("supported").get<bool>());
  EXPECT_NE(list[2].at("reason").get<std::string>().find("broken.toml:1: name"), std::string::npos);
}

TEST(SimDescriptionFiles, TheCatalogHasTheShapeOfEachMachine) {
  for (const Json& entry : machine_catalog(directory())) {
    if (entry.at("name") == "power9") {
      EXPECT_EQ(entry.at("cores"), 32);
      EXPECT_EQ(entry.at("smt"), 2);
      EXPECT_EQ(entry.at("line_bytes"), 128);
      EXPECT_EQ(entry.at("htm"), "stores and loads, stores only, suspend");
    }
    if (entry.at("name") == "gem5-hercules") {
      EXPECT_EQ(entry.at("htm"), "none");
    }
  }
}

}  // namespace
}  // namespace holdfast::description_test
