// SPDX-License-Identifier: Apache-2.0
//
// The members of Heap that change its size, or lend a part of it. Included by heap.h only.
#pragma once

#include <algorithm>
#include <new>

#include "holdfast/base/round.h"

namespace holdfast {

/// Drops the content of whole pages in a part of the data that no object uses, in every copy.
template <class E>
void Heap<E>::discard(std::byte* p, size_t n) {
  const Regions& r = regions();
  auto& medium = machine_.medium();
  const auto offset = static_cast<size_t>(p - r.data);
  const size_t begin = round_up(offset, kPageBytes);
  const size_t end = (offset + n) / kPageBytes * kPageBytes;
  if (begin >= end || r.cells != nullptr) {  // the engine may still use the numbers in the cells
    return;
  }
  medium.discard(r.home + begin, end - begin, MapMode::shared);
  if (r.twin != nullptr) {
    medium.discard(r.twin + begin, end - begin, MapMode::shared);
  }
  if (r.data != r.home) {  // a working copy, whose pages show the home's content again
    medium.discard(r.data + begin, end - begin, MapMode::copy_on_write);
  }
}

/// Admits one thread at a time.
template <class E>
class Heap<E>::Alone {
 public:
  /// Waits until `taken` is 0, and makes it 1. Throws MediumFailure if the medium fails meanwhile.
  Alone(Machine& machine, Atomic<uint64_t>& taken) : taken_(taken) {
    uint64_t expected = 0;
    while (!taken_.compare_exchange(expected, 1)) {
      machine.wait_while(taken_, uint64_t{1});
      expected = 0;
    }
  }
  ~Alone() { taken_.store(0); }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  Atomic<uint64_t>& taken_;
};

template <class E>
Result<uint64_t> Heap<E>::compact() {
  constexpr auto kMode = Context::Mode::update;
  if (Machine::context() != nullptr) {
    return Status(
        Code::misuse,
        "heap.compact() was called inside a transaction, which may bring back what it has "
        "freed; call it after update() has returned");
  }
  if (!is_open(kMode)) {
    return why_not_ready(kMode);
  }
  try {
    const Alone alone(machine_, turns_->compacting);
    uint64_t returned = 0;
    const Status status = compacting([&](auto& compaction) {
      compaction.drain();
      if constexpr (requires { machine_.medium().allocated_bytes(); }) {
        const uint64_t before = machine_.medium().allocated_bytes();
        running_.await_older();  // while all free space is there for others
        compaction.for_each_free_run([&](std::byte* p, size_t n) {
          running_.await_older();  // they may still load what has been freed there
          discard(p, n);
        });
        const uint64_t after = machine_.medium().allocated_bytes();
        returned = before - std::min(before, after);
      }
    });
    return status.ok() ? Result<uint64_t>(returned) : Result<uint64_t>(status);
  } catch (const MediumFailure& failure) {  // while it waited
    return failure.status();
  }
}

template <class E>
Status Heap<E>::grow(size_t bytes) {
  try {
    const Alone alone(machine_, turns_->growing);
    if (regions().bytes < bytes) {
      return grow_alone(bytes, with_reserve(bytes));
    }
    machine_.reach(Probe{"heap.grown_by_other"});
    announce_room();  // it may have failed for a lack of memory, after a growth or a loan
    return {};
  } catch (const MediumFailure& failure) {
    return failure.status();
  }
}

/// Returns `bytes`, plus as much as the body has used that needs them. A body that runs out of room
/// gets twice what it has used, so all its runs together cost about as much as two.
template <class E>
size_t Heap<E>::with_reserve(size_t bytes) {
  size_t used_before = 0;
  auto look = [&] {
    use_metadata<E>();
    used_before = header()->top * header()->chunk_bytes;
  };
  call_read(*engine_, Partitions::none(), look);
  return bytes + (bytes - std::min(bytes, used_before));
}

/// Makes the data region at least `bytes` long, and `wanted` bytes if there is room. The caller
/// holds Growing.
template <class E>
Status Heap<E>::grow_alone(size_t bytes, size_t wanted) {
  if (regions().bytes >= bytes) {
    return {};
  }
  machine_.reach(Probe{"heap.grows"});
  Status status = file_.grow(bytes, wanted);
  if (status.ok()) {
    published_.publish(file_.superblock());
    if constexpr (requires { engine_->grown(regions().bytes); }) {
      engine_->grown(regions().bytes);
    }
    announce_room();
  }
  return status;
}

/// Tells the allocator about all of the data region. The caller holds Growing, and nothing is lent.
template <class E>
void Heap<E>::announce_room() {
  auto announce = [&] {
    const uint64_t limit = regions().bytes / header()->chunk_bytes;
    if (header()->limit != limit) {
      header()->limit = limit;
    }
  };
  update_metadata(*engine_, announce);
}

/// Lends the last free chunks of the data region to the engine, for this thread's transaction. The
/// allocator stays below them, because its limit is lowered meanwhile. After a crash the next
/// opening raises the limit again. One loan at a time: the caller holds Growing.
template <class E>
class Heap<E>::Lending {
 public:
  explicit Lending(Heap& heap) : heap_(heap) {}
  ~Lending() {
    try {
      take_back();
    } catch (const MediumFailure&) {
      // The heap is poisoned, and no later transaction runs.
    }
  }
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;

