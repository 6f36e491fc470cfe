// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/medium/medium.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include "holdfast/base/round.h"
#include "holdfast/machine/native/medium/journaled_memory.h"

namespace holdfast {
namespace {

std::string hex(const void* p) {
  char text[32];
  std::snprintf(text, sizeof(text), "%p", p);
  return text;
}

/// The first file that this process has mapped in the range; empty if there is none.
std::string file_mapped_in(const std::byte* address, size_t n) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  std::ifstream lines("/proc/self/maps");
  // "7f10b000-7f10c000 rw-s 00000000 fe:00 131081   /the/name"
  for (std::string line; std::getline(lines, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    const size_t path = line.find('/');
    const bool parsed = std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2;
    if (parsed && path != std::string::npos && begin < first + n && first < end) {
      return line.substr(path);
    }
  }
  return {};
}

Status address_taken(const std::string& name, const std::byte* address, size_t n) {
  const std::string other = file_mapped_in(address, n);
  return {Code::busy,
          name + ": the address range at " + hex(address) + " (" + std::to_string(n) +
              " bytes) is taken in this process" + (other.empty() ? "" : " by " + other) +
              ". A heap is mapped at the address it was made at, and so is a copy of its file. "
              "Close the other one first, or use another process. For a database beside its "
              "original, copy it with `holdfast db backup` (DB::Checkpoint), which gives the copy "
              "an address of its own"};
}

/// Maps at exactly this address, or fails with EEXIST; null means anywhere. The address goes to the
/// kernel as a hint, not as MAP_FIXED_NOREPLACE, so that a sanitizer can refuse a range that its
/// shadow memory needs. A free range is taken in either way.
void* map_at(std::byte* address, size_t n, int protection, int flags, int fd, size_t offset) {
  void* p = mmap(address, n, protection, flags, fd, static_cast<off_t>(offset));
  if (p != MAP_FAILED && address != nullptr && p != address) {
    munmap(p, n);
    errno = EEXIST;
    return MAP_FAILED;
  }
  if (p != MAP_FAILED) {
    madvise(p, n, MADV_DONTFORK);  // a child must not store to the heap; see ForkGuard
  }
  return p;
}

/// While it lasts, this thread takes no signals; they come at its end. On tmpfs of older kernels a
/// signal ends an allocation and takes its blocks back, so with a timer it would never get to its
/// end. And growth beyond the limit for files (RLIMIT_FSIZE) is an error, EFBIG, and no signal,
/// which would end the process.
class SignalsLater {
 public:
  SignalsLater() {
    sigset_t all{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsLater() {
    if (sigismember(&before_, SIGXFSZ) == 0) {
      sigset_t size_signal{};
      sigemptyset(&size_signal);
      sigaddset(&size_signal, SIGXFSZ);
      const timespec at_once{};
      while (sigtimedwait(&size_signal, nullptr, &at_once) == -1 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalsLater(const SignalsLater&) = delete;
  SignalsLater& operator=(const SignalsLater&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

NativeMedium::NativeMedium(native::File file, size_t bytes, native::Persistence persistence,
                           const NativeOptions& options)
    : file_(std::move(file)),
      persistence_(std::move(persistence)),
      read_only_(options.read_only),
      flush_(options.flush),
      sync_(file_.fd(), file_.path(), options.sync),
      bytes_(bytes),
      placement_(std::random_device()()) {}

NativeMedium::~NativeMedium() {
  if (file_.inherited()) {
    return;  // as in unmap()
  }
  for (const Range& range : reserved_) {
    munmap(range.begin, range.bytes);
  }
}

Status NativeMedium::grow(size_t n) {
  if (read_only_) {
    return {Code::permission_denied, name() + " is open read-only and cannot grow"};
  }
  const std::lock_guard lock(mutex_);
  const size_t old = bytes_.load(std::memory_order_relaxed);
  if (n <= old) {
    return {};
  }
  const SignalsLater signals_later;
  // Real blocks, because a store to a hole in the file would kill the process once the disk is
  // full.
  int error = 0;
  do {
    error = posix_fallocate(file_.fd(), static_cast<off_t>(old), static_cast<off_t>(n - old));
  } while (error == EINTR);
  if (error != 0) {
    const int restored = ftruncate(file_.fd(), static_cast<off_t>(old));
    (void)restored;  // a longer file does no harm, since bytes_ is unchanged
    const Status status = native::file_error(name(), "cannot grow", error);
    return {status.code(),
            status.message() + " (growing from " + std::to_string(old) + " to " +
                std::to_string(n) + " bytes)",
            status.system_error()};
  }
  if (domain() != Domain::process) {
    try {
      sync_.wait_durable();  // makes the new length durable before anything refers to it
    } catch (const MediumFailure& failure) {
      return failure.status();
    }
  }
  bytes_.store(n, std::memory_order_release);  // after the growth; see bytes()
  return {};
}

Status NativeMedium::write_first(size_t offset, std::string_view text) {
  const SignalsLater signals_later;
  ssize_t done = 0;
  do {
    done = ::pwrite(file_.fd(), text.data(), text.size(), static_cast<off_t>(offset));
  } while (done < 0 && errno == EINTR);
  if (done != static_cast<ssize_t>(text.size())) {
    return native::file_error(name(), "cannot be written", done < 0 ? errno : ENOSPC);
  }
  if (domain() != Domain::process) {
    sync_.wait_durable();
  }
  return {};
}

Status NativeMedium::forget_cache() {
  if (read_only_ || !waits_for_device()) {
    return {};
  }
  try {
    sync_.wait_durable();  // only clean pages can be forgotten
  } catch (const MediumFailure& failure) {
    return failure.status();
  }
  posix_fadvise(file_.fd(), 0, 0, POSIX_FADV_DONTNEED);  // where it fails, the pages stay
  return {};
}

Status NativeMedium::grow_without_blocks(size_t n) {
  const std::lock_guard lock(mutex_);
  if (n > bytes_.load(std::memory_order_relaxed)) {
    const SignalsLater signals_later;
    if (ftruncate(file_.fd(), static_cast<off_t>(n)) != 0) {
      return native::file_error(name(), "cannot grow", errno);
    }
    bytes_.store(n, std::memory_order_release);
  }
  return {};
}

std::byte* NativeMedium::base_candidate(int k, size_t n) const {
  // Ranges in which neither the kernel nor the loader places anything by itself. In the first one a
  // heap has room up to 16 TiB, whatever its present limit. The second lies below position-
  // independent programs, the fourth above them; AddressSanitizer and ThreadSanitizer leave both to
  // applications. Each of the two sanitizers uses one of the others for its shadow memory.
  constexpr uintptr_t kTiB = uintptr_t{1} << 40;
  constexpr uintptr_t kLeastStep = kTiB / 128;
  struct Window {
    uintptr_t begin;
    uintptr_t end;
    uintptr_t room = kLeastStep;
    uintptr_t step = kLeastStep;
  };
  constexpr Window kWindows[] = {{0x1100'0000'0000, 0x5400'0000'0000, 16 * kTiB, kTiB},
                                 {0x5500'0000'0000, 0x5555'0000'0000},
                                 {0x20'0000'0000, 0x80'0000'0000},
                                 {0x5660'0000'0000, 0x5680'0000'0000},
                                 {0x4400'0000'0001, 0x5400'0000'0000}};
  if (k < 0 || n > 64 * kTiB) {
    return nullptr;
  }
  auto number = static_cast<uintptr_t>(k);
  for (const Window& window : kWindows) {
    const uintptr_t step = std::max(window.step, std::bit_ceil(n));
    const uintptr_t first = (window.begin + step - 1) / step;
    const uintptr_t end =
        (window.end - std::min(window.end, std::max(window.room, step))) / step + 1;
    const uintptr_t heaps = end > first ? end - first : 0;
    if (number < heaps) {
      return reinterpret_cast<std::byte*>((first + (number + placement_ % heaps) % heaps) * step);
    }
    number -= heaps;
  }
  return nullptr;
}

bool NativeMedium::is_free(std::byte* address, size_t n) const {
  void* p = map_at(address, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    return errno != EEXIST;  // reserve() tells about other failures
  }
  munmap(p, n);
  return true;
}

Result<std::byte*> NativeMedium::reserve(size_t n, std::byte* address) {
  if (n == 0 || reinterpret_cast<uintptr_t>(address) % kPageBytes != 0) {
    return Status(Code::invalid_argument, name() + ": a reservation needs a page-aligned address");
  }
  n = round_up(n, kPageBytes);
  const std::lock_guard lock(mutex_);
  reserved_.reserve(reserved_.size() + 1);
  void* p = map_at(address, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    if (errno == EEXIST) {
      return address_taken(name(), address, n);
    }
    return Status(Code::out_of_space, name() + ": cannot reserve " + std::to_string(n) +
                                          " bytes of address space; lower max_bytes");
  }
  reserved_.push_back({static_cast<std::byte*>(p), n});
  return static_cast<std::byte*>(p);
}

Status NativeMedium::check_map(size_t offset, size_t n, const std::byte* address) const {
  if (n == 0 || offset % kPageBytes != 0 ||
      reinterpret_cast<uintptr_t>(address) % kPageBytes != 0) {
    return {Code::invalid_argument, name() + ": a mapping needs whole pages"};
  }
  const size_t end = round_up(bytes(), kPageBytes);
  if (offset > end || n > end - offset) {
    return {Code::invalid_argument,
            name() + ": bytes " + std::to_string(offset) + " to " + std::to_string(offset + n) +
                " lie beyond the end of the file (" + std::to_string(bytes()) + ")"};
  }
  return {};
}

bool NativeMedium::is_reserved(const std::byte* p, size_t n) const {
  return std::any_of(reserved_.begin(), reserved_.end(),
                     [&](const Range& range) { return range.contains(p, n); });
}

Result<std::byte*> NativeMedium::map(size_t offset, size_t n, std::byte* address, MapMode mode) {
  if (Status status = check_map(offset, n, address); !status.ok()) {
    return status;
  }
  const std::lock_guard lock(mutex_);
  const bool journaled = mode == MapMode::shared && journaled_ != nullptr;
  // Private pages are charged when they are written: a heap may be larger than the memory.
  int flags = MAP_PRIVATE | MAP_NORESERVE;
  if (mode == MapMode::shared && !journaled && !read_only_) {
    flags = persistence_.map_sync ? MAP_SHARED_VALIDATE | MAP_SYNC : MAP_SHARED;
  }
  if (address != nullptr && is_reserved(address, n)) {
    flags |= MAP_FIXED;
  }
  void* p = map_at(address, n, PROT_READ | PROT_WRITE, flags, file_.fd(), offset);
  if (p == MAP_FAILED) {
    if (errno == EEXIST) {
      return address_taken(name(), address, n);
    }
    return errno == ENOMEM ? Status(Code::out_of_space,
                                    name() + ": the system has no memory for a mapping of " +
                                        std::to_string(n) + " bytes")
                           : native::file_error(name(), "cannot be mapped", errno);
  }
  if (journaled) {
    journaled_->add(static_cast<std::byte*>(p), round_up(n, kPageBytes), offset);
  }
  show_journal(static_cast<std::byte*>(p), offset, n);
  return static_cast<std::byte*>(p);
}

void NativeMedium::discard(std::byte* p, size_t n, MapMode mode) {
  if (journaled_ != nullptr && mode == MapMode::shared) {
    journaled_->discard(p, n);
    return;
  }
  madvise(p, n, mode == MapMode::shared ? MADV_REMOVE : MADV_DONTNEED);
}

void NativeMedium::keep_content(std::byte* p, size_t n) {
  std::byte* const end = p + n;
  p -= reinterpret_cast<uintptr_t>(p) % kPageBytes;
  for (; p < end; p += kPageBytes) {
    // A store that changes nothing, also if another thread stores at the same time. If the exchange
    // fails, the other thread's store does. Not fetch_or(0), which clang deletes.
    const std::atomic_ref word(*reinterpret_cast<uint64_t*>(p));
    uint64_t value = word.load(std::memory_order_relaxed);
    word.compare_exchange_strong(value, value, std::memory_order_relaxed);
  }
}

uint64_t NativeMedium::allocated_bytes() const {
  struct stat found{};
  constexpr uint64_t kBlock = 512;  // of st_blocks, on every file system
  return fstat(file_.fd(), &found) == 0 ? static_cast<uint64_t>(found.st_blocks) * kBlock : 0;
}

void NativeMedium::unmap(std::byte* p, size_t n) {
  if (file_.inherited()) {
    return;  // a forked child has no mappings of its parent, but maybe its own at this address
  }
  n = round_up(n, kPageBytes);
  const bool home = journaled_ != nullptr && journaled_->remove(p, n);
  const std::lock_guard lock(mutex_);
  if (home) {
    recovered_.reset();  // the next mapping shows them, and maybe newer ones
  }
  const auto whole = std::find_if(reserved_.begin(), reserved_.end(), [&](const Range& range) {
    return range.begin == p && range.bytes == n;
  });
  if (whole == reserved_.end() && is_reserved(p, n)) {
    map_at(p, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return;
  }
  munmap(p, n);
  if (whole != reserved_.end()) {
    reserved_.erase(whole);
  }
}

Status NativeMedium::start_journal(uint64_t offset, uint64_t bytes, bool fresh, uint64_t salt,
                                   int slots) {
  const native::JournalPlace place = {offset, bytes};
  if (read_only_) {
    return read_journal(place);
  }
  if (fresh) {
    native::SystemJournalFile file(file_.fd(), name(), sync_);
    Status status = native::Journal::format(file, place, salt, native::kFirstJournalBytes);
    if (!status.ok()) {
      return {status.code(), name() + ": " + status.message(), status.system_error()};
    }
  }
  auto opened = native::JournaledMemory::open(file_.fd(), name(), sync_, place, salt, slots,
                                              checksums_.get(), flush_);
  if (!opened) {
    return opened.status();
  }
  native::Journal& journal = (*opened)->journal();
  if (domain() != Domain::file) {
    return leave_journal(**opened, fresh);
  }
  if (checksums_ != nullptr && journal.is_table_stale()) {
    if (Status status = journal.renew_table(bytes_); !status.ok()) {
      return status;
    }
  }
  journaled_ = std::move(*opened);
  recovered_ = journaled_->journal().take_recovered();
  return {};
}

Status NativeMedium::close_journal() {
  return journaled_ != nullptr ? journaled_->bring_home(true)
         : makes_table_        ? renew_checksums()
                               : Status();
}

void NativeMedium::give_back_memory(bool may) {
  if (journaled_ != nullptr) {
    recovered_.reset();
    journaled_->give_back(may);
  }
}

native::StoreGate* NativeMedium::store_gate() {
  return journaled_ != nullptr ? &journaled_->store_gate() : nullptr;
}

uint64_t NativeMedium::journal_position() const {
  return journaled_->journal().position();
}

uint64_t NativeMedium::durable_position() const {
  return journaled_->journal().durable();
}

FlushMethod NativeMedium::journal_flush() const {
  return journaled_->flush_method();
}

Status NativeMedium::read_journal(const native::JournalPlace& place) {
  native::SystemJournalFile file(file_.fd(), name(), sync_);
  native::JournalRing ring(file, place);
  if (Status status = ring.read_head(); !status.ok()) {
    return status;
  }
  auto tail = read_tail(ring);
  if (!tail) {
    return tail.status();
  }
  if (Status status = check_not_damaged(ring, *tail); !status.ok()) {
    return status;
  }
  read_ring_bytes_ = ring.bytes();
  table_stale_ = (ring.head().flags & native::JournalHead::kStaleTable) != 0;
  recovered_ = std::make_unique<native::RecoveredLines>();
  recovered_->tail = std::move(*tail);
  auto lines = newest_lines(recovered_->tail, place);
  if (lines) {
    recovered_->lines = std::move(*lines);
  }
  return lines.status();
}

native::JournalCounters NativeMedium::journal_counters() const {
  if (journaled_ != nullptr) {
    native::JournalCounters now = journaled_->journal().counters();
    now.given_back_bytes = journaled_->given_back_bytes();
    return now;
  }
  native::JournalCounters found;
  found.ring_bytes = read_ring_bytes_;
  if (recovered_ != nullptr) {
    found.held_bytes = recovered_->tail.bytes.size();
    found.recovered_groups = recovered_->tail.groups;
    found.recovered_lines = recovered_->tail.lines;
  }
  return found;
}

/// Puts recovered lines into a new private mapping.
void NativeMedium::show_journal(std::byte* p, uint64_t offset, size_t n) const {
  if (recovered_ == nullptr) {
    return;
  }
  const auto& lines = recovered_->lines;
  const auto first = std::lower_bound(
      lines.begin(), lines.end(), offset,
      [](const native::JournalLine& line, uint64_t at) { return line.offset < at; });
  for (auto line = first; line != lines.end() && line->offset < offset + n; ++line) {
    // A store takes a private copy of the page. Words that are home already need none.
    native::put_words(p + (line->offset - offset), line->mask, line->words);
  }
}

}  // namespace holdfast
