// SPDX-License-Identifier: Apache-2.0
#pragma once

#error "HoldfastDB has no table files. Write entries with DB::Write (holdfast/db/db.h)."
