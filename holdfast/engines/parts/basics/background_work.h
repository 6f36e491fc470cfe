// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <utility>

#include "holdfast/machine/types.h"

namespace holdfast {

/// An engine's use of the machine's background thread. It stops with this object, so it is the last
/// member, after all that a round uses.
///
/// Thread safety: start() and stop() are called one at a time.
template <class M>
class BackgroundWork {
 public:
  explicit BackgroundWork(M& machine) : machine_(machine) {}
  ~BackgroundWork() { stop(); }
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  /// Call it before other threads use the machine, if start() may come when they do.
  void expect() {
    running_ = true;
    machine_.expect_background();
  }
  /// Calls bool round() again and again in the background. It returns false if there was nothing to
  /// do. After a MediumFailure the next operation that needs the medium reports the failure. Throws
  /// what Machine::set_background() throws.
  template <class Round>
  void start(Round round) {
    running_ = true;
    machine_.set_background([round = std::move(round)] {
      try {
        return round();
      } catch (const MediumFailure&) {
        return false;
      } catch (const std::bad_alloc&) {
        return false;  // a later round tries again
      }
    });
  }
  /// Returns when no round runs any more.
  void stop() {
    if (running_) {
      running_ = false;
      machine_.set_background(nullptr);
    }
  }

 private:
  M& machine_;
  bool running_ = false;
};

}  // namespace holdfast
