// SPDX-License-Identifier: Apache-2.0
//
// The members of Heap about updates that return before they are durable, and the end of a heap's
// use, when all of them are. Included by heap.h only.
#pragma once

#include <string>

namespace holdfast {

/// Lets updates lag by positions of the journal, if there is one, the options allow it, and the
/// engine has no lag of its own. The engine has accepted the options.
template <class E>
void Heap<E>::start_lag(const Options& options) {
  promise_ = description_->promised(options, machine_.defers_psync());
  const bool by_position = !description_->lags && description_->promise != nullptr;
  if (by_position && promise_.bound > 0) {
    lag_ = std::make_unique<PositionLag<Machine>>(machine_, LagOptions::parse(options).value());
  } else {
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
  return with_slot([&]() -> Status {
    const StoreScope<Machine, true> storing(machine_);  // of updates that lag
    return call();
  });
}

/// Calls f on a thread without a slot as well, if the machine has one for guests.
template <class E>
template <class F>
Status Heap<E>::with_slot(F&& f) {
  if (machine_.self() >= 0) {
    return f();
  }
  if constexpr (requires { typename Machine::GuestSlot; }) {
    const typename Machine::GuestSlot guest(machine_);
    if (guest.taken()) {
      return f();
    }
  }
  return why_not_ready(Context::Mode::read);
}

template <class E>
Status Heap<E>::close() {
  if (closed_) {
    return {};
  }
  const auto* const running = static_cast<const Context*>(Machine::context());
  if (running != nullptr && running->data == regions().data) {
    return {Code::misuse,
            "heap.close() was called inside a transaction of the heap, which has not committed; "
            "call it after update() has returned"};
  }
  if constexpr (requires { machine_.forked_child(); }) {
    if (machine_.forked_child()) {  // mappings and threads exist in the parent only
      closed_ = true;
      machine_.medium().leave_to_parent();
      return why_not_ready(Context::Mode::read);
    }
  }
  machine_.set_background(nullptr);  // guests may have its slot from here on
  give_back_memory(machine_, false);
  try {
    return with_slot([&]() -> Status {
      closed_ = true;
      if (machine_.failed()) {
        return machine_.failure();
      }
      Status status = engine_->close();
      if (status.ok() && !read_only_) {
        status = file_.close_journal();
      }
      if (status.ok() && !read_only_) {
        file_.set_clean(true);
        status = file_.publish();
      }
      if (status.ok() && lag_) {
        lag_->fence();
      }
      return status;
    });
  } catch (...) {
    return caught_at_start(file_.name());
  }
}

}  // namespace holdfast
