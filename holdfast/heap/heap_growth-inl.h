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

/// Admits one thread at a time to free chunks, in the order in which they have come. Otherwise a
/// thread that calls compact() in a loop would let no other one in.
template <class E>
class Heap<E>::Turn {
 public:
  /// Waits for its turn. Throws MediumFailure if the medium fails meanwhile, as for all that wait.
  explicit Turn(Heap& heap)
      : served_(heap.turns_->served), number_(heap.turns_->numbers.fetch_add(1)) {
    for (uint64_t now = served_.load(); now != number_;) {
      now = heap.machine_.wait_while(served_, now);
    }
  }
  ~Turn() { served_.store(number_ + 1); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Atomic<uint64_t>& served_;
  const uint64_t number_;
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
  uint64_t returned = 0;
  const auto work = [&](auto& compaction) {
    const Turn turn(*this);
    turns_->compacted.store(1);
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
  };
  // The slot first: a guest has one when it waits for the turn, in free_chunks().
  const Status status = with_slot([&] { return compacting(work); });
  return status.ok() ? Result<uint64_t>(returned) : Result<uint64_t>(status);
}

/// Calls use(compaction). Returns the error of a transaction that fails.
template <class E>
template <class F>
Status Heap<E>::compacting(F&& use, Commit commit) {
  constexpr auto kMode = Context::Mode::update;
  const auto changing = [&](FunctionRef<void()> body) {
    auto change = with_metadata<E>(body);
    with_slot([&] {
      // It frees no chunks for its own room, because one thread at a time does so.
      return is_open(kMode) ? run<kMode>(Partitions::all(), change, commit, {.freed = true})
                            : why_not_ready(kMode);
    }).check();
  };
  const auto reading = [this](FunctionRef<void()> body) { read(with_metadata<E>(body)).check(); };
  try {
    Compaction<E> compaction(regions().data, changing, reading);
    use(compaction);
    return {};
  } catch (const MediumFailure& failure) {  // while it waited
    return failure.status();
  } catch (const Error& error) {
    return error.status();
  }
}

/// Frees the chunks without allocated blocks, for blocks of any size, in transactions with the
/// refused one's `commit`. Sets `turn`: while it lives, no compaction runs.
template <class E>
Status Heap<E>::free_chunks(std::optional<Turn>& turn, Commit commit) {
  const auto drain = [&](auto& compaction) {
    if (!turn) {
      turn.emplace(*this);
    }
    compaction.drain();
  };
  return compacting(drain, commit);
}

/// Makes room for a body that lacks it. Returns whether the body is to run now; false if it has
/// run, with a loan. Throws Error if there is no room, even after free_chunks(). The latter is
/// called without Alone(growing), which its transactions may need.
///
/// The body may have lacked room only because a compaction kept the free space for a moment. So
/// where compactions run, the body runs once more without one before the heap grows.
template <class E>
bool Heap<E>::make_room(Lack& lack, std::optional<Turn>& turn, Partitions partitions,
                        FunctionRef<void()> body, Commit commit) {
  if (!turn && !lack.freed && turns_->compacted.load() != 0) {
    turn.emplace(*this);
    lack = {};
    return true;
  }
  Status status;
  if constexpr (kBorrows) {
    status = lack.log != 0 ? update_with_loan(partitions, body, lack.log) : grow(lack.data);
  } else {
    status = grow(lack.data);
  }
  // With partitions, a free run between other chunks serves only updates that name none.
  const bool may_free = !lack.freed && partitions_ == 0;
  if (lacks_room(status.code()) && may_free && free_chunks(turn, commit).ok()) {
    lack = {.freed = true};
    return true;
  }
  status.check();
  lack.data = 0;
  return lack.log == 0;
}

template <class E>
Status Heap<E>::grow(size_t bytes) {
  const Alone alone(machine_, turns_->growing);
  if (regions().bytes < bytes) {
    return grow_alone(bytes, with_reserve(bytes));
  }
  machine_.reach(Probe{"heap.grown_by_other"});
  announce_room();  // it may have failed for a lack of memory, after a growth or a loan
  return {};
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

  /// Lends `bytes` behind the first `data` bytes of the data region, which it makes larger if it
  /// has to. too_large: there is no room.
  Status lend(uint64_t bytes, size_t data) {
    take_back();
    const uint64_t chunk = heap_.superblock().chunk_bytes;
    const uint64_t chunks = (bytes + chunk - 1) / chunk;
    // The update allocates about as much as it logs, if it makes new objects.
    Status status = lend(chunks, 2 * chunks, data / chunk, chunk);
    status = status.ok() ? status : lend(chunks, chunks, data / chunk, chunk);
    return status.code() == Code::out_of_space
               ? Status(Code::too_large, status.message(), status.system_error())
               : status;
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
  /// Lends the last `chunks` of `room` free ones, behind the first `least` chunks of all.
  Status lend(uint64_t chunks, uint64_t room, uint64_t least, uint64_t chunk) {
    for (uint64_t missing = 0;;) {
      auto lend = [&] {
        const uint64_t top = heap_.header()->top;
        const uint64_t all = heap_.regions().bytes / chunk;
        const uint64_t needed = std::max(top + room, least + chunks);
        missing = needed > all ? needed : 0;
        if (missing != 0) {
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

/// Runs an update that does not fit into the engine's log. too_large: the heap has no room for the
/// loan. out_of_space: nor for the objects that the body makes.
template <class E>
Status Heap<E>::update_with_loan(Partitions partitions, FunctionRef<void()> body, uint64_t bytes) {
  machine_.reach(Probe{"heap.lends"});
  const Alone alone(machine_, turns_->growing);
  Lending lending(*this);
  for (size_t data = 0;;) {
    if (Status status = lending.lend(bytes, data); !status.ok()) {
      return status;
    }
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
      data = need.bytes;
      if (Status status = grow_alone(data, with_reserve(data)); !status.ok()) {
        return status;
      }
    } catch (const LoanNeeded& need) {
      machine_.reach(Probe{"heap.lends.more"});
      bytes = std::max(bytes, need.bytes);
    }
  }
}

}  // namespace holdfast
