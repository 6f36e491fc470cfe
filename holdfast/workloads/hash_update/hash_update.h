// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "holdfast/workloads/hash_update/hash_batch.h"
#include "holdfast/workloads/hash_update/hash_update_model.h"
#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast {

const WorkloadInfo& hash_update_info();

template <class H>
struct HashUpdateRoot {
  template <class T>
  using Field = typename H::template Field<T>;
  static constexpr const char* kTypeName = "holdfast.workload.HashUpdate";
  static constexpr uint32_t kTypeVersion = 1;

  HashUpdateRoot(int workers, uint64_t count)
      : ledger(workers),
        entries(count),
        word(static_cast<Field<uint64_t>*>(H::allocate(count * sizeof(Field<uint64_t>)))) {}
  /// Calls visit(block, bytes) for the ledger's blocks and the array, and not for the root object.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    visit(static_cast<const void*>(word.load()), entries * sizeof(Field<uint64_t>));
  }

  Ledger<H> ledger;
  Field<uint64_t> entries;
  Field<Field<uint64_t>*> word;
};

/// The hash updates of cc-HTM 5.2 ("Continuous Checkpointing of HTM Transactions in NVM", ISMM
/// 2017, figures 10 to 13). A transaction draws random numbers, and stores each of them to the
/// element that its hash selects. It reads no element before it stores to it.
///
///   entries   words of a new array (2^23 by default: 64 MB); an existing heap keeps its own number
///   updates   accesses per transaction, 1 to 63 (10 by default)
///   reads     per cent of the accesses that read instead (0 by default), rounded to whole accesses
///   ack       1: each transaction also counts in its worker's durable ledger
///
/// The transaction is chosen before its body runs, because the body may run again. Two accesses may
/// have the same element.
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument.
template <class H>
class HashUpdateRunner : public SmallWorkload<H, HashUpdateRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return hash_update_info(); }

  HashUpdateRunner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, HashUpdateRoot<H>>(heap, parameters),
        entries_(static_cast<uint64_t>(parameters.number("entries", 1, int64_t{1} << 32))),
        updates_(static_cast<uint64_t>(
            parameters.number("updates", 1, int64_t{HashBatch::kMostAccesses}))),
        reads_(static_cast<uint64_t>(
            parameters.real("reads", 0, 100) / 100 * static_cast<double>(updates_) + 0.5)) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t) override {
    Status status = this->create_root(workers, entries_);
    return status.ok() ? this->in_batches(entries_, [&](uint64_t i) { word_[i] = 0; }) : status;
  }

  const SequentialModel* model() const override { return &model_; }

  Request draw(int, Random& random) override {
    return {0, {HashBatch(random.next(), updates_, reads_).value(0)}};
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, draw(worker, random));
  }

  OperationResult perform(int worker, const Request& request) override {
    this->require(worker);
    const HashBatch batch = HashBatch::of(request.argument[0]);
    Scratch& scratch = scratch_[static_cast<size_t>(worker)];
    std::vector<uint64_t>& element = scratch.element;
    element.resize(batch.accesses());
    for (uint64_t k = 0; k < element.size(); ++k) {
      element[k] = batch.element(k, entries_);
    }
    const auto body = [&, word = word_] {
      uint64_t sum = 0;
      for (uint64_t k = 0; k < element.size(); ++k) {
        if (batch.is_read(k)) {
          sum += word[element[k]];
        } else {
          word[element[k]] = batch.value(k);
        }
      }
      scratch.sum = sum;  // kept, so that the compiler cannot drop the reads
      return uint64_t{0};
    };
    return batch.reads() == batch.accesses() ? this->reading(0, worker, body)
                                             : this->updating(0, worker, body);
  }

 protected:
  struct alignas(kLineBytes) Scratch {
    std::vector<uint64_t> element;
    uint64_t sum = 0;
  };

  Status bound() override {
    Status status = this->heap_.read([&] {
      entries_ = this->root_->entries;
      word_ = this->root_->word;
    });
    scratch_.assign(static_cast<size_t>(this->workers()),
                    Scratch{std::vector<uint64_t>(updates_), 0});
    return status;
  }

  uint64_t entries_;
  uint64_t updates_;
  uint64_t reads_;  ///< accesses of a transaction that read
  HashUpdateModel model_;
  typename H::template Field<uint64_t>* word_ = nullptr;
  std::vector<Scratch> scratch_;
};

/// The runner with its judge. Each stored value tells the write set of its transaction. check()
/// finds an element with a value that no transaction stores there, a transaction of which a part is
/// missing, and two transactions each of which has overwritten the other one. Only the ledger shows
/// the loss of whole transactions.
template <class H>
class HashUpdate final : public SmallJudge<HashUpdateRunner<H>> {
 public:
  using SmallJudge<HashUpdateRunner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      ModelState words;
      for (uint64_t i = 0; i < this->entries_; ++i) {
        words.push_back(this->word_[i]);
      }
      return words;
    });
  }

  Status check() override {
    return this->in_read([&]() -> Status {
      for (uint64_t i = 0; i < this->entries_; ++i) {
        const uint64_t value = this->word_[i];
        if (value == 0) {
          continue;
        }
        if (!HashBatch::stores(value, i, this->entries_)) {
          return corrupt("element " + std::to_string(i) + " holds " + std::to_string(value) +
                         ", which no transaction stores there");
        }
        if (Status status = whole(HashBatch::of(value)); !status.ok()) {
          return status;
        }
      }
      return {};
    });
  }

 private:
  static Status corrupt(const std::string& text) {
    return Status(Code::corrupt, "hash-update: " + text);
  }

  /// Checks that each value of the batch is there, or was overwritten by a later transaction.
  Status whole(const HashBatch& batch) {
    for (uint64_t k = 0; k < batch.accesses(); ++k) {
      if (batch.is_read(k)) {
        continue;
      }
      const uint64_t element = batch.element(k, this->entries_);
      const uint64_t found = this->word_[element];
      const HashBatch other = HashBatch::of(found);
      const bool missing = found == 0 || (other == batch ? HashBatch::access_of(found) < k
                                                         : overwritten(other, batch));
      if (missing) {
        return corrupt("element " + std::to_string(element) + " holds " + std::to_string(found) +
                       "; a transaction with other values in the array stored " +
                       std::to_string(batch.value(k)) + " there");
      }
    }
    return {};
  }

  /// Whether an element to which `batch` stores holds a value of `later`.
  bool overwritten(const HashBatch& batch, const HashBatch& later) {
    for (uint64_t k = 0; k < batch.accesses(); ++k) {
      const uint64_t found = this->word_[batch.element(k, this->entries_)];
      if (!batch.is_read(k) && found != 0 && HashBatch::of(found) == later) {
        return true;
      }
    }
    return false;
  }
};

/// The registry's row.
using HashUpdateWorkload = WorkloadRow<hash_update_info, HashUpdateRunner, HashUpdate>;

}  // namespace holdfast
