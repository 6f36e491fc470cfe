// SPDX-License-Identifier: Apache-2.0
// Does a crash search find a heap that is not as it was set up?
#include "holdfast/check/crash/crash_explorer.h"

#include <gtest/gtest.h>

#include "holdfast/check/crash/register_subject.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::check::crash_explorer_test {
namespace {

/// Registers that read otherwise the second time.
class Forgetful final : public Subject {
 public:
  int threads() const override { return registers_.threads(); }
  Status set_up(SimHeap& heap) override { return registers_.set_up(heap); }
  Status attach(SimHeap& heap) override { return registers_.attach(heap); }
  void start(uint64_t seed, const Words& initial) override { registers_.start(seed, initial); }
  void client(int thread, SimHeap& heap) override { registers_.client(thread, heap); }
  uint64_t clock() const override { return registers_.clock(); }
  Result<Words> observe(SimHeap& heap) override {
    auto words = registers_.observe(heap);
    if (words.ok() && observed_++ > 0) {
      words->back() += 1;
    }
    return words;
  }
  void visit_blocks(const std::function<void(const void*, size_t)>& visit) override {
    registers_.visit_blocks(visit);
  }
  std::optional<Fault> judge_run(const Guarantees& promised) override {
    return registers_.judge_run(promised);
  }
  std::optional<Fault> judge_crash(const Guarantees& promised, uint64_t until,
                                   const Words& recovered) override {
    return registers_.judge_crash(promised, until, recovered);
  }
  uint64_t lost_max() const override { return registers_.lost_max(); }
  std::string program() const override { return registers_.program(); }
  std::string story(uint64_t until) const override { return registers_.story(until); }

 private:
  RegisterSubject registers_{{.program = {.threads = 2, .transactions = 1}}};
  int observed_ = 0;
};

TEST(CrashExplorer, AHeapThatIsNotAsItWasSetUpIsAViolation) {
  Forgetful subject;
  CrashPlan plan;
  const auto durable = [](const auto& row) { return is_durable(*row.description); };
  plan.heap.engine = engine_rows_test::first_row(durable).description->name;
  plan.heap.bytes = 16 << 10;
  plan.schedules = 1;
  const CrashReport report = CrashExplorer(plan, subject).explore([](double) {});
  ASSERT_EQ(report.violations.size(), 1u);
  EXPECT_EQ(report.violations[0].fault.name, "new heap changed");
}

}  // namespace
}  // namespace holdfast::check::crash_explorer_test
