// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/file/inspect.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

#include "holdfast/machine/native/medium/file.h"

namespace holdfast {
namespace {

Result<std::vector<std::byte>> read_header(const native::File& file) {
  std::vector<std::byte> header(kHeaderBytes);
  auto got = file.read(header.data(), header.size());
  if (!got) {
    return got.status();
  }
  header.resize(*got);
  return header;
}

Result<Superblock> read_superblock(const native::File& file, bool* healed) {
  auto header = read_header(file);
  return header ? choose(*header, file.path(), healed) : header.status();
}

bool has_no_heap_yet(const native::File& file) {
  const auto header = read_header(file);
  return header.ok() && (header.value().empty() || is_unfinished(header.value()));
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

bool is_unfinished_heap(const std::string& path) {
  const auto file = native::open_file(path, native::Access::look);
  return file.ok() && has_no_heap_yet(file.value());
}

Status empty_unfinished_heap(const std::string& path) {
  if (!is_unfinished_heap(path)) {
    return {};
  }
  auto file = native::open_file(path, native::Access::change);
  if (!file) {
    return file.status();
  }
  // Once more, with the lock: another process may have made a heap of it.
  if (has_no_heap_yet(*file) && ftruncate(file->fd(), 0) != 0) {
    return native::file_error(path, "cannot be emptied", errno);
  }
  return {};
}

}  // namespace holdfast
