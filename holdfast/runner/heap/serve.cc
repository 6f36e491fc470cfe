// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/heap/serve.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <mutex>

#include "holdfast/base/seconds_since.h"
#include "holdfast/runner/heap/heap_report.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/spec/record.h"

namespace holdfast {
namespace {

using Clock = std::chrono::steady_clock;

struct ServePlan {
  SessionSpec session;
  uint64_t transactions = 0;
  double seconds = 0;
};

ServePlan parse_serve(const Json& spec) {
  ServePlan plan;
  Json with_default = spec;
  if (spec.is_object() && !spec.contains("open")) {
    with_default["open"] = "create_or_open";
  }
  Fields fields(with_default, "serve");
  plan.session = SessionSpec::parse(fields);
  plan.transactions = static_cast<uint64_t>(fields.number("transactions", 0, 0, INT64_MAX));
  plan.seconds = fields.real("seconds", 0, 0, 1e9);
  fields.finish();
  return plan;
}

/// Turns a write to a pipe without a reader into an error; by default it ends the process.
class IgnoreSigpipe {
 public:
  IgnoreSigpipe() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~IgnoreSigpipe() {
    if (before_ != SIG_ERR) {
      (void)std::signal(SIGPIPE, before_);
    }
  }
  IgnoreSigpipe(const IgnoreSigpipe&) = delete;
  IgnoreSigpipe& operator=(const IgnoreSigpipe&) = delete;

 private:
  void (*before_)(int);
};

class Server {
 public:
  Server(Session& session, const ServePlan& plan, int fd)
      : session_(session), plan_(plan), fd_(fd), start_(Clock::now()) {}

  Status run() {
    session_.run_threads(plan_.session.threads, [this](int number) {
      const Status status = run_guarded([&] { work(number); });
      if (!status.ok()) {
        stop_.store(true);
        const std::lock_guard lock(mutex_);
        failure_ = status;
      }
    });
    return failure_;
  }

  uint64_t operations() const { return done_.load(); }
  double seconds() const { return seconds_since(start_); }

 private:
  static constexpr uint64_t kFenceOneIn = 500;  // operations, of a session whose durability may lag

  void work(int number) {
    WorkloadInstance& workload = session_.workload();
    Random random(mix64(plan_.session.seed) ^ mix64(static_cast<uint64_t>(number) + 1));
    const bool lags = session_.promise().bound > 0;
    while (!stop_.load() && begin_operation()) {
      tell(Record::of(number, workload.operation(number, random)));
      done_.fetch_add(1);
      if (lags && random.below(kFenceOneIn) == 0) {
        Record fence = Record::of(number, {});
        fence.kind = Record::kFence;
        tell(fence);
        session_.fence().check();
        fence.kind = Record::kFenced;
        tell(fence);
      }
    }
  }

  void tell(const Record& record) {
    if (!write_record(fd_, record).ok()) {
      stop_.store(true);  // the reader has gone, so acknowledgements reach no client
    }
  }

  /// Returns whether the limits allow one more operation.
  bool begin_operation() {
    if (plan_.transactions > 0 && begun_.fetch_add(1) >= plan_.transactions) {
      return false;
    }
    return plan_.seconds == 0 || seconds_since(start_) < plan_.seconds;
  }

  Session& session_;
  const ServePlan& plan_;
  const int fd_;
  const Clock::time_point start_;
  std::atomic<uint64_t> begun_ = 0;
  std::atomic<uint64_t> done_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  Status failure_;
};

constexpr size_t kShownFailures = 20;

/// Returns the number of records before the last fence that has returned. A crash takes nothing
/// that they promise.
size_t covered_by_fences(const std::vector<Record>& records) {
  std::map<uint16_t, size_t> begun;  // by worker
  size_t covered = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].kind == Record::kFence) {
      begun[records[i].worker] = i;
    } else if (records[i].kind == Record::kFenced) {
      covered = std::max(covered, begun[records[i].worker]);
    }
  }
  return covered;
}

