// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sessions/measurement.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <exception>
#include <memory>
#include <thread>

#include "holdfast/runner/spec/guarded.h"

namespace holdfast {
namespace {

/// Operations between two readings of the clock, while operations are short: the clock then adds
/// little to their time.
constexpr int kStride = 16;
/// Operations longer than this are all timed: the clock's cost no longer matters.
constexpr double kLongOperationNs = 20'000;

/// The most kinds of operation a workload may have.
constexpr size_t kMaxKinds = 16;

/// Per thread, on lines of its own.
struct alignas(kMaxLineBytes) Worker {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t operations = 0;
  uint64_t rolled_back = 0;
  uint64_t consumed = 0;
  std::array<uint64_t, kMaxKinds> by_kind{};  // in place: no line is shared with another thread
  std::vector<Histogram> latency;
  Status status;

  void count(const OperationResult& result) {
    ++operations;
    ++by_kind[static_cast<size_t>(result.kind)];
    rolled_back += result.committed ? 0 : 1;
    for (const uint64_t word : result.acknowledgement) {
      consumed += word;
    }
  }
};

double process_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Releases `threads` threads together; yields, because there may be fewer cores than threads.
class StartLine {
 public:
  explicit StartLine(int threads) : missing_(threads) {}
  void wait() {
    missing_.fetch_sub(1);
    while (missing_.load() > 0) {
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<int> missing_;
};

void work(Session& session, Worker& worker, int number, double seconds, uint64_t seed,
          const std::atomic<bool>& stop) {
  WorkloadInstance& workload = session.workload();
  Random random(mix64(seed) ^ mix64(static_cast<uint64_t>(number) + 1));
  worker.first = worker.last = session.now();
  int untimed = 0;
  while (!stop.load(std::memory_order_relaxed)) {  // a hint to stop; no data depends on it
    for (; untimed > 0; --untimed) {
      worker.count(workload.operation(number, random));
    }
    const uint64_t before = session.now();
    const OperationResult result = workload.operation(number, random);
    worker.last = session.now();
    worker.count(result);
    const double took = session.nanoseconds(worker.last - before);
    worker.latency[static_cast<size_t>(result.kind)].add(static_cast<uint64_t>(took));
    if (session.nanoseconds(worker.last - worker.first) >= seconds * 1e9) {
      return;
    }
    untimed = took < kLongOperationNs ? kStride - 1 : 0;
  }
}

Measurement sum_up(Session& session, std::vector<Worker>& workers) {
  Measurement measurement;
  const size_t kinds = workers.front().latency.size();
  measurement.by_kind.resize(kinds);
  measurement.latency.resize(kinds);
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;
  uint64_t consumed = 0;
  for (Worker& worker : workers) {
    first = std::min(first, worker.first);
    last = std::max(last, worker.last);
    measurement.operations += worker.operations;
    measurement.rolled_back += worker.rolled_back;
    consumed += worker.consumed;
    for (size_t kind = 0; kind < kinds; ++kind) {
      measurement.by_kind[kind] += worker.by_kind[kind];
      measurement.latency[kind] += worker.latency[kind];
    }
    if (measurement.status.ok()) {
      measurement.status = worker.status;
    }
  }
  // Makes all acknowledgements an input of code the compiler cannot see.
  asm volatile("" : : "r"(consumed) : "memory");
  measurement.seconds = session.nanoseconds(last - first) * 1e-9;
  return measurement;
}

}  // namespace

Measurement measure(Session& session, int threads, double seconds, uint64_t seed) {
  const size_t kinds = session.workload().info().operations.size();
  if (kinds > kMaxKinds) {
    Measurement refused;
    refused.status =
        Status(Code::unsupported,
               "a workload may have at most " + std::to_string(kMaxKinds) + " kinds of operation");
    return refused;
  }
  std::vector<Worker> workers(static_cast<size_t>(threads));
  for (Worker& worker : workers) {
    worker.latency.resize(kinds);
  }
  StartLine start(threads);
  std::atomic<bool> stop = false;
  const Statistics before = session.statistics();
  const double cpu_before = process_cpu_seconds();
  session.run_threads(threads, [&](int number) {
    Worker& worker = workers[static_cast<size_t>(number)];
    start.wait();
    worker.status = run_guarded([&] { work(session, worker, number, seconds, seed, stop); });
    if (!worker.status.ok()) {
      stop.store(true);
    }
  });
  Measurement measurement = sum_up(session, workers);
  measurement.cpu_seconds = process_cpu_seconds() - cpu_before;
  measurement.statistics = session.statistics() - before;
  return measurement;
}

}  // namespace holdfast
