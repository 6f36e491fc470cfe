// SPDX-License-Identifier: Apache-2.0
//
// How an engine is called that may know partitions, lag, both or neither.
#pragma once

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Runs body as an update of the engine. Engines without partitions isolate it from all others.
template <class E>
[[gnu::always_inline]] inline void call_update(E& engine, [[maybe_unused]] Partitions partitions,
                                               FunctionRef<void()> body,
                                               [[maybe_unused]] Commit commit) {
  if constexpr (HasPartitions<E> && CanLag<E>) {
    engine.update(partitions, body, commit);
  } else if constexpr (HasPartitions<E>) {
    engine.update(partitions, body);
  } else if constexpr (CanLag<E>) {
    engine.update(body, commit);
  } else {
    engine.update(body);
  }
}

template <class E>
[[gnu::always_inline]] inline void call_read(E& engine, [[maybe_unused]] Partitions partitions,
                                             FunctionRef<void()> body) {
  if constexpr (HasPartitions<E>) {
    engine.read(partitions, body);
  } else {
    engine.read(body);
  }
}

/// Returns a body that uses the heap's metadata, then runs `body`, which must outlive it.
template <class E>
auto with_metadata(FunctionRef<void()>& body) {
  return [&body] {
    use_metadata<E>();
    body();
  };
}

/// Runs a durable update of the heap's metadata alone. Transactions of partitions may run beside
/// it.
template <class E>
void update_metadata(E& engine, FunctionRef<void()> body) {
  call_update(engine, Partitions::none(), with_metadata<E>(body), Commit::durable);
}

}  // namespace holdfast
