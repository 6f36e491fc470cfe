// SPDX-License-Identifier: Apache-2.0
//
// The part of the database that is the same for all engines.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/db/db.h"
#include "holdfast/db/engine/bounded_iterator.h"
#include "holdfast/db/engine/key_space.h"
#include "holdfast/engines/engine.h"
#include "holdfast/heap/file/superblock.h"
#include "holdfast/heap/heap_space.h"
#include "holdfast/machine/native/medium/medium.h"

namespace holdfast::db {

struct Change;

/// The database in a heap file, without the members that depend on the engine; EngineDB, compiled
/// once per engine, has these. Options::engine names the engine of a new file. The superblock names
/// it for an existing file.
class HeapDB : public DB {
 public:
  static holdfast::Result<std::unique_ptr<HeapDB>> open(const Options& options,
                                                        const std::string& name);

  Status DeleteRange(const WriteOptions& options, const Slice& begin, const Slice& end) override;
  bool GetProperty(const Slice& property, std::string* value) override;
  Status Checkpoint(const std::string& file) override;
  Status Verify() override;
  void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) override;

  Status CreateColumnFamily(const ColumnFamilyOptions& options, const std::string& name,
                            ColumnFamilyHandle** handle) override;
  Status OpenColumnFamily(const std::string& name, bool create_if_missing,
                          ColumnFamilyHandle** handle) override;
  Status OpenColumnFamily(const ReadOptions& options, const std::string& name,
                          ColumnFamilyHandle** handle) override;
  Status ListColumnFamilies(const ReadOptions& options, std::vector<std::string>* names) override;
  Status DropColumnFamily(ColumnFamilyHandle* family) override;
  ColumnFamilyHandle* DefaultColumnFamily() override { return &default_map_; }

  /// Walks the whole heap; corrupt: damage, or blocks that belong to nothing.
  virtual holdfast::Status check() = 0;
  /// Heap::verify_pages().
  virtual Result<uint64_t> verify_pages() = 0;

 protected:
  explicit HeapDB(KeySpace::Kind kind);
  KeySpace& keys() { return keys_; }
  /// Deletes the entries of maps whose dropping was interrupted. Opening calls it.
  Status start_maps(bool read_only);
  /// Converts a batch, which must outlive the changes, to changes of stored keys. InvalidArgument:
  /// the batch needs a map that does not exist here. Sets *names if it makes or drops maps.
  Status stored_changes(const WriteBatch& batch, std::vector<Change>* changes, bool* names);
  /// Calls write(), which applies changes that make or drop maps. Then handles of the dropped maps
  /// know it. InvalidArgument: the changes give a map's number to another name.
  Status change_names(const std::vector<Change>& changes, FunctionRef<Status()> write);
  /// Converts a batch with the store's keys to one that Write takes.
  WriteBatch shown_changes(const WriteBatch& stored) const;

 private:
  enum class Missing { create, refuse };
  enum class Present { open, refuse };

  Status GetFromMap(const ReadOptions& options, const ColumnFamilyHandle* family, const Slice& key,
                    std::string* value) override;
  Iterator* IterateOverMap(const ReadOptions& options, const ColumnFamilyHandle* family) override;
  uint64_t ApproximateSizeInMap(const ColumnFamilyHandle* family, const Range& range) override;

  Status open_map(const ReadOptions& options, const std::string& name, Missing missing,
                  Present present, ColumnFamilyHandle** handle);
  Status create_map(const std::string& name, uint32_t* id);
  std::shared_ptr<NamedMap> shared_map(const std::string& name, uint32_t id,
                                       const Snapshot* snapshot);
  Status delete_entries(const std::string& prefix);
  Status readable(const ReadOptions& options, const ColumnFamilyHandle* family);
  bool property(const std::string& name, std::string* value);
  std::string prometheus();
  /// Stores the name of the map with this number in *name; returns false if there is none.
  bool map_name(const std::string& number, std::string* name);
  /// Returns the options for a new database with this one's engine and sizes.
  Options same_kind();

  // The functions of DB on stored keys (map_keys.h).
  virtual Status get_stored(const ReadOptions& options, const Slice& key, std::string* value) = 0;
  virtual Iterator* iterate_stored(const ReadOptions& options) = 0;
  virtual uint64_t stored_bytes(const Slice& from, const Slice& to) = 0;

  virtual const Description& engine() const = 0;
  virtual const Superblock& superblock() const = 0;
  virtual const NativeMedium& medium() const = 0;
  virtual const Comparator* comparator() const = 0;
  virtual Statistics statistics() const = 0;
  virtual size_t open_views() const = 0;
  /// Returns the number of the last change, which may not be durable yet.
  virtual Result<uint64_t> sequence() = 0;
  /// Returns the number of the last change, and makes that durable.
  virtual Result<uint64_t> durable_sequence() = 0;
  virtual uint64_t lag() const = 0;
  virtual PendingUpdates pending() = 0;
  /// Converts units of the machine's clock.
  virtual double milliseconds(uint64_t ticks) const = 0;
  virtual Result<uint64_t> old_versions() = 0;
  virtual Result<HeapSpace> space() = 0;
  /// Frees all old versions that no snapshot or iterator needs.
  virtual holdfast::Status collect() = 0;
  virtual double oldest_snapshot_seconds() const = 0;
  /// Returns misuse in a process that was forked after the database was opened.
  virtual Status check_process() const = 0;

  KeySpace keys_;
  ColumnFamilyHandle default_map_;
  /// Guards open_maps_. One thread at a time makes or drops maps, by Write, too, which create_map
  /// calls.
  std::recursive_mutex maps_mutex_;
  std::map<uint32_t, std::weak_ptr<NamedMap>> open_maps_;
};

}  // namespace holdfast::db
