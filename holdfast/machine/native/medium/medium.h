// SPDX-License-Identifier: Apache-2.0
//
// native/medium/: the file behind a heap, its mappings, and the instructions that make stores
// durable.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/medium/file.h"
#include "holdfast/machine/native/medium/medium_sync.h"
#include "holdfast/machine/native/medium/persistence.h"

namespace holdfast {

namespace native {
struct JournalCounters;
struct JournalPlace;
struct PageRange;
struct RecoveredLines;
class JournaledMemory;
class PageChecksums;
class SystemJournalFile;
class StoreGate;
}  // namespace native

/// The file behind a heap, and its mappings. Contract: Medium in machine.h. Thread safe. Errors
/// name the file. Mappings do not exist in forked children.
class NativeMedium {
 public:
  NativeMedium(native::File file, size_t bytes, native::Persistence persistence,
               const NativeOptions& options);
  ~NativeMedium();
  NativeMedium(const NativeMedium&) = delete;
  NativeMedium& operator=(const NativeMedium&) = delete;

  // Acquire, with the release in grow(): a thread that sees the new size finds the file that long.
  size_t bytes() const { return bytes_.load(std::memory_order_acquire); }
  Status grow(size_t n);
  /// Writes into a file without bytes, durably, before the first grow(), which keeps this. The
  /// bytes do not count until then.
  Status write_first(size_t offset, std::string_view text);
  /// As grow(), for a range that nothing maps: it gets no blocks, and a store to it may find the
  /// disk full. Not durable before the next grow().
  Status grow_without_blocks(size_t n);

  Result<std::byte*> reserve(size_t n, std::byte* address = nullptr);
  /// The candidates are multiples of n, rounded up to a power of two of at least 8 GiB. The first
  /// ones have room for 16 TiB. Their order differs from medium to medium, so that heaps of
  /// different processes rarely share an address.
  std::byte* base_candidate(int k, size_t n) const;
  bool is_free(std::byte* address, size_t n) const;
  Result<std::byte*> map(size_t offset, size_t n, std::byte* address, MapMode mode);
  /// A part of a reserved range becomes a reservation again. A whole reserved range is given up.
  void unmap(std::byte* p, size_t n);

  /// Drops the content of whole pages of a mapping, which then read as zeros. Where the file system
  /// can, it takes the space of a shared mapping back. Does nothing where it cannot.
  void discard(std::byte* p, size_t n, MapMode mode);
  /// The pages of [p, p + n), a part of a copy_on_write mapping, keep their content from now on,
  /// also if they have shown the file's so far, which may change.
  static void keep_content(std::byte* p, size_t n);
  /// Returns the bytes of the file system that the file takes; 0 if the system does not tell.
  uint64_t allocated_bytes() const;

  /// As grow(), with zeros in the part of the new bytes that the file has already, behind `end`.
  Status grow_with_zeros(size_t end, size_t n);

  /// Makes the file durable, and lets the system forget its cached pages, before the regions are
  /// mapped. After a failed sync some pages count as clean although the medium has older ones. Does
  /// nothing where a sync waits for no device, and if the medium is read-only.
  Status forget_cache();

  /// The table of page checksums consists of these pieces, in this order; the journal beside it is
  /// in this part of the file. Before start_journal(), and whenever the table has got longer.
  void use_page_checksums(const native::PageRange& journal, std::vector<native::PageRange> pieces);
  /// Compares these pages with their checksums, and returns how many. Leaves out pages that have
  /// lines in the journal and may be torn by a crash. corrupt: a page differs. 0: there is no
  /// table, or the heap has been changed in another domain since domain `file`.
  Result<uint64_t> verify(uint64_t offset, uint64_t n);
  /// As verify(), for the pages of a journaled mapping. Other threads may grow the file meanwhile.
  Status verify_mapped(const std::byte* p, size_t n);

