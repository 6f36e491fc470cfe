// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/journal/page_checksums.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "holdfast/base/checksum.h"
#include "holdfast/machine/machine.h"

namespace holdfast::native {
namespace {

constexpr uint64_t kEntriesPerPage = kPageBytes / sizeof(uint64_t);
constexpr uint64_t kMostPages = 64;  // of one read of the file

bool is_zeros(const std::byte* page) {
  uint64_t first = 0;
  std::memcpy(&first, page, sizeof first);
  return first == 0 && std::memcmp(page, page + sizeof first, kPageBytes - sizeof first) == 0;
}

}  // namespace

uint64_t page_entry(const std::byte* page) {
  if (is_zeros(page)) {
    return kZeroPage;
  }
  const uint64_t sum = checksum(page, kPageBytes) & ~kMayBeZeros;
  return sum == kZeroPage || (sum | kMayBeZeros) == kDamagedPage ? 1 : sum;
}

bool agrees(uint64_t entry, const std::byte* page) {
  const uint64_t found = page_entry(page);
  if (found == entry) {
    return true;
  }
  const bool may_be_zeros = (entry & kMayBeZeros) != 0 && entry != kDamagedPage;
  return may_be_zeros && (found == kZeroPage || found == (entry & ~kMayBeZeros));
}

Status damaged_page(uint64_t page) {
  return {Code::corrupt, "the page at byte " + std::to_string(page) +
                             " of the file differs from its checksum; restore the file from a "
                             "copy"};
}

void PageChecksums::use(const PageRange& journal, std::vector<PageRange> pieces) {
  const std::lock_guard lock(mutex_);
  journal_ = journal;
  pieces_ = std::move(pieces);
  entries_ = 0;
  for (const PageRange& piece : pieces_) {
    entries_ += piece.bytes / sizeof(uint64_t);
  }
}

/// Returns the entry of the first of some neighbouring pages. Under the mutex.
Result<uint64_t> PageChecksums::index_of(uint64_t page, uint64_t pages) const {
  const uint64_t end = page + pages * kPageBytes;
  const bool behind = page >= journal_.offset + journal_.bytes;
  const uint64_t index = (page - (behind ? journal_.bytes : 0)) / kPageBytes;
  if ((!behind && end > journal_.offset) || index + pages > entries_) {
    return Status(Code::corrupt, "the table of page checksums has no entry for the page at byte " +
                                     std::to_string(page));
  }
  return index;
}

/// Returns the place in the file of an entry. Under the mutex.
uint64_t PageChecksums::place_of(uint64_t index) const {
  uint64_t at = index * sizeof(uint64_t);
  for (const PageRange& piece : pieces_) {
    if (at < piece.bytes) {
      return piece.offset + at;
    }
    at -= piece.bytes;
  }
  return 0;  // index_of() has excluded it
}

Status PageChecksums::load(uint64_t page, std::span<uint64_t> to) const {
  const std::lock_guard lock(mutex_);
  auto first = index_of(page, to.size());
  if (!first) {
    return first.status();
  }
  for (size_t done = 0; done < to.size();) {
    const uint64_t index = *first + done;
    const size_t n = std::min<size_t>(to.size() - done, kEntriesPerPage - index % kEntriesPerPage);
    const Status status = file_.read(place_of(index), std::as_writable_bytes(to.subspan(done, n)));
    if (!status.ok()) {
      return status;
    }
    done += n;
  }
  return {};
}

Status PageChecksums::compare(const PageRange& range,
                              FunctionRef<Status(uint64_t page)> differs) const {
  const uint64_t end = range.offset + range.bytes;
  std::vector<std::byte> content;
  std::vector<uint64_t> entries;
  for (uint64_t at = range.offset; at < end; at += content.size()) {
    const uint64_t pages = std::min((end - at) / kPageBytes, kMostPages);
    content.resize(pages * kPageBytes);
    entries.resize(pages);
    // The entries after the pages: that of a page which becomes a hole allows it before.
    Status status = file_.read(at, content);
    if (status.ok()) {
      status = load(at, entries);
    }
    for (uint64_t i = 0; i < pages && status.ok(); ++i) {
      if (!agrees(entries[i], content.data() + i * kPageBytes)) {
        status = differs(at + i * kPageBytes);
      }
    }
    if (!status.ok()) {
      return status;
    }
  }
  return {};
}

/// Reads the page of the table that has this entry, and writes it if f(entries) returns true. Under
/// the mutex.
template <class F>
Status PageChecksums::change(uint64_t index, F&& f) {
  std::array<uint64_t, kEntriesPerPage> table{};
  const uint64_t place = place_of(index / kEntriesPerPage * kEntriesPerPage);
  Status status = file_.read(place, std::as_writable_bytes(std::span(table)));
  if (status.ok() && f(table)) {
    status = file_.write(place, std::as_bytes(std::span(table)));
  }
  return status;
}

Status PageChecksums::store(std::span<const PageEntry> from) {
  for (size_t done = 0; done < from.size();) {
    const std::lock_guard lock(mutex_);  // for a page of the table: others may wait to read
    auto index = index_of(from[done].page, 1);
    if (!index) {
      return index.status();
    }
    const uint64_t end = (*index / kEntriesPerPage + 1) * kEntriesPerPage;
    const Status status = change(*index, [&](auto& table) {
      while (done < from.size() && index.ok() && *index < end) {
        table[*index % kEntriesPerPage] = from[done].entry;
        if (++done < from.size()) {
          index = index_of(from[done].page, 1);
        }
      }
      return true;
    });
    if (!status.ok() || !index) {
      return status.ok() ? index.status() : status;
    }
  }
  return {};
}

Result<bool> PageChecksums::allow_zeros(const PageRange& pages) {
  const std::lock_guard lock(mutex_);
  bool changed = false;
  auto first = index_of(pages.offset, pages.bytes / kPageBytes);
  if (!first) {
    return first.status();
  }
  const uint64_t end = *first + pages.bytes / kPageBytes;
  for (uint64_t index = *first; index < end;) {
    const Status status = change(index, [&](auto& table) {
      bool here = false;
      do {
        uint64_t& entry = table[index % kEntriesPerPage];
        if (entry != kZeroPage && (entry & kMayBeZeros) == 0) {
          entry |= kMayBeZeros;
          here = true;
        }
      } while (++index < end && index % kEntriesPerPage != 0);
      changed = changed || here;
      return here;
    });
    if (!status.ok()) {
      return status;
    }
  }
  return changed;
}

Status PageChecksums::renew(uint64_t file_bytes) {
  const uint64_t journal_end = journal_.offset + journal_.bytes;
  const uint64_t end = std::min(file_bytes, journal_.bytes + entries_ * kPageBytes);
  std::vector<std::byte> content;
  std::vector<PageEntry> entries;
  for (uint64_t page = 0; page + kPageBytes <= end;) {
    if (page >= journal_.offset && page < journal_end) {
      page = journal_end;
      continue;
    }
    const uint64_t part_end = page < journal_.offset ? std::min(journal_.offset, end) : end;
    const uint64_t pages = std::min((part_end - page) / kPageBytes, kMostPages);
    content.resize(pages * kPageBytes);
    if (Status status = file_.read(page, content); !status.ok()) {
      return status;
    }
    entries.clear();
    for (uint64_t i = 0; i < pages; ++i, page += kPageBytes) {
      entries.push_back({page, page_entry(content.data() + i * kPageBytes)});
    }
    if (Status status = store(entries); !status.ok()) {
      return status;
    }
  }
  return {};
}

}  // namespace holdfast::native
