// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/file/inspect.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "holdfast/machine/native/medium/file.h"

namespace holdfast {
namespace {

Result<Superblock> read_superblock(const native::File& file, bool* healed) {
  std::vector<std::byte> header(kHeaderBytes);
  auto got = file.read(header.data(), header.size());
  if (!got) {
    return got.status();
  }
  header.resize(*got);
  return choose(header, file.path(), healed);
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

void remove_file(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

}  // namespace holdfast
