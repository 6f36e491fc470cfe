// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/scheduler.h"

#include <algorithm>

namespace holdfast::sim {
namespace {

uint64_t threshold(double probability) {
  return static_cast<uint64_t>(std::clamp(probability, 0.0, 1.0) * 0x1p32);
}

}  // namespace

RandomScheduler::RandomScheduler(const SimOptions& options)
    : random_(options.seed),
      switch_below_(threshold(options.switch_probability)),
      drain_below_(threshold(options.drain_probability)) {}

Choice RandomScheduler::next(const Agents& agents) {
  const uint64_t coins = random_.next();
  const bool stuck = agents.runnable.empty();
  if (!agents.buffered.empty() && (stuck || (coins >> 32) < drain_below_)) {
    return {Choice::Kind::drain, agents.buffered.at(random_.below(agents.buffered.size()))};
  }
  const uint64_t low = coins & 0xffff'ffff;
  if (agents.current >= 0 && !agents.yielding && low >= switch_below_) {
    return {Choice::Kind::stay, agents.current};
  }
  const int chosen = agents.runnable.at(random_.below(agents.runnable.size()));
  return {chosen == agents.current ? Choice::Kind::stay : Choice::Kind::run, chosen};
}

}  // namespace holdfast::sim
