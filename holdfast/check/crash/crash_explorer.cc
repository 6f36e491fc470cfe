// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/crash/crash_explorer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "holdfast/check/crash/crash_search.h"

namespace holdfast::check {
void vary(SimOptions& options, uint64_t seed, bool probabilities) {
  constexpr double kSwitch[] = {0.25, 0.08, 0.02};
  constexpr double kDrain[] = {0.4, 0.05};
  constexpr double kLongSlices = 0.005;
  options.seed = seed;
  options.slot_order = seed % 2 == 0 ? seed : 0;
  if (!probabilities) {
    return;
  }
  if (options.make_design) {
    options.disturb = seed == 1 ? 0 : seed + 1;
  }
  options.switch_probability = kSwitch[seed % 3];
  options.drain_probability = kDrain[seed / 3 % 2];
  if (seed / 6 % 3 == 2) {
    options.odd_switch_probability = kLongSlices;
  }
}

CrashExplorer::CrashExplorer(CrashPlan plan, Subject& subject)
    : plan_(std::move(plan)), subject_(subject) {}
CrashExplorer::~CrashExplorer() = default;

CrashReport CrashExplorer::explore(FunctionRef<void(double)> progress) {
  return Search(plan_, subject_).run(progress);
}

void CrashExplorer::draw(const Violation& violation, sim::Timeline& timeline) {
  Search(plan_, subject_).draw(violation, timeline);
}

CrashExplorer::Search::Search(const CrashPlan& plan, Subject& subject)
    : plan_(plan), subject_(subject), usual_events_(plan.events) {
  if (has_design()) {
    epochs_behind_ = plan.machine.make_design()->epochs_behind();
  }
}

/// A design with epochs knows no single transaction, so no commit is durable before its epoch is.
Guarantees CrashExplorer::Search::promised(uint64_t floor) const {
  Guarantees promised = plan_.promised;
  if (epochs_behind_) {
    promised.durability = {Durability::lagging, Promise::kNoBound, /*floor=*/false};
    promised.floor = floor;
  }
  return promised;
}

/// Returns the floor when these epochs have ended: the end of the newest one that must survive.
uint64_t CrashExplorer::Search::floor_after(const std::vector<uint64_t>& epochs) const {
  const uint64_t behind = epochs_behind_.value_or(0);
  return epochs.size() > behind ? epochs[epochs.size() - behind - 1] : 0;
}

CrashReport CrashExplorer::Search::run(FunctionRef<void(double)> progress) {
  prepare();
  create();
  const bool exhaustive = plan_.machine.schedule == Schedule::exhaustive;
  if (exhaustive) {
    schedules_ = std::make_shared<ScheduleExplorer>(plan_.bounds);
  }
  for (uint64_t i = 0; i < plan_.schedules && !enough(); ++i) {
    if (exhaustive && !schedules_->next()) {
      break;
    }
    seed_ = exhaustive ? plan_.first_seed : plan_.first_seed + i;
    one_schedule();
    ++report_.coverage.schedules;
    progress(static_cast<double>(i + 1) / static_cast<double>(plan_.schedules));
  }
  if (closed_ && !enough()) {
    recover_created(*closed_, 0, false);
  }
  if (plan_.mutants != 0 && has_design() && report_.violations.empty()) {
    try_mutants(progress);
  }
  report_.coverage.images = nodes_.size();
  report_.coverage.too_large = subject_.too_large();
  report_.lost_max = subject_.lost_max();
  return std::move(report_);
}

void CrashExplorer::Search::draw(const Violation& violation, sim::Timeline& timeline) {
  prepare();
  seed_ = violation.seed;
  SimMachine machine(options(seed_), images_->base());
  machine.power_on();
  auto heap = SimHeap::open(machine, {});
  heap.status().check();
  subject_.attach(**heap).check();
  subject_.start(program_seed(), initial_, /*continues=*/false);
  machine.record(&timeline);
  if (violation.point != kNever) {
    machine.crash_at(machine.persist_events() + violation.point);
  }
  try {
    machine.run_threads(subject_.threads(), [&](int thread) { subject_.client(thread, **heap); });
    static_cast<void>((*heap)->close());
  } catch (const SimStuck&) {  // NOLINT(bugprone-empty-catch): the timeline shows it
  }
  machine.record(nullptr);
}

SimOptions CrashExplorer::Search::options(uint64_t seed) const {
  SimOptions o = plan_.machine;
  vary(o, seed, plan_.vary);
  o.explorer = schedules_;
  o.pages = pages_;
  o.count_main_events = true;
  return o;
}

SimOptions CrashExplorer::Search::recovery_options() const {
  SimOptions o = options(1);
  // Recovery runs on one thread and is not part of the schedules that are searched. Timing does not
  // affect it, except with a design, which works only in a timed machine.
  if (!has_design()) {
    o.schedule = Schedule::random;
    o.explorer = nullptr;
  }
  // With the lines that the engine itself reads, the check of a heap may read more than hardware
  // usually tracks. Then each check would be tried ten times before it took a lock.
  o.htm_load_lines = size_t{1} << 20;
  return o;
}

Moment CrashExplorer::Search::moment_of(const SimMachine& machine, const ImageSet& images) const {
  if (has_design()) {
    return images.only(machine.earliest_image());
  }
  Moment moment{machine.medium_bytes(), machine.image_choices()};
  if (plan_.machine.journal) {
    moment.order = machine.image_order();
  }
  return moment;
}

/// Makes the heap and the image with which every run begins.
void CrashExplorer::Search::prepare() {
  SimOptions o = recovery_options();
  o.mutations.clear();  // runs begin on a sound heap; create() tests creation
  sim::Image image;
  {
    SimMachine machine(o);
    auto heap = SimHeap::create(machine, plan_.heap);
    heap.status().check();
    subject_.set_up(**heap).check();
    subject_.attach(**heap).check();
    auto words = subject_.observe(**heap);
    initial_ = std::move(words).value();
    (*heap)->close().check();
    if (epochs_behind_) {
      machine.settle_design();
    }
    image = machine.earliest_image();
    o.line_bytes = machine.line_bytes();
  }
  images_ = std::make_unique<ImageSet>(std::move(image), o.line_bytes);
}

void CrashExplorer::Search::report_sites(const SimMachine& machine) {
  report_.mutated += machine.mutated();
  machine.for_each_probe([&](const char* name, uint64_t count) {
    const auto at = report_.probes.find(std::string_view(name));
    (at != report_.probes.end() ? at->second : report_.probes[name]) += count;
  });
  machine.for_each_site([&](const char* name, SiteKind kind, uint64_t count) {
    auto at = report_.sites.find(std::string_view(name));
    if (at == report_.sites.end()) {
      at = report_.sites.emplace(name, SiteUse{name, kind, 0}).first;
    }
    at->second.kind = std::min(at->second.kind, kind);  // a label may be that of several kinds
    at->second.count += count;
  });
}

void CrashExplorer::Search::fail(const char* phase, Fault fault, uint64_t event, uint64_t hash,
                                 uint64_t clock) {
  if (enough()) {
    return;
  }
  Violation v;
  v.fault = std::move(fault);
  v.phase = phase;
  v.seed = seed_;
  v.schedule = schedules_ == nullptr ? "" : schedules_->text();
  v.point = event;
  v.image = hash;
  v.program = subject_.program();
  v.story = subject_.story(clock);
  report_.violations.push_back(std::move(v));
}

void CrashExplorer::Search::one_schedule() {
  images_of_point_.clear();
  pending_.clear();
  to_go_on_.clear();
  judged_.clear();
  const std::vector<CrashPoint> points = run_schedule();
  if (enough()) {
    return;
  }
  for (const CrashPoint& point : points) {
    images_of_point_.push_back(add_images(point, nullptr, plan_.images, kCrash));
  }
  recover_pending();
  judge(points);
  for (const Pending& pending : to_go_on_) {
    if (!enough()) {
      go_on(pending);
    }
  }
}

std::vector<CrashPoint> CrashExplorer::Search::run_schedule() {
  SimOptions o = options(seed_);
  o.design_fault = fault_;
  SimMachine machine(o, start_with(images_->no_difference()));
  machine.watch_images();
  if (auto fault = power_on(machine)) {
    fail(kRun, std::move(*fault), kNever, 0, 0);
    return {};
  }
  auto heap = SimHeap::open(machine, {});
  if (const Status status = heap ? subject_.attach(**heap) : heap.status(); !status.ok()) {
    report_sites(machine);
    fail(kRun, {"heap refused", status.to_string()}, kNever, 0, 0);
    return {};
  }
  subject_.start(program_seed(), initial_, /*continues=*/false);
  std::vector<CrashPoint> points = run_clients(machine, **heap, kRun, plan_.points, true);
  report_sites(machine);
  report_.coverage.points += points.size();
  return points;
}

/// For a handler: a run has ended by an exception. A hardware design that loses stores is the cause
/// of some.
void CrashExplorer::Search::fail_run(SimMachine& machine, const char* phase, const Status& why) {
  if (!has_design()) {
    throw;
  }
  machine.switch_off();  // the heap ends without the design, which may fail again
  fail(phase, {why.code() == Code::corrupt ? "lost stores" : "run failed", why.to_string()}, kNever,
       0, subject_.clock());
}

std::vector<CrashPoint> CrashExplorer::Search::run_clients(SimMachine& machine, SimHeap& heap,
                                                           const char* phase, uint64_t most_points,
                                                           bool close) {
  std::vector<CrashPoint> points;
  const uint64_t first = machine.persist_events();
  // The number of events is not known yet; it is about that of the last run.
  const uint64_t step = most_points == 0 ? 1 : usual_events_ / most_points + 1;
  changes_before_ = machine.design_changes();
  std::vector<uint64_t> epochs;  ///< by epoch that has ended: Subject::clock() at its end
  const bool cover = has_design() && !fault_;
  if (cover) {
    report_.design.begin(machine);
  }
  const auto look = [&](uint64_t event) {
    event -= first;
    if (fault_ && machine.design_changes()[static_cast<size_t>(fault_->change)] <= fault_->number) {
      return;  // up to here the run is that of the sound design
    }
    const bool wanted =
        plan_.only_point == kNever ? event % step == seed_ % step : event == plan_.only_point;
    if (wanted && points.size() < kMostPoints) {
      points.push_back(
          {event, subject_.clock(), floor_after(epochs), moment_of(machine, *images_)});
      if (cover) {
        report_.design.point(machine);
      }
    }
  };
  const EventWatch watch(machine, look);
  const EpochWatch epoch_watch(machine, [&] { epochs.push_back(subject_.clock()); });
  try {
    machine.run_threads(subject_.threads(), [&](int thread) { subject_.client(thread, heap); });
    if (auto fault = subject_.judge_run(promised())) {
      fail(phase, std::move(*fault), kNever, 0, subject_.clock());
      return {};
    }
    // Closing has crash points, too. The last crash point lies behind it.
    if (const Status status = close ? heap.close() : Status(); !status.ok()) {
      fail(phase, {"close failed", status.to_string()}, kNever, 0, subject_.clock());
      return {};
    }
  } catch (const SimStuck& stuck) {
    fail(phase, {"stuck", stuck.what()}, kNever, 0, subject_.clock());
    return {};
  } catch (const Error& error) {
    fail_run(machine, phase, error.status());
    return {};
  } catch (const MediumFailure& failure) {
    fail_run(machine, phase, failure.status());
    return {};
  }
  const uint64_t last = machine.persist_events();
  points.push_back(
      {last - first, subject_.clock(), floor_after(epochs), moment_of(machine, *images_)});
  changes_after_ = machine.design_changes();
  if (cover) {
    report_.design.point(machine);
    report_.design.end(machine);
  }
  usual_events_ = last - first;
  report_.coverage.epochs = std::max<uint64_t>(report_.coverage.epochs, epochs.size());
  report_.coverage.events += usual_events_ + 1;
  return points;
}

}  // namespace holdfast::check
