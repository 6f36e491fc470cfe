// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "holdfast/bindings/db/database.h"

namespace holdfast::bindings {

/// Walks the entries of a snapshot between two keys. Reads ahead: what it shows is fixed, and a
/// walk gives the interpreter's lock away once for many entries.
///
/// Thread safety: any thread; each entry goes to one of them.
class Entries final : public Dependent {
 public:
  enum class What { keys, values, items };

  /// From `start` to before `stop` (none: to the end), or in the other direction. `snapshot` may be
  /// null: as the database is now.
  Entries(std::shared_ptr<Database> database, Snapshot* snapshot, std::optional<std::string> start,
          std::optional<std::string> stop, bool reverse, What what);
  ~Entries() override;
  void drop() override;

  /// The next key, value or pair; throws nb::stop_iteration.
  nb::object next();

 private:
  using Entry = std::pair<std::string, std::string>;
  static constexpr size_t kMostAhead = 64;
  static constexpr size_t kMostBytesAhead = 256 << 10;

  void begin();
  bool in_range() const;
  db::Status fill(std::deque<Entry>* ahead);

  std::shared_ptr<Database> database_;
  const std::optional<std::string> start_;
  const std::optional<std::string> stop_;
  const bool reverse_;
  const What what_;

  std::mutex mutex_;  ///< of what follows
  db::Iterator* at_ = nullptr;
  bool begun_ = false;
  bool ended_ = false;
  size_t next_size_ = 1;

  // Under the interpreter's lock.
  std::deque<Entry> ahead_;
  bool over_ = false;
};

}  // namespace holdfast::bindings
