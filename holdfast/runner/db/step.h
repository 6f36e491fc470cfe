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

/// db_bench's flags. As there, each thread does that many operations, all on the same keys.
struct Sizes {
  uint64_t num = 100'000;    ///< keys
  uint64_t reads = 100'000;  ///< of each reading thread
  size_t value_size = 100;
};

/// Values to store. Half of the bytes are random and half repeated, so that they compress as well
/// as db_bench's.
class Values {
 public:
  explicit Values(uint64_t seed);
  std::string_view next(size_t size);

 private:
  std::string pool_;
  size_t position_ = 0;
};

/// State that the threads of one run share.
struct Shared {
  std::atomic<int> working = 0;        ///< measured threads that still run
  std::atomic<uint64_t> next = 0;      ///< YCSB: number of the next record to insert
  std::atomic<uint64_t> inserted = 0;  ///< YCSB: records whose insertion has returned
};

/// One thread's part of a run.
struct Task {
  Client& client;
  Recorder& recorder;
  Shared& shared;
  int thread = 0;   ///< helpers have the last numbers
  int threads = 1;  ///< measured threads
  Random random;
  Values values;

  bool helper() const { return thread >= threads; }
};

/// One line of the result: a benchmark of db_bench, or a phase of a YCSB workload.
struct Step {
  std::string name;
  bool fresh = false;    ///< begins with an empty store
  bool durable = false;  ///< db_bench's sync
  int helpers = 0;       ///< unmeasured threads
  uint64_t records = 0;  ///< Shared::next and inserted at the start
  std::vector<std::string> kinds;
  std::function<void(Task&)> body;
};

}  // namespace holdfast::store_bench
