// SPDX-License-Identifier: Apache-2.0
//
// The members of Heap about updates that return before they are durable. Included by heap.h only.
#pragma once

#include <string>

namespace holdfast {

/// Makes the engine. Its options have been accepted.
template <class E>
Status Heap<E>::start(const Description* description, const std::string& engine,
                      const Options& options, int threads) {
  description_ = description;
  start_lag(options);
  auto made = EngineFactory<E>::make(machine_, engine, regions(), options, threads);
  if (!made) {
    return made.status();
  }
  engine_ = std::move(*made);
  return {};
}

/// Lets updates lag by positions of the journal, if there is one, the options allow it, and the
/// engine has no lag of its own. The engine has accepted the options.
template <class E>
void Heap<E>::start_lag(const Options& options) {
  const bool by_position = !description_->lags && description_->promise != nullptr;
  if (!by_position) {
    promise_ = description_->promised(options);
    return;
  }
  const LagOptions lag = LagOptions::parse(options).value();
  if (machine_.defers_psync() && lag.bound > 0) {
    promise_ = description_->promised(options);
    lag_ = std::make_unique<PositionLag<Machine>>(machine_, lag);
  } else {
    promise_ = {.durability = description_->durability};
    lag_.reset();
  }
}

template <class E>
Status Heap<E>::fence() {
  return outside("fence", [&]() -> Status {
    if (lag_) {
      lag_->fence();
    }
    if constexpr (CanLag<E>) {
      if (!read_only_) {
        engine_->fence();
      }
    }
    return {};
  });
}

template <class E>
Status Heap<E>::barrier() {
  if (Machine::context() == nullptr && !is_open(Context::Mode::update)) {
    return why_not_ready(Context::Mode::update);
  }
  return outside("barrier", [&]() -> Status {
    if constexpr (CanLag<E>) {
      Status status = engine_->barrier();
      if (status.ok() && lag_) {
        lag_->fence();
      }
      return status;
    } else {
      return no_barrier(description_->name);
    }
  });
}

template <class E>
PendingUpdates Heap<E>::pending() {
  if (lag_) {
    return lag_->pending();
  }
  if constexpr (CanLag<E>) {
    return engine_->pending();
  }
  return {};
}

/// Calls f, which waits for the engine, on a thread that runs no transaction.
template <class E>
template <class F>
Status Heap<E>::outside(const char* name, F&& f) {
  constexpr auto kMode = Context::Mode::read;
  if (Machine::context() != nullptr) {
    return {Code::misuse, std::string("heap.") + name +
                              "() was called inside a transaction, which it would wait for; call "
                              "it after update() has returned"};
  }
  if (!is_open(kMode)) {
    return why_not_ready(kMode);
  }
  const auto call = [&]() -> Status {
    try {
      return f();
    } catch (const MediumFailure& failure) {
      return failure.status();
    } catch (const Error& error) {
      return error.status();
    }
  };
  if (machine_.self() >= 0) {
    return call();
  }
  if constexpr (requires { typename Machine::GuestSlot; }) {
    const typename Machine::GuestSlot guest(machine_);
    if (guest.taken()) {
      return call();
    }
  }
  return why_not_ready(kMode);
}

}  // namespace holdfast
