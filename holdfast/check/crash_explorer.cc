// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/crash_explorer.h"

#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

#include "holdfast/check/image_set.h"

namespace holdfast::check {
namespace {

/// Which schedule is random: some leave a thread standing for long, as others never do, and some
/// keep stores hidden.
void vary(SimOptions& options, uint64_t seed, bool probabilities) {
  constexpr double kSwitch[] = {0.25, 0.08, 0.02};
  constexpr double kDrain[] = {0.4, 0.05};
  options.seed = seed;
  if (!probabilities) {
    return;
  }
  options.switch_probability = kSwitch[seed % 3];
  options.drain_probability = kDrain[seed / 3 % 2];
}

std::string allocator_fault(const HeapCheck& check) {
  return check.errors.empty() ? std::to_string(check.leaked_blocks) + " blocks (" +
                                    std::to_string(check.leaked_bytes) + " bytes) belong to nobody"
                              : check.errors.front();
}

/// Where a violation was found: Violation::phase.
constexpr const char* kRun = "run";
constexpr const char* kCrash = "crash";
constexpr const char* kRecovery = "recovery";
constexpr const char* kContinued = "continued";

/// No sound run of a small program has more; one of an engine with a planted bug may walk in
/// circles.
constexpr size_t kMostPoints = 20'000;

/// Lets `look` see the persist events while it exists.
class Watch {
 public:
  Watch(SimMachine& machine, std::function<void(uint64_t)> look) : machine_(machine) {
    machine.before_persist_event(std::move(look));
  }
  ~Watch() { machine_.before_persist_event({}); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  SimMachine& machine_;
};

/// Crash points of a run that goes on after a recovery.
constexpr uint64_t kContinuedPoints = 30;

/// A crash point: the moment of the medium, and of the clients.
struct Point {
  uint64_t event;
  uint64_t clock;
  Moment moment;
};

}  // namespace

class CrashExplorer::Search {
 public:
  Search(const CrashPlan& plan, Subject& subject) : plan_(plan), subject_(subject) {}

  CrashReport run(FunctionRef<void(double)> progress) {
    prepare();
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
    report_.coverage.images = nodes_.size();
    return std::move(report_);
  }

  void draw(const Violation& violation, sim::Timeline& timeline) {
    prepare();
    seed_ = violation.seed;
    SimMachine machine(options(seed_), images_->base());
    auto heap = SimHeap::open(machine, {});
    heap.status().check();
    subject_.attach(**heap).check();
    subject_.start(program_seed(), initial_);
    machine.record(&timeline);
    if (violation.point != kNever) {
      machine.crash_at(machine.persist_events() + violation.point);
    }
    try {
      machine.run_threads(subject_.threads(), [&](int thread) { subject_.client(thread, **heap); });
      static_cast<void>((*heap)->close());
    } catch (const SimStuck&) {
      // That is what was to be seen.
    }
    machine.record(nullptr);
  }

 private:
  /// A surviving image, recovered.
  struct Node {
    uint32_t state = kNoState;          ///< index into states_
    std::vector<uint64_t> in_recovery;  ///< images of crashes during its recovery
  };
  /// An image that is still to be recovered.
  struct Pending {
    uint64_t hash;
    uint64_t event;
    uint64_t clock;
    ImageDelta delta;
    const char* phase;
    bool crash_it;  ///< during its recovery as well
  };
  static constexpr uint32_t kNoState = ~uint32_t{0};  ///< not recovered, or not recoverable

  uint64_t program_seed() const { return plan_.program_seed == 0 ? seed_ : plan_.program_seed; }
  bool enough() const { return report_.violations.size() >= plan_.most_violations; }
  const Description& promised() const { return plan_.promised; }

