// SPDX-License-Identifier: Apache-2.0
//
// HoldfastDB: an embedded ordered key-value store in one heap file, with LevelDB's interface. A
// program written for LevelDB compiles with this include and namespace holdfast::db; docs/guide/store.md
// says what differs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "holdfast/db/iterator.h"
#include "holdfast/db/options.h"
#include "holdfast/db/transaction.h"
#include "holdfast/db/write_batch.h"

namespace holdfast::db {

// Of the LevelDB whose interface this is.
inline constexpr int kMajorVersion = 1;
inline constexpr int kMinorVersion = 23;

/// A state of the database that stays readable; see DB::GetSnapshot.
class Snapshot {  // NOLINT(cppcoreguidelines-virtual-class-destructor): as LevelDB has it
 protected:
  virtual ~Snapshot() = default;
};

/// Keys from start up to, but not including, limit.
struct Range {
  Range() = default;
  Range(const Slice& s, const Slice& l) : start(s), limit(l) {}
  Slice start;
  Slice limit;
};

/// An ordered map from keys to values, both of any bytes.
///
/// Contract. A write that returns ok is durable, whole, and visible to everything that begins
/// later; after a crash at any instruction the database holds exactly the acknowledged writes, and
/// of those in flight each whole or not at all. A write that fails has changed nothing.
///
/// Thread safety: any thread may call anything. Iterators and snapshots end before the database
/// does. Nothing but the given Transaction may be used inside a body of Transact.
class DB {
 public:
  /// Opens the database in this file, or in the file "holdfast.db" of this directory, which has one
  /// or is empty, and stores it in *db, to be deleted by the caller; null on failure. One process
  /// at a time may have it open. An interrupted write is finished or undone first.
  static Status Open(const Options& options, const std::string& name, DB** db);

  DB() = default;
  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;
  virtual ~DB();

  virtual Status Put(const WriteOptions& options, const Slice& key, const Slice& value) = 0;
  /// A key that is not there is no error.
  virtual Status Delete(const WriteOptions& options, const Slice& key) = 0;
  /// All changes of the batch, or none.
  virtual Status Write(const WriteOptions& options, WriteBatch* updates) = 0;
  /// NotFound, and *value as it was, where there is no value.
  virtual Status Get(const ReadOptions& options, const Slice& key, std::string* value) = 0;

  /// Runs body(Transaction&) as one transaction, durable when this returns ok. The body may return
  /// nothing, or a Status: one that is not ok rolls the transaction back and is returned. An
  /// exception rolls it back and propagates. A body may run several times, and on another thread:
  /// it assigns to what it captures and does nothing that cannot be repeated.
  template <class Body>
  Status Transact(Body&& body) {
    if constexpr (std::is_void_v<std::invoke_result_t<Body&, Transaction&>>) {
      return RunTransaction([&](Transaction& transaction) {
        body(transaction);
        return Status::OK();
      });
    } else {
      return RunTransaction([&](Transaction& transaction) -> Status { return body(transaction); });
    }
  }

  /// The same for what cannot be a function; see there. Null where the database cannot be read.
  virtual OptimisticTransaction* BeginTransaction() = 0;

  /// An iterator over the database as it is now (or as options.snapshot saw it), to be deleted by
  /// the caller. Costs the same whatever the database holds, and holds no lock.
  virtual Iterator* NewIterator(const ReadOptions& options) = 0;

  /// The present state, readable until ReleaseSnapshot; costs and holds as little as an iterator.
  /// What others overwrite meanwhile is kept until the last snapshot that shows it is released.
  virtual const Snapshot* GetSnapshot() = 0;
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;

  /// Under the prefix "holdfast.": "stats", "engine", "old-versions", "open-snapshots", "sequence"
  /// and "prometheus", which is all of it as text that a Prometheus server reads. Under
  /// "leveldb.": "stats", "approximate-memory-usage", "num-files-at-level<N>" and "sstables", with
  /// values that are true here.
  virtual bool GetProperty(const Slice& property, std::string* value) = 0;
  /// Bytes of keys and values in each range; walks them.
  virtual void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) = 0;
  /// Frees all old versions no snapshot needs, whatever the range: nothing else could be compacted.
  virtual void CompactRange(const Slice* begin, const Slice* end) = 0;

  // Holdfast's own.

  /// Makes a database of the present state in a new file, which must not exist, for the same engine
  /// with the same options. Writers go on meanwhile. The file appears whole and durable, or not at
  /// all. Copies entry by entry, so what was deleted takes no room there.
  virtual Status Checkpoint(const std::string& file) = 0;
  /// Calls see(sequence, changes) for every update transaction after number `sequence`, in the
  /// order of their commits, until it returns false or there are no more: a follower goes on from
  /// the last one it saw. NotFound: the change after `sequence` is not kept any more
  /// (Options::change_feed_bytes), or a time without a feed lies between; the follower starts anew
  /// from a snapshot or checkpoint made after it read property "holdfast.sequence", and applies
  /// what followed that: puts and deletes may be repeated. NotSupported: there is no feed.
  virtual Status ChangesSince(
      uint64_t sequence,
      const std::function<bool(uint64_t sequence, const WriteBatch& changes)>& see) = 0;
  /// Walks everything and compares it with what the allocator says: damage, and blocks nobody owns.
  /// Nobody may write meanwhile.
  virtual Status Verify() = 0;

 private:
  virtual Status RunTransaction(const std::function<Status(Transaction&)>& body) = 0;
};

/// Removes the database's file, and the directory that Open would look for it in where nothing else
/// is in that. It must not be open; that there is none is no error.
Status DestroyDB(const std::string& name, const Options& options);

/// Opens the database, which finishes or undoes what a crash interrupted, and walks all of it.
/// Damage is reported and left as it is: a copy is what helps then.
Status RepairDB(const std::string& name, const Options& options);

}  // namespace holdfast::db