  /// Lends `bytes`, and makes the data region larger if it has to.
  Status lend(uint64_t bytes) {
    take_back();
    const uint64_t chunk = heap_.superblock().chunk_bytes;
    const uint64_t chunks = (bytes + chunk - 1) / chunk;
    // The update allocates about as much as it logs, if it makes new objects.
    const Status roomy = lend(chunks, 2 * chunks, chunk);
    return roomy.ok() ? roomy : lend(chunks, chunks, chunk);
  }

  void take_back() {
    if (lent_) {
      lent_ = false;
      auto take_back = [&] {
        heap_.engine_->lend({});
        heap_.header()->limit = heap_.regions().bytes / heap_.header()->chunk_bytes;
      };
      try {
        update_metadata(*heap_.engine_, take_back);
      } catch (const std::bad_alloc&) {
        // The borrower has ended. The allocator gets the chunks when it needs them.
      }
    }
  }

 private:
  /// Lends the last `chunks` of `room` free ones.
  Status lend(uint64_t chunks, uint64_t room, uint64_t chunk) {
    for (uint64_t missing = 0;;) {
      auto lend = [&] {
        const uint64_t top = heap_.header()->top;
        const uint64_t all = heap_.regions().bytes / chunk;
        missing = 0;
        if (top + room > all) {
          missing = top + room;
          return;
        }
        // The store of `top` conflicts with allocations that have seen the old limit.
        heap_.header()->top = top;
        heap_.header()->limit = all - chunks;
        heap_.engine_->lend({(all - chunks) * chunk, chunks * chunk});
      };
      lent_ = true;  // before the update, which may fail after the engine has the loan
      update_metadata(*heap_.engine_, lend);
      lent_ = missing == 0;
      if (lent_) {
        return {};
      }
      heap_.machine_.reach(Probe{"heap.lends.grown"});
      if (Status status = heap_.grow_alone(missing * chunk, missing * chunk); !status.ok()) {
        return status;
      }
    }
  }

  Heap& heap_;
  bool lent_ = false;
};

/// Runs an update whose log does not fit into the engine's own.
template <class E>
Status Heap<E>::update_with_loan(Partitions partitions, FunctionRef<void()> body, uint64_t bytes) {
  machine_.reach(Probe{"heap.lends"});
  try {
    const Alone alone(machine_, turns_->growing);
    Lending lending(*this);
    Status status = lending.lend(bytes);
    while (status.ok()) {
      try {
        const typename RunningTransactions<E>::Stay stay(running_);
        call_update(*engine_, partitions, body, Commit::durable);
        if (lag_) {
          lag_->answer(Commit::durable);
        }
        lending.take_back();
        return {};
      } catch (const GrowthNeeded& need) {
        machine_.reach(Probe{"heap.lends.body_grows"});
        lending.take_back();
        status = grow_alone(need.bytes + bytes, with_reserve(need.bytes) + bytes);
      } catch (const LoanNeeded& need) {
        machine_.reach(Probe{"heap.lends.more"});
        bytes = std::max(bytes, need.bytes);
      }
      status = status.ok() ? lending.lend(bytes) : status;
    }
    return status;
  } catch (const MediumFailure& failure) {
    return failure.status();
  } catch (const Error& error) {
    return error.status();
  }
}

}  // namespace holdfast
