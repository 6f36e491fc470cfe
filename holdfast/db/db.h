// SPDX-License-Identifier: Apache-2.0
//
// HoldfastDB: an embedded, ordered key-value store in one heap file, with LevelDB's interface.
//
// A program written for LevelDB compiles with this include and namespace holdfast::db.
// docs/guide/store.md lists the differences.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "holdfast/db/column_family.h"
#include "holdfast/db/iterator.h"
#include "holdfast/db/options.h"
#include "holdfast/db/transaction.h"
#include "holdfast/db/write_batch.h"

namespace holdfast::db {

// The release of LevelDB whose interface this is.
inline constexpr int kMajorVersion = 1;
inline constexpr int kMinorVersion = 23;

/// The database as it was at one moment, for reads; DB::GetSnapshot makes it.
///
/// Thread safety: any number of threads may read through one snapshot. It is volatile: a crash or
/// closing the database ends it.
class Snapshot {  // NOLINT(cppcoreguidelines-virtual-class-destructor): as LevelDB has it
 protected:
  virtual ~Snapshot() = default;
};

/// The keys from `start`, inclusive, to `limit`, exclusive.
struct Range {
  Range() = default;
  Range(const Slice& s, const Slice& l) : start(s), limit(l) {}
  Slice start;
  Slice limit;
};

/// An ordered map from keys to values, in one file. Keys and values are arbitrary bytes.
///
/// Durability. A write that returns ok is durable, in the sense of the persistence domain
/// (Options::domain), and visible to every read that begins later. After a crash at any instruction
/// the database holds all acknowledged writes. A write that was in flight is present as a whole or
/// not at all. With WriteOptions::sync false a write may return earlier; then a crash takes at most
/// the last Options::lag of these.
///
/// Errors. A write that fails has changed nothing, unless the medium has failed: then, after the
/// next opening, it has taken effect as a whole or not at all. Until then every call returns
/// IOError.
///
/// Thread safety. Any thread may call any function, at any time; Verify names the one exception.
/// Threads beyond Options::max_threads wait for each other's calls. A thread counts from its first
/// call until it ends. Delete the database when all other calls have returned: a crash may take a
/// write that ends later. Delete iterators and transactions, and release snapshots, before that.
/// Inside a body of Transact, use only the Transaction that the body is given. After fork() the
/// child process cannot use the database; its calls return InvalidArgument. key() and value() of
/// its parent's iterators have no bytes there, so it must not call them. Deleting its copy leaves
/// the database to the parent.
///
/// A program may derive a class of its own, such as a model for tests. It has to override LevelDB's
/// functions only. Those of Holdfast's own that it leaves out return null or NotSupported; MultiGet
/// calls Get.
class DB {
 public:
  /// Opens the database `name` and stores it in *db. The caller deletes it. On failure *db is null.
  ///
  /// `name` is a file, or a directory that contains the file "holdfast.db" or is empty. One process
  /// at a time may have a database open, or several with Options::read_only. Opening finishes or
  /// undoes the writes that a crash has interrupted.
  static Status Open(const Options& options, const std::string& name, DB** db);

  DB() = default;
  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;
  virtual ~DB();

  // Put and Delete are pure, and have bodies that call Write, for derived classes.

  virtual Status Put(const WriteOptions& options, const Slice& key, const Slice& value) = 0;
  /// Returns ok if the key does not exist.
  virtual Status Delete(const WriteOptions& options, const Slice& key) = 0;
  /// Applies all changes of the batch as one transaction.
  virtual Status Write(const WriteOptions& options, WriteBatch* updates) = 0;
  /// Returns NotFound, and leaves *value alone, if the key has no value. The key may lie in *value.
  virtual Status Get(const ReadOptions& options, const Slice& key, std::string* value) = 0;

  // MultiGet and DeleteRange are RocksDB's.

  /// Gets all keys from one state. Stores the values in *values, in the order of the keys, and
  /// returns a status for each key, as Get does. The value of a missing key is unspecified.
  virtual std::vector<Status> MultiGet(const ReadOptions& options, const std::vector<Slice>& keys,
                                       std::vector<std::string>* values);
  /// Deletes all keys from `begin`, inclusive, to `end`, exclusive, as one transaction. Costs as
  /// much as a Delete of each key. With an engine that bounds transactions, its log must have room
  /// for all of them.
  virtual Status DeleteRange(const WriteOptions& options, const Slice& begin, const Slice& end);

  /// Returns when every write that had returned before is durable.
  virtual Status Sync();

