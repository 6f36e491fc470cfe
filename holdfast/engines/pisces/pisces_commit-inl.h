// SPDX-License-Identifier: Apache-2.0
// The steps of a Pisces transaction, from begin to commit or abort; included by pisces.h.
#pragma once

namespace holdfast {

template <class M>
typename Pisces<M>::Thread& Pisces<M>::here() {
  const int slot = machine_.self();
  if (slot < 0 || static_cast<size_t>(slot) >= threads_.size()) [[unlikely]] {
    throw too_many_threads();
  }
  return *threads_[static_cast<size_t>(slot)];
}

template <class M>
void Pisces<M>::read(FunctionRef<void()> body) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::read);
  t.begin(Context::Mode::read);
  const std::exception_ptr failure = run_body<M>(t, body);
  states_.deactivate(t.slot);
  if (failure) {
    statistics_.at(t.slot).user_aborts += 1;
    std::rethrow_exception(failure);
  }
  statistics_.at(t.slot).read_commits += 1;
}

template <class M>
void Pisces<M>::update(FunctionRef<void()> body) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::update);
  typename RightOfWay<M>::Claim claim(way_, t.backoff);
  for (;;) {
    claim.await();
    M::phase(Phase::execute);
    t.begin(Context::Mode::update);
    const std::exception_ptr failure = run_body<M>(t, body);
    if (finish(t, failure)) {
      break;
    }
    abandon(t, claim);
  }
  statistics_.at(t.slot).update_commits += 1;
  statistics_.at(t.slot).bytes_stored += t.stored_bytes;
}

/// Returns false if the attempt must be repeated.
template <class M>
bool Pisces<M>::finish(Thread& t, const std::exception_ptr& failure) {
  if (t.doomed) {
    return false;
  }
  if (failure) [[unlikely]] {
    M::reach(Probe{"pisces.user_abort"});
    leave(t);
    statistics_.at(t.slot).user_aborts += 1;
    std::rethrow_exception(failure);
  }
  if (t.changes_nothing()) {
    leave(t);
  } else {
    commit(t);
  }
  return true;
}

template <class M>
void Pisces<M>::abandon(Thread& t, typename RightOfWay<M>::Claim& claim) {
  M::reach(Probe{"pisces.abandons"});
  M::phase(Phase::aborted);
  leave(t);
  auto& counts = statistics_.at(t.slot);
  counts.aborts[static_cast<size_t>(AbortCause::conflict)] += 1;
  const bool held = claim.held();
  claim.aborted();
  counts.lock_fallbacks += claim.held() && !held ? 1 : 0;
}

/// Ends a transaction that has changed nothing.
template <class M>
void Pisces<M>::leave(Thread& t) {
  t.release();
  states_.deactivate(t.slot);
}

/// Fills the thread's block. Throws Error if it is larger than the log, and bad_alloc.
template <class M>
void Pisces<M>::lay_out(Thread& t) {
  CommitBlock& block = blocks_[static_cast<size_t>(t.slot)];
  block.clear();
  for (size_t number = 0; number < t.held().size(); ++number) {
    const auto& held = t.held()[number];
    for (size_t i = 0; i < StripeCopy::kWords; ++i) {
      if ((held.changed >> i & 1) != 0) {
        block.add(held.offset + 8 * i, M::load(&t.copy(number).words[i]));
      }
    }
  }
  block.reserve_end();
  if (block.bytes() > area_.log_bytes) {
    M::reach(Probe{"pisces.log_full"});
    throw Error(Status(Code::too_large,
                       "the transaction takes " + std::to_string(block.bytes()) +
                           " bytes of log, and the log has " + std::to_string(area_.log_bytes) +
                           "; create the heap with a larger log_bytes, or split the transaction"));
  }
}

template <class M>
void Pisces<M>::commit(Thread& t) {
  M::phase(Phase::log_flush);
  std::exception_ptr failure;
  try {
    lay_out(t);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) [[unlikely]] {
    leave(t);
    statistics_.at(t.slot).user_aborts += 1;
    std::rethrow_exception(failure);
  }
  // From here on the transaction cannot fail, and loads nothing that other transactions change. So
  // no committer needs to wait for it. If it stayed active, two committers would wait for each
  // other.
  states_.deactivate(t.slot);
  persist_block(t);
  M::phase(Phase::commit);
  const uint64_t end = states_.publish(t.slot);
  M::phase(Phase::isolation_wait);
  states_.await_older(t.slot, end, Site{"pisces.grace"});
  M::phase(Phase::data_flush);
  const bool early = machine_.skips(Site{"pisces.release.order"});
  if (early) {
    t.release();
  }
  write_home(t);
  M::phase(Phase::marker_flush);
  retire(t.slot);
  // Separates the retirement from the release of the stripes: see pisces.h.
  machine_.pfence(Site{"pisces.retire.fence"});
  t.release();
  states_.settle(t.slot);
}

template <class M>
void Pisces<M>::persist_block(Thread& t) {
  CommitBlock& block = blocks_[static_cast<size_t>(t.slot)];
  // The time only helps human readers of the log; recovery needs none.
  block.seal(states_.now(), seed(t.slot));
  uint64_t* const to = log(t.slot);
  M::copy(to, block.words(), block.bytes());
  machine_.pwb_range(to, block.bytes(), Site{"pisces.log"});
  // Separates the block from publish(): it is durable before any other transaction sees its values.
  machine_.pfence(Site{"pisces.log.fence"});
  statistics_.at(t.slot).bytes_written += block.bytes() + 8;
}

template <class M>
void Pisces<M>::write_home(Thread& t) {
  uint64_t words = 0;
  LineFilter filter;
  const uint64_t line = machine_.line_bytes();
  for (size_t number = 0; number < t.held().size(); ++number) {
    const auto& held = t.held()[number];
    for (size_t i = 0; i < StripeCopy::kWords; ++i) {
      if ((held.changed >> i & 1) != 0) {
        auto* const home = reinterpret_cast<uint64_t*>(regions_.data + held.offset) + i;
        M::store(home, M::load(&t.copy(number).words[i]));
        ++words;
      }
    }
  }
  for (const auto& held : t.held()) {
    if (held.changed != 0 && filter.first(held.offset / line)) {
      machine_.pwb(regions_.data + held.offset, Site{"pisces.home"});
    }
  }
  // Separates the home from the retirement: the home is durable before the block is retired.
  machine_.pfence(Site{"pisces.home.fence"});
  statistics_.at(t.slot).bytes_written += 8 * words;
}

/// Invalidates the block of a log. The caller fences.
template <class M>
void Pisces<M>::retire(int slot) {
  if (!machine_.skips(Site{"pisces.retire.store"})) {
    M::store(log(slot), uint64_t{0});
  }
  machine_.pwb(log(slot), Site{"pisces.retire"});
}

}  // namespace holdfast
