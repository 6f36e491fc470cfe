// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/crash/crash_search.h"

#include "holdfast/base/checksum.h"

namespace holdfast::check {
namespace {

/// The hash of the medium as programs see it. An image does not tell, because a design with an
/// address table may have lines in other places.
uint64_t medium_hash(SimMachine& machine) {
  const size_t n = machine.medium_bytes();
  std::byte* const content = machine.medium().map(0, n, nullptr, MapMode::copy_on_write).value();
  const uint64_t hash = checksum(content, n, 0);
  machine.medium().unmap(content, n);
  return hash;
}

}  // namespace

/// Crashes just after the creation of a heap: once create() has returned, the heap must survive a
/// power failure; with a design's epochs, once these have ended. Mutations apply from the first
/// store on.
void CrashExplorer::Search::create() {
  ImageSet images({}, images_->line_bytes());
  Moment moment;
  {
    SimMachine machine(recovery_options());
    machine.watch_images();
    auto heap = SimHeap::create(machine, plan_.heap);
    report_sites(machine);
    report_.mutated_in_creation = std::exchange(report_.mutated, 0);
    for (const auto& [name, use] : report_.sites) {
      report_.sites_of_creation.emplace(name, use.count);
    }
    if (!heap) {
      return fail(kCreation, {"heap refused", heap.status().to_string()}, kNever, 0, 0);
    }
    if (epochs_behind_) {
      machine.settle_design();
    }
    moment = moment_of(machine, images);
  }
  Random random(1);
  images.enumerate(moment, nullptr, 0, plan_.images, random, [&](uint64_t hash, const auto& pick) {
    if (!enough()) {
      closed_ = recover_created(images.build(images.pick(moment, nullptr, pick)), hash, true);
    }
  });
}

/// Recovers the image of a new heap, or of one that has been set up. Returns the earliest image
/// after the heap was closed again; nothing, and a violation, if the heap is not as expected.
std::optional<sim::Image> CrashExplorer::Search::recover_created(const sim::Image& image,
                                                                 uint64_t hash, bool new_heap) {
  SimMachine machine(recovery_options(), image);
  auto found = open(machine, new_heap);
  report_sites(machine);
  if (auto* fault = std::get_if<Fault>(&found)) {
    fail(kCreation, std::move(*fault), kNever, hash, 0);
    return {};
  }
  if (std::get<Subject::Words>(found) != initial_) {
    fail(kCreation, {"new heap changed", "what was set up in it reads otherwise"}, kNever, hash, 0);
    return {};
  }
  return machine.earliest_image();
}

/// Returns the images that are legal at a crash point. The run or recovery began with the image
/// `from` (null: the base). Adds images that are new to pending_.
std::vector<const CrashExplorer::Search::Known*> CrashExplorer::Search::add_images(
    const CrashPoint& point, const Pending* from, uint64_t most, const char* phase) {
  std::vector<const Known*> images;
  Random random(mix64(seed_) ^ point.event);
  // With a design, a moment describes its whole image, and not the difference to `from`.
  const bool relative = from != nullptr && !has_design();
  const ImageDelta* const delta = relative ? &from->delta : nullptr;
  const uint64_t explored = images_->enumerate(
      point.moment, delta, relative ? from->image->first : 0, most, random,
      [&](uint64_t hash, const auto& pick) {
        const auto [known, fresh] = nodes_.try_emplace(hash);
        images.push_back(&*known);
        if (fresh) {
          const bool crash_it =
              from == nullptr && plan_.crash_recovery != 0 && hash % plan_.crash_recovery == 0;
          pending_.push_back({&*known, point.event, point.clock, point.floor,
                              images_->pick(point.moment, delta, pick), phase, crash_it});
        }
      });
  if (from == nullptr) {
    report_.coverage.legal += static_cast<double>(point.moment.image_count(images_->line_bytes()));
    report_.coverage.explored += explored;
  }
  return images;
}

void CrashExplorer::Search::recover_pending() {
  for (size_t i = 0; i < pending_.size() && !enough(); ++i) {
    const Pending pending = std::move(pending_[i]);
    recover(pending);  // may add to pending_
    if (plan_.go_on != 0 && pending.phase == kCrash && ++counted_ % plan_.go_on == 0) {
      to_go_on_.push_back(pending);
    }
  }
}

uint32_t CrashExplorer::Search::state_index(const Subject::Words& words) {
  const auto [at, added] =
      index_of_state_.try_emplace(words, static_cast<uint32_t>(states_.size()));
  if (added) {
    states_.push_back(&at->first);
  }
  return at->second;
}

/// Lets the hardware design recover, if the machine has one. Returns the fault found.
std::optional<Fault> CrashExplorer::Search::power_on(SimMachine& machine) {
  try {
    machine.power_on();
    return {};
  } catch (const SimStuck& stuck) {
    return Fault{"design recovery stuck", stuck.what()};
  } catch (const Error& error) {
    return Fault{"design recovery failed", error.status().to_string()};
  }
}

/// Returns the image for a machine to start with. It refers to `delta`, and to this object.
sim::StartImage CrashExplorer::Search::start_with(const ImageDelta& delta) {
  if (!has_design()) {
    return {images_->shared_base(), delta};
  }
  images_->build(delta, image_);  // the state of a design is behind the medium
  return image_;
}

/// Opens the heap of an image, and returns its words or the fault found. In a new heap it first
/// sets the subject up.
std::variant<Subject::Words, Fault> CrashExplorer::Search::open(SimMachine& machine,
                                                                bool new_heap) {
  if (auto fault = power_on(machine)) {
    return std::move(*fault);
  }
  try {
    auto heap = SimHeap::open(machine, {});
    if (!heap) {
      return Fault{"recovery refused", heap.status().to_string()};
    }
    const RecoveryReport& report = (*heap)->recovery();
    if (!report.needed && report.transactions != 0) {
      return Fault{"recovery misreported", "it recovered transactions without need"};
    }
    Status attached = new_heap ? subject_.set_up(**heap) : Status();
    attached = attached.ok() ? subject_.attach(**heap) : attached;
    auto words = attached.ok() ? subject_.observe(**heap) : Result<Subject::Words>(attached);
    if (!words) {
      return Fault{"recovered heap unreadable", words.status().to_string()};
    }
    auto walked = (*heap)->check([&](const BlockVisitor& visit) { subject_.visit_blocks(visit); });
    if (!walked || !walked->ok()) {
      return Fault{"allocator damaged",
                   walked ? walked->errors.front() : walked.status().to_string()};
    }
    if (const Status status = (*heap)->close(); !status.ok()) {
      return Fault{"recovered heap not closed", status.to_string()};
    }
    return std::move(words).value();
  } catch (const SimStuck& stuck) {
    return Fault{"recovery stuck", stuck.what()};
  } catch (const Error& error) {
    return Fault{"recovered heap unreadable", error.status().to_string()};
  } catch (const MediumFailure& failure) {
    return Fault{"recovered heap unreadable", failure.status().to_string()};
  }
}

void CrashExplorer::Search::recover(const Pending& pending) {
  std::vector<CrashPoint> points;
  {
    SimOptions o = recovery_options();
    o.disturb = options(seed_).disturb;
    SimMachine machine(o, start_with(pending.delta));
    machine.watch_images();
    if (pending.crash_it) {
      report_.design.begin(machine);
    }
    const EventWatch watch(machine, [&](uint64_t event) {
      if (pending.crash_it && points.size() < kMostPoints) {
        points.push_back({event, 0, 0, moment_of(machine, *images_)});
        report_.design.point(machine);
      }
    });
    auto recovered = power_on(machine);
    if (plan_.mutants != 0 && !recovered) {
      pending.image->second.medium = medium_hash(machine);
    }
    auto found = recovered ? std::move(*recovered) : open(machine);
    if (pending.crash_it) {
      report_.design.end(machine);
    }
    report_sites(machine);
    if (auto* fault = std::get_if<Fault>(&found)) {
      return fail(pending.phase, std::move(*fault), pending.event, pending.image->first,
                  pending.clock);
    }
    pending.image->second.state = state_index(std::get<Subject::Words>(found));
  }
  report_.coverage.recovery_points += points.size();
  for (const CrashPoint& point : points) {
    const std::vector<const Known*> inner =
        add_images({pending.event, pending.clock, pending.floor, point.moment}, &pending,
                   plan_.recovery_images, kRecovery);
    std::vector<const Known*>& all = pending.image->second.in_recovery;
    all.insert(all.end(), inner.begin(), inner.end());
  }
}

void CrashExplorer::Search::judge(const std::vector<CrashPoint>& points) {
  for (size_t i = 0; i < points.size() && !enough(); ++i) {
    for (const Known* const image : images_of_point_[i]) {
      judge(kCrash, points[i], *image);
      for (const Known* const inner : image->second.in_recovery) {
        judge(kRecovery, points[i], *inner);
      }
    }
  }
}

void CrashExplorer::Search::judge(const char* phase, const CrashPoint& point, const Known& image) {
  const uint32_t state = image.second.state;
  if (enough() || state == kNoState || !judged_.insert({point.clock, point.floor, state}).second) {
    return;
  }
  ++report_.coverage.judged;
  if (auto fault = subject_.judge_crash(promised(point.floor), point.clock, *states_[state])) {
    fail(phase, std::move(*fault), point.event, image.first, point.clock);
  }
}

/// Runs the program again on the recovered heap, with crash points of its own. The thread that
/// opens the heap does nothing else, so that no later fence orders the stores of recovery. This
/// recovery has another schedule than the one in recover(), and perhaps another order of slots. It
/// must find the words that were judged, because the new run is judged by what it finds.
void CrashExplorer::Search::go_on(const Pending& from) {
  ++report_.coverage.continued;
  std::vector<CrashPoint> points;
  try {
    SimOptions random = options(seed_ + 1);
    random.slot_order = options(seed_).slot_order;  // threads find their own logs again
    if (random.schedule == Schedule::exhaustive) {
      // Only the first run is searched exhaustively; this run would count as one of its schedules.
      random.schedule = Schedule::random;
      random.explorer = nullptr;
    }
    SimMachine machine(random, start_with(from.delta));
    machine.watch_images();  // before the heap opens, because opening recovers it
    if (auto fault = power_on(machine)) {
      return fail(kContinued, std::move(*fault), from.event, from.image->first, kNever);
    }
    auto heap = SimHeap::open(machine, {});
    heap.status().check();
    Subject::Words found;
    machine.run_threads(1, [&](int) {
      subject_.attach(**heap).check();
      found = subject_.observe(**heap).value();
    });
    const uint32_t state = from.image->second.state;
    if (state != kNoState && found != *states_[state]) {
      return fail(kContinued,
                  {"recovery differs", "another recovery of the image has found other words"},
                  from.event, from.image->first, kNever);
    }
    subject_.start(seed_ + 1, found, /*continues=*/true);
    points = run_clients(machine, **heap, kContinued, kContinuedPoints, false);
    report_sites(machine);
  } catch (const SimStuck& stuck) {
    return fail(kContinued, {"stuck", stuck.what()}, from.event, from.image->first, kNever);
  } catch (const Error& error) {
    return fail(kContinued, {"heap refused", error.status().to_string()}, from.event,
                from.image->first, kNever);
  }
  judged_.clear();
  for (const CrashPoint& point : points) {
    pending_.clear();
    const std::vector<const Known*> images =
        add_images(point, &from, plan_.recovery_images, kContinued);
    recover_pending();
    for (const Known* const image : images) {
      judge(kContinued, point, *image);
    }
  }
}

}  // namespace holdfast::check
