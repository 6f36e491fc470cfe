// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/plain_heap.h"
#include "holdfast/machine/native/support/ticks.h"
#include "holdfast/machine/native/threads/threads.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/spec/guarded.h"
#include "holdfast/workloads/registry.h"

namespace holdfast {
namespace {

/// The workload on ordinary memory: the same code with plain fields, one thread, nothing durable.
class PlainSession final : public Session {
 public:
  explicit PlainSession(const SessionSpec& spec) {
    const WorkloadInfo* info = find_workload(spec.workload).value();
    const Parameters parameters = Parameters::make(*info, spec.parameters).value();
    workload_ = make_workload(spec.workload, heap_, parameters);
    workload_->set_up(1, spec.seed).check();
  }

  std::string engine() const override { return kPlain; }
  WorkloadInstance& workload() override { return *workload_; }
  Statistics statistics() override { return {}; }
  int max_threads() const override { return 1; }
  void run_threads(int n, FunctionRef<void(int)> body) override {
    native::run_pinned(n, native::allowed_processors(), body);
  }
  uint64_t now() override { return ticks_.now(); }
  double nanoseconds(uint64_t ticks) const override {
    return static_cast<double>(ticks) * ticks_.ns_per_tick();
  }
  std::string htm() const override { return ""; }
  std::string domain() const override { return "none (ordinary memory)"; }
  size_t heap_bytes() const override { return heap_.live_bytes(); }
  const RecoveryReport& recovery() const override { return recovery_; }
  bool created() const override { return true; }
  Result<HeapFindings> check_heap() override { return HeapFindings(); }
  std::span<const std::byte> data() const override { return {}; }
  Result<ReplayReport> replay(const ReplayOptions& /*options*/) override {
    return Status(Code::unsupported, "there is no log in ordinary memory");
  }
  Status fence() override { return {}; }
  Promise promise() const override { return {.durability = Durability::none}; }
  Status close() override { return {}; }
  Result<uint64_t> verify_pages() override { return uint64_t{0}; }

 private:
  native::Ticks ticks_;
  PlainHeap heap_;
  RecoveryReport recovery_;
  std::unique_ptr<WorkloadInstance> workload_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_plain_session(const SessionSpec& spec) {
  return guarded([&]() -> std::unique_ptr<Session> {
    if (spec.open == SessionSpec::Open::open) {
      throw Error(
          Status(Code::unsupported, "nothing of `plain` is durable: there is no file to open"));
    }
    return std::make_unique<PlainSession>(spec);
  });
}

}  // namespace holdfast