  SimOptions options(uint64_t seed) const {
    SimOptions o = plan_.machine;
    vary(o, seed, plan_.vary);
    o.explorer = schedules_;
    o.pages = pages_;
    o.count_main_events = true;
    return o;
  }
  SimOptions recovery_options() const {
    SimOptions o = options(1);
    // Recovery is one thread, and no part of the schedules that are searched. Time makes no
    // difference to it, but for a design, which works in time only.
    if (o.design.empty()) {
      o.schedule = Schedule::random;
      o.explorer = nullptr;
    }
    return o;
  }

  Moment moment_of(const SimMachine& machine) const {
    return machine.design().empty() ? Moment{machine.medium_bytes(), machine.image_choices()}
                                    : images_->only(machine.earliest_image());
  }

  /// What this machine knows about sites goes into the report.
  void learn(const SimMachine& machine);
  void prepare();
  void one_schedule();
  std::vector<Point> run_schedule();
  /// Runs the subject's clients on the heap of `machine` and looks at its crash points.
  std::vector<Point> run_clients(SimMachine& machine, SimHeap& heap, const char* phase,
                                 uint64_t most_points, bool close);
  std::vector<uint64_t> note(const Point& point, const Pending* from, uint64_t most,
                             const char* phase);
  void recover_pending();
  std::variant<Subject::Words, Fault> open(SimMachine& machine);
  void recover(const Pending& pending);
  void judge(const std::vector<Point>& points);
  void judge(const char* phase, const Point& point, uint64_t hash);
  void go_on(const Pending& pending);
  void fail(const char* phase, Fault fault, uint64_t event, uint64_t hash, uint64_t clock);
  uint32_t state_index(const Subject::Words& words);

