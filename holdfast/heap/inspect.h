// SPDX-License-Identifier: Apache-2.0
//
// Looking at a heap file from outside, without opening (locking, recovering) the heap.
#pragma once

#include <string>

#include "holdfast/heap/superblock.h"

namespace holdfast {

struct HeapFileInfo {
  Superblock superblock;
  bool healed = false;  ///< one superblock copy is damaged
  uint64_t file_bytes = 0;
  uint64_t disk_bytes = 0;  ///< blocks really taken
  bool in_use = false;      ///< another process (or this one) has it open for changing
};

/// Reads the superblocks. Also on a heap in use. Never changes the file.
Result<HeapFileInfo> inspect_heap_file(const std::string& path);

/// The number of user threads a heap file was created for; `fallback` where it cannot be read (the
/// real open will say why).
int recorded_threads(const std::string& path, int fallback);

/// Deletes a file that never became a heap.
void remove_file(const std::string& path);

}  // namespace holdfast
