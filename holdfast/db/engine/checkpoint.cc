// SPDX-License-Identifier: Apache-2.0
//
// DB::Checkpoint: copies a database entry by entry, as a snapshot shows it, while writers continue.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "holdfast/db/engine/heap_db.h"
#include "holdfast/machine/native/medium/file.h"

namespace holdfast::db {
namespace {

constexpr size_t kBatchBytes = 64 << 10;

Status failed(const std::string& name, const char* what) {
  return translated(native::file_error(name, what, errno));
}

/// Makes a file's content, or the names in a folder, durable.
Status make_durable(const std::string& name) {
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return failed(name, "cannot be opened");
  }
  const bool synced = fsync(fd) == 0;
  const Status status = synced ? Status::OK() : failed(name, "cannot be made durable");
  ::close(fd);
  return status;
}

/// `plain_keys`: the keys are those of the default map, and not stored keys of all maps.
Status copy_entries(Iterator& from, bool plain_keys, DB& to) {
  WriteBatch batch;
  Status status;
  for (from.SeekToFirst(); from.Valid() && status.ok(); from.Next()) {
    plain_keys ? batch.Put(from.key(), from.value())
               : WriteBatchContents::put(&batch, from.key(), from.value());
    if (batch.ApproximateSize() >= kBatchBytes) {
      status = to.Write({}, &batch);
      batch.Clear();
    }
  }
  if (status.ok()) {
    status = from.status();
  }
  return status.ok() ? to.Write({}, &batch) : status;
}

/// Makes the finished file durable and gives it its name. Fails if a file of that name exists.
Status publish(const std::string& part, const std::string& file) {
  Status status = make_durable(part);
  if (status.ok() && link(part.c_str(), file.c_str()) != 0) {
    status = failed(file, "cannot be made");
  }
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return status.ok() ? make_durable(folder.empty() ? "." : folder.string()) : status;
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
  if (std::filesystem::exists(file)) {
    return translated(native::file_error(file, "", EEXIST));
  }
  const std::string part = file + ".part";
  unlink(part.c_str());  // an interrupted checkpoint may have left it
  Status status;
  {
    auto copy = HeapDB::open(same_kind(), part);
    if (!copy) {
      return translated(copy.status());
    }
    const std::unique_ptr<Iterator> all(iterate_stored({}));
    // The copy is durable, so it must not show what a crash takes from the original.
    status = Sync();
    if (status.ok()) {
      status = copy_entries(*all, keys_.plain(), **copy);
    }
  }
  if (status.ok()) {
    status = publish(part, file);
  }
  unlink(part.c_str());
  return status;
}

}  // namespace holdfast::db
