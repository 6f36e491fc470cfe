// SPDX-License-Identifier: Apache-2.0
//
// The members of Heap about partitions and about transactions inside others. Included by heap.h
// only.
#pragma once

#include <algorithm>
#include <string>

namespace holdfast {

template <class E>
void Heap<E>::count_partitions() {
  partitions_ = static_cast<int>(header()->partitions.load());
  if constexpr (HasPartitions<E>) {
    engine_->have_partitions(partitions_);
  }
}

/// Runs a body that names partitions. The allocator finds their names in the context.
template <class E>
template <Context::Mode kMode>
Status Heap<E>::execute_named(Partitions partitions, FunctionRef<void()> body, Commit commit) {
  auto named = [&] {
    const NamedPartitions scope(*static_cast<Context*>(Machine::context()), partitions);
    body();
  };
  Status status = exist(partitions);
  return status.ok() ? execute_outermost<kMode>(partitions, named, commit) : status;
}

template <class E>
Status Heap<E>::exist(Partitions partitions) const {
  if (!partitions.is_none() && partitions.end() <= partitions_) {
    return {};
  }
  return {Code::misuse,
          "a transaction names " +
              (partitions.is_none() ? std::string("no partition")
                                    : "partition " + std::to_string(partitions.end() - 1)) +
              "; the heap was made with " + std::to_string(partitions_) +
              " partitions (CreateOptions::partitions), numbered from 0"};
}

template <class E>
Status Heap<E>::nested(Context& outer, Context::Mode mode, Partitions partitions,
                       FunctionRef<void()> body) {
  if (outer.data != regions().data) {
    return {Code::misuse,
            "a transaction of another heap is running on this thread; one transaction changes one "
            "heap"};
  }
  if (mode == Context::Mode::update && outer.mode == Context::Mode::read) {
    return {Code::misuse,
            "update() was called inside read(); use update() for the outer transaction too"};
  }
  if (!partitions.is_all() && !outer.partitions.covers(partitions)) {
    return {Code::misuse,
            "an inner transaction names partitions that the outer one does not name; name them all "
            "in the outer one"};
  }
  if (!partitions.is_all()) {
    if (Status status = exist(partitions); !status.ok()) {
      return status;
    }
  }
  try {
    const NamedPartitions scope(outer, partitions);
    body();
  } catch (const TransactionAbort&) {
    throw;
  } catch (...) {
    outer.fail(std::current_exception());
    throw;
  }
  return {};
}

}  // namespace holdfast
