// SPDX-License-Identifier: Apache-2.0
//
// LevelDB's mark of names that a shared library exports. HoldfastDB is a static library.
#pragma once

#define LEVELDB_EXPORT
