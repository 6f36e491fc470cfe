// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace holdfast::bindings {

/// Who is in a database: calls in progress, writes among them, and the one transaction that keeps
/// other writes out. None of them needs the interpreter's lock to go on, except for the holder of
/// the writer lock, for whom calls wait before they have taken anything.
///
/// Thread safety: any thread. Whoever waits holds nothing, the interpreter's lock included.
class Gate {
 public:
  enum class Answer { entered, closed, own_lock, not_yet };

  /// For a call that writes nothing.
  Answer enter() {
    const std::lock_guard lock(mutex_);
    return closed_ ? Answer::closed : entered();
  }

  /// For a write; `holder` may hold the writer lock. Waits a moment for another one to let go.
  Answer enter_writing(const void* holder) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kMoment, [&] { return !barred(holder) || is_own(holder) || closed_; });
    if (closed_ || barred(holder)) {
      return closed_ ? Answer::closed : is_own(holder) ? Answer::own_lock : Answer::not_yet;
    }
    ++writing_;
    return entered();
  }

  /// The end of a call that has entered.
  class Exit {
   public:
    Exit(Gate& gate, bool writing) : gate_(gate), writing_(writing) {}
    Exit(const Exit&) = delete;
    Exit& operator=(const Exit&) = delete;
    ~Exit() { gate_.leave(writing_); }

   private:
    Gate& gate_;
    bool writing_;
  };

  /// Takes the writer lock for `holder`: writes in progress end first, others wait. Asked for again
  /// after not_yet, else given up.
  Answer lock_writers(const void* holder) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kMoment, [&] { return closed_ || !barred(holder) || is_own(holder); });
    if (closed_ || barred(holder)) {
      return closed_ ? Answer::closed : is_own(holder) ? Answer::own_lock : Answer::not_yet;
    }
    holder_ = holder;
    thread_ = std::this_thread::get_id();
    changed_.wait_for(lock, kMoment, [&] { return writing_ == 0; });
    return writing_ == 0 ? Answer::entered : Answer::not_yet;
  }
  void unlock_writers(const void* holder) {
    const std::lock_guard lock(mutex_);
    if (holder_ == holder) {
      holder_ = nullptr;
      changed_.notify_all();
    }
  }

  /// Lets nobody in any more, and waits for those who are.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return inside_ == 0; });
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  /// After it a waiter sees to signals.
  static constexpr std::chrono::milliseconds kMoment{50};

  bool barred(const void* holder) const { return holder_ != nullptr && holder_ != holder; }
  /// Waiting for oneself would take for ever.
  bool is_own(const void* holder) const {
    return barred(holder) && thread_ == std::this_thread::get_id();
  }
  Answer entered() {
    ++inside_;
    return Answer::entered;
  }
  void leave(bool writing) {
    const std::lock_guard lock(mutex_);
    --inside_;
    writing_ -= writing ? 1 : 0;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  int writing_ = 0;
  bool closed_ = false;
  const void* holder_ = nullptr;
  std::thread::id thread_;
};

}  // namespace holdfast::bindings
