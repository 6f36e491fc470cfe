// SPDX-License-Identifier: Apache-2.0
//
// DB::Checkpoint: copies a database entry by entry, as a snapshot shows it, while writers continue.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "holdfast/db/engine/heap_db.h"
#include "holdfast/machine/native/medium/file.h"

namespace holdfast::db {
namespace {

constexpr size_t kBatchBytes = 64 << 10;

holdfast::Status failed(const std::string& name, const char* what) {
  return native::file_error(name, what, errno);
}

/// Returns ok if nothing has this name, not even a link that leads nowhere.
holdfast::Status check_unused(const std::string& name) {
  struct stat found{};
  if (lstat(name.c_str(), &found) == 0) {
    return native::file_error(name, "", EEXIST);
  }
  return errno == ENOENT ? holdfast::Status() : failed(name, "cannot be examined");
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

holdfast::Status in_use(const std::string& part) {
  return {Code::busy, part + " is in use by another checkpoint; choose another name, or wait"};
}

/// Opens the unfinished copy FILE.part for changes. busy: a database or another checkpoint has it
/// open. Only the holder of this lock deletes or renames the file. So the name keeps leading to it.
holdfast::Result<native::File> lock_part(const std::string& part) {
  auto file = native::open_file(part, native::Access::change);
  struct stat named{};
  struct stat locked{};
  if (file.ok() && (stat(part.c_str(), &named) != 0 || fstat(file->fd(), &locked) != 0 ||
                    !is_same(named, locked))) {
    return in_use(part);  // it was deleted or renamed before it was locked
  }
  return file;
}

/// `plain_keys`: the keys are those of the default map, and not stored keys of all maps. A batch
/// that does not fit into the engine's log is written again in smaller ones.
Status copy_entries(Iterator& from, bool plain_keys, DB& to) {
  size_t most = kBatchBytes;
  size_t entries = 0;  // in the batch
  WriteBatch batch;
  std::string first;  // key of the batch
  Status status;
  for (from.SeekToFirst(); from.Valid() && status.ok();) {
    if (batch.ApproximateSize() == 0) {
      first = from.key().ToString();
    }
    plain_keys ? batch.Put(from.key(), from.value())
               : WriteBatchContents::put(&batch, from.key(), from.value());
    ++entries;
    from.Next();
    if (batch.ApproximateSize() >= most || !from.Valid()) {
      status = to.Write({}, &batch);
      batch.Clear();
      if (status.code() == Code::too_large && entries > 1) {
        most /= 2;
        from.Seek(first);
        status = Status::OK();
      }
      entries = 0;
    }
  }
  return status.ok() ? from.status() : status;
}

/// Gives the unfinished copy its name, unless a file has that name.
holdfast::Status rename_part(const std::string& part, const std::string& file) {
  if (renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) == 0) {
    return {};
  }
  const bool unsupported = errno == EINVAL || errno == ENOSYS;  // by the file system
  if (unsupported && link(part.c_str(), file.c_str()) == 0) {
    unlink(part.c_str());
    return {};
  }
  return failed(file, "cannot be made");
}

/// Makes the locked, finished copy durable and gives it its name. Deletes it on failure.
holdfast::Status publish(const native::File& part, const std::string& file) {
  holdfast::Status status =
      fsync(part.fd()) == 0 ? holdfast::Status() : failed(part.path(), "cannot be made durable");
  if (status.ok()) {
    status = rename_part(part.path(), file);
  }
  if (!status.ok()) {
    unlink(part.path().c_str());
    return status;
  }
  return native::sync_directory(file);
}

}  // namespace

Options HeapDB::same_kind() {
  const Superblock& shape = superblock();
  Options options;
  options.comparator = comparator();
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.engine = shape.engine;
  options.engine_options = shape.options;
  options.max_bytes = shape.capacity;
  options.journal_bytes = shape.bytes_of(ExtentKind::journal);
  options.max_threads = static_cast<int>(shape.slots) - 1;  // one slot is the machine's own
  options.domain = Domain::process;                         // publish() makes the file durable
  return options;
}

Status HeapDB::Checkpoint(const std::string& file) {
  if (const holdfast::Status status = native::check_path(file); !status.ok()) {
    return translated(status);
  }
  if (const holdfast::Status status = check_unused(file); !status.ok()) {
    return translated(status);
  }
  const std::string part = file + ".part";
  if (const auto left = lock_part(part); left.ok()) {
    unlink(part.c_str());  // an interrupted checkpoint has left it
  } else if (left.status().code() != Code::not_found) {
    return translated(left.status());
  }
  struct stat made{};
  native::File kept;  // no other file gets this one's number meanwhile
  Status status;
  {
    auto copy = HeapDB::open(same_kind(), part);
    if (!copy) {
      return translated(copy.status());
    }
    auto opened = native::open_file(part, native::Access::look);
    if (!opened || fstat(opened->fd(), &made) != 0) {
      return translated(opened ? failed(part, "cannot be examined") : opened.status());
    }
    kept = std::move(*opened);
    // A copied page gets a new checksum, so a damaged one must not be copied.
    ReadOptions verified;
    verified.verify_checksums = true;
    const std::unique_ptr<Iterator> all(iterate_stored(verified));
    // The copy is durable, so it must not show what a crash takes from the original.
    status = Sync();
    if (status.ok()) {
      status = copy_entries(*all, keys_.plain(), **copy);
    }
    if (status.ok()) {
      status = (*copy)->Sync();  // its last batches may lag, and closing it tells no error
    }
  }
  // Closing the copy has given its lock up, and another checkpoint may have taken FILE.part since.
  auto locked = lock_part(part);
  struct stat now{};
  if (!locked || fstat(locked->fd(), &now) != 0 || !is_same(made, now)) {
    const bool other = locked || locked.status().code() == Code::not_found;
    return status.ok() ? translated(other ? in_use(part) : locked.status()) : status;
  }
  if (!status.ok()) {
    unlink(part.c_str());
    return status;
  }
  return translated(publish(*locked, file));
}

}  // namespace holdfast::db