  /// Opens the journal that lies in this part of the file, or makes one (`fresh`), before the first
  /// map() of a region. In domain `file` the shared mappings that follow are journaled, for threads
  /// of up to `slots` slots. Its lines appear in each mapping that follows; in other domains they
  /// go home now, durably. `salt`: random, for this opening. If the medium is read-only, the lines
  /// appear in the mappings only. corrupt: the journal is damaged; nothing was changed.
  Status start_journal(uint64_t offset, uint64_t bytes, bool fresh, uint64_t salt, int slots);
  /// Brings all lines home and leaves the journal empty. Makes the table of page checksums of a new
  /// heap that does not use its journal. OK without a journal.
  Status close_journal();
  /// Deletes the file's name after a failed creation, unless it leads to another file by now.
  void remove_name() const { file_.remove_name(); }
  /// Closes a forked child's copy of the file, so that the child does not keep the parent's lock.
  void leave_to_parent() { file_.close(); }
  /// Whether the journal may give the memory of private pages back that equal the file. Not at
  /// first. With false it returns when no page changes any more. All mappings exist before the
  /// first call with true.
  void give_back_memory(bool may);
  /// Null without a journal, and where the medium does not use it.
  native::JournaledMemory* journaled() { return journaled_.get(); }
  const native::JournaledMemory* journaled() const { return journaled_.get(); }
  /// Threads that store to the journaled mappings go through this gate. Null like journaled().
  native::StoreGate* store_gate();

  /// Journal::position() and durable(). Not without a journal.
  uint64_t journal_position() const;
  uint64_t durable_position() const;
  /// Zeros without a journal, and where the medium does not use it.
  native::JournalCounters journal_counters() const;
  /// Returns the way in which groups of the journal reach the medium. Not without a journal.
  FlushMethod journal_flush() const;

  bool read_only() const { return read_only_; }
  /// Returns whether a sync waits for a device: domain `file`, and no file system in memory.
  bool waits_for_device() const { return persistence_.waits_for_device; }
  Domain domain() const { return persistence_.domain; }
  bool emulated() const { return persistence_.emulated; }
  std::string description() const {
    return persistence_.description + (journaled_ ? ", through a journal" : "");
  }
  const std::string& name() const { return file_.path(); }  ///< the file's path
  /// Returns the bytes of all mappings of the file that are in memory.
  Result<uint64_t> bytes_in_memory() const { return file_.bytes_in_memory(); }

  const native::Persistence& persistence() const { return persistence_; }
  native::MediumSync& sync() { return sync_; }
  const native::MediumSync& sync() const { return sync_; }

 private:
  struct Range {
    std::byte* begin;
    size_t bytes;
    bool contains(const std::byte* p, size_t n) const {
      const auto offset = static_cast<size_t>(p - begin);
      return p >= begin && offset <= bytes && n <= bytes - offset;
    }
  };

  Status check_map(size_t offset, size_t n, const std::byte* address) const;
  bool is_reserved(const std::byte* p, size_t n) const;
  Status read_journal(const native::JournalPlace& place);
  Status leave_journal(native::JournaledMemory& memory, bool fresh);
  Status renew_checksums();
  bool has_line_in(uint64_t page) const;
  Status named(const Status& status) const;
  void show_journal(std::byte* p, uint64_t offset, size_t n) const;

  native::File file_;
  const native::Persistence persistence_;
  const bool read_only_;
  const FlushMethod flush_;
  native::MediumSync sync_;
  std::atomic<size_t> bytes_;
  const unsigned placement_;  ///< random; see base_candidate()
  // The table of page checksums; null: the file has none.
  std::unique_ptr<native::SystemJournalFile> checksums_file_;
  std::unique_ptr<native::PageChecksums> checksums_;
  bool table_stale_ = false;  ///< the table is out of date
  bool makes_table_ = false;  ///< closing makes it, since stores do not go through the journal
  std::unique_ptr<native::JournaledMemory> journaled_;
  // Lines that new mappings get: all of them if the medium is read-only, else those that opening
  // has found and that have not gone home yet. Null: none.
  std::unique_ptr<native::RecoveredLines> recovered_;
  uint64_t read_ring_bytes_ = 0;  ///< of the journal, if the medium is read-only
  std::mutex mutex_;
  std::vector<Range> reserved_;
};

}  // namespace holdfast