  const CrashPlan& plan_;
  Subject& subject_;
  CrashReport report_;
  std::shared_ptr<ScheduleExplorer> schedules_;
  const std::shared_ptr<sim::HostPages> pages_ = std::make_shared<sim::HostPages>();
  std::unique_ptr<ImageSet> images_;
  Subject::Words initial_;
  uint64_t seed_ = 0;
  std::unordered_map<uint64_t, Node> nodes_;
  std::map<Subject::Words, uint32_t> index_of_state_;
  std::vector<const Subject::Words*> states_;
  // Of the running schedule.
  std::vector<std::vector<uint64_t>> images_of_point_;
  std::vector<Pending> pending_;
  std::vector<Pending> to_go_on_;
  std::set<std::pair<uint64_t, uint32_t>> judged_;
  size_t counted_ = 0;
  uint64_t usual_events_ = 0;  ///< of the last run
};

CrashExplorer::CrashExplorer(CrashPlan plan, Subject& subject)
    : plan_(std::move(plan)), subject_(subject) {}
CrashExplorer::~CrashExplorer() = default;

CrashReport CrashExplorer::explore(FunctionRef<void(double)> progress) {
  return Search(plan_, subject_).run(progress);
}

void CrashExplorer::draw(const Violation& violation, sim::Timeline& timeline) {
  Search(plan_, subject_).draw(violation, timeline);
}

/// The medium before every run.
void CrashExplorer::Search::prepare() {
  SimOptions o = recovery_options();
  o.mutations.clear();  // bugs are looked for from a sound heap on
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
    learn(machine);
    image = machine.earliest_image();
    o.line_bytes = machine.line_bytes();
  }
  images_ = std::make_unique<ImageSet>(std::move(image), o.line_bytes);
}

void CrashExplorer::Search::learn(const SimMachine& machine) {
  report_.mutated += machine.mutated();
  for (SiteUse& use : machine.sites()) {
    const auto [at, added] = report_.sites.try_emplace(use.name, use);
    at->second.count += added ? 0 : use.count;
  }
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
  const std::vector<Point> points = run_schedule();
  if (enough()) {
    return;
  }
  for (const Point& point : points) {
    images_of_point_.push_back(note(point, nullptr, plan_.images, kCrash));
  }
  recover_pending();
  judge(points);
  for (const Pending& pending : to_go_on_) {
    if (!enough()) {
      go_on(pending);
    }
  }
}

std::vector<Point> CrashExplorer::Search::run_schedule() {
  SimMachine machine(options(seed_), images_->base());
  machine.watch_images();
  auto heap = SimHeap::open(machine, {});
  if (Status status = heap ? subject_.attach(**heap) : heap.status(); !status.ok()) {
    learn(machine);
    fail(kRun, {"heap refused", status.to_string()}, kNever, 0, 0);
    return {};
  }
  subject_.start(program_seed(), initial_);
  std::vector<Point> points = run_clients(machine, **heap, kRun, plan_.points, true);
  learn(machine);
  report_.coverage.points += points.size();
  return points;
}

std::vector<Point> CrashExplorer::Search::run_clients(SimMachine& machine, SimHeap& heap,
                                                      const char* phase, uint64_t most_points,
                                                      bool close) {
  std::vector<Point> points;
  const uint64_t first = machine.persist_events();
  // How many events there will be is not known yet: about as many as last time.
  const uint64_t step = most_points == 0 ? 1 : usual_events_ / most_points + 1;
  const auto look = [&](uint64_t event) {
    event -= first;
    const bool wanted =
        plan_.only_point == kNever ? event % step == seed_ % step : event == plan_.only_point;
    if (wanted && points.size() < kMostPoints) {
      points.push_back({event, subject_.clock(), moment_of(machine)});
    }
  };
  const Watch watch(machine, look);
  try {
    machine.run_threads(subject_.threads(), [&](int thread) { subject_.client(thread, heap); });
  } catch (const SimStuck& stuck) {
    fail(phase, {"stuck", stuck.what()}, kNever, 0, subject_.clock());
    return {};
  }
  if (auto fault = subject_.judge_run(promised())) {
    fail(phase, std::move(*fault), kNever, 0, subject_.clock());
    return {};
  }
  // Closing has crash points as well; the last one lies behind it.
  if (Status status = close ? heap.close() : Status(); !status.ok()) {
    fail(phase, {"close failed", status.to_string()}, kNever, 0, subject_.clock());
    return {};
  }
  const uint64_t last = machine.persist_events();
  points.push_back({last - first, subject_.clock(), moment_of(machine)});
  usual_events_ = last - first;
  report_.coverage.events += usual_events_ + 1;
  return points;
}

/// The images that are legal at a point, of a run or recovery that began with `from` (null: the
/// base). Those that nobody has recovered yet are to be.
std::vector<uint64_t> CrashExplorer::Search::note(const Point& point, const Pending* from,
                                                  uint64_t most, const char* phase) {
  std::vector<uint64_t> hashes;
  Random random(mix64(seed_) ^ point.event);
  // With a design, a moment says all of its image.
  const bool relative = from != nullptr && plan_.machine.design.empty();
  const ImageDelta* const delta = relative ? &from->delta : nullptr;
  const uint64_t explored = images_->enumerate(
      point.moment, delta, relative ? from->hash : 0, most, random,
      [&](uint64_t hash, const auto& pick) {
        hashes.push_back(hash);
        if (nodes_.try_emplace(hash).second) {
          const bool crash_it =
              from == nullptr && plan_.crash_recovery != 0 && hash % plan_.crash_recovery == 0;
          pending_.push_back({hash, point.event, point.clock,
                              images_->pick(point.moment, delta, pick), phase, crash_it});
        }
      });
  if (from == nullptr) {
    report_.coverage.legal += static_cast<double>(point.moment.image_count(images_->line_bytes()));
    report_.coverage.explored += explored;
  }
  return hashes;
}

void CrashExplorer::Search::recover_pending() {
  for (size_t i = 0; i < pending_.size() && !enough(); ++i) {
    const Pending pending = std::move(pending_[i]);
    recover(pending);  // which may add to pending_
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

/// Opens the heap that an image holds and reads it; or what is wrong with it.
std::variant<Subject::Words, Fault> CrashExplorer::Search::open(SimMachine& machine) {
  try {
    auto heap = SimHeap::open(machine, {});
    if (!heap) {
      return Fault{"recovery refused", heap.status().to_string()};
    }
    Status attached = subject_.attach(**heap);
    auto words = attached.ok() ? subject_.observe(**heap) : Result<Subject::Words>(attached);
    if (!words) {
      return Fault{"recovered heap unreadable", words.status().to_string()};
    }
    auto walked = (*heap)->check([&](const BlockVisitor& visit) { subject_.visit_blocks(visit); });
    if (!walked || !walked->ok()) {
      return Fault{"allocator damaged",
                   walked ? allocator_fault(*walked) : walked.status().to_string()};
    }
    if (Status status = (*heap)->close(); !status.ok()) {
      return Fault{"recovered heap not closed", status.to_string()};
    }
    return std::move(words).value();
  } catch (const SimStuck& stuck) {
    return Fault{"recovery stuck", stuck.what()};
  } catch (const Error& error) {
    return Fault{"recovered heap unreadable", error.status().to_string()};
  }
}

void CrashExplorer::Search::recover(const Pending& pending) {
  std::vector<Point> points;
  {
    SimMachine machine(recovery_options(), images_->build(pending.delta));
    machine.watch_images();
    const Watch watch(machine, [&](uint64_t event) {
      if (pending.crash_it && points.size() < kMostPoints) {
        points.push_back({event, 0, moment_of(machine)});
      }
    });
    auto found = open(machine);
    learn(machine);
    if (auto* fault = std::get_if<Fault>(&found)) {
      return fail(pending.phase, std::move(*fault), pending.event, pending.hash, pending.clock);
    }
    nodes_[pending.hash].state = state_index(std::get<Subject::Words>(found));
  }
  report_.coverage.recovery_points += points.size();
  for (const Point& point : points) {
    std::vector<uint64_t> inner = note({pending.event, pending.clock, point.moment}, &pending,
                                       plan_.recovery_images, kRecovery);
    std::vector<uint64_t>& known = nodes_[pending.hash].in_recovery;
    known.insert(known.end(), inner.begin(), inner.end());
  }
}

void CrashExplorer::Search::judge(const std::vector<Point>& points) {
  for (size_t i = 0; i < points.size() && !enough(); ++i) {
    for (const uint64_t hash : images_of_point_[i]) {
      judge(kCrash, points[i], hash);
      for (const uint64_t inner : nodes_[hash].in_recovery) {
        judge(kRecovery, points[i], inner);
      }
    }
  }
}

void CrashExplorer::Search::judge(const char* phase, const Point& point, uint64_t hash) {
  const uint32_t state = nodes_[hash].state;
  if (enough() || state == kNoState || !judged_.emplace(point.clock, state).second) {
    return;
  }
  ++report_.coverage.judged;
  if (auto fault = subject_.judge_crash(promised(), point.clock, *states_[state])) {
    fail(phase, std::move(*fault), point.event, hash, point.clock);
  }
}

/// The program once more, on the recovered heap, with crash points of its own.
void CrashExplorer::Search::go_on(const Pending& from) {
  ++report_.coverage.continued;
  std::vector<Point> points;
  try {
    SimMachine machine(options(seed_ + 1), images_->build(from.delta));
    machine.watch_images();  // opening recovers
    auto heap = SimHeap::open(machine, {});
    heap.status().check();
    subject_.attach(**heap).check();
    subject_.start(seed_ + 1, subject_.observe(**heap).value());
    points = run_clients(machine, **heap, kContinued, kContinuedPoints, false);
    learn(machine);
  } catch (const Error& error) {
    return fail(kContinued, {"heap refused", error.status().to_string()}, from.event, from.hash,
                kNever);
  }
  judged_.clear();
  for (const Point& point : points) {
    pending_.clear();
    const std::vector<uint64_t> hashes = note(point, &from, plan_.recovery_images, kContinued);
    recover_pending();
    for (const uint64_t hash : hashes) {
      judge(kContinued, point, hash);
    }
  }
}

}  // namespace holdfast::check
