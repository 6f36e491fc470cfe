// SPDX-License-Identifier: Apache-2.0
//
// Requests to a structure, their answers, and the sequential specification of both.
// linearizability.h checks concurrent and crashing runs against it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace holdfast {

/// A client's request. The workload and the kind define the meaning of the arguments.
struct Request {
  int kind = 0;  ///< index into WorkloadInfo::operations
  std::array<uint64_t, 3> argument = {};

  friend bool operator==(const Request&, const Request&) = default;
};

/// The answer to a request.
using Response = std::array<uint64_t, 2>;

/// The content of a structure, in the terms of its model.
using ModelState = std::vector<uint64_t>;

/// The sequential specification of a structure. Operations are deterministic: the state determines
/// the answer to a request.
///
/// Thread safety: immutable.
class SequentialModel {
 public:
  virtual ~SequentialModel() = default;

  /// Applies the request to the state and returns the answer. Throws std::out_of_range if the
  /// request or the state does not belong to this structure.
  virtual Response apply(const Request& request, ModelState& state) const = 0;

  /// Returns false if an operation with this answer changes no state: a look-up, or an erase that
  /// found nothing. The answer true is always correct; false saves the checker a search.
  virtual bool may_change(const Request& request, const Response& response) const;

  /// Returns whether each operation concerns one key, and keys do not affect each other. Then a
  /// history is linearizable if the history of each key is (Herlihy and Wing 1990: locality).
  virtual bool independent_keys() const { return false; }
  /// Returns the key of a request. Only with independent keys.
  virtual uint64_t key(const Request& request) const { return request.argument[0]; }
  /// Splits a state into a state for each key, which apply() accepts. A key that is not in the
  /// result has the empty state. Only with independent keys.
  virtual std::map<uint64_t, ModelState> split(const ModelState& state) const;

  /// Return text for a finding: "insert(5)", "true", "{5, 7}".
  virtual std::string describe(const Request& request) const = 0;
  virtual std::string describe(const Request& request, const Response& response) const = 0;
  virtual std::string describe(const ModelState& state) const = 0;
};

/// A digest of a large structure's content in one word: the sum of the words, each weighted by its
/// place. It is not safe against an adversary. No step waits for another step's multiplication, so
/// that the multiplications overlap with loads.
class PlaceDigest {
 public:
  void add(uint64_t word) {
    place_ += 0x9e3779b97f4a7c15ULL;  // 2^64 over the golden ratio, as in mix64
    sum_ += word * (place_ ^ (place_ >> 32));
  }
  uint64_t value() const { return sum_; }

 private:
  uint64_t place_ = 0;
  uint64_t sum_ = 0;
};

/// Returns "[first, second, ...]", with at most `most` words.
std::string list_text(const ModelState& words, size_t most = 24);

}  // namespace holdfast
