// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/crash/design_mutants.h"

#include <algorithm>
#include <set>
#include <utility>

#include "holdfast/base/random.h"
#include "holdfast/check/crash/crash_search.h"

namespace holdfast::check {
namespace {

constexpr FaultKind kFaults[] = {FaultKind::drop, FaultKind::delay, FaultKind::swap};

/// The numbers below n, or `most` of them.
std::set<uint64_t> draw_numbers(uint64_t n, uint64_t most, Random& random) {
  std::set<uint64_t> numbers;
  if (n <= most) {
    for (uint64_t i = 0; i < n; ++i) {
      numbers.insert(i);
    }
  }
  while (numbers.size() < std::min(n, most)) {
    numbers.insert(random.below(n));
  }
  return numbers;
}

}  // namespace

std::vector<DesignFault> draw_mutants(const DesignChangeCounts& changes, uint64_t most,
                                      uint64_t seed) {
  std::vector<DesignFault> mutants;
  for (size_t change = 0; change < kDesignChanges; ++change) {
    for (const FaultKind kind : kFaults) {
      Random random(mix64(seed) ^ (change << 8 | static_cast<size_t>(kind)));
      for (const uint64_t number : draw_numbers(changes[change], most, random)) {
        mutants.push_back({static_cast<DesignChange>(change), kind, number});
      }
    }
  }
  return mutants;
}

/// The hash of the only image of a moment.
uint64_t CrashExplorer::Search::image_of(const Moment& moment) const {
  uint64_t image = 0;
  Random random(1);
  images_->enumerate(moment, nullptr, 0, 1, random,
                     [&](uint64_t hash, const auto&) { image = hash; });
  return image;
}

SoundRun CrashExplorer::Search::sound_run(uint64_t seed) {
  seed_ = seed;
  fault_.reset();
  usual_events_ = 0;  // all crash points: those of mutants are among them
  const std::vector<CrashPoint> points = run_schedule();
  SoundRun run;
  run.seed = seed;
  run.events = usual_events_;
  run.before = changes_before_;
  for (size_t i = 0; i < kDesignChanges; ++i) {
    run.changes[i] = changes_after_[i] - changes_before_[i];
  }
  run.story = subject_.story(subject_.clock());
  for (const CrashPoint& point : points) {
    const uint64_t image = image_of(point.moment);
    run.shown.emplace(point.clock, image);
    run.recovered.emplace(point.clock, recovered(point, image).second.medium);
  }
  return run;
}

void CrashExplorer::Search::try_mutants(FunctionRef<void(double)> progress) {
  // Mutants have reports of their own.
  CrashReport kept = std::exchange(report_, {});
  std::vector<SoundRun> sound;
  DesignChangeCounts most{};
  for (uint64_t i = 0; i < plan_.schedules; ++i) {
    sound.push_back(sound_run(plan_.first_seed + i));
    for (size_t change = 0; change < kDesignChanges; ++change) {
      most[change] = std::max(most[change], sound.back().changes[change]);
    }
  }
  const std::vector<DesignFault> mutants = draw_mutants(most, plan_.mutants, plan_.first_seed);
  for (const DesignFault& mutant : mutants) {
    ++kept.mutants.planted;
    switch (try_mutant(mutant, sound)) {
      case Fate::caught:
        ++kept.mutants.caught;
        break;
      case Fate::equivalent:
        ++kept.mutants.equivalent;
        break;
      case Fate::masked:
        ++kept.mutants.masked;
        break;
      case Fate::survived:
        kept.mutants.survivors.push_back(mutant);
    }
    progress(static_cast<double>(kept.mutants.planted) / static_cast<double>(mutants.size()));
  }
  fault_.reset();
  report_ = std::move(kept);
}

/// Runs the mutant in each schedule, until one catches it.
CrashExplorer::Search::Fate CrashExplorer::Search::try_mutant(const DesignFault& mutant,
                                                              const std::vector<SoundRun>& sound) {
  Fate fate = Fate::equivalent;
  for (const SoundRun& run : sound) {
    if (mutant.number >= run.changes[static_cast<size_t>(mutant.change)]) {
      continue;
    }
    const Fate here = try_mutant(mutant, run);
    if (here == Fate::caught) {
      return here;
    }
    fate = std::max(fate, here);
  }
  return fate;
}

CrashExplorer::Search::Fate CrashExplorer::Search::try_mutant(const DesignFault& mutant,
                                                              const SoundRun& sound) {
  seed_ = sound.seed;
  fault_ = mutant;
  fault_->number += sound.before[static_cast<size_t>(mutant.change)];
  usual_events_ = sound.events;
  report_ = {};
  judged_.clear();
  const std::vector<CrashPoint> points = run_schedule();
  const auto caught = [&] { return !report_.violations.empty(); };
  if (caught()) {
    return Fate::caught;
  }
  std::vector<uint64_t> images;
  const bool same_story = subject_.story(subject_.clock()) == sound.story;
  bool same = same_story;
  for (const CrashPoint& point : points) {
    images.push_back(image_of(point.moment));
    same = same && sound.shown.contains({point.clock, images.back()});
  }
  if (same) {
    return Fate::equivalent;
  }
  bool masked = same_story;
  for (size_t i = 0; i < points.size(); ++i) {
    const Known& image = recovered(points[i], images[i]);
    judge(kCrash, points[i], image);
    if (caught() ||
        image.second.state == kNoState) {  // recovery may have failed for another mutant
      return Fate::caught;
    }
    masked = masked && sound.recovered.contains({points[i].clock, image.second.medium});
  }
  return masked ? Fate::masked : Fate::survived;
}

/// Recovers the image of a crash point, if no other run has done that.
const CrashExplorer::Search::Known& CrashExplorer::Search::recovered(const CrashPoint& point,
                                                                     uint64_t hash) {
  const auto [known, fresh] = nodes_.try_emplace(hash);
  Known& image = *known;
  if (fresh) {
    const std::vector<uint32_t> pick(point.moment.choices.size(), 0);
    recover({&image, point.event, point.clock, point.floor,
             images_->pick(point.moment, nullptr, pick), kCrash, false});
  }
  return image;
}

}  // namespace holdfast::check
