// SPDX-License-Identifier: Apache-2.0
//
// Are hardware transactions offered exactly on the computers on which they commit?
//
// Their behaviour after a commit can be tested only on such computers. On all computers the test
// checks that engines make progress if none commits, as conformance_test.cc ("hardware") does.
#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/engines/parts/isolation/htm/suspended.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/htm/htm_support.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/native/rtm_stand_in.h"
#include "tests/native/test_file.h"
#include "tests/sanitized.h"

namespace holdfast::hardware_htm_test {
namespace {

using native::judge;
using native::PowerProbe;
using native::RtmProbe;

constexpr HtmBackend kHere = native::hardware::kBackend;

TEST(HardwareStatus, EaxBehindAnRtmAbort) {
  struct Row {
    uint32_t eax;
    AbortCause cause;
  };
  for (const Row row :
       {Row{0x40000001, AbortCause::explicit_abort},
        Row{0x46000003, AbortCause::explicit_abort},  // "may succeed on a retry"
        Row{0x4a000001, AbortCause::explicit_abort},
        Row{0x4c000001, AbortCause::other},  // no code of this engine's
        Row{0x41000001, AbortCause::other}, Row{0x04000001, AbortCause::other},  // cancel()
        Row{0xff000001, AbortCause::other},  // XABORT of other code
        Row{0x00000006, AbortCause::conflict}, Row{0x00000004, AbortCause::conflict},
        Row{0x0000000c, AbortCause::conflict}, Row{0x00000008, AbortCause::capacity},
        Row{0x0000000a, AbortCause::capacity}, Row{0x00000010, AbortCause::other},  // a debug trap
        Row{0x00000020, AbortCause::other},  // in a nested transaction
        Row{0x00000000, AbortCause::other}}) {
    EXPECT_EQ(native::rtm_cause(row.eax), row.cause) << std::hex << row.eax;
  }
}

TEST(HardwareStatus, TexasrBehindAPowerFailure) {
  constexpr auto bit = [](int n) { return uint64_t{1} << (63 - n); };
  constexpr uint64_t kFailed = uint64_t{1} << (63 - 36);
  constexpr auto code = [](uint64_t n) { return n << 56; };
  struct Row {
    uint64_t texasr;
    AbortCause cause;
  };
  for (const Row row :
       {Row{kFailed | bit(31) | code(0x42), AbortCause::explicit_abort},
        Row{kFailed | bit(31) | code(4), AbortCause::other},         // cancel()
        Row{kFailed | bit(31) | code(0xde), AbortCause::interrupt},  // rescheduled
        Row{kFailed | bit(10) | bit(7), AbortCause::capacity},
        Row{kFailed | bit(11), AbortCause::conflict}, Row{kFailed | bit(12), AbortCause::conflict},
        Row{kFailed | bit(13) | bit(38), AbortCause::conflict},  // rollback-only
        Row{kFailed | bit(14), AbortCause::interrupt}, Row{kFailed | bit(15), AbortCause::other},
        Row{0x014000003c000000, AbortCause::other}}) {  // QEMU: nesting overflow
    EXPECT_EQ(native::power_cause(row.texasr), row.cause) << std::hex << row.texasr;
  }
}

TEST(HardwareStatus, TheCodeOfAnAbortComesBack) {
  for (int i = 0; i < kAbortCodes; ++i) {
    const auto code = static_cast<AbortCode>(i);
    const uint64_t in_status = native::status_code(code);
    EXPECT_LT(in_status, 0xd0U) << "the codes of Linux begin there";
    const auto eax = static_cast<uint32_t>(in_status << 24 | 1);
    EXPECT_EQ(native::rtm_cause(eax), AbortCause::explicit_abort);
    EXPECT_EQ(native::rtm_code(eax), code);
    const uint64_t texasr = in_status << 56 | uint64_t{1} << 32;
    EXPECT_EQ(native::power_cause(texasr), AbortCause::explicit_abort);
    EXPECT_EQ(native::power_code(texasr), code);
  }
}

TEST(HtmSupport, PresentMeansThatTransactionsCommit) {
  EXPECT_FALSE(judge(RtmProbe{}).present);
  EXPECT_NE(judge(RtmProbe{}).reason.find("has no RTM"), std::string::npos);
  EXPECT_NE(judge(RtmProbe{.always_aborts = true}).reason.find("RTM_ALWAYS_ABORT"),
            std::string::npos);
  const auto dead = judge(RtmProbe{.announced = true, .suspends_loads = true});
  EXPECT_FALSE(dead.present);
  EXPECT_FALSE(dead.suspend_loads);
  EXPECT_NE(dead.reason.find("none committed"), std::string::npos);

  const auto haswell = judge(RtmProbe{.announced = true, .commits = 1});
  EXPECT_TRUE(haswell.present);
  EXPECT_FALSE(haswell.suspend_loads);
  EXPECT_FALSE(haswell.suspend);
  EXPECT_FALSE(haswell.untracked_loads);
  EXPECT_EQ(haswell.reason, "");
  EXPECT_FALSE(
      judge(RtmProbe{.announced = true, .suspends_loads = true, .commits = 60}).suspend_loads);
  EXPECT_TRUE(judge(RtmProbe{.announced = true,
                             .suspends_loads = true,
                             .commits = 60,
                             .commits_with_suspension = 3})
                  .suspend_loads);
}

TEST(HtmSupport, PowerMaySuspendOrNot) {
  EXPECT_FALSE(judge(PowerProbe{}).present);
  EXPECT_FALSE(judge(PowerProbe{.announced = true}).present);
  const auto power8 = judge(PowerProbe{
      .announced = true, .commits = 60, .commits_rollback_only = 60, .commits_suspended = 60});
  EXPECT_TRUE(power8.present && power8.untracked_loads && power8.suspend);
  EXPECT_FALSE(power8.suspend_loads);
  const auto dd21 = judge(PowerProbe{
      .announced = true, .cannot_suspend = true, .commits = 60, .commits_rollback_only = 60});
  EXPECT_TRUE(dd21.present && dd21.untracked_loads);
  EXPECT_FALSE(dd21.suspend);
}

TEST(HtmSupport, BackendsHaveNames) {
  for (const auto backend : {HtmBackend::soft, HtmBackend::rtm, HtmBackend::power}) {
    EXPECT_EQ(parse_htm_backend(to_string(backend)).value(), backend);
  }
  const auto wrong = parse_htm_backend("tsx");
  EXPECT_EQ(wrong.status().code(), Code::invalid_argument);
  EXPECT_NE(wrong.status().message().find("soft, rtm, power"), std::string::npos);
}

TEST(HtmSupport, WhatIsNotHereIsRefusedWithAReasonAndAWayOut) {
  for (const auto backend : {HtmBackend::rtm, HtmBackend::power}) {
    const auto& support = native::htm_support(backend);
    EXPECT_EQ(support.present, support.reason.empty());
    if (support.present) {
      continue;
    }
    const NativeTestFile file;
    NativeOptions options;
    options.create = true;
    options.domain = Domain::process;
    options.htm_backend = backend;
    options.htm_unproven = backend != kHere;  // a foreign backend is refused even if forced
    const auto machine = NativeMachine::open(file.path(), options);
    ASSERT_EQ(machine.status().code(), Code::unsupported);
    for (const std::string& part : {std::string(to_string(backend)), support.reason,
                                    std::string("soft"), std::string("holdfast sim")}) {
      EXPECT_NE(machine.status().message().find(part), std::string::npos) << part;
    }
    EXPECT_FALSE(std::filesystem::exists(file.path()));
  }
}

TEST(HtmSupport, TheBestIsTheProcessorsOwnIfItServesTheEngine) {
  int asked = 0;
  const auto never = [&](const HtmCapabilities& /*can*/) {
    ++asked;
    return false;
  };
  EXPECT_EQ(native::best_htm(never), HtmBackend::soft);
  const auto always = [&](const HtmCapabilities& can) {
    EXPECT_STREQ(can.backend, to_string(kHere));
    return true;
  };
  const bool present = native::htm_support(kHere).present;
  EXPECT_EQ(native::best_htm(always), present ? kHere : HtmBackend::soft);
  EXPECT_EQ(asked, present ? 1 : 0);
}

TEST(HtmSupport, SoftIsEverywhereAndTheDefault) {
  const NativeTestFile file;
  const auto machine =
      NativeMachine::open(file.path(), {.create = true, .domain = Domain::process}).value();
  const HtmCapabilities can = machine->htm_capabilities();
  EXPECT_STREQ(can.backend, "soft");
  EXPECT_TRUE(can.untracked_loads && can.suspend && can.suspend_loads);
  EXPECT_EQ(can.store_lines, SoftOptions().store_lines);
}

#if defined(__x86_64__) || defined(__powerpc64__)

/// Makes the code of the program and its libraries present. A page fault aborts a transaction and
/// is not served, so code that runs only in transactions would abort them for ever.
void touch_program() {
  const auto touch = [](dl_phdr_info* info, size_t /*size*/, void* /*data*/) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& segment = info->dlpi_phdr[i];
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
        const auto* const bytes =
            reinterpret_cast<const volatile char*>(info->dlpi_addr + segment.p_vaddr);
        for (size_t at = 0; at < segment.p_memsz; at += kPageBytes) {
          static_cast<void>(bytes[at]);
        }
      }
    }
    return 0;
  };
  dl_iterate_phdr(touch, nullptr);
}

