// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::db {

/// A named map, shared by all handles of it in one open database.
struct NamedMap {
  NamedMap(std::string its_name, uint32_t its_id, std::shared_ptr<const void> of);

  const std::string name;
  const uint32_t id;                           ///< 0: the default map
  const std::string prefix;                    ///< the first bytes of its keys in the file
  const std::shared_ptr<const void> database;  ///< identifies the open database
  std::atomic<bool> dropped = false;
};

/// A named map of a database, an ordered map of its own; DB::OpenColumnFamily returns it.
///
/// All maps of a database share its file, transactions, snapshots and change feed. A null handle
/// stands for the default map.
///
/// Errors. InvalidArgument: the handle belongs to another database, or its map has been dropped. A
/// snapshot from before the drop still shows the map's entries.
///
/// Thread safety: any number of threads may use a handle. The caller deletes it, before or after
/// the database. Deleting a handle leaves the map alone.
class ColumnFamilyHandle {
 public:
  /// For implementations of DB.
  explicit ColumnFamilyHandle(std::shared_ptr<NamedMap> map) : map_(std::move(map)) {}
  ColumnFamilyHandle(const ColumnFamilyHandle&) = delete;
  ColumnFamilyHandle& operator=(const ColumnFamilyHandle&) = delete;
  virtual ~ColumnFamilyHandle() = default;

  const std::string& GetName() const { return map_->name; }
  /// Returns a number that no other map of the database has or will have; 0: the default map.
  uint32_t GetID() const { return map_->id; }
  /// For implementations of DB.
  const std::shared_ptr<NamedMap>& map() const { return map_; }

 private:
  const std::shared_ptr<NamedMap> map_;
};

/// The name of the default map.
inline const std::string kDefaultColumnFamilyName = "default";  // NOLINT: RocksDB's name

}  // namespace holdfast::db
