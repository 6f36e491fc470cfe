// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/runner/db/recorder.h"
#include "holdfast/runner/db/store.h"

namespace holdfast::store_bench {

/// db_bench's flags. As there, each thread does so many operations, all on the same keys.
struct Sizes {
  uint64_t num = 100'000;    ///< keys
  uint64_t reads = 100'000;  ///< of each reading thread
  size_t value_size = 100;
};

/// Bytes to store, half of them by chance and half repeated, so that they can be compressed as far
/// as db_bench's.
class Values {
 public:
  explicit Values(uint64_t seed);
  std::string_view next(size_t size);

 private:
  std::string pool_;
  size_t position_ = 0;
};

/// What the threads of one run have in common.
struct Shared {
  std::atomic<int> working = 0;        ///< measured threads that are not done
  std::atomic<uint64_t> next = 0;      ///< YCSB: number of the next record to insert
  std::atomic<uint64_t> inserted = 0;  ///< YCSB: records whose insertion has returned
};

/// One thread's part of a run.
struct Task {
  Client& client;
  Recorder& recorder;
  Shared& shared;
  int thread = 0;   ///< helpers have the last numbers
  int threads = 1;  ///< that are measured
  Random random;
  Values values;

  bool helper() const { return thread >= threads; }
};

/// One line of the result: a benchmark of db_bench, or a phase of a YCSB workload.
struct Step {
  std::string name;
  bool fresh = false;    ///< begins with an empty store
  bool durable = false;  ///< db_bench's sync
  int helpers = 0;       ///< threads that are not measured
  uint64_t records = 0;  ///< Shared::next and inserted at the start
  std::vector<std::string> kinds;
  std::function<void(Task&)> body;
};

}  // namespace holdfast::store_bench