/// A sanitizer's functions, which it calls at every step, abort most transactions: they take locks,
/// map memory, and make system calls. So with kSanitized nothing is known about which ones commit.
class Forced : public testing::Test {
 protected:
  Forced() {
    options_.create = true;
    options_.domain = Domain::process;
    options_.htm_backend = kHere;
    options_.htm_unproven = true;
    touch_program();
  }
  static bool commits() { return native::htm_support(kHere).present; }

  RtmStandIn stand_in_;
  NativeTestFile file_;
  NativeOptions options_;
};

TEST_F(Forced, ATransactionCommitsOrArrivesAgainWithACause) {
  const auto machine = NativeMachine::open(file_.path(), options_).value();
  EXPECT_STREQ(machine->htm_capabilities().backend, to_string(kHere));
  auto& htm = machine->htm(1);
  std::vector<uint64_t> words(64);
  int committed = 0;
  for (int i = 0; i < 100; ++i) {
    const AbortCause cause = htm.begin(Tracking::all);
    if (cause == AbortCause::none) {
      htm.store(&words[3], htm.load(&words[3]) + 1);
      htm.commit();
      ++committed;
    } else {
      EXPECT_EQ(htm.caught(), cause);
    }
    EXPECT_FALSE(htm.open());
    EXPECT_FALSE(htm.doomed());
    htm.cancel();  // does nothing without an open transaction
  }
  EXPECT_EQ(words[3], static_cast<uint64_t>(committed));
  if (!kSanitized) {
    EXPECT_EQ(committed != 0, commits());
  }
}

