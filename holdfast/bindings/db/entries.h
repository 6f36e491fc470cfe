// SPDX-License-Identifier: Apache-2.0
//
// Walks over a database for Python.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "holdfast/bindings/db/database.h"
#include "holdfast/bindings/db/transaction.h"

namespace holdfast::bindings {

/// The part of a database that a walk shows. Without a key the range has no limit on that side.
struct Walk {
  std::optional<std::string> start;  ///< inclusive
  std::optional<std::string> stop;   ///< exclusive
  bool reverse = false;
  std::optional<size_t> limit;  ///< most entries
};

/// Walks the entries of a snapshot or a transaction between two keys. It reads ahead, so a walk
/// lets go of the interpreter's lock once for many entries. A snapshot's entries never change. A
/// write of the transaction outdates the entries read ahead; the walk then goes on from the last
/// entry that it has returned.
///
/// Thread safety: any thread may call next(); each entry goes to one caller.
class Entries final : public Dependent {
 public:
  enum class What { keys, values, items };

  /// A null `snapshot` stands for the present state, a null map for the default map.
  Entries(std::shared_ptr<Database> database, Snapshot* snapshot, const Map* map, Walk walk,
          What what);
  Entries(std::shared_ptr<Transaction> transaction, const Map* map, Walk walk, What what);
  ~Entries() override;
  void drop() override;

  /// Returns the next key, value or pair. Throws nb::stop_iteration at the end.
  nb::object next();

 private:
  using KeyAndValue = std::pair<std::string, std::string>;
  static constexpr size_t kMostAhead = 64;
  static constexpr size_t kMostBytesAhead = 256 << 10;

  uint64_t writes_now() const { return transaction_ == nullptr ? 0 : transaction_->writes(); }
  void end();

  // With mutex_.
  /// Returns how many entries may still be returned.
  size_t left() const { return walk_.limit.value_or(SIZE_MAX) - returned_; }
  std::optional<KeyAndValue> take();
  db::Status read_on();
  void begin();
  void resume(const std::string& last);
  void seek_before(const std::string& key);
  bool in_range() const;
  db::Status fill();

  std::shared_ptr<Database> database_;        ///< null: walks a transaction
  std::shared_ptr<Transaction> transaction_;  ///< null: walks a database
  const Walk walk_;
  const What what_;

  std::mutex mutex_;  ///< guards the members below. No thread waits for it with Python's lock
  db::Iterator* at_ = nullptr;
  bool at_next_ = false;  ///< at_ is at the next entry to read, not at the last one that was read
  bool ended_ = false;
  size_t next_size_ = 1;
  std::deque<KeyAndValue> ahead_;
  std::optional<std::string> last_;  ///< the key of the last entry returned
  size_t returned_ = 0;
  uint64_t filled_at_ = 0;  ///< the transaction's writes when it was read

  bool over_ = false;  ///< guarded by the interpreter's lock
};

}  // namespace holdfast::bindings
