// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/htm/htm_support.h"

#include "holdfast/machine/native/htm/hardware_htm.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__powerpc64__)
#include <sys/auxv.h>
#endif

namespace holdfast::native {
namespace {

std::string none_committed() {
  return "of " + std::to_string(kTrials) + " trial transactions none committed";
}

#if defined(__x86_64__) || defined(__powerpc64__)

/// Runs kTrials transactions that store to `line` and call `middle`. Returns how many commit.
template <class F>
int count_commits(Tracking tracking, F&& middle) {
  alignas(kMaxLineBytes) static uint64_t line[kMaxLineBytes / sizeof(uint64_t)];
  int commits = 0;
  for (int i = 0; i < kTrials; ++i) {
    store_word(line, load_word(line) + 1);  // makes the page present; a page fault would abort
    if (hardware::begin(tracking).inside) {
      store_word(line, load_word(line) + 1);
      middle();
      hardware::end();
      ++commits;  // after the transaction, so that no abort rolls it back
    }
  }
  return commits;
}

HtmSupport look() {
#if defined(__x86_64__)
  RtmProbe probe;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    probe.announced = (b & (1U << 11)) != 0;
    probe.always_aborts = (d & (1U << 11)) != 0;
    probe.suspends_loads = (d & (1U << 16)) != 0;
  }
  if (probe.announced) {
    probe.commits = count_commits(Tracking::all, [] {});
  }
  if (probe.commits != 0 && probe.suspends_loads) {
    probe.commits_with_suspension = count_commits(Tracking::all, [] {
      hardware::suspend_loads();
      hardware::resume_loads();
    });
  }
#else
  constexpr unsigned long kHtm = 0x40000000;  // PPC_FEATURE2_HTM
  constexpr unsigned long kNoSuspend = 0x00080000;
  PowerProbe probe;
  const unsigned long features = getauxval(AT_HWCAP2);
  probe.announced = (features & kHtm) != 0;
  probe.cannot_suspend = (features & kNoSuspend) != 0;
  if (probe.announced) {
    probe.commits = count_commits(Tracking::all, [] {});
    probe.commits_rollback_only = count_commits(Tracking::stores, [] {});
  }
  if (probe.commits != 0 && !probe.cannot_suspend) {
    probe.commits_suspended = count_commits(Tracking::all, [] {
      hardware::suspend();
      hardware::resume();
    });
  }
#endif
  return judge(probe);
}

#endif

/// The answer for a backend of another processor.
HtmSupport elsewhere(HtmBackend backend) {
  HtmSupport support;
  support.reason =
      backend == HtmBackend::rtm ? "this is no x86-64 processor" : "this is no POWER processor";
  return support;
}

}  // namespace

HtmSupport judge(const RtmProbe& probe) {
  HtmSupport support;
  support.present = probe.announced && probe.commits != 0;
  support.suspend_loads =
      support.present && probe.suspends_loads && probe.commits_with_suspension != 0;
  if (!probe.announced) {
    support.reason = probe.always_aborts
                         ? "the processor aborts every transaction (CPUID: RTM_ALWAYS_ABORT)"
                         : "the processor has no RTM, or it is turned off (CPUID says so)";
  } else if (!support.present) {
    support.reason = "the processor announces RTM, but " + none_committed() +
                     ": microcode or the system has turned it off";
  }
  return support;
}

HtmSupport judge(const PowerProbe& probe) {
  HtmSupport support;
  support.present = probe.announced && probe.commits != 0;
  support.untracked_loads = support.present && probe.commits_rollback_only != 0;
  support.suspend = support.present && !probe.cannot_suspend && probe.commits_suspended != 0;
  if (!probe.announced) {
    support.reason =
        "the processor or the kernel has no transactional memory (AT_HWCAP2; POWER8 and POWER9 "
        "had it)";
  } else if (!support.present) {
    support.reason = "the kernel announces transactional memory, but " + none_committed();
  }
  return support;
}

const HtmSupport& htm_support(HtmBackend backend) {
  static const HtmSupport soft = {true, true, true, true, ""};
  static const HtmSupport rtm_elsewhere = elsewhere(HtmBackend::rtm);
  static const HtmSupport power_elsewhere = elsewhere(HtmBackend::power);
  if (backend == HtmBackend::soft) {
    return soft;
  }
#if defined(__x86_64__) || defined(__powerpc64__)
  if (backend == hardware::kBackend) {
    static const HtmSupport here = look();
    return here;
  }
#endif
  return backend == HtmBackend::rtm ? rtm_elsewhere : power_elsewhere;
}

Result<HtmCapabilities> choose_htm(const NativeOptions& options) {
  const HtmBackend backend = options.htm_backend;
  const bool forced = options.htm_unproven && backend == hardware::kBackend;
  HtmSupport support = htm_support(backend);
  if (!support.present && !forced) {
    return Status(Code::unsupported,
                  std::string("htm ") + to_string(backend) + " is not here: " + support.reason +
                      "; use htm soft, which runs on every processor, or a simulated machine "
                      "(holdfast sim)");
  }
  if (forced && !support.present) {  // all that the instructions could do; no transaction commits
    support.untracked_loads = backend == HtmBackend::power;
    support.suspend = backend == HtmBackend::power;
    support.suspend_loads = backend == HtmBackend::rtm;
  }
  HtmCapabilities can{.backend = to_string(backend),
                      .untracked_loads = support.untracked_loads,
                      .suspend = support.suspend,
                      .suspend_loads = support.suspend_loads,
                      .page_faults_abort = backend != HtmBackend::soft};
  if (backend == HtmBackend::soft) {
    can.store_lines = options.htm.store_lines;
    can.load_lines = options.htm.load_lines;
  }
  return can;
}

HtmBackend best_htm(FunctionRef<bool(const HtmCapabilities& can)> serves) {
  NativeOptions options;
  options.htm_backend = hardware::kBackend;
  const auto can = choose_htm(options);
  return can.ok() && serves(can.value()) ? hardware::kBackend : HtmBackend::soft;
}

}  // namespace holdfast::native
