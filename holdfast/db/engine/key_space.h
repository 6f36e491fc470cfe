// SPDX-License-Identifier: Apache-2.0
//
// The keys that an open database stores, and the handles that it accepts.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "holdfast/db/column_family.h"
#include "holdfast/db/map_keys.h"
#include "holdfast/db/slice.h"
#include "holdfast/db/status.h"

namespace holdfast::db {

/// Converts keys to stored keys (map_keys.h). A file of root version 4 and a file with a comparator
/// of its own hold plain keys: stored keys are the keys of the default map, and there are no other
/// maps.
///
/// Thread safety: any thread may call any function.
class KeySpace {
 public:
  enum class Kind { with_maps, old_file, own_comparator };

  explicit KeySpace(Kind kind) : kind_(kind) {}

  bool plain() const { return kind_ != Kind::with_maps; }
  /// Returns whether the key of the default map is not its own stored key.
  bool escapes(const Slice& key) const { return is_escaped(key) && !plain(); }
  /// Returns the stored key of a key of the default map; *buffer may keep it.
  Slice stored(const Slice& key, std::string* buffer) const {
    return plain() ? key : default_key(key, buffer);
  }
  /// Returns the stored key of a key of any map. A null handle stands for the default map.
  Slice stored(const ColumnFamilyHandle* family, const Slice& key, std::string* buffer) const {
    if (is_default(family)) {
      return stored(key, buffer);
    }
    *buffer = family->map()->prefix;
    buffer->append(key.data(), key.size());
    return *buffer;
  }
  static bool is_default(const ColumnFamilyHandle* family) {
    return family == nullptr || family->GetID() == 0;
  }

  /// Returns ok if the database has named maps, NotSupported otherwise.
  Status named_maps() const;
  /// Returns ok if the map belongs to this open database, whether it has been dropped or not.
  Status owns(const NamedMap& map) const;
  /// Returns ok if the handle is good for reading the present state.
  Status readable(const ColumnFamilyHandle* family, bool as_of_snapshot) const;
  static Status dropped(const std::string& name);

  std::shared_ptr<const void> database() const { return database_; }

  /// Takes note of a write of a stored key. From the first escaped key on, iterators of the default
  /// map skip such keys. A thread calls this before its transaction commits, and a reader calls
  /// has_escaped() after it has opened its view. So a reader that sees the key knows.
  void note_write(const Slice& stored) {
    if (escapes(stored)) {
      has_escaped_.store(true, std::memory_order_release);
    }
  }
  bool has_escaped() const { return has_escaped_.load(std::memory_order_acquire); }

 private:
  const Kind kind_;
  const std::shared_ptr<const void> database_ = std::make_shared<const char>();
  std::atomic<bool> has_escaped_ = false;
};

}  // namespace holdfast::db
