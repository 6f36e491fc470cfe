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

namespace holdfast::bindings {

/// Walks the entries of a snapshot between two keys. It reads ahead, so a walk lets go of the
/// interpreter's lock once for many entries. The entries never change, so reading ahead is safe.
///
/// Thread safety: any thread may call next(); each entry goes to one caller.
class Entries final : public Dependent {
 public:
  enum class What { keys, values, items };

  /// Walks from `start`, inclusive, to `stop`, exclusive, or in reverse. Without a key the range
  /// has no limit on that side. A null `snapshot` stands for the present state.
  Entries(std::shared_ptr<Database> database, Snapshot* snapshot, std::optional<std::string> start,
          std::optional<std::string> stop, bool reverse, What what);
  ~Entries() override;
  void drop() override;

  /// Returns the next key, value or pair. Throws nb::stop_iteration at the end.
  nb::object next();

 private:
  using KeyAndValue = std::pair<std::string, std::string>;
  static constexpr size_t kMostAhead = 64;
  static constexpr size_t kMostBytesAhead = 256 << 10;

  void begin();
  bool in_range() const;
  db::Status fill(std::deque<KeyAndValue>* ahead);

  std::shared_ptr<Database> database_;
  const std::optional<std::string> start_;
  const std::optional<std::string> stop_;
  const bool reverse_;
  const What what_;

  std::mutex mutex_;  ///< guards the next four members
  db::Iterator* at_ = nullptr;
  bool begun_ = false;
  bool ended_ = false;
  size_t next_size_ = 1;

  // The interpreter's lock guards these.
  std::deque<KeyAndValue> ahead_;
  bool over_ = false;
};

}  // namespace holdfast::bindings
