// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/medium/sim_medium.h"

#include <algorithm>

namespace holdfast::sim {
namespace {

size_t pages(size_t n) {
  return (n + kPageBytes - 1) / kPageBytes;
}

constexpr size_t kBaseStep = size_t{8} << 30;

}  // namespace

SimMedium::SimMedium(const SimOptions& options, Arena& arena, Persistence& persistence)
    : options_(options),
      arena_(arena),
      persistence_(persistence),
      page_(kArenaMaxBytes / kPageBytes, options.pages.get()),
      shared_(pages(options.medium_limit) + 1, options.pages.get()) {}

SimMedium::~SimMedium() {
  if (options_.pages != nullptr) {
    forget(0, arena_.bytes());
    clear_stray_stores(0, arena_.bytes());
  }
}

std::string SimMedium::description() const {
  return std::string(to_string(options_.domain)) + " (simulated)";
}

std::byte* SimMedium::base_candidate(int k, size_t n) const {
  std::byte* const candidate = arena_.persistent_base() + static_cast<size_t>(k) * kBaseStep;
  std::byte* const end = arena_.base() + arena_.bytes();
  return candidate < end && n <= static_cast<size_t>(end - candidate) ? candidate : nullptr;
}

Status SimMedium::grow(size_t n) {
  if (!failure_.ok()) {
    return failure_;
  }
  if (options_.read_only) {
    return Status(Code::permission_denied, "the simulated medium is open read-only");
  }
  if (n > options_.medium_limit) {
    return Status(Code::out_of_space, "the simulated medium is full: " + std::to_string(n) +
                                          " bytes wanted, medium_limit is " +
                                          std::to_string(options_.medium_limit));
  }
  if (n > bytes()) {
    persistence_.grow(n);
  }
  return {};
}

Status SimMedium::check_range(size_t offset, size_t n, MapMode mode) const {
  if (!failure_.ok()) {
    return failure_;
  }
  if (n == 0 || offset % kPageBytes != 0) {
    return Status(Code::invalid_argument, "a mapping begins at a page and is not empty");
  }
  if (offset > bytes() || n > bytes() - offset) {
    return Status(Code::invalid_argument, "mapping of [" + std::to_string(offset) + ", " +
                                              std::to_string(offset + n) + ") of a medium of " +
                                              std::to_string(bytes()) + " bytes");
  }
  for (size_t page = offset / kPageBytes; mode == MapMode::shared && page < pages(offset + n);
       ++page) {
    if (shared_[page] != 0) {
      return Status(Code::unsupported,
                    "the simulated machine maps a page shared only once (offset " +
                        std::to_string(page * kPageBytes) + ")");
    }
  }
  return {};
}

Result<std::byte*> SimMedium::map(size_t offset, size_t n, std::byte* address, MapMode mode) {
  if (options_.read_only) {
    mode = MapMode::copy_on_write;
  }
  if (Status status = check_range(offset, n, mode); !status.ok()) {
    return status;
  }
  const size_t length = pages(n) * kPageBytes;
  if (address == nullptr || !arena_.reserved(address, length)) {
    Result<std::byte*> place = arena_.reserve(length, address);
    if (!place) {
      return place.status();
    }
    address = *place;
  }
  const size_t at = arena_.offset(address);
  if (at % kPageBytes != 0 || mapped_.overlaps(at, at + length)) {
    return Status(Code::busy, "something is mapped at this address of the simulated machine");
  }
  clear_stray_stores(at, at + length);
  mapped_.insert(at, at + length);
  persistence_.read_latest(offset, n, address);
  if (after_map_) {
    after_map_(offset, n, address);
  }
  for (size_t i = 0; mode == MapMode::shared && i < pages(n); ++i) {
    page_[at / kPageBytes + i] = static_cast<uint32_t>(offset / kPageBytes + i + 1);
    shared_[offset / kPageBytes + i] = 1;
  }
  return address;
}

bool SimMedium::adopt(std::byte* to, const std::byte* content, size_t n) {
  const auto offered = std::find_if(contents_.begin(), contents_.end(),
                                    [&](const auto& file) { return file->holds(content, n); });
  if (offered == contents_.end()) {
    return false;
  }
  const FileContent& file = **offered;
  const size_t at = arena_.offset(to);
  const bool whole = at % kPageBytes == 0 && n % kPageBytes == 0 &&
                     static_cast<size_t>(content - file.data()) % kPageBytes == 0;
  if (!whole || !mapped_.covers(at, at + n) || foreign_.overlaps(at, at + n)) {
    return false;
  }
  file.map_over(to, content, n).check();
  foreign_.insert(at, at + n);
  // Tell the medium, one contiguous run at a time: segments that have twins between them are not
  // contiguous there.
  for (size_t done = 0; done < n;) {
    const uint32_t first = page_[(at + done) / kPageBytes];
    size_t length = kPageBytes;
    while (first != 0 && done + length < n &&
           page_[(at + done + length) / kPageBytes] == first + length / kPageBytes) {
      length += kPageBytes;
    }
    if (first != 0) {
      persistence_.adopt((first - size_t{1}) * kPageBytes, length, file, content + done);
    }
    done += length;
  }
  return true;
}

void SimMedium::unmap(std::byte* p, size_t n) {
  if (before_unmap_) {
    before_unmap_();
  }
  const size_t at = arena_.offset(p);
  forget(at, at + pages(n) * kPageBytes);
  arena_.release(p, n);
}

void SimMedium::forget(size_t begin, size_t end) {
  mapped_.erase(begin, end, [this](size_t from, size_t to) { clear(from, to); });
}

void SimMedium::clear(size_t begin, size_t end) {
  for (size_t page = begin / kPageBytes; page < end / kPageBytes; ++page) {
    if (page_[page] != 0) {
      shared_[page_[page] - 1] = 0;
      page_[page] = 0;
    }
  }
  const bool foreign = foreign_.overlaps(begin, end);
  arena_.clear(begin, end, foreign);
  if (foreign) {
    foreign_.erase(begin, end, [](size_t, size_t) {});
  }
  forget_stores_beside(begin, end);
}

void SimMedium::clear_stray_stores(size_t begin, size_t end) {
  const size_t from = std::max(begin, beside_from_);
  const size_t to = std::min(end, beside_to_);
  if (from < to) [[unlikely]] {
    arena_.give_up(from, to);
    forget_stores_beside(from, to);
  }
}

void SimMedium::forget_stores_beside(size_t begin, size_t end) {
  if (begin <= beside_from_) {
    beside_from_ = std::max(beside_from_, end);
  }
  if (beside_to_ <= end) {
    beside_to_ = std::min(beside_to_, begin);
  }
  if (beside_from_ >= beside_to_) {
    beside_from_ = ~size_t{0};
    beside_to_ = 0;
  }
}

}  // namespace holdfast::sim
