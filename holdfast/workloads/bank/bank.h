// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/bank/bank_model.h"
#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast {

const WorkloadInfo& bank_info();

template <class H>
struct BankRoot {
  template <class T>
  using Field = typename H::template Field<T>;
  static constexpr const char* kTypeName = "holdfast.workload.Bank";
  static constexpr uint32_t kTypeVersion = 1;

  BankRoot(int workers, int64_t count, int64_t initial)
      : ledger(workers),
        accounts(count),
        balance(initial),
        account(static_cast<Field<int64_t>*>(
            H::allocate(static_cast<size_t>(count) * sizeof(Field<int64_t>)))) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    visit(static_cast<const void*>(account.load()),
          static_cast<size_t>(accounts.load()) * sizeof(Field<int64_t>));
  }

  Ledger<H> ledger;
  Field<int64_t> accounts;
  Field<int64_t> balance;  ///< of each account at the start
  Field<Field<int64_t>*> account;
};

/// Transfers between two accounts, which never go below zero, and audits. An audit reads every
/// account, and throws Error(corrupt) unless the total is the initial one.
template <class H>
class BankRunner : public SmallWorkload<H, BankRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return bank_info(); }

  BankRunner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, BankRoot<H>>(heap, parameters),
        accounts_(parameters.number("accounts", 2, 100000000)),
        balance_(parameters.number("balance", 0, 1000000000)),
        audit_(parameters, "audit") {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t) override {
    Status status = this->create_root(workers, accounts_, balance_);
    if (!status.ok()) {
      return status;
    }
    return this->in_batches(static_cast<uint64_t>(accounts_),
                            [&](uint64_t i) { account_[i] = balance_; });
  }

  OperationResult operation(int worker, Random& random) override {
    return perform<false>(worker, draw(worker, random));
  }

  const SequentialModel* model() const override { return &model_; }

  Request draw(int, Random& random) override {
    if (audit_.draw(random)) {
      return {BankModel::kAudit, {}};
    }
    const auto n = static_cast<uint64_t>(accounts_);
    const uint64_t from = random.below(n);
    const uint64_t to = (from + 1 + random.below(n - 1)) % n;
    return {BankModel::kTransfer, {from, to, static_cast<uint64_t>(random.between(1, 100))}};
  }

  OperationResult perform(int worker, const Request& request) override {
    return perform<true>(worker, request);
  }

 protected:
  /// Computes the digest only when the answer is judged, because it doubles an audit's time on
  /// plain memory.
  template <bool kDigest>
  OperationResult perform(int worker, const Request& request) {
    return request.kind == BankModel::kAudit ? audit<kDigest>(worker) : transfer(worker, request);
  }

  OperationResult transfer(int worker, const Request& request) {
    const uint64_t from = request.argument[0];
    const uint64_t to = request.argument[1];
    const auto most = static_cast<int64_t>(request.argument[2]);
    return this->updating(BankModel::kTransfer, worker, [&] {
      const int64_t have = account_[from];
      const int64_t amount = have < most ? have : most;
      account_[from] = have - amount;
      const int64_t had = account_[to];
      account_[to] = had + amount;
      return Response{static_cast<uint64_t>(have), static_cast<uint64_t>(had)};
    });
  }

  template <bool kDigest>
  OperationResult audit(int worker) {
    const OperationResult result = this->reading(BankModel::kAudit, worker, [&] {
      uint64_t total = 0;
      PlaceDigest digest;  // NOLINT(misc-const-correctness): changed with kDigest
      for (int64_t i = 0; i < accounts_; ++i) {
        const auto balance = static_cast<uint64_t>(account_[i].load());
        total += balance;
        if constexpr (kDigest) {
          digest.add(balance);
        }
      }
      return Response{total, digest.value()};
    });
    judge(static_cast<int64_t>(result.response[0])).check();
    return result;
  }

  int64_t sum() const {
    int64_t total = 0;
    for (int64_t i = 0; i < accounts_; ++i) {
      total += account_[i].load();
    }
    return total;
  }
  Status judge(int64_t total) const {
    const int64_t expected = accounts_ * balance_;
    if (total == expected) {
      return {};
    }
    return Status(Code::corrupt, "bank: the accounts add up to " + std::to_string(total) +
                                     " instead of " + std::to_string(expected));
  }

  Status bound() override {
    return this->heap_.read([&] {
      accounts_ = this->root_->accounts;
      balance_ = this->root_->balance;
      account_ = this->root_->account;
    });
  }

  int64_t accounts_;
  int64_t balance_;
  Chance audit_;
  BankModel model_;
  typename H::template Field<int64_t>* account_ = nullptr;
};

/// The runner with its judge.
template <class H>
class Bank final : public SmallJudge<BankRunner<H>> {
 public:
  using SmallJudge<BankRunner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      ModelState balances;
      for (int64_t i = 0; i < this->accounts_; ++i) {
        balances.push_back(static_cast<uint64_t>(this->account_[i].load()));
      }
      return balances;
    });
  }

  Status check() override {
    return this->in_read([&]() -> Status {
      for (int64_t i = 0; i < this->accounts_; ++i) {
        if (this->account_[i] < 0) {
          return Status(Code::corrupt, "bank: account " + std::to_string(i) + " is overdrawn");
        }
      }
      return this->judge(this->sum());
    });
  }
};

/// The registry's row.
using BankWorkload = WorkloadRow<bank_info, BankRunner, Bank>;

}  // namespace holdfast
