// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/medium/journaled_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "holdfast/machine/native/medium/file.h"
#include "holdfast/machine/native/threads/threads.h"

namespace holdfast::native {
namespace {

Status in_child() {
  return {Code::misuse, "the heap was opened before fork(); open it anew in the child"};
}

}  // namespace

Result<std::unique_ptr<JournaledMemory>> JournaledMemory::open(
    int fd, const std::string& path, MediumSync& sync, const JournalPlace& place, uint64_t salt,
    int slots, PageChecksums* checksums, FlushMethod flush) {
  std::unique_ptr<JournaledMemory> memory(new JournaledMemory(fd, path, sync, slots, flush));
  auto journal = Journal::open(memory->file_, place, salt, &copy_line, checksums);
  if (!journal) {
    return journal.status();
  }
  memory->journal_ = std::move(*journal);
  memory->start_threads();
  return memory;
}

void JournaledMemory::start_threads() {
  const native::NoSignals no_signals;
  threads_.emplace_back([this] { journal_->flush_in_background(); });
  threads_.emplace_back(
      [this] { journal_->checkpoint_in_background([this] { give_pages_back(); }); });
}

JournaledMemory::~JournaledMemory() {
  if (fork_guard_.forked_child()) {
    // The threads do not exist in the child. The journal's mutex may stay locked for ever, and its
    // condition variables have waiting threads.
    static_cast<void>(journal_.release());
    for (std::thread& thread : threads_) {
      thread.detach();
    }
    return;
  }
  if (journal_ != nullptr) {
    journal_->stop();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void JournaledMemory::add(const std::byte* begin, size_t n, uint64_t offset) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const Mapping added = {address, address + n, offset};
  const std::unique_lock lock(mutex_);
  std::vector<Mapping> all = {added};
  for (const Mapping& old : mappings_) {  // of each, what the new one does not replace
    if (old.begin < added.begin) {
      all.push_back({old.begin, std::min(old.end, added.begin), old.offset});
    }
    if (old.end > added.end) {
      const uintptr_t rest = std::max(old.begin, added.end);
      all.push_back({rest, old.end, old.offset + (rest - old.begin)});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Mapping& a, const Mapping& b) { return a.begin < b.begin; });
  mappings_ = std::move(all);
}

bool JournaledMemory::remove(const std::byte* begin, size_t n) {
  if (fork_guard_.forked_child()) {
    return false;
  }
  const auto address = reinterpret_cast<uintptr_t>(begin);
  {
    const std::unique_lock lock(mutex_);
    const auto inside = [&](const Mapping& m) {
      return m.begin >= address && m.end <= address + n;
    };
    if (std::erase_if(mappings_, inside) == 0) {
      return false;
    }
  }
  return bring_home(false).ok();
}

void JournaledMemory::discard(std::byte* begin, size_t n) {
  if (fork_guard_.forked_child()) {
    return;
  }
  const auto address = reinterpret_cast<uintptr_t>(begin);
  std::vector<LineRun> runs;
  {
    const std::shared_lock lock(mutex_);
    if (!locate({address, address + n}, runs)) {
      return;
    }
  }
  try {
    journal_->checkpoint();  // so that few lines of these pages come home again
  } catch (const MediumFailure& failure) {
    sync_.poison(failure.status());
    return;
  }
  for (const LineRun& run : runs) {
    const PageRange pages = {run.offset, run.lines * kLineBytes};
    const auto punch = [&] {
      if (fallocate(file_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(pages.offset), static_cast<off_t>(pages.bytes)) == 0) {
        // The private pages go, and the mapping shows the file's zeros.
        madvise(begin + (reinterpret_cast<uintptr_t>(run.memory) - address), pages.bytes,
                MADV_DONTNEED);
      }
    };
    if (const Status status = journal_->make_hole(pages, punch); !status.ok()) {
      sync_.poison(status);
      return;
    }
  }
}

Status JournaledMemory::verify(const std::byte* begin, size_t n) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  std::vector<LineRun> runs;
  {
    const std::shared_lock lock(mutex_);
    if (!locate({address, address + n}, runs)) {
      return {Code::misuse, "the range is not mapped through the journal"};
    }
  }
  for (const LineRun& run : runs) {
    if (auto pages = journal_->verify({run.offset, run.lines * kLineBytes}); !pages) {
      return pages.status();
    }
  }
  return {};
}

/// Adds the run's places in the file to the list. False if a part of it is not journaled.
bool JournaledMemory::locate(const LineList::Run& run, std::vector<LineRun>& to) const {
  for (uintptr_t at = run.begin; at < run.end;) {
    const auto next = std::upper_bound(mappings_.begin(), mappings_.end(), at,
                                       [](uintptr_t p, const Mapping& m) { return p < m.begin; });
    if (next == mappings_.begin() || std::prev(next)->end <= at) {
      return false;
    }
    const Mapping& mapping = *std::prev(next);
    const uintptr_t end = std::min(run.end, mapping.end);
    to.push_back({mapping.offset + (at - mapping.begin),
                  reinterpret_cast<const std::byte*>(at),  // NOLINT(performance-no-int-to-ptr)
                  (end - at) / kLineBytes});
    at = end;
  }
  return true;
}

/// Returns f(). If that fails, or gets no memory, the medium has failed: the engine has counted on
/// lines that are missing.
template <class F>
auto JournaledMemory::poisoning(F&& f) {
  if (fork_guard_.forked_child()) [[unlikely]] {
    throw MediumFailure(in_child());
  }
  try {
    return f();
  } catch (const MediumFailure& failure) {
    sync_.poison(failure.status());
    throw;
  } catch (const std::bad_alloc&) {
    sync_.fail_without_memory();
  }
}

uint64_t JournaledMemory::fence(LineList& list, bool wait) {
  return poisoning([&] { return append_and_wait(list, wait); });
}

void JournaledMemory::await(uint64_t position) {
  poisoning([&] { journal_->await(position); });
}

uint64_t JournaledMemory::append_and_wait(LineList& list, bool wait) {
  bool shared = false;
  std::vector<LineRun> runs;
  if (!list.runs().empty()) {
    runs.reserve(list.runs().size());
    const std::shared_lock lock(mutex_);
    for (const LineList::Run& run : list.runs()) {
      shared = !locate(run, runs) || shared;
    }
    list.clear();
  }
  const uint64_t end = journal_->append(runs);
  if (wait || shared) {
    journal_->await(end);
  }
  if (shared) {
    sync_.wait_durable();
  }
  return end;
}

Status JournaledMemory::bring_home(bool closing) {
  if (fork_guard_.forked_child()) {
    return in_child();
  }
  try {
    journal_->checkpoint(closing);
    return {};
  } catch (const MediumFailure& failure) {
    sync_.poison(failure.status());
    return failure.status();
  }
}

void JournaledMemory::give_back(bool may) {
  if (may != gives_back_) {
    gives_back_ = may;
    may ? store_gate_.leave(no_give_back_) : store_gate_.enter(no_give_back_);
  }
}

/// Returns where the page is mapped; null if it is not journaled.
const std::byte* JournaledMemory::memory_of(uint64_t page) const {
  for (const Mapping& mapping : mappings_) {
    if (page >= mapping.offset && page - mapping.offset < mapping.end - mapping.begin) {
      const uintptr_t at = mapping.begin + (page - mapping.offset);
      return reinterpret_cast<const std::byte*>(at);  // NOLINT(performance-no-int-to-ptr)
    }
  }
  return nullptr;
}

bool JournaledMemory::equals_file(const std::byte* memory, uint64_t page) {
  std::byte content[kPageBytes];
  return file_.read(page, content).ok() && std::memcmp(content, memory, kPageBytes) == 0;
}

/// Gives back what the last checkpoints have brought home. It takes a part at a time, at least one,
/// until the next checkpoint is due. The rest has its turn after that one.
void JournaledMemory::give_pages_back() {
  // Threads that store wait for one part: about a millisecond.
  constexpr size_t kPartPages = 256;
  // Updates that wait for a group take no longer, unless they wait for a thread at the gate.
  constexpr std::chrono::milliseconds kPatience{20};
  std::vector<uint64_t> pages = journal_->take_home_pages();
  pages.insert(pages.end(), left_pages_.begin(), left_pages_.end());
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  size_t done = 0;
  while (done < pages.size() && (done == 0 || !journal_->is_checkpoint_due())) {
    const auto part =
        std::span<const uint64_t>(pages).subspan(done, std::min(kPartPages, pages.size() - done));
    for (const uint64_t page : part) {  // the file's pages are in the cache when threads wait
      std::byte content[kPageBytes];
      static_cast<void>(file_.read(page, content));
    }
    if (!store_gate_.close(kPatience)) {
      break;
    }
    give_pages_back(part);
    store_gate_.open();
    done += part.size();
  }
  left_pages_.assign(pages.begin() + static_cast<ptrdiff_t>(done), pages.end());
}

/// No thread stores meanwhile.
void JournaledMemory::give_pages_back(std::span<const uint64_t> pages) {
  const std::shared_lock lock(mutex_);
  const std::byte* begin = nullptr;  // neighbouring pages go back together
  size_t bytes = 0;
  const auto give = [&] {
    // A page without a copy, or a failure, does no harm.
    if (bytes != 0 && ::madvise(const_cast<std::byte*>(begin), bytes, MADV_DONTNEED) == 0) {
      given_back_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    }
  };
  journal_->for_each_at_home(pages, [&](uint64_t page) {
    const std::byte* const memory = memory_of(page);
    if (memory == nullptr || !equals_file(memory, page)) {
      return;
    }
    if (begin == nullptr || memory != begin + bytes) {
      give();
      begin = memory;
      bytes = 0;
    }
    bytes += kPageBytes;
  });
  give();
}

}  // namespace holdfast::native
