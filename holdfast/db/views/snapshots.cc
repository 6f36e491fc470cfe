// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/views/snapshots.h"

#include <sched.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "holdfast/machine/native/support/spin.h"

namespace holdfast::db {
namespace {

void raise(std::atomic<uint64_t>& to, uint64_t at_least) {
  uint64_t before = to.load();
  while (before < at_least && !to.compare_exchange_weak(before, at_least)) {
  }
}

}  // namespace

/// Locks a shard's lists. Threads hold it for some tens of nanoseconds.
class Snapshots::ShardLock {
 public:
  /// Adds `views` to the number of views with the instruction that takes the lock. So a view is
  /// counted before its owner reads the counts. A view that closes is no longer counted when its
  /// owner looks for versions that wait for it.
  explicit ShardLock(const Shard& shard, int views = 0) : shard_(shard) {
    native::Backoff backoff;
    uint64_t state = shard.state.load(std::memory_order_relaxed) & ~kHeld;
    const uint64_t change = 2 * static_cast<uint64_t>(views);
    while (!shard.state.compare_exchange_weak(state, (state + change) | kHeld)) {
      state &= ~kHeld;
      backoff.wait();
    }
  }
  ShardLock(const ShardLock&) = delete;
  ShardLock& operator=(const ShardLock&) = delete;
  ~ShardLock() { shard_.state.store(2 * shard_.views.size(), std::memory_order_release); }

 private:
  static constexpr uint64_t kHeld = 1;
  const Shard& shard_;
};

Snapshots::Snapshots(size_t slots)
    : seats_(slots),
      shards_(std::clamp(std::thread::hardware_concurrency(), 1u, 32u)),
      committed_(slots) {}

View* Snapshots::open() {
  // Any shard is correct. The lines of this one are in a near cache, unless the thread moves now.
  const size_t here = static_cast<unsigned>(sched_getcpu()) % shards_.size();
  Shard& shard = shards_[here];
  const ShardLock hold(shard, 1);
  if (shard.closed.empty()) {
    shard.closed.emplace_back(committed_.size()).shard_ = here;
  }
  shard.views.splice(shard.views.begin(), shard.closed, shard.closed.begin());
  View& view = shard.views.front();
  view.holders_.store(1, std::memory_order_relaxed);
  view.begin_use();
  return &view;
}

View* Snapshots::open_briefly(int thread) {
  View* const seated = thread >= 0 ? seats_.take(static_cast<size_t>(thread)) : nullptr;
  return seated != nullptr ? seated : open();
}

void Snapshots::close(const View* view) {
  if (view->shard_ == View::kInSeat) {
    seats_.leave(view);
    return;
  }
  if (view->holders_.fetch_sub(1) > 1) {
    return;
  }
  Shard& shard = shards_[view->shard_];
  const ShardLock hold(shard, -1);
  // Most views are closed soon after they were opened, and are near the front.
  const auto at = std::find_if(shard.views.begin(), shard.views.end(),
                               [&](const View& v) { return &v == view; });
  shard.closed.splice(shard.closed.begin(), shard.views, at);
}

size_t Snapshots::size() const {
  return std::accumulate(
      shards_.begin(), shards_.end(), seats_.taken(),
      [](size_t sum, const Shard& shard) { return sum + shard.state.load() / 2; });
}

bool Snapshots::none() const {
  seats_.look();
  return size() == 0;
}

void Snapshots::committed(uint64_t stamp) {
  raise(committed_[Stamp::slot(stamp)], Stamp::count(stamp));
}

void Snapshots::announce_stamps(size_t slot) {
  raise(used_slots_, slot + 1);
}

template <class Needs>
Snapshots::Verdict Snapshots::judge_by(uint64_t last, Needs&& needs) const {
  if (committed_[Stamp::slot(last)].load() < Stamp::count(last)) {
    return Verdict::undecided;
  }
  return ask(needs);  // must follow the load above
}

/// Returns `needed` if needs(view) holds for any view, `undecided` while a view is being opened.
template <class Needs>
Snapshots::Verdict Snapshots::ask(Needs&& needs) const {
  seats_.look();
  const Seats::Need seated = seats_.ask(needs);
  if (seated == Seats::Need::unknown) {
    return Verdict::undecided;
  }
  Verdict verdict = seated == Seats::Need::some ? Verdict::needed : Verdict::reclaim;
  for (const Shard& shard : shards_) {
    // Sequentially consistent: a view that is not counted yet reads its counts later.
    if (shard.state.load() == 0) {
      continue;
    }
    const ShardLock hold(shard);
    for (const View& view : shard.views) {
      if (View::phase(view.state_.load()) != View::known) {
        return Verdict::undecided;
      }
      if (needs(view)) {
        verdict = Verdict::needed;
      }
    }
  }
  return verdict;
}

bool Snapshots::opening() const {
  return ask([](const View&) { return false; }) == Verdict::undecided;
}

Snapshots::Verdict Snapshots::judge(uint64_t version, uint64_t replacement) const {
  return judge_by(replacement,
                  [&](const View& view) { return view.sees(version) && !view.sees(replacement); });
}

Snapshots::Verdict Snapshots::judge_deletion(uint64_t deletion) const {
  return judge_by(deletion, [&](const View& view) { return !view.sees(deletion); });
}

}  // namespace holdfast::db
