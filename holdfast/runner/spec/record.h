// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// A message of a worker to its parent through the pipe: one record per write(2). Records are at
/// most PIPE_BUF long, so the kernel neither splits a record nor mixes those of several threads.
/// The parent can still read records that were written before a SIGKILL.
struct Record {
  static constexpr uint32_t kReady = 0xffffffff;  ///< the heap is open; words: created, recovery ns
  static constexpr uint32_t kFence = 0xfffffffe;  ///< the worker is about to call fence()
  static constexpr uint32_t kFenced = 0xfffffffd;  ///< its fence() has returned

  uint32_t kind = 0;  ///< index into WorkloadInfo::operations, or one of those above
  uint16_t worker = 0;
  uint8_t committed = 0;
  uint8_t read_only = 0;
  uint64_t words[4] = {};  ///< OperationResult::acknowledgement

  static Record of(int worker_number, const OperationResult& result) {
    Record record;
    record.kind = static_cast<uint32_t>(result.kind);
    record.worker = static_cast<uint16_t>(worker_number);
    record.committed = result.committed ? 1 : 0;
    record.read_only = result.read_only ? 1 : 0;
    for (int i = 0; i < 4; ++i) {
      record.words[i] = result.acknowledgement[i];
    }
    return record;
  }

  OperationResult result() const {
    OperationResult r;
    r.kind = static_cast<int>(kind);
    r.committed = committed != 0;
    r.read_only = read_only != 0;
    for (int i = 0; i < 4; ++i) {
      r.acknowledgement[i] = words[i];
    }
    return r;
  }

  bool is_operation() const { return kind < kFenced; }
  bool promises() const { return (words[0] | words[1] | words[2] | words[3]) != 0; }
};
static_assert(sizeof(Record) == 40 && std::is_trivially_copyable_v<Record>);
static_assert(sizeof(Record) <= PIPE_BUF);

/// Writes one record with one write(2); io_error when the other end has gone.
Status write_record(int fd, const Record& record);

/// Splits a stream into records; returns corrupt unless it is a whole number of them.
Result<std::vector<Record>> parse_records(std::string_view bytes);

}  // namespace holdfast