  /// Runs body(Transaction&) as one transaction, which is durable when this returns ok, unless
  /// options.sync is false.
  ///
  /// The body returns void or a Status. A Status that is not ok rolls the transaction back and is
  /// returned. An exception rolls it back and propagates. The engine may run the body several
  /// times, and on another thread. So the body assigns to the variables it captures, never
  /// accumulates, and does nothing that cannot be repeated.
  template <class Body>
  Status Transact(const WriteOptions& options, Body&& body) {
    if constexpr (std::is_void_v<std::invoke_result_t<Body&, Transaction&>>) {
      return RunTransaction(options, [&](Transaction& transaction) {
        body(transaction);
        return Status::OK();
      });
    } else {
      return RunTransaction(options,
                            [&](Transaction& transaction) -> Status { return body(transaction); });
    }
  }
  template <class Body>
  Status Transact(Body&& body) {
    return Transact(WriteOptions(), body);
  }

  /// Begins a transaction that is not a function; see OptimisticTransaction. Returns null if the
  /// database cannot be read.
  virtual OptimisticTransaction* BeginTransaction();

  /// Returns an iterator over the present state, or over the state of options.snapshot. The caller
  /// deletes it. The cost does not depend on the size of the database. The iterator holds no lock.
  virtual Iterator* NewIterator(const ReadOptions& options) = 0;

  /// Returns the present state, readable until ReleaseSnapshot; null if the database cannot be
  /// read. The cost does not depend on the size of the database. Values that writers replace
  /// meanwhile stay in the file until the last snapshot that shows them is released.
  virtual const Snapshot* GetSnapshot() = 0;
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;

  /// Stores the value of a property in *value. Returns false if there is no such property, or if it
  /// cannot be read; once the medium has failed, Sync tells why.
  ///
  /// With the prefix "holdfast.": "stats", "engine", "domain", "old-versions", "open-snapshots",
  /// "oldest-snapshot-seconds" (its age; 0 without one), "sequence", "map-name<N>" (of the named
  /// map with number N), and "prometheus", which has all numbers in the text format of Prometheus.
  ///
  /// "lag" is the most writes that a crash may take (Options::lag; 0 if the engine cannot lag),
  /// "pending-writes" the number that is not durable now, and "oldest-pending-ms" the age of the
  /// oldest of these. "sequence" is that of the last durable change.
  ///
  /// "used-bytes", "free-bytes" (for new entries) and
  /// "reclaimable-bytes" (of these, those that Compact can give back) describe the data without
  /// second copies and logs. "file-bytes" is what the file takes of the file system. "domain" ends
  /// with "(emulated)" if it is (Options::force).
  ///
  /// With the prefix "leveldb.": "stats", "approximate-memory-usage", "num-files-at-level<N>" and
  /// "sstables", with values that are true for a heap. The memory is the part of the mapped file
  /// that is in memory, which the system may take back. To read it takes longer the more memory the
  /// process has.
  virtual bool GetProperty(const Slice& property, std::string* value) = 0;
  /// Stores the bytes of keys and values in each range, including old versions that have not been
  /// freed yet. Walks the ranges.
  virtual void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) = 0;
  /// Calls Compact. Ignores the range.
  virtual void CompactRange(const Slice* begin, const Slice* end) = 0;

  // The operations below are Holdfast's own.

  /// Frees all old versions that no snapshot needs, and gives space that nothing uses back to the
  /// file system. Stores the number of bytes in *returned if it is not null. Reads and writes may
  /// run meanwhile; it waits for those that began before. Entries do not move: a chunk of 16 KiB in
  /// which one of them is left stays.
  virtual Status Compact(uint64_t* returned);

  /// Copies the present state into a new database `file`, with the same engine and engine options.
  /// Makes that state durable first.
  ///
  /// The file must not exist. It appears whole and durable, or not at all. Writers continue
  /// meanwhile. The copy goes entry by entry, so deleted entries take no room in it. IOError: an
  /// open database or another checkpoint has the file `file`.part. Corruption: a page of this
  /// database differs from its checksum.
  virtual Status Checkpoint(const std::string& file);

  /// Calls see(sequence, changes) for each update transaction after number `sequence`, in the order
  /// of their commits, until `see` returns false or no transaction is left. Makes each durable
  /// before it shows it. A follower continues from the last number it saw.
  ///
  /// NotSupported: the database has no feed (Options::change_feed_bytes). NotFound: the change
  /// after `sequence` has been dropped, or was made while the feed was off, or is one of the file
  /// of which this one is a checkpoint. The follower then starts again: it reads property
  /// "holdfast.sequence", takes a snapshot or checkpoint, and applies the changes after that
  /// number. Some of these are in the copy already; a put or delete may be repeated.
  /// InvalidArgument: `sequence` is larger than the last one, for example because the file was
  /// replaced by an older copy. The follower starts again, too.
  virtual Status ChangesSince(
      uint64_t sequence,
      const std::function<bool(uint64_t sequence, const WriteBatch& changes)>& see);

