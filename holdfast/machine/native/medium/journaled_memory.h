// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <shared_mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/machine/native/journal/journal.h"
#include "holdfast/machine/native/journal/line_list.h"
#include "holdfast/machine/native/medium/medium_sync.h"
#include "holdfast/machine/native/medium/system_journal_file.h"
#include "holdfast/machine/native/threads/fork_guard.h"
#include "holdfast/machine/native/threads/store_gate.h"

namespace holdfast::native {

/// A heap file as persistent memory: private mappings, and a journal through which their lines
/// reach the file. Two threads serve the journal.
///
/// The system keeps a private copy of each page that was stored to. After a checkpoint the copies
/// of pages go back that equal the file and have no line in the journal. The mapping then shows the
/// file's page, which changes only after a store has made a copy again: lines come from memory. A
/// store in between would be lost, so the store gate is closed meanwhile; readers go on.
///
/// Thread safety: any thread. Errors: after the first failure the medium is poisoned, and each
/// fence throws MediumFailure. In a forked child each fence throws it too, and nothing reaches the
/// file.
class JournaledMemory {
 public:
  /// Opens the journal at this place. corrupt: it is damaged; nothing was changed. `sync`, and
  /// `checksums` if not null, must outlive the object. Threads that store have slots below `slots`.
  static Result<std::unique_ptr<JournaledMemory>> open(int fd, const std::string& path,
                                                       MediumSync& sync, const JournalPlace& place,
                                                       uint64_t salt, int slots,
                                                       PageChecksums* checksums = nullptr,
                                                       FlushMethod flush = kUsualFlush);
  /// Stops the threads. In a forked child, which has none, it leaks the journal.
  ~JournaledMemory();
  JournaledMemory(const JournaledMemory&) = delete;
  JournaledMemory& operator=(const JournaledMemory&) = delete;

  /// From here on the lines of [begin, begin + n), mapped privately from `offset` on, are
  /// journaled. As mmap() does, this replaces mappings in the range: a heap that has failed to grow
  /// maps less in the same place.
  void add(const std::byte* begin, size_t n, uint64_t offset);
  /// Ends that for all mappings in the range, which is about to be unmapped. Returns true if there
  /// were some, and the file has all content now.
  bool remove(const std::byte* begin, size_t n);

  /// Takes the blocks of these pages of journaled mappings back, if the file system can. They then
  /// read as zeros. Nothing in them counts any more, but an engine may still bring old values home:
  /// then the pages read as some of these, or as zeros.
  void discard(std::byte* begin, size_t n);

  /// Journal::verify() for the pages of journaled mappings in this range; no others are there.
  Status verify(const std::byte* begin, size_t n);

  /// Adds lines to the list for a thread's next fence. If there is no memory for them, the medium
  /// has failed, because later groups would lack these lines.
  void list(LineList& list, const void* p, size_t n) {
    try {
      list.add(p, n);
    } catch (const std::bad_alloc&) {
      sync_.fail_without_memory();
    }
  }
  /// A fence of a thread: appends the lines of its list, and empties it. `wait`: returns when the
  /// journal is durable up to its end. A line of another mapping, such as a superblock's, is shared
  /// with the file. With one in the list, the fence waits for the journal and then for a sync of
  /// the file. Returns the journal's position behind the lines.
  uint64_t fence(LineList& list, bool wait);
  /// Returns when the journal is durable up to this position.
  void await(uint64_t position);

  /// Makes everything durable and brings it home. `closing`: records that the heap was closed.
  Status bring_home(bool closing);

  /// Whether memory may go back. Not at first. With false it returns when none does any more.
  void give_back(bool may);
  StoreGate& store_gate() { return store_gate_; }
  uint64_t given_back_bytes() const { return given_back_bytes_.load(std::memory_order_relaxed); }

  /// The way in which groups reach the medium.
  FlushMethod flush_method() const { return file_.flush_method(); }

  Journal& journal() { return *journal_; }
  const Journal& journal() const { return *journal_; }

 private:
  struct Mapping {
    uintptr_t begin;
    uintptr_t end;
    uint64_t offset;  ///< of its first byte in the file
  };

  JournaledMemory(int fd, const std::string& path, MediumSync& sync, int slots, FlushMethod flush)
      : file_(fd, path, sync, flush), sync_(sync), store_gate_(slots + 1), no_give_back_(slots) {
    store_gate_.enter(no_give_back_);
  }

  void start_threads();
  bool locate(const LineList::Run& run, std::vector<LineRun>& to) const;
  const std::byte* memory_of(uint64_t page) const;
  bool equals_file(const std::byte* memory, uint64_t page);
  void give_pages_back();
  void give_pages_back(std::span<const uint64_t> pages);
  uint64_t append_and_wait(LineList& list, bool wait);
  template <class F>
  auto poisoning(F&& f);

  const ForkGuard fork_guard_;
  SystemJournalFile file_;
  MediumSync& sync_;
  std::unique_ptr<Journal> journal_;
  std::shared_mutex mutex_;  // guards mappings_
  std::vector<Mapping> mappings_;
  StoreGate store_gate_;
  const int no_give_back_;  // a slot of the gate that is inside while no memory may go back
  bool gives_back_ = false;
  std::vector<uint64_t> left_pages_;  // of the checkpoints' thread: may go back later
  std::atomic<uint64_t> given_back_bytes_{0};
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::native
