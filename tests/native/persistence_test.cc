// SPDX-License-Identifier: Apache-2.0
//
// Does each persistence domain execute and count its operations? Does the machine stop for good
// when the medium fails?
#include <gtest/gtest.h>

#include <cerrno>

#include "holdfast/machine/native/native_machine.h"
#include "tests/native/test_file.h"

namespace holdfast::persistence_test {
namespace {

struct Opened {
  NativeTestFile file;
  std::unique_ptr<NativeMachine> machine;

  explicit Opened(NativeOptions options) {
    options.create = true;
    auto result = NativeMachine::open(file.path(), options);
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    machine = std::move(result.value());
  }
};

class NativeDomain : public testing::TestWithParam<Domain> {};

TEST_P(NativeDomain, CountsEveryOperation) {
  int syncs = 0;
  const Opened opened({.domain = GetParam(), .force = true, .sync = [&](int) {
                         ++syncs;
                         return 0;
                       }});
  NativeMachine& machine = *opened.machine;
  EXPECT_EQ(machine.medium().domain(), GetParam());
  constexpr size_t kLine = native::kNativeLineBytes;
  alignas(kLine) std::byte memory[4 * kLine] = {};
  const PersistCounters before = machine.counters();
  machine.pwb(memory, Site{"test"});
  machine.pwb_range(memory + kLine - 1, 2, Site{});      // two lines
  machine.pwb_range(memory + kLine, 2 * kLine, Site{});  // exactly two
  machine.pwb_range(memory, 0, Site{});                  // none
  machine.pfence(Site{});
  machine.pfence(Site{});
  machine.psync(Site{});
  machine.fence(Site{});
  const PersistCounters counted = machine.counters() - before;
  EXPECT_EQ(counted.pwb, 5u);
  EXPECT_EQ(counted.pfence, 2u);
  EXPECT_EQ(counted.psync, 1u);
  EXPECT_EQ(counted.fence, 1u);
  EXPECT_EQ(syncs, GetParam() == Domain::file ? 3 : 0);
}

TEST_P(NativeDomain, SumsTheCountersOfAllThreads) {
  const Opened opened({.domain = GetParam(), .force = true, .sync = [](int) { return 0; }});
  NativeMachine& machine = *opened.machine;
  machine.run_threads(4, [&](int) {
    uint64_t word = 0;
    for (int i = 0; i < 1000; ++i) {
      machine.pwb(&word, Site{});
      machine.psync(Site{});
    }
  });
  EXPECT_EQ(machine.counters().pwb, 4000u);
  EXPECT_EQ(machine.counters().psync, 4000u);
}

TEST_P(NativeDomain, DescribesItself) {
  const Opened opened({.domain = GetParam(), .force = true});
  const std::string text = opened.machine->medium().description();
  EXPECT_EQ(text.find(to_string(GetParam())), 0u) << text;
  const bool needs_memory = GetParam() == Domain::pmem || GetParam() == Domain::eadr;
  EXPECT_EQ(opened.machine->medium().emulated(), needs_memory);
  EXPECT_EQ(text.find("emulated") != std::string::npos, needs_memory) << text;
#if defined(__x86_64__)
  EXPECT_EQ(opened.machine->rmw_orders_pwb(), GetParam() != Domain::file);
#endif
}

INSTANTIATE_TEST_SUITE_P(All, NativeDomain,
                         testing::Values(Domain::process, Domain::file, Domain::pmem, Domain::eadr),
                         [](const auto& i) { return to_string(i.param); });

TEST(NativePersistence, AnOrdinaryFileIsNotPersistentMemory) {
  for (const Domain domain : {Domain::pmem, Domain::eadr}) {
    const NativeTestFile file;
    const auto machine = NativeMachine::open(file.path(), {.create = true, .domain = domain});
    ASSERT_FALSE(machine.ok());
    EXPECT_EQ(machine.status().code(), Code::unsupported);
    EXPECT_NE(machine.status().message().find("force"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(file.path())) << "a failed creation must leave nothing";
  }
}

TEST(NativePersistence, ADomainIsDetected) {
  const Opened opened({});
  EXPECT_EQ(opened.machine->medium().domain(),
            Domain::file);  // /tmp is not on persistent memory here
  EXPECT_FALSE(opened.machine->medium().emulated());
}

TEST(NativePersistence, ChoosesByWhatIsOffered) {
  const auto choose = [](bool map_sync, bool cpu_cache, std::optional<Domain> domain, bool force) {
    return native::choose_persistence("p", {map_sync, cpu_cache},
                                      {.domain = domain, .force = force});
  };
  EXPECT_EQ(choose(false, false, {}, false)->domain, Domain::file);
  EXPECT_EQ(choose(true, false, {}, false)->domain, Domain::pmem);
  EXPECT_EQ(choose(true, true, {}, false)->domain, Domain::eadr);
  EXPECT_FALSE(choose(true, false, Domain::pmem, false)->emulated);
  EXPECT_EQ(choose(true, false, Domain::eadr, false).status().code(), Code::unsupported);
  EXPECT_TRUE(choose(true, false, Domain::eadr, true)->emulated);
  EXPECT_TRUE(choose(false, false, Domain::pmem, true)->emulated);
}

TEST(NativePersistence, AFailedSyncPoisonsTheMachine) {
  bool broken = false;
  int calls = 0;
  const Opened opened({.domain = Domain::file, .sync = [&](int) {
                         ++calls;
                         errno = EIO;
                         return broken ? -1 : 0;
                       }});
  NativeMachine& machine = *opened.machine;
  machine.psync(Site{});
  EXPECT_FALSE(machine.failed());
  EXPECT_TRUE(machine.failure().ok());
  broken = true;
  EXPECT_THROW(machine.psync(Site{}), MediumFailure);
  EXPECT_TRUE(machine.failed());
  EXPECT_EQ(machine.failure().code(), Code::io_error);
  EXPECT_NE(machine.failure().message().find(opened.file.path()), std::string::npos);

  // The next system call might succeed, so the machine must not make it.
  broken = false;
  const int before = calls;
  EXPECT_THROW(machine.pfence(Site{}), MediumFailure);
  EXPECT_THROW(machine.psync(Site{}), MediumFailure);
  EXPECT_EQ(machine.medium().grow(kPageBytes).code(), Code::io_error);
  const NativeMachine::Atomic<uint64_t> never{0};
  EXPECT_THROW(machine.wait_while(never, uint64_t{0}), MediumFailure);
  EXPECT_EQ(calls, before);
}

TEST(NativePersistence, AFailedSyncReachesEveryThread) {
  std::atomic<int> calls{0};
  const Opened opened({.domain = Domain::file, .sync = [&](int) {
                         errno = EIO;
                         return ++calls == 20 ? -1 : 0;  // Linux reports a failure once
                       }});
  std::atomic<int> failed{0};
  opened.machine->run_threads(4, [&](int) {
    try {
      for (;;) {
        opened.machine->psync(Site{});
      }
    } catch (const MediumFailure&) {
      ++failed;
    }
  });
  EXPECT_EQ(failed, 4);
  EXPECT_EQ(calls, 20);
}

TEST(NativePersistence, AFailureToMakeTheNewLengthDurablePoisonsToo) {
  const Opened opened({.domain = Domain::pmem, .force = true, .sync = [](int) {
                         errno = EIO;
                         return -1;
                       }});
  EXPECT_EQ(opened.machine->medium().grow(kPageBytes).code(), Code::io_error);
  EXPECT_EQ(opened.machine->medium().bytes(), 0u);
  EXPECT_THROW(opened.machine->pfence(Site{}), MediumFailure);
}

TEST(NativePersistence, LatencyPresets) {
  EXPECT_EQ(parse_latency("fur").value().pwb_ns, 310u);
  EXPECT_EQ(parse_latency("stt").value().pfence_ns, 200u);
  EXPECT_EQ(parse_latency("pcm")->psync_ns, 500u);
  EXPECT_FALSE(parse_latency("none")->any());
  const auto wrong = parse_latency("optane");
  EXPECT_EQ(wrong.status().code(), Code::invalid_argument);
  EXPECT_NE(wrong.status().message().find("pcm"), std::string::npos);
}

// A delay ends at a deadline of the machine's own clock, so it cannot be shorter.
TEST(NativePersistence, DelaysLastAtLeastAsLongAsAsked) {
  const Opened opened({.domain = Domain::process, .latency = {.pwb_ns = 20000, .psync_ns = 50000}});
  NativeMachine& machine = *opened.machine;
  const double ns = machine.ns_per_tick();
  uint64_t word = 0;
  uint64_t start = machine.now();
  machine.pwb(&word, Site{});
  EXPECT_GE(static_cast<double>(machine.now() - start) * ns, 19900.0);
  start = machine.now();
  machine.psync(Site{});
  EXPECT_GE(static_cast<double>(machine.now() - start) * ns, 49900.0);
  EXPECT_NE(machine.medium().description().find("20000 ns"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::persistence_test