  /// Walks the whole database and compares it with the allocator's metadata, and all pages with
  /// their checksums, if the file has them. Corruption: something is damaged, or a block belongs to
  /// nothing. No thread may write while it runs.
  virtual Status Verify();

  // Named maps, with RocksDB's names. Each is an ordered map of its own, in the order of bytes. All
  // maps of a database share its file. A batch or a transaction changes several maps at once, and a
  // snapshot shows all of them. The functions without a handle use the default map.
  //
  // NotSupported: the database has a comparator of its own, or an older build has made the file.

  /// Creates an empty map and stores its handle in *handle. The caller deletes the handle. A name
  /// has 1 to 255 bytes of UTF-8 without zeros. InvalidArgument: the name is bad, or exists.
  virtual Status CreateColumnFamily(const ColumnFamilyOptions& options, const std::string& name,
                                    ColumnFamilyHandle** handle);
  /// Stores the handle of the map with this name in *handle. Creates the map if it does not exist,
  /// or returns InvalidArgument if `create_if_missing` is false. "default" is the default map.
  virtual Status OpenColumnFamily(const std::string& name, bool create_if_missing,
                                  ColumnFamilyHandle** handle);
  /// Stores the handle of the map that had this name in the state of options.snapshot.
  virtual Status OpenColumnFamily(const ReadOptions& options, const std::string& name,
                                  ColumnFamilyHandle** handle);
  /// Stores the names of all maps in *names: "default", then the others in the order of bytes.
  virtual Status ListColumnFamilies(const ReadOptions& options, std::vector<std::string>* names);
  /// Removes the map and its entries. The name goes first, in one transaction. The entries follow
  /// in transactions of bounded size. If a crash or a failure interrupts them, the next opening
  /// deletes the rest.
  virtual Status DropColumnFamily(ColumnFamilyHandle* family);
  /// Returns the handle of the default map. It belongs to the database.
  virtual ColumnFamilyHandle* DefaultColumnFamily();
  /// Deletes the handle. The map stays.
  Status DestroyColumnFamilyHandle(ColumnFamilyHandle* family);

  Status Put(const WriteOptions& options, const ColumnFamilyHandle* family, const Slice& key,
             const Slice& value);
  Status Delete(const WriteOptions& options, const ColumnFamilyHandle* family, const Slice& key);
  Status Get(const ReadOptions& options, const ColumnFamilyHandle* family, const Slice& key,
             std::string* value);
  /// `families` has the map of each key.
  std::vector<Status> MultiGet(const ReadOptions& options,
                               const std::vector<ColumnFamilyHandle*>& families,
                               const std::vector<Slice>& keys, std::vector<std::string>* values);
  Iterator* NewIterator(const ReadOptions& options, const ColumnFamilyHandle* family);
  Status DeleteRange(const WriteOptions& options, const ColumnFamilyHandle* family,
                     const Slice& begin, const Slice& end);
  void GetApproximateSizes(const ColumnFamilyHandle* family, const Range* range, int n,
                           uint64_t* sizes);

 private:
  // The functions above are not virtual, so that a derived class hides no virtual function.
  /// Puts the value; a null one deletes the key.
  virtual Status WriteToMap(const WriteOptions& options, const ColumnFamilyHandle* family,
                            const Slice& key, const Slice* value);
  virtual Status GetFromMap(const ReadOptions& options, const ColumnFamilyHandle* family,
                            const Slice& key, std::string* value);
  virtual Iterator* IterateOverMap(const ReadOptions& options, const ColumnFamilyHandle* family);
  virtual uint64_t ApproximateSizeInMap(const ColumnFamilyHandle* family, const Range& range);
  virtual Status RunTransaction(const WriteOptions& options,
                                const std::function<Status(Transaction&)>& body);
};

/// Deletes the closed database's file, then its directory if empty. Returns ok if none exists, and
/// deletes nothing but a database or a heap without roots that is not open, an empty file, or the
/// rest of a creation that was interrupted.
Status DestroyDB(const std::string& name, const Options& options);

/// Opens the database, which recovers it from a crash, and walks all of it. Corruption: something
/// is damaged. Repairs no damage; restore a copy instead.
Status RepairDB(const std::string& name, const Options& options);

}  // namespace holdfast::db
