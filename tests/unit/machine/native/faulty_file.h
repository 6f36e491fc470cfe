// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/machine/native/journal/journal_file.h"

namespace holdfast::native {

/// A file in memory that keeps issued and synced bytes apart, fails at a given call, and rebuilds
/// what a power cut may leave. Each sector written since the last sync has its old content, that of
/// any write since, or a torn mixture of one and the next.
///
/// A failed sync does as Linux does. Reads still find the new content, but it counts as clean, so
/// only another write makes a later sync bring it to the medium.
class FaultyFile : public JournalFile {
 public:
  static constexpr uint64_t kSector = 512;

  /// `bytes`: the length that bytes() tells; 0: that of the content.
  explicit FaultyFile(std::vector<std::byte> content, uint64_t bytes = 0)
      : bytes_(bytes != 0 ? bytes : content.size()),
        synced_(std::move(content)),
        issued_(synced_) {}

  Result<uint64_t> bytes() override { return uint64_t{bytes_}; }
  void set_bytes(uint64_t bytes) { bytes_ = bytes; }

  Status read(uint64_t offset, std::span<std::byte> to) override {
    if (offset + to.size() > issued_.size()) {
      return {Code::io_error, "the file ends before the range"};
    }
    std::memcpy(to.data(), issued_.data() + offset, to.size());
    return {};
  }

  Status write(uint64_t offset, std::span<const std::byte> from) override {
    EXPECT_LE(offset + from.size(), issued_.size());
    EXPECT_EQ(offset % kSector, 0u);
    EXPECT_EQ(from.size() % kSector, 0u);
    std::memcpy(issued_.data() + offset, from.data(), from.size());
    for (uint64_t at = 0; at < from.size(); at += kSector) {
      pending_[offset + at].emplace_back(from.begin() + static_cast<ptrdiff_t>(at),
                                         from.begin() + static_cast<ptrdiff_t>(at + kSector));
    }
    return count();  // a write that fails may have changed any of its sectors
  }

  Status sync() override {
    Status status = count();
    if (!status.ok()) {
      lose_pending();
      return status;
    }
    ++syncs_;
    for (const auto& [sector, writes] : std::exchange(pending_, {})) {
      reach_medium(sector);
    }
    return {};
  }

  /// Counts as write() and sync() do. Only the range is on the medium then.
  Status write_and_sync(uint64_t offset, std::span<const std::byte> from) override {
    Status status = write(offset, from);
    if (status.ok()) {
      status = count();
    }
    if (!status.ok()) {
      lose_pending();
      return status;
    }
    ++syncs_;
    for (uint64_t at = 0; at < from.size(); at += kSector) {
      pending_.erase(offset + at);
      reach_medium(offset + at);
    }
    return {};
  }

  /// The call with this number fails, and no other one. Writes and syncs count, from 0.
  void fail_at(int call) { failing_ = call; }
  int calls() const { return calls_; }
  int syncs() const { return syncs_; }

  /// Returns what a killed process leaves: all that was issued.
  const std::vector<std::byte>& issued() const { return issued_; }

  /// Returns the sectors whose last writes may be missing on the medium.
  std::vector<uint64_t> unsynced_sectors() const {
    std::vector<uint64_t> sectors;
    for (const auto& [sector, writes] : unsynced()) {
      sectors.push_back(sector);
    }
    return sectors;
  }

  /// Returns the medium after a power cut at which choose(sector, writes) of the sector's writes
  /// had reached it, and `torn` bytes of the next one.
  template <class Choose>
  std::vector<std::byte> after_power_cut(Choose&& choose) const {
    std::vector<std::byte> medium = synced_;
    for (const auto& [sector, writes] : unsynced()) {
      const auto [whole, torn] = choose(sector, writes.size());
      std::byte* const at = medium.data() + sector;
      if (whole > 0) {
        std::memcpy(at, writes[whole - 1].data(), kSector);
      }
      if (whole < writes.size()) {
        std::memcpy(at, writes[whole].data(), torn);
      }
    }
    return medium;
  }

  std::vector<std::byte> after_power_cut(Random& random) const {
    const auto choose = [&](uint64_t /*sector*/, size_t writes) {
      const size_t whole = random.below(writes + 1);
      return std::pair(whole, random.below(4) == 0 ? 8 * random.below(kSector / 8) : 0);
    };
    return after_power_cut(choose);
  }

 private:
  using Writes = std::map<uint64_t, std::vector<std::vector<std::byte>>>;

  /// Returns the writes that may be on the medium or not, those of failed syncs included.
  Writes unsynced() const {
    Writes all = lost_;
    for (const auto& [sector, writes] : pending_) {
      all[sector].insert(all[sector].end(), writes.begin(), writes.end());
    }
    return all;
  }

  void lose_pending() {
    lost_ = unsynced();
    pending_.clear();
  }

  void reach_medium(uint64_t sector) {
    std::memcpy(synced_.data() + sector, issued_.data() + sector, kSector);
    lost_.erase(sector);
  }

  Status count() {
    return calls_++ == failing_ ? Status(Code::io_error, "the test wants this failure") : Status();
  }

  uint64_t bytes_;
  std::vector<std::byte> synced_;
  std::vector<std::byte> issued_;
  Writes pending_;  // dirty
  Writes lost_;     // clean after a failed sync
  int calls_ = 0;
  int syncs_ = 0;
  int failing_ = -1;
};

}  // namespace holdfast::native
