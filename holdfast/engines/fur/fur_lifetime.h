// SPDX-License-Identifier: Apache-2.0
// Format, recovery and close of FUR; included by fur.h.
#pragma once

#include "holdfast/engines/fur/fur.h"

namespace holdfast {

template <class M, Tracking kTracking>
Status Fur<M, kTracking>::format() {
  uint64_t words[FurArea::kHeaderWords];
  area_.header(words);
  M::copy(regions_.area, words, sizeof(words));
  machine_.pwb(regions_.area, Site{"fur.format"});
  replayer_.format();
  markers_.format(Site{"fur.format"});
  machine_.psync(Site{"fur.format.sync"});
  return {};
}

template <class M, Tracking kTracking>
Status Fur<M, kTracking>::recover(RecoveryReport& report) {
  uint64_t expected[FurArea::kHeaderWords];
  uint64_t found[FurArea::kHeaderWords];
  area_.header(expected);
  M::copy(found, regions_.area, sizeof(found));
  if (!std::equal(std::begin(expected), std::end(expected), std::begin(found))) {
    return {Code::corrupt,
            "the header of the engine area does not fit engine " + std::string(kDescription.name) +
                " with these options; it is damaged, or the options differ from those at creation"};
  }
  const auto last = replayer_.recover(report);
  if (!last) {
    return last.status();
  }
  // Numbers go on above every number found, so that no marker of before can pass for a new one.
  order_->last.store(machine_.skips(Site{"recover.numbers"}) ? 0 : last.value());
  report.text =
      "replayed " + std::to_string(report.transactions) + " transactions from the redo logs";
  if (options_.background) {
    background_running_ = true;
    machine_.set_background([this] {
      try {
        return replayer_.background();
      } catch (const MediumFailure&) {
        return false;  // whoever needs the medium next learns of it
      }
    });
  }
  return {};
}

template <class M, Tracking kTracking>
void Fur<M, kTracking>::stop_background() {
  if (background_running_) {
    background_running_ = false;
    machine_.set_background(nullptr);
  }
}

template <class M, Tracking kTracking>
Status Fur<M, kTracking>::close() {
  stop_background();
  if (!replayer_.replay_all(order_->last.load())) {
    return {Code::misuse,
            "the heap was closed while a transaction was running; the next open replays its log"};
  }
  return {};
}

}  // namespace holdfast
