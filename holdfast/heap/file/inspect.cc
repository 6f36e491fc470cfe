// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/file/inspect.h"

#include <filesystem>
#include <system_error>

#include "holdfast/machine/native/medium/file.h"

namespace holdfast {
namespace {

/// Reads both superblocks from the file and chooses the valid, newer one.
Result<Superblock> read_superblock(const native::File& file, bool* healed) {
  SuperblockBytes copies[kSuperblocks];
  auto got = file.read(copies, kHeaderBytes);
  if (!got) {
    return got.status();
  }
  if (*got < kHeaderBytes) {
    return Status(Code::wrong_format, file.path() + ": too short to be a Holdfast heap (" +
                                          std::to_string(*got) + " bytes)");
  }
  return choose(copies[0], copies[1], file.path(), healed);
}

}  // namespace

Result<HeapFileInfo> inspect_heap_file(const std::string& path) {
  auto file = native::open_file(path, native::Access::look);
  if (!file) {
    return file.status();
  }
  HeapFileInfo info;
  auto superblock = read_superblock(*file, &info.healed);
  if (!superblock) {
    return superblock.status();
  }
  info.superblock = *superblock;
  auto size = file->size();
  auto in_use = file->has_writer();
  if (!size || !in_use) {
    return size ? in_use.status() : size.status();
  }
  info.file_bytes = size->bytes;
  info.disk_bytes = size->disk_bytes;
  info.in_use = *in_use;
  if (Status valid = validate(info.superblock, info.file_bytes, path); !valid.ok()) {
    return valid;
  }
  return info;
}

int recorded_threads(const std::string& path, int fallback) {
  const auto info = inspect_heap_file(path);
  return info ? static_cast<int>(info.value().superblock.slots) - 1
              : fallback;  // one slot is the machine's own
}

void remove_file(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

}  // namespace holdfast
