// SPDX-License-Identifier: Apache-2.0
#pragma once

#error "HoldfastDB has no table files. Read entries with DB::NewIterator (holdfast/db/db.h)."
