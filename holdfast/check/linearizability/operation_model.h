// SPDX-License-Identifier: Apache-2.0
//
// What clients of a structure ask and are told, and the sequential meaning of it: the specification
// that a concurrent, crashing run is held against (check/linearizability/linearizability.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace holdfast {

/// One thing a client asks for. What the arguments mean follows from the workload and the kind.
struct Request {
  int kind = 0;  ///< index into WorkloadInfo::operations
  std::array<uint64_t, 3> argument = {};

  friend bool operator==(const Request&, const Request&) = default;
};

/// What the client is told.
using Response = std::array<uint64_t, 2>;

/// The content of a structure, in the terms of its model.
using ModelState = std::vector<uint64_t>;

/// A structure as one client alone would know it. Its operations are deterministic, so that the
/// answer to a request follows from the state.
///
/// Thread safety: immutable.
class SequentialModel {
 public:
  virtual ~SequentialModel() = default;

  /// Does what is asked and returns what the client is told. Throws std::out_of_range when the
  /// request or the state is none of this structure's.
  virtual Response apply(const Request& request, ModelState& state) const = 0;

  /// False when an operation with this answer changes no state whatever: a look at it, or an erase
  /// that found nothing. Saying true is always right; false saves the checker a search.
  virtual bool may_change(const Request& request, const Response& response) const;

  /// Whether each operation concerns one key and keys have nothing to do with each other. A history
  /// is linearizable then if it is so key by key (Herlihy and Wing 1990: locality).
  virtual bool independent_keys() const { return false; }
  /// With independent keys: the key of a request.
  virtual uint64_t key(const Request& request) const { return request.argument[0]; }
  /// With independent keys: what the state says of each key, a state of its own that apply() takes.
  /// A key that is not mentioned has the empty state.
  virtual std::map<uint64_t, ModelState> split(const ModelState& state) const;

  /// In words, for a finding: "insert(5)", "true", "{5, 7}".
  virtual std::string describe(const Request& request) const = 0;
  virtual std::string describe(const Request& request, const Response& response) const = 0;
  virtual std::string describe(const ModelState& state) const = 0;
};

/// Tells one content of a large structure from another in one word, though not against an
/// adversary: a sum of words weighted by their place. No step waits for the multiplication of
/// another one, so that it hides behind the loads.
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

/// "[first, second, ...]", cut after so many.
std::string list_text(const ModelState& words, size_t most = 24);

}  // namespace holdfast
