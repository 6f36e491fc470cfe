// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/support/options.h"

namespace holdfast::native {

/// The hardware transactions that a backend offers on this computer. `present` means that
/// transactions commit. A processor may announce them and abort each one, because microcode or the
/// system has turned them off.
struct HtmSupport {
  bool present = false;
  bool untracked_loads = false;  ///< rollback-only transactions
  bool suspend = false;
  bool suspend_loads = false;
  std::string reason;  ///< why it is not present
};

/// The evidence on x86-64: bits of CPUID leaf 7, and how many trial transactions have committed.
struct RtmProbe {
  bool announced = false;           ///< EBX[11], RTM
  bool always_aborts = false;       ///< EDX[11], RTM_ALWAYS_ABORT
  bool suspends_loads = false;      ///< EDX[16], TSXLDTRK
  int commits = 0;                  ///< of kTrials
  int commits_with_suspension = 0;  ///< of kTrials that execute XSUSLDTRK and XRESLDTRK
};

/// The evidence on POWER: bits of AT_HWCAP2, which the kernel sets, and trial transactions.
struct PowerProbe {
  bool announced = false;         ///< PPC_FEATURE2_HTM
  bool cannot_suspend = false;    ///< PPC_FEATURE2_HTM_NO_SUSPEND
  int commits = 0;                ///< of kTrials
  int commits_rollback_only = 0;  ///< of kTrials that track stores only
  int commits_suspended = 0;      ///< of kTrials that are suspended once
};

/// The number of trial transactions of each kind. An interrupt can abort some of them, but not all.
inline constexpr int kTrials = 64;

HtmSupport judge(const RtmProbe& probe);
HtmSupport judge(const PowerProbe& probe);

/// The support for `backend` on this computer. Only the first call runs trials. Thread safe.
const HtmSupport& htm_support(HtmBackend backend);

/// The capabilities of the backend that the options select. If it is missing, Code::unsupported
/// with the reason and an alternative.
Result<HtmCapabilities> choose_htm(const NativeOptions& options);

/// The backend to take when the user names none: the processor's own if its transactions commit
/// and `serves` accepts them, else soft.
HtmBackend best_htm(FunctionRef<bool(const HtmCapabilities& can)> serves);

}  // namespace holdfast::native