/// Has the workload verify every acknowledgement in `records`, and counts. If durability lags,
/// updates that no fence covers may be lost, up to the promised bound, and with them any number of
/// reads that have seen them.
void verify_records(WorkloadInstance& workload, const Promise& promise,
                    const std::vector<Record>& records, Progress progress, Json& result) {
  const bool lags = promise.durability == Durability::lagging;
  const size_t covered = lags ? covered_by_fences(records) : records.size();
  uint64_t lost = 0;     // updates
  uint64_t excused = 0;  // acknowledgements
  const auto& kinds = workload.info().operations;
  std::vector<uint64_t> by_kind(kinds.size());
  uint64_t operations = 0;
  uint64_t acknowledged = 0;
  uint64_t failed = 0;
  Json failures = Json::array();
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (!record.is_operation()) {
      continue;
    }
    if (record.kind >= kinds.size()) {
      throw Error(Status(Code::corrupt, "an acknowledgement is of operation " +
                                            std::to_string(record.kind) + ", which " +
                                            workload.info().name + " does not have"));
    }
    ++operations;
    ++by_kind[record.kind];
    if (record.promises()) {
      ++acknowledged;
      const Status status = workload.verify(record.result());
      if (!status.ok() && i >= covered) {
        lost += record.read_only == 0 ? 1 : 0;
        if (lost <= promise.bound) {
          ++excused;
          continue;
        }
      }
      failed += status.ok() ? 0 : 1;
      if (!status.ok() && failures.size() < kShownFailures) {
        failures.push_back(std::string(kinds[record.kind]) + ": " + status.message());
      }
    }
    if (i % 4096 == 0) {
      progress(0.8 * static_cast<double>(i) / static_cast<double>(records.size()), "verify");
    }
  }
  Json counts = Json::object();
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    counts[kinds[kind]] = by_kind[kind];
  }
  result["operations"] = operations;
  result["by_operation"] = counts;
  result["acknowledged"] = acknowledged;
  result["verified"] = acknowledged - failed - excused;
  result["lost"] = lost;
  result["failure_count"] = failed;
  result["failures"] = failures;
}

}  // namespace

Json to_json(const RecoveryReport& report) {
  return {{"needed", report.needed},
          {"transactions", report.transactions},
          {"bytes", report.bytes},
          {"text", report.text}};
}

Result<Json> serve(const Json& spec, int fd) {
  return guarded([&] {
    const ServePlan plan = parse_serve(spec);
    const IgnoreSigpipe ignore;
    const auto start = Clock::now();
    const auto session = std::move(open_session(plan.session)).value();
    const double open_seconds = seconds_since(start);
    // The reader takes a heap that is ready for one that a kill leaves set up.
    session->fence().check();
    Record ready;
    ready.kind = Record::kReady;
    ready.words[0] = session->created() ? 1 : 0;
    ready.words[1] = static_cast<uint64_t>(open_seconds * 1e9);
    write_record(fd, ready).check();
    Server server(*session, plan, fd);
    const Status status = server.run();
    const Json result = {{"operations", server.operations()},
                         {"seconds", server.seconds()},
                         {"created", session->created()},
                         {"open_seconds", open_seconds},
                         {"recovery", to_json(session->recovery())},
                         {"domain", session->domain()}};
    status.check();
    session->close().check();
    return result;
  });
}

Result<Json> verify(const Json& spec, std::string_view records, Progress progress) {
  return guarded([&] {
    Json with_default = spec;
    if (spec.is_object() && !spec.contains("open")) {
      with_default["open"] = "open";
    }
    Fields fields(with_default, "verify");
    const SessionSpec plan = SessionSpec::parse(fields);
    fields.finish();
    const std::vector<Record> parsed = parse_records(records).value();
    progress(0, "open");
    const auto start = Clock::now();
    const auto session = std::move(open_session(plan)).value();
    Json result = {{"ok", false},
                   {"open_seconds", seconds_since(start)},
                   {"recovery", to_json(session->recovery())},
                   {"domain", session->domain()}};
    verify_records(session->workload(), session->promise(), parsed, progress, result);
    progress(0.8, "check");
    const auto check_start = Clock::now();
    const Status checked = session->workload().check();
    result["check"] = checked.to_string();
    const Json heap_check = to_json(session->check_heap().value());
    result["heap_check"] = heap_check;
    result["check_seconds"] = seconds_since(check_start);
    result["ok"] = result["failure_count"] == 0 && checked.ok() && heap_check.value("ok", false);
    session->close().check();
    progress(1, "done");
    return result;
  });
}

}  // namespace holdfast
