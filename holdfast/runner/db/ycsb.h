// SPDX-License-Identifier: Apache-2.0
//
// The core workloads of YCSB (Cooper and others, SoCC 2010): records are loaded, then read,
// updated, inserted, scanned, and read and updated, in given proportions.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "holdfast/runner/db/step.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast::store_bench {

struct Ycsb {
  enum class Request { uniform, zipfian, latest };
  /// The kinds of operation, in the order of `proportions`.
  static constexpr std::array kKinds{"read", "update", "insert", "scan", "readmodifywrite"};

  /// Reads fields with the names of YCSB's properties. Throws Error(invalid_argument).
  static Ycsb parse(const Json& properties);

  std::string name;
  uint64_t records = 1000;
  uint64_t operations = 1000;                                          ///< of all threads together
  std::array<double, kKinds.size()> proportions{0.95, 0.05, 0, 0, 0};  ///< their sum is 1
  Request request = Request::uniform;
  size_t value_size = 1000;  ///< all fields of a record
  uint64_t longest_scan = 1000;
  bool uniform_scan = true;  ///< lengths of scans; else zipfian
  bool hashed = true;        ///< keys in hash order; else in order of insertion
};

/// The steps "<name>-load" and "<name>". Updates and insertions write whole records.
std::vector<Step> steps_of(const Ycsb& workload);

}  // namespace holdfast::store_bench
