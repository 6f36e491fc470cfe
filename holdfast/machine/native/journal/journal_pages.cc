// SPDX-License-Identifier: Apache-2.0
//
// The part of Journal that asks the table of page checksums, and keeps it right where pages change
// without the journal.
#include <utility>

#include "holdfast/machine/native/journal/journal.h"

namespace holdfast::native {

Result<uint64_t> Journal::verify(const PageRange& range) {
  if (checksums_ == nullptr || is_table_stale()) {
    return uint64_t{0};
  }
  Status status = checksums_->compare(range, [this](uint64_t page) {
    auto found = is_damaged(page);  // a checkpoint may have changed the page and its entry
    return found.ok() && *found ? damaged_page(page) : found.status();
  });
  return status.ok() ? Result<uint64_t>(range.bytes / kPageBytes) : std::move(status);
}

/// Returns whether the page differs from its entry while no checkpoint changes them.
Result<bool> Journal::is_damaged(uint64_t page) {
  std::byte content[kPageBytes];
  for (;;) {
    Lock lock(mutex_);
    tail_moved_.wait(lock, [&] { return !head_taken_ || !failure_.ok(); });
    if (!failure_.ok()) {
      return failure_;
    }
    if (torn_ && has_line_in(page)) {
      return false;
    }
    const uint64_t before = checkpoints_ended_;
    lock.unlock();
    uint64_t entry = 0;
    Status status = ring_.file().read(page, content);
    if (status.ok()) {
      status = checksums_->load(page, {&entry, 1});
    }
    if (!status.ok()) {
      return status;
    }
    if (agrees(entry, content)) {
      return false;
    }
    lock.lock();
    if (!head_taken_ && checkpoints_ended_ == before) {
      return true;
    }
  }
}

Status Journal::make_hole(const PageRange& range, FunctionRef<void()> punch) {
  Lock lock(mutex_);
  // A checkpoint beside it could write a page before the hole is made, and its entry afterwards.
  return with_head(lock, [&] {
    auto changed = checksums_ != nullptr ? checksums_->allow_zeros(range) : Result<bool>(false);
    Status status = changed && *changed ? ring_.file().sync() : changed.status();
    if (status.ok()) {
      punch();
      home_changed_ = true;  // the cache may have what a checkpoint brought home before
    }
    return status;
  });
}

bool Journal::is_table_stale() const {
  const Lock lock(mutex_);
  return table_stale_;
}

Status Journal::set_table_stale(bool stale) {
  Lock lock(mutex_);
  Status status = with_head(lock, [&] { return ring_.write_stale(stale); });
  if (status.ok()) {
    table_stale_ = stale;
  }
  return status;
}

Status Journal::renew_table(uint64_t file_bytes) {
  Status status = checksums_->renew(file_bytes);
  if (status.ok()) {
    status = ring_.file().sync();  // before the head says that it is right
  }
  return status.ok() ? set_table_stale(false) : status;
}

}  // namespace holdfast::native