TEST_F(Forced, AbortArrivesAtBeginWithItsCauseAndStoresAreGone) {
  if (!commits()) {
    GTEST_SKIP() << "no transaction gets as far as an abort here";
  }
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer aborts transactions before they get there";
  }
  const auto machine = NativeMachine::open(file_.path(), options_).value();
  auto& htm = machine->htm(1);
  uint64_t word = 1;
  bool arrived = false;
  for (int i = 0; i < 1000 && !arrived; ++i) {
    const AbortCause cause = htm.begin(Tracking::all);
    if (cause == AbortCause::none) {
      htm.store(&word, uint64_t{2});
      htm.abort(AbortCode::none);
    }
    arrived = cause == AbortCause::explicit_abort;
  }
  EXPECT_TRUE(arrived);
  EXPECT_EQ(word, 1u);
}

TEST_F(Forced, LoadsAndStoresFromOutsideArePlain) {
  const auto machine = NativeMachine::open(file_.path(), options_).value();
  auto& htm = machine->htm(1);
  alignas(64) uint64_t from[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  alignas(64) uint64_t to[9] = {};
  htm.outside_store_range(to, from, sizeof from);
  EXPECT_EQ(htm.outside_load(&to[8]), 9u);
  htm.outside_store(&to[0], uint64_t{10});
  uint64_t copy[9] = {};
  htm.outside_load_range(copy, to, sizeof copy);
  EXPECT_EQ(copy[0], 10u);
  EXPECT_EQ(copy[4], 5u);
}

/// Without an open transaction, run_suspended only changes the stack.
struct Counter {
  uint64_t sum = 0;
  std::vector<uint64_t> stacks;
};
[[gnu::noinline]] void add_to(uint64_t depth, Counter& counter) {
  volatile uint64_t local[8] = {depth};
  counter.stacks.push_back(reinterpret_cast<uint64_t>(&local[0]));
  counter.sum += local[0];
  if (depth > 1) {
    add_to(depth - 1, counter);
  }
}
void count(uint64_t& depth, Counter& counter) {
  add_to(depth, counter);
}

TEST_F(Forced, SuspendedCodeRunsOnAStackOfItsOwn) {
  if (!native::hardware::kSuspends) {
    GTEST_SKIP() << "nothing is suspended here";
  }
  const auto machine = NativeMachine::open(file_.path(), options_).value();
  uint64_t depth = 10;
  Counter counter;
  const uint64_t here = reinterpret_cast<uint64_t>(&depth);
  for (int i = 0; i < 3; ++i) {
    run_suspended<&count>(machine->htm(1), depth, counter);
  }
  EXPECT_EQ(counter.sum, 3 * 55u);
  EXPECT_EQ(counter.stacks.size(), 30u);
  EXPECT_EQ(counter.stacks[0], counter.stacks[10]);
  for (const uint64_t stack : counter.stacks) {
    EXPECT_GT(stack > here ? stack - here : here - stack, size_t{64} << 10);
  }
}

using H = Heap<AnyEngine<NativeMachine>>;
struct Root {
  static constexpr const char* kTypeName = "hardware_htm_test.root";
  static constexpr uint32_t kTypeVersion = 1;
  H::Field<uint64_t> value{0};
};

/// Engines make progress without a commit in hardware, and count the aborts.
TEST_F(Forced, EnginesCountTheirAbortsAndTakeTheLock) {
  options_.create = false;
  int engines = 0;
  for (const auto& row : engine_rows<NativeMachine>()) {
    const char* const engine = row.description->name;
    const NativeTestFile file;
    CreateOptions create;
    create.engine = engine;
    create.bytes = 1 << 20;
    const auto heap = H::create(file.path(), create, options_).value();
    if (!row.uses_hardware(heap->machine().htm_capabilities())) {
      continue;
    }
    ++engines;
    Root* const root = heap->root<Root>("root").value();
    const Statistics before = heap->statistics();
    for (int i = 0; i < 20; ++i) {
      heap->update([&] { root->value += 1; }).check();
    }
    uint64_t seen = 0;
    heap->read([&] { seen = root->value; }).check();
    EXPECT_EQ(seen, 20u) << engine;
    const Statistics counts = heap->statistics() - before;
    EXPECT_EQ(counts.update_commits, 20u) << engine;
    if (!commits() && !kSanitized) {
      EXPECT_GE(counts.lock_fallbacks, 20u) << engine;
      EXPECT_GE(counts.aborts[static_cast<size_t>(AbortCause::other)], 200u) << engine;
    }
    heap->close().check();
  }
  EXPECT_GT(engines, 0);
}

#endif

}  // namespace
}  // namespace holdfast::hardware_htm_test
