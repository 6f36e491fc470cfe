// SPDX-License-Identifier: Apache-2.0
#pragma once

#error "HoldfastDB has no DumpFile. Use `holdfast db dump`, or DB::NewIterator (holdfast/db/db.h)."
