// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/base/status.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/support/options.h"

namespace holdfast::native {

/// What this computer's hardware transactions can do. `present` means that transactions really
/// commit: a processor may announce them and abort each one, because microcode or the system has
/// turned them off.
struct HtmSupport {
  bool present = false;
  bool untracked_loads = false;  ///< rollback-only transactions
  bool suspend = false;
  bool suspend_loads = false;
  std::string reason;  ///< if not present: why
};

/// What is looked at on x86-64: bits of CPUID leaf 7, and how many trial transactions committed.
struct RtmProbe {
  bool announced = false;           ///< EBX[11], RTM
  bool always_aborts = false;       ///< EDX[11], RTM_ALWAYS_ABORT
  bool suspends_loads = false;      ///< EDX[16], TSXLDTRK
  int commits = 0;                  ///< of kTrials
  int commits_with_suspension = 0;  ///< of kTrials that execute XSUSLDTRK and XRESLDTRK
};

/// On POWER: what the kernel says in AT_HWCAP2, and trials.
struct PowerProbe {
  bool announced = false;         ///< PPC_FEATURE2_HTM
  bool cannot_suspend = false;    ///< PPC_FEATURE2_HTM_NO_SUSPEND
  int commits = 0;                ///< of kTrials
  int commits_rollback_only = 0;  ///< of kTrials that track stores only
  int commits_suspended = 0;      ///< of kTrials that are suspended once
};

/// An interrupt can abort any of them, but not all.
inline constexpr int kTrials = 64;

HtmSupport judge(const RtmProbe& probe);
HtmSupport judge(const PowerProbe& probe);

/// What `backend` can do here. Looked at once.
const HtmSupport& htm_support(HtmBackend backend);

/// The capabilities of what the options ask for; `unsupported`, with what is missing and what to
/// use instead, where it is not there.
Result<HtmCapabilities> choose_htm(const NativeOptions& options);

}  // namespace holdfast::native
