// SPDX-License-Identifier: Apache-2.0
//
// The part of NativeMedium about the table of page checksums.
#include <algorithm>
#include <utility>

#include "holdfast/machine/native/medium/journaled_memory.h"
#include "holdfast/machine/native/medium/medium.h"

namespace holdfast {

Status NativeMedium::grow_with_zeros(size_t end, size_t n) {
  const size_t before = std::min(bytes(), n);
  Status status = grow(n);
  if (!status.ok() || end >= before) {
    return status;
  }
  // An interrupted growth, or a copy of the file, may have left these bytes.
  native::SystemJournalFile file(file_.fd(), name(), sync_);
  const std::vector<std::byte> zeros(std::min<size_t>(before - end, 1 << 20));
  for (size_t at = end; at < before && status.ok(); at += zeros.size()) {
    status = file.write(at, std::span(zeros).first(std::min(zeros.size(), before - at)));
  }
  return status.ok() ? file.sync() : status;
}

void NativeMedium::use_page_checksums(const native::PageRange& journal,
                                      std::vector<native::PageRange> pieces) {
  if (checksums_ == nullptr) {
    checksums_file_ = std::make_unique<native::SystemJournalFile>(file_.fd(), name(), sync_);
    checksums_ = std::make_unique<native::PageChecksums>(*checksums_file_);
  }
  checksums_->use(journal, std::move(pieces));
}

/// Brings all lines home. From here on stores reach the file without the journal.
Status NativeMedium::leave_journal(native::JournaledMemory& memory, bool fresh) {
  Status status = memory.bring_home(false);
  if (status.ok() && checksums_ != nullptr) {
    status = memory.journal().set_table_stale(true);
    table_stale_ = true;
    makes_table_ = fresh;
  }
  return status;
}

/// Makes the table of a heap whose stores reach the file without the journal, which is empty.
Status NativeMedium::renew_checksums() {
  const native::PageRange& place = checksums_->journal();
  native::JournalRing ring(*checksums_file_, {place.offset, place.bytes});
  Status status = checksums_->renew(bytes());
  if (status.ok()) {
    status = checksums_file_->sync();
  }
  if (status.ok()) {
    status = ring.read_head();
  }
  return status.ok() ? ring.write_stale(false) : status;
}

/// Whether the journal of a medium that is read-only has a line of this page.
bool NativeMedium::has_line_in(uint64_t page) const {
  if (recovered_ == nullptr) {
    return false;
  }
  const auto& lines = recovered_->lines;
  const auto first = std::lower_bound(
      lines.begin(), lines.end(), page,
      [](const native::JournalLine& line, uint64_t at) { return line.offset < at; });
  return first != lines.end() && first->offset < page + kPageBytes;
}

Result<uint64_t> NativeMedium::verify(uint64_t offset, uint64_t n) {
  const native::PageRange range = {offset, n};
  if (checksums_ == nullptr || table_stale_) {
    return uint64_t{0};
  }
  Result<uint64_t> pages = n / kPageBytes;
  if (journaled_ != nullptr) {
    pages = journaled_->journal().verify(range);
  } else {
    const Status status = checksums_->compare(range, [this](uint64_t page) {
      return has_line_in(page) ? Status() : native::damaged_page(page);
    });
    pages = status.ok() ? pages : status;
  }
  return pages ? std::move(pages) : Result<uint64_t>(named(pages.status()));
}

Status NativeMedium::verify_mapped(const std::byte* p, size_t n) {
  return named(journaled_->verify(p, n));
}

/// Returns the status with the file's name in front, if it is an error.
Status NativeMedium::named(const Status& status) const {
  return status.ok()
             ? status
             : Status(status.code(), name() + ": " + status.message(), status.system_error());
}

}  // namespace holdfast
