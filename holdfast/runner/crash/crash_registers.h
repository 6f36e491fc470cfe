// SPDX-License-Identifier: Apache-2.0
//
// The parameters of random register programs, for the crash searches and the native stress.
#pragma once

#include "holdfast/check/registers/register_program.h"
#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// The most objects, and the most pieces, of a program.
inline constexpr check::Object kMostRegisters = 1000;

/// The parameters of `registers` under crash().
const WorkloadInfo& crash_registers_info();

/// The shape that such parameters describe. Throws Error(invalid_argument) for a value out of
/// range.
check::RegisterShape crash_registers_shape(const Parameters& p);

}  // namespace holdfast
