// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/db/measure.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <latch>
#include <memory>
#include <optional>
#include <thread>

#include "holdfast/machine/native/threads/threads.h"
#include "holdfast/runner/spec/guarded.h"

namespace holdfast::store_bench {
namespace {

using Clock = std::chrono::steady_clock;

double process_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct alignas(kMaxLineBytes) Worker {
  std::unique_ptr<Recorder> recorder;
  Clock::time_point start;
  Clock::time_point end;
  double cpu_start = 0;
  double cpu_end = 0;
  Status status;
};

void work(Store& store, const Step& step, bool durable, uint64_t seed, std::latch& line,
          Shared& shared, int number, int threads, Worker& worker) {
  std::unique_ptr<Client> client;
  std::optional<Values> values;
  worker.status = run_guarded([&] {
    client = store.client(durable);
    values.emplace(seed);
  });
  line.arrive_and_wait();  // after a failure too: the other threads wait for all
  worker.cpu_start = process_cpu_seconds();
  worker.start = Clock::now();
  if (worker.status.ok()) {
    worker.status = run_guarded([&] {
      const Random random(mix64(seed) ^ mix64(static_cast<uint64_t>(number) + 1));
      Task task{*client, *worker.recorder, shared, number, threads, random, std::move(*values)};
      step.body(task);
    });
  }
  worker.end = Clock::now();
  worker.cpu_end = process_cpu_seconds();
  if (number < threads) {
    shared.working.fetch_sub(1);
  }
  // A store may throw when it closes. The report shows that, though it was not measured.
  const Status closed = run_guarded([&] { client.reset(); });
  if (worker.status.ok()) {
    worker.status = closed;
  }
}

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Run sum_up(const std::vector<Worker>& workers, size_t measured, size_t kinds) {
  Run run;
  run.by_kind.resize(kinds);
  run.latency.resize(kinds);
  uint64_t consumed = 0;
  Clock::time_point start = Clock::time_point::max();
  Clock::time_point end = Clock::time_point::min();
  double cpu_start = workers.front().cpu_start;
  double cpu_end = 0;
  for (size_t i = 0; i < workers.size(); ++i) {
    const Worker& worker = workers[i];
    const Recorder& r = *worker.recorder;
    consumed += r.consumed;
    if (run.status.ok()) {
      run.status = worker.status;
    }
    if (i >= measured) {
      continue;
    }
    start = std::min(start, worker.start);
    end = std::max(end, worker.end);
    cpu_start = std::min(cpu_start, worker.cpu_start);
    cpu_end = std::max(cpu_end, worker.cpu_end);
    run.thread_seconds += seconds(worker.end - worker.start);
    run.bytes += r.bytes;
    run.looked += r.looked;
    run.found += r.found;
    for (size_t kind = 0; kind < kinds; ++kind) {
      run.by_kind[kind] += r.by_kind[kind];
      run.operations += r.by_kind[kind];
      run.latency[kind] += r.latency[kind];
    }
  }
  // Makes all read data an input of code the compiler cannot see.
  asm volatile("" : : "r"(consumed) : "memory");
  run.seconds = seconds(end - start);
  run.cpu_seconds = cpu_end - cpu_start;
  return run;
}

}  // namespace

Run measure(Store& store, const Step& step, int threads, bool durable, uint64_t seed, bool each) {
  const int all = threads + step.helpers;
  std::vector<Worker> workers(static_cast<size_t>(all));
  for (Worker& worker : workers) {
    worker.recorder = std::make_unique<Recorder>(step.kinds.size(), each);
  }
  Shared shared;
  shared.working = threads;
  shared.next = shared.inserted = step.records;
  std::latch line(all);
  native::run_pinned(all, native::allowed_processors(), [&](int number) {
    work(store, step, durable, seed, line, shared, number, threads,
         workers[static_cast<size_t>(number)]);
  });
  return sum_up(workers, static_cast<size_t>(threads), step.kinds.size());
}

void settle() {
  constexpr auto kLook = std::chrono::milliseconds(5);
  constexpr double kIdleShare = 0.2;
  constexpr auto kPatience = std::chrono::seconds(10);
  const auto start = Clock::now();
  while (Clock::now() - start < kPatience) {
    const double before = process_cpu_seconds();
    const auto then = Clock::now();
    std::this_thread::sleep_for(kLook);
    if (process_cpu_seconds() - before < kIdleShare * seconds(Clock::now() - then)) {
      return;
    }
  }
}

}  // namespace holdfast::store_bench
