// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/snapshots.h"

#include <algorithm>

namespace holdfast::db {

View* Snapshots::open() {
  const std::lock_guard lock(mutex_);
  open_.fetch_add(1);
  if (closed_.empty()) {
    closed_.emplace_back().counts.resize(committed_.size());
  }
  views_.splice(views_.begin(), closed_, closed_.begin());
  View& view = views_.front();
  view.known.store(false, std::memory_order_relaxed);  // whoever judges it takes the lock
  return &view;
}

void Snapshots::close(const View* view) {
  const std::lock_guard lock(mutex_);
  // Most are closed soon, and stand in front.
  const auto at =
      std::find_if(views_.begin(), views_.end(), [&](const View& v) { return &v == view; });
  closed_.splice(closed_.begin(), views_, at);
  open_.fetch_sub(1);
}

void Snapshots::committed(uint64_t stamp) {
  std::atomic<uint64_t>& highest = committed_[Stamp::slot(stamp)];
  uint64_t before = highest.load();
  while (before < Stamp::count(stamp) &&
         !highest.compare_exchange_weak(before, Stamp::count(stamp))) {
  }
}

template <class Needs>
Snapshots::Verdict Snapshots::judge_by(uint64_t last, Needs&& needs) const {
  if (committed_[Stamp::slot(last)].load() < Stamp::count(last)) {
    return Verdict::undecided;
  }
  // Sequentially consistent, after the load above: a snapshot not counted yet reads later.
  if (open_.load() == 0) {
    return Verdict::reclaim;
  }
  const std::lock_guard lock(mutex_);
  Verdict verdict = Verdict::reclaim;
  for (const View& view : views_) {
    if (!view.known.load(std::memory_order_acquire)) {  // the counts stand behind it
      return Verdict::undecided;
    }
    if (needs(view)) {
      verdict = Verdict::needed;
    }
  }
  return verdict;
}

Snapshots::Verdict Snapshots::judge(uint64_t version, uint64_t replacement) const {
  return judge_by(replacement,
                  [&](const View& view) { return view.sees(version) && !view.sees(replacement); });
}

Snapshots::Verdict Snapshots::judge_deletion(uint64_t deletion) const {
  return judge_by(deletion, [&](const View& view) { return !view.sees(deletion); });
}

}  // namespace holdfast::db
