// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/medium/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "holdfast/base/round.h"
#include "holdfast/machine/machine.h"

namespace holdfast::sim {
namespace {

size_t volatile_share(size_t arena_bytes) {
  return round_up(arena_bytes / 8, kPageBytes);
}

}  // namespace

std::byte* Arena::persistent_base(size_t bytes) {
  return reinterpret_cast<std::byte*>(kArenaBase) + volatile_share(bytes);
}

Arena::Arena(size_t bytes, HostPages* pages)
    : bytes_(round_up(bytes, kPageBytes)), volatile_bytes_(volatile_share(bytes)), pages_(pages) {
  if (bytes_ < 64 * kPageBytes || bytes_ > kArenaMaxBytes) {
    throw Error(Status(Code::invalid_argument, "arena_bytes must be between " +
                                                   std::to_string(64 * kPageBytes) + " and " +
                                                   std::to_string(kArenaMaxBytes)));
  }
  void* wanted = reinterpret_cast<void*>(kArenaBase);
  if (pages_ != nullptr && pages_->take_at(wanted, bytes_) != nullptr) {
    return;
  }
  void* got = mmap(wanted, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != wanted) {
    const int error = got == MAP_FAILED ? errno : EEXIST;
    if (got != MAP_FAILED) {
      munmap(got, bytes_);
    }
    throw Error(
        Status(Code::busy, std::string("the simulated machine's fixed arena is not free (") +
                               std::generic_category().message(error) +
                               "): only one simulated machine may live in a process"));
  }
}

Arena::~Arena() {
  if (pages_ == nullptr) {
    munmap(base(), bytes_);
    return;
  }
  clear_pages(base(), allocated_);
  pages_->give_back(base(), bytes_);
}

Status Arena::no_room(size_t n) const {
  return Status(Code::out_of_space, "the simulated machine has no address space for " +
                                        std::to_string(n) + " bytes more; raise arena_bytes (" +
                                        std::to_string(bytes_) + ")");
}

std::byte* Arena::allocate(size_t n, size_t alignment) {
  const size_t at = round_up(allocated_, std::max(alignment, size_t{16}));
  if (n > volatile_bytes_ || at > volatile_bytes_ - n) {
    throw Error(no_room(n));
  }
  allocated_ = at + n;
  return base() + at;
}

Result<std::byte*> Arena::reserve(size_t n, std::byte* address) {
  n = round_up(n, kPageBytes);
  if (address == nullptr) {
    const auto gap = reserved_.highest_gap(volatile_bytes_, bytes_, n);
    if (!gap) {
      return no_room(n);
    }
    reserved_.insert(*gap, *gap + n);
    return base() + *gap;
  }
  const size_t at = offset(address);
  if (at < volatile_bytes_ || at > bytes_ || n > bytes_ - at || at % kPageBytes != 0) {
    return Status(Code::busy,
                  "the address is not a page in the persistent part of the simulated arena");
  }
  if (reserved_.overlaps(at, at + n)) {
    return Status(Code::busy, "the address range is taken on the simulated machine");
  }
  reserved_.insert(at, at + n);
  return address;
}

void Arena::release(const std::byte* p, size_t n) {
  reserved_.erase(offset(p), offset(p) + round_up(n, kPageBytes), [](size_t, size_t) {});
}

void Arena::clear(size_t begin, size_t end, bool foreign) {
  if (!foreign) {
    if (pages_ != nullptr) {
      clear_pages(base() + begin, end - begin);
    } else {
      give_up(begin, end);
    }
    return;
  }
  void* const got = mmap(base() + begin, end - begin, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (got == MAP_FAILED) {
    throw Error(
        Status(Code::out_of_space, std::string("the simulated machine cannot unmap content: ") +
                                       std::generic_category().message(errno)));
  }
}

void Arena::give_up(size_t begin, size_t end) {
  madvise(base() + begin, end - begin, MADV_DONTNEED);
}

}  // namespace holdfast::sim
