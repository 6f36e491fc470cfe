// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast::native {

/// An entry of the ownership table: { version:52 | owner:12 }. The owner is a slot + 1; kPlain
/// during a plain store; 0 if unowned. The version tells the latest commit or plain store to a line
/// of this entry; it stays readable while the entry is owned. 52 bits last 14 years at ten million
/// commits per second.
namespace soft_entry {

inline constexpr int kVersionShift = 12;
inline constexpr uint64_t kOwnerMask = (uint64_t{1} << kVersionShift) - 1;
inline constexpr uint64_t kPlain = kOwnerMask;
static_assert(kMaxThreads + 1 < static_cast<int>(kPlain));

inline uint64_t owner(uint64_t entry) {
  return entry & kOwnerMask;
}
inline uint64_t version(uint64_t entry) {
  return entry >> kVersionShift;
}
inline uint64_t unowned(uint64_t entry) {
  return entry & ~kOwnerMask;
}
inline uint64_t released(uint64_t version) {
  return version << kVersionShift;
}

}  // namespace soft_entry

using SoftEntry = std::atomic<uint64_t>;
static_assert(sizeof(SoftEntry) == sizeof(uint64_t) && SoftEntry::is_always_lock_free);

inline uintptr_t line_of(const void* p) {
  return reinterpret_cast<uintptr_t>(p) / kLineBytes;
}

/// The ownership table: an entry of 8 bytes for each line, found by the low bits of the line
/// number.
///
/// Neighbouring lines have neighbouring entries. So a reader needs an eighth of its footprint in
/// the cache for the table, and no multiplication to find an entry. Lines 64 MiB apart share an
/// entry, which can only cause needless conflicts. The size is a constant, because the fast path of
/// a load masks with it. The system provides a page when it is touched.
class SoftTable {
 public:
  static constexpr size_t kEntries = size_t{1} << 20;

  explicit SoftTable(bool used = true);
  ~SoftTable();
  SoftTable(const SoftTable&) = delete;
  SoftTable& operator=(const SoftTable&) = delete;

  static size_t index(uintptr_t line) { return line & (kEntries - 1); }
  /// Null if the table is not used.
  SoftEntry* entries() const { return entries_; }

 private:
  SoftEntry* entries_ = nullptr;
};

}  // namespace holdfast::native
