// SPDX-License-Identifier: Apache-2.0
//
// Do engines work correctly inside RTM transactions that commit, tested on processors on which none
// commits?
//
// The test replaces instructions in memory by illegal ones: XBEGIN, and the two that suspend and
// resume the tracking of loads, which do nothing on a processor that has them without RTM. A signal
// handler then lets one thread's transactions begin and commit. It can neither roll back nor
// isolate threads from each other; only hardware can.
#include <gtest/gtest.h>

#include "holdfast/base/sanitizers.h"
#include "holdfast/machine/native/htm/htm_support.h"

// Sanitizers would report the access to the program's code.
#if defined(__x86_64__) && !HOLDFAST_ADDRESS_SANITIZER && !HOLDFAST_THREAD_SANITIZER
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/engine_options.h"
#include "tests/native/test_file.h"

namespace holdfast::rtm_commit_test {
namespace {

thread_local volatile bool inside = false;
volatile int begun = 0;
volatile int loads_suspended = 0;

/// An instruction, and the one of the same length that takes its place: ud2 and a rest that tells
/// which one it was.
struct Replaced {
  std::string_view code;
  std::string_view illegal;
};
using namespace std::string_view_literals;
constexpr Replaced kBegin = {"\xc7\xf8\0\0\0\0"sv, "\x0f\x0b\xf8\0\0\0"sv};  // as in rtm.h
constexpr Replaced kSuspend = {"\xf2\x0f\x01\xe8"sv, "\x0f\x0b\x01\xe8"sv};
constexpr Replaced kResume = {"\xf2\x0f\x01\xe9"sv, "\x0f\x0b\x01\xe9"sv};

void handle(int signal_number, siginfo_t* /*info*/, void* context) {
  auto* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* const at = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  const auto is = [at](std::string_view bytes) {
    return std::memcmp(at, bytes.data(), bytes.size()) == 0;
  };
  if (is(kBegin.illegal)) {  // unchanged EAX means inside
    inside = true;
    begun = begun + 1;
    registers[REG_RIP] += kBegin.illegal.size();
  } else if (is("\x0f\x01\xd5")) {  // xend: faults outside of a real transaction
    inside = false;
    registers[REG_RIP] += 3;
  } else if (is("\x0f\x01\xd6")) {  // xtest, if illegal: ZF means outside
    constexpr greg_t kZeroFlag = 1 << 6;
    registers[REG_EFL] |= kZeroFlag;
    registers[REG_RIP] += 3;
  } else if (is(kSuspend.illegal) || is(kResume.illegal)) {
    loads_suspended = loads_suspended + 1;
    registers[REG_RIP] += kSuspend.illegal.size();
  } else {
    signal(signal_number, SIG_DFL);  // an unexpected fault
  }
}

// Symbols that the linker defines.
extern "C" char executable_start asm("__executable_start");
extern "C" char etext;

/// Replaces every `from` in the program's code by `to`, of the same length.
void replace_in_code(std::string_view from, std::string_view to) {
  char* const first = &executable_start;
  char* const last = &etext;
  for (char* at = first;; ++at) {
    at = std::search(at, last, from.begin(), from.end());
    if (at == last) {
      return;
    }
    auto* const page = at - reinterpret_cast<uintptr_t>(at) % kPageBytes;
    ASSERT_EQ(mprotect(page, 2 * kPageBytes, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    std::copy(to.begin(), to.end(), at);
    ASSERT_EQ(mprotect(page, 2 * kPageBytes, PROT_READ | PROT_EXEC), 0);
  }
}

/// The processor that the stand-in replaces.
constexpr HtmCapabilities kRtm = {.backend = "rtm", .suspend_loads = true};

class RtmCommit : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (native::htm_support(HtmBackend::rtm).present) {
      GTEST_SKIP() << "transactions commit here: conformance_test.cc has the real ones";
    }
    struct sigaction action{};
    action.sa_sigaction = &handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, &illegal_before_);
    sigaction(SIGSEGV, &action, &fault_before_);
    for (const Replaced& one : {kBegin, kSuspend, kResume}) {
      replace_in_code(one.code, one.illegal);
    }
    replaced_ = true;
  }
  void TearDown() override {
    if (replaced_) {
      for (const Replaced& one : {kBegin, kSuspend, kResume}) {
        replace_in_code(one.illegal, one.code);
      }
      sigaction(SIGILL, &illegal_before_, nullptr);
      sigaction(SIGSEGV, &fault_before_, nullptr);
    }
  }

 private:
  bool replaced_ = false;
  struct sigaction illegal_before_{};
  struct sigaction fault_before_{};
};

using H = Heap<AnyEngine<NativeMachine>>;
struct Root {
  static constexpr const char* kTypeName = "rtm_commit_test.root";
  static constexpr uint32_t kTypeVersion = 1;
  H::Field<uint64_t> words[40];
};

TEST_P(RtmCommit, UpdatesAndReadsTakePlaceInHardwareAndLast) {
  const std::string& engine = GetParam();
  const NativeTestFile file;
  NativeOptions native;
  native.domain = Domain::process;
  CreateOptions create;
  create.engine = engine;
  create.bytes = 1 << 20;
  H::create(file.path(), create, native).value()->root<Root>("root").status().check();

  native.htm_backend = HtmBackend::rtm;
  native.htm_unproven = true;
  {
    const auto heap = H::open(file.path(), {}, native).value();
    Root* const root = heap->root<Root>("root").value();
    const Statistics before = heap->statistics();
    const int begun_before = begun;
    const int suspended_before = loads_suspended;
    for (uint64_t i = 0; i < 100; ++i) {
      heap->update([&] {
            EXPECT_TRUE(inside);
            for (uint64_t k = 0; k < 10; ++k) {
              root->words[(7 * i + k) % 40] += k + 1;
            }
          })
          .check();
      EXPECT_FALSE(inside);
    }
    uint64_t sum = 0;
    heap->read([&] { sum = std::accumulate(std::begin(root->words), std::end(root->words), sum); })
        .check();
    EXPECT_EQ(sum, 5500u);
    const Statistics counts = heap->statistics() - before;
    EXPECT_EQ(counts.update_commits, 100u);
    EXPECT_EQ(counts.lock_fallbacks, 0u);
    EXPECT_EQ(std::accumulate(counts.aborts.begin(), counts.aborts.end(), uint64_t{0}), 0u);
    EXPECT_GE(begun - begun_before, 100);
    HtmCapabilities cannot_suspend = kRtm;
    cannot_suspend.suspend_loads = false;
    // An engine that needs it suspends and resumes once in each update.
    const auto& row = *find_row("engine", engine, engine_rows<NativeMachine>()).value();
    EXPECT_EQ(loads_suspended - suspended_before, row.uses_hardware(cannot_suspend) ? 0 : 200);
    heap->close().check();
  }
  const auto again = H::open(file.path(), {}, NativeOptions{.domain = Domain::process}).value();
  Root* const root = again->root<Root>("root").value();
  uint64_t sum = 0;
  again->read([&] { sum = std::accumulate(std::begin(root->words), std::end(root->words), sum); })
      .check();
  EXPECT_EQ(sum, 5500u);
  again->close().check();
}

INSTANTIATE_TEST_SUITE_P(Engines, RtmCommit,
                         testing::ValuesIn(names_of(engine_rows<NativeMachine>(),
                                                    [](const auto& row) {
                                                      return row.uses_hardware(kRtm);
                                                    })),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace holdfast::rtm_commit_test
#endif
