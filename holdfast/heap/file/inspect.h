// SPDX-License-Identifier: Apache-2.0
//
// Reading a heap file's superblocks without opening the heap, so without locking or recovery. And
// files whose creation as a heap has not ended.
#pragma once

#include <string>

#include "holdfast/heap/file/superblock.h"

namespace holdfast {

/// Facts about a heap file.
struct HeapFileInfo {
  Superblock superblock;
  bool healed = false;  ///< one superblock copy is damaged
  uint64_t file_bytes = 0;
  uint64_t disk_bytes = 0;  ///< disk space that the file occupies
  bool in_use = false;      ///< some process, perhaps this one, has it open for writing
};

/// Reads the superblocks. Works on a heap in use. Never changes the file.
Result<HeapFileInfo> inspect_heap_file(const std::string& path);

/// Returns whether the file is empty, or holds only the beginning of a heap: its creation was
/// interrupted, or goes on.
bool is_unfinished_heap(const std::string& path);

/// Empties such a file, so that a heap can be made in it. Leaves all others as they are. busy: the
/// creation goes on.
Status empty_unfinished_heap(const std::string& path);

}  // namespace holdfast
