// SPDX-License-Identifier: Apache-2.0
//
// Admission of calls to a database: closing, and the writer lock.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace holdfast::bindings {

/// Returns a number of the calling thread. No later thread has it, unlike a std::thread::id.
inline uint64_t thread_number() {
  static std::atomic<uint64_t> last = 0;
  static thread_local const uint64_t own = ++last;
  return own;
}

/// Counts the calls in progress on a database, and the writes among them. Keeps the transaction
/// that has the writer lock and so keeps other writes out.
///
/// No deadlock with the interpreter's lock: a call in progress does not need that lock to end. The
/// holder of the writer lock may need it; but a call that waits for the holder has taken nothing.
///
/// Thread safety: any thread may call any function. A thread that waits here holds no lock, not
/// even the interpreter's.
class Gate {
 public:
  /// own_lock: the thread itself holds the writer lock, by another holder. not_yet: ask again.
  enum class Answer { entered, closed, own_lock, not_yet };

  /// Admits a call that does not write.
  Answer enter() {
    const std::lock_guard lock(mutex_);
    return closed_ ? Answer::closed : entered();
  }

  /// Admits a write. Waits for kMoment while a holder other than `holder` has the writer lock.
  Answer enter_writing(const void* holder) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kMoment, [&] { return !barred(holder) || is_own(holder) || closed_; });
    if (closed_ || barred(holder)) {
      return closed_ ? Answer::closed : is_own(holder) ? Answer::own_lock : Answer::not_yet;
    }
    ++writing_;
    return entered();
  }

  /// Ends an admitted call in its destructor.
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

  /// Takes the writer lock for `holder`: other writes then wait, and writes in progress end first.
  /// After not_yet, the caller calls it again, or gives up with unlock_writers.
  Answer lock_writers(const void* holder) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kMoment, [&] { return closed_ || !barred(holder) || is_own(holder); });
    if (closed_ || barred(holder)) {
      return closed_ ? Answer::closed : is_own(holder) ? Answer::own_lock : Answer::not_yet;
    }
    holder_ = holder;
    thread_ = thread_number();
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

  /// Admits no more calls, and waits for the calls in progress.
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
  /// A waiting thread returns after it, to handle signals.
  static constexpr std::chrono::milliseconds kMoment{50};

  bool barred(const void* holder) const { return holder_ != nullptr && holder_ != holder; }
  /// Returns whether this thread has the writer lock by another holder; waiting would never end.
  bool is_own(const void* holder) const { return barred(holder) && thread_ == thread_number(); }
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
  uint64_t thread_ = 0;  ///< of the thread that has taken the writer lock
};

}  // namespace holdfast::bindings
