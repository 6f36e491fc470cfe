// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast {

const WorkloadInfo& sps_info();

template <class H>
struct SpsRoot {
  template <class T>
  using Field = typename H::template Field<T>;
  static constexpr const char* kTypeName = "holdfast.workload.Sps";
  static constexpr uint32_t kTypeVersion = 1;

  SpsRoot(int workers, uint64_t count)
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

/// Swaps random pairs of array entries: the least work that a durable transaction can do. So the
/// cost of the engine shows, and not that of a structure: a swap is two loads and two stores.
///
///   entries  words of a new array; an existing heap keeps its own number
///   swaps    swaps per transaction (1 by default, so two entries)
///   stores   n > 0: instead of swaps, each transaction stores to 1 to n entries, at random
///   ack      1: each transaction also counts in its worker's durable ledger. Without it nothing is
///            acknowledged, and a kill test has nothing to verify.
///
/// The indexes are drawn before the transaction: its body may run again and must then do the same.
/// An entry may be drawn twice. The array still stays a permutation of its initial content.
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument.
template <class H>
class SpsRunner : public SmallWorkload<H, SpsRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return sps_info(); }

  SpsRunner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, SpsRoot<H>>(heap, parameters),
        entries_(static_cast<uint64_t>(parameters.number("entries", 2, int64_t{1} << 30))),
        swaps_(static_cast<size_t>(parameters.number("swaps", 1, 100000))),
        most_stores_(static_cast<uint64_t>(parameters.number("stores", 0, 100000))) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t) override {
    Status status = this->create_root(workers, entries_);
    if (!status.ok()) {
      return status;
    }
    return this->in_batches(entries_, [&](uint64_t i) { word_[i] = i; });
  }

  OperationResult operation(int worker, Random& random) override {
    this->require(worker);
    std::vector<uint64_t>& index = scratch_[static_cast<size_t>(worker)].index;
    if (most_stores_ != 0) {
      index.resize(1 + random.below(most_stores_));
    }
    for (uint64_t& i : index) {
      i = random.below(entries_);
    }
    return this->updating(0, worker, [&, word = word_] {
      uint64_t last = 0;
      for (size_t i = 0; i + 1 < index.size(); i += 2) {
        const uint64_t a = word[index[i]];
        last = word[index[i + 1]];
        word[index[i]] = last;
        word[index[i + 1]] = a;
      }
      if (index.size() % 2 != 0) {  // the last entry of an odd number is swapped with itself
        last = word[index.back()];
        word[index.back()] = last;
      }
      return last;
    });
  }

 protected:
  struct alignas(kLineBytes) Scratch {
    std::vector<uint64_t> index;
  };

  Status bound() override {
    Status status = this->heap_.read([&] {
      entries_ = this->root_->entries;
      word_ = this->root_->word;
    });
    scratch_.assign(static_cast<size_t>(this->workers()),
                    Scratch{std::vector<uint64_t>(2 * swaps_)});
    return status;
  }

  uint64_t entries_;
  size_t swaps_;
  uint64_t most_stores_;
  typename H::template Field<uint64_t>* word_ = nullptr;
  std::vector<Scratch> scratch_;
};

/// The runner with its judge. check() does not notice the loss of whole transactions, because any
/// subset of swaps gives a permutation. Only the ledger shows that.
template <class H>
class Sps final : public SmallJudge<SpsRunner<H>> {
 public:
  using SmallJudge<SpsRunner<H>>::SmallJudge;

  Status check() override {
    return this->in_read([&]() -> Status {
      std::vector<bool> seen(this->entries_);
      for (uint64_t i = 0; i < this->entries_; ++i) {
        const uint64_t value = this->word_[i];
        if (value >= this->entries_ || seen[value]) {
          return Status(Code::corrupt,
                        "sps: entry " + std::to_string(i) + " holds " + std::to_string(value) +
                            (value < this->entries_ ? ", which is there twice" : ""));
        }
        seen[value] = true;
      }
      return {};
    });
  }
};

/// The registry's row.
using SpsWorkload = WorkloadRow<sps_info, SpsRunner, Sps>;

}  // namespace holdfast
