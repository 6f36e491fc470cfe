// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/htm/htm_support.h"
#include "holdfast/machine/native/native_machine.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/sessions/judge.h"
#include "holdfast/runner/sessions/session.h"
#include "holdfast/runner/spec/guarded.h"
#include "holdfast/workloads/registry.h"

namespace holdfast {

/// A heap file of engine E on this computer, with a workload. With AnyEngine as E, spec.engine
/// names the engine.
template <class E>
class NativeSession final : public Session {
 public:
  static Result<std::unique_ptr<Session>> open(const SessionSpec& spec) {
    return guarded([&]() -> std::unique_ptr<Session> {
      std::unique_ptr<NativeSession> session(new NativeSession(spec));
      session->attach(spec);
      return session;
    });
  }

  std::string engine() const override { return description_.name; }
  WorkloadInstance& workload() override { return *workload_; }
  Statistics statistics() override { return heap_->statistics(); }
  int max_threads() const override { return max_threads_; }
  void run_threads(int n, FunctionRef<void(int)> body) override {
    heap_->machine().run_threads(n, body);
  }
  uint64_t now() override { return heap_->machine().now(); }
  double nanoseconds(uint64_t ticks) const override {
    return static_cast<double>(ticks) * ns_per_tick_;
  }
  std::string htm() const override {
    return description_.needs_htm ? heap_->machine().htm_capabilities().backend : "";
  }
  std::string domain() const override { return heap_->machine().medium().description(); }
  size_t heap_bytes() const override { return heap_->superblock().data_bytes(); }
  const RecoveryReport& recovery() const override { return heap_->recovery(); }
  bool created() const override { return created_; }
  Result<HeapFindings> check_heap() override {
    return guarded([&] { return walk(*at_rest_); });
  }
  std::span<const std::byte> data() const override {
    return {reinterpret_cast<const std::byte*>(heap_->superblock().base), heap_bytes()};
  }
  Result<ReplayReport> replay(const ReplayOptions& options) override {
    return guarded([&] { return replay_logs(heap_->engine(), options).value(); });
  }
  Status fence() override { return heap_->fence(); }
  Promise promise() const override { return heap_->promise(); }
  Status close() override { return heap_->close(); }
  Result<uint64_t> verify_pages() override { return heap_->verify_pages(); }

  static Status create(const std::string& path, const CreateOptions& options, Domain domain) {
    NativeOptions native;
    native.domain = domain;
    auto heap = Heap<E>::create(path, options, native);
    return heap.ok() ? (*heap)->close() : heap.status();
  }

 private:
  explicit NativeSession(const SessionSpec& spec)
      : description_(*EngineFactory<E>::describe(spec.engine).value()),
        created_(spec.open == SessionSpec::Open::create) {
    NativeOptions native;
    native.domain = spec.domain;
    native.force = spec.force;
    native.read_only = spec.read_only;
    native.latency = parse_latency(spec.latency).value();
    native.htm_backend = spec.htm ? *spec.htm : native::best_htm([&](const HtmCapabilities& can) {
      return EngineFactory<E>::uses_hardware(description_.name, can);
    });
    const Options options = engine_options(description_, spec.options);
    if (created_) {
      heap_ = Heap<E>::create(spec.path, creation(spec, options), native).value();
    } else {
      heap_ = Heap<E>::open(spec.path, OpenOptions{description_.name, options}, native).value();
    }
    at_rest_ = std::make_unique<HeapAtRest>(*heap_);
    ns_per_tick_ = heap_->machine().ns_per_tick();
    // One slot is the machine's own, one the caller's; the rest are for workers.
    max_threads_ = heap_->machine().slots() - 2;
  }

  CreateOptions creation(const SessionSpec& spec, const Options& options) const {
    CreateOptions create;
    create.engine = description_.name;
    create.options = options;
    create.base = spec.base;
    if (spec.bytes != 0) {
      create.bytes = spec.bytes;
    }
    create.max_bytes = spec.max_bytes;
    create.journal_bytes = spec.journal_bytes;
    // The caller has a slot, too, and an engine may keep one for further threads.
    create.max_threads = std::min(kMaxThreads, std::max(create.max_threads, spec.threads + 2));
    create.partitions = Parameters::partitions_in(spec.parameters);
    return create;
  }

  void attach(const SessionSpec& spec) {
    if (spec.workload.empty()) {
      return;
    }
    const WorkloadInfo* info = find_workload(spec.workload).value();
    const Parameters parameters = Parameters::make(*info, spec.parameters).value();
    workload_ = make_workload<Parts::runner>(spec.workload, *heap_, parameters);
    workload_->judged_by(make_judge(spec.workload, *at_rest_, parameters));
    (created_ ? workload_->set_up(spec.threads, spec.seed) : workload_->attach()).check();
  }

  const Description& description_;
  bool created_;
  double ns_per_tick_ = 1;
  int max_threads_ = 1;
  std::unique_ptr<Heap<E>> heap_;
  std::unique_ptr<HeapAtRest> at_rest_;
  std::unique_ptr<WorkloadInstance> workload_;  // refers to both heaps
};

}  // namespace holdfast
