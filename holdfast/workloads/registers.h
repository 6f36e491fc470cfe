// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast {

const WorkloadInfo& registers_info();

template <class H>
struct RegistersRoot {
  template <class T>
  using Field = typename H::template Field<T>;
  struct alignas(kLineBytes) Register {
    Field<uint64_t> value;
  };
  static constexpr const char* kTypeName = "holdfast.workload.Registers";
  static constexpr uint32_t kTypeVersion = 1;

  RegistersRoot(int workers, uint64_t registers)
      : ledger(workers),
        count(registers),
        word(static_cast<Register*>(H::allocate(registers * sizeof(Register)))) {
    Register* first = word;
    for (uint64_t i = 0; i < registers; ++i) {
      first[i].value = 0;
    }
  }
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    visit(static_cast<const void*>(word.load()), count * sizeof(Register));
  }

  Ledger<H> ledger;
  Field<uint64_t> count;
  Field<Register*> word;
};

/// A workload made for checkers. Every value written is (worker + 1) << 40 | sequence, which names
/// its transaction, so every value read reveals its writer.
///
/// A scan reads all words and every worker's counter. A value whose transaction the counters do not
/// include means a torn snapshot, and throws Error(corrupt). A scan acknowledges one transaction
/// whose value it has read, because data that a read-only transaction has delivered must be durable
/// too.
template <class H>
class RegistersRunner : public SmallWorkload<H, RegistersRoot<H>> {
  using Register = typename RegistersRoot<H>::Register;

 public:
  static const WorkloadInfo& static_info() { return registers_info(); }

  RegistersRunner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, RegistersRoot<H>>(heap, parameters, true),
        count_(static_cast<uint64_t>(parameters.number("count", 1, 1000))),
        writes_(static_cast<int>(parameters.number("writes", 1, kMostWrites))),
        scan_(parameters, "scan") {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t) override { return this->create_root(workers, count_); }

  OperationResult operation(int worker, Random& random) override {
    const bool scan = scan_.draw(random);
    uint64_t index[kMostWrites];
    for (int i = 0; i < writes_; ++i) {
      index[i] = random.below(count_);
    }
    return scan ? read_all(worker, index[0]) : write(worker, index);
  }

 protected:
  static constexpr int kMostWrites = 16;
  static constexpr int kWorkerShift = 40;

  OperationResult write(int worker, const uint64_t* index) {
    return this->updating(0, worker, [&] {
      // updating() advances the counter after this body, in the same transaction.
      const uint64_t sequence = this->root_->ledger.sequence(worker) + 1;
      const uint64_t value = (static_cast<uint64_t>(worker) + 1) << kWorkerShift | sequence;
      for (int i = 0; i < writes_; ++i) {
        word_[index[i]].value = value;
      }
      return value;
    });
  }

  OperationResult read_all(int worker, uint64_t shown) {
    uint64_t torn = 0;
    uint64_t seen = 0;
    OperationResult result = this->reading(1, worker, [&] {
      torn = first_torn();
      seen = word_[shown].value;
      return seen;
    });
    judge(torn).check();
    if (seen != 0) {
      this->acknowledge(result, worker_of(seen), sequence_of(seen));
    }
    return result;
  }

  static int worker_of(uint64_t value) { return static_cast<int>(value >> kWorkerShift) - 1; }
  static uint64_t sequence_of(uint64_t value) {
    return value & ((uint64_t{1} << kWorkerShift) - 1);
  }

  /// A value whose transaction the counters of the same snapshot do not include; 0 if there is
  /// none.
  uint64_t first_torn() const {
    const auto& ledger = this->root_->ledger;
    for (uint64_t i = 0; i < count_; ++i) {
      const uint64_t value = word_[i].value;
      if (value != 0 &&
          (worker_of(value) < 0 || worker_of(value) >= this->workers() || sequence_of(value) == 0 ||
           sequence_of(value) > ledger.sequence(worker_of(value)))) {
        return value;
      }
    }
    return 0;
  }
  static Status judge(uint64_t torn) {
    if (torn == 0) {
      return {};
    }
    return Status(Code::corrupt, "registers: a word holds update " +
                                     std::to_string(sequence_of(torn)) + " of worker " +
                                     std::to_string(worker_of(torn)) +
                                     ", which has not happened in this snapshot");
  }

  Status bound() override {
    return this->heap_.read([&] {
      count_ = this->root_->count;
      word_ = this->root_->word;
    });
  }

  uint64_t count_;
  int writes_;
  Chance scan_;
  Register* word_ = nullptr;
};

/// The runner with its judge.
template <class H>
class Registers final : public SmallJudge<RegistersRunner<H>> {
 public:
  using SmallJudge<RegistersRunner<H>>::SmallJudge;

  Status check() override {
    return this->in_read([&] { return this->judge(this->first_torn()); });
  }
};

/// The registry's row.
using RegistersWorkload = WorkloadRow<registers_info, RegistersRunner, Registers>;

}  // namespace holdfast
