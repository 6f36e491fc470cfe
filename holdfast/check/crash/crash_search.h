// SPDX-License-Identifier: Apache-2.0
//
// One search of the crash explorer (crash_explorer.h). crash_explorer.cc has the runs,
// crash_search.cc has recovery and judging, design_mutants.cc the planted bugs of hardware designs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "holdfast/check/crash/crash_explorer.h"
#include "holdfast/check/crash/image_set.h"

namespace holdfast::check {

/// The values of Violation::phase.
inline constexpr const char* kCreation = "creation";
inline constexpr const char* kRun = "run";
inline constexpr const char* kCrash = "crash";
inline constexpr const char* kRecovery = "recovery";
inline constexpr const char* kContinued = "continued";

/// Limit of crash points per run. A correct run of a small program has fewer. An engine with a
/// planted bug may loop.
inline constexpr size_t kMostPoints = 20'000;

/// Sets the machine's seed, the order of slots and, if wanted, the probabilities that go with it.
/// Each thread gets each slot in some schedule, so a scan that leaves a slot out is found. With a
/// low switch probability a thread stands still for long. With a low drain probability stores
/// stay hidden. In one schedule of three, threads with long time slices run beside threads with
/// short ones. A hardware design works in simulated time, which has one schedule. There other seeds
/// than the first force evictions and delay the acceptance of writes.
void vary(SimOptions& options, uint64_t seed, bool probabilities);

/// Calls `look` before each persist event, during this object's lifetime.
class EventWatch {
 public:
  EventWatch(SimMachine& machine, std::function<void(uint64_t)> look) : machine_(machine) {
    machine.before_persist_event(std::move(look));
  }
  ~EventWatch() { machine_.before_persist_event({}); }
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;

 private:
  SimMachine& machine_;
};

/// Calls `look` at the end of each epoch of a hardware design, during this object's lifetime.
class EpochWatch {
 public:
  EpochWatch(SimMachine& machine, std::function<void()> look) : machine_(machine) {
    machine.at_epoch_end(std::move(look));
  }
  ~EpochWatch() { machine_.at_epoch_end({}); }
  EpochWatch(const EpochWatch&) = delete;
  EpochWatch& operator=(const EpochWatch&) = delete;

 private:
  SimMachine& machine_;
};

/// Crash points of a run on a recovered heap.
inline constexpr uint64_t kContinuedPoints = 30;

/// A crash point: a persist event, and the state of clients and medium before it.
struct CrashPoint {
  uint64_t event;
  uint64_t clock;  ///< Subject::clock()
  uint64_t floor;  ///< Guarantees::floor
  Moment moment;
};

/// A run of the sound design, to which its mutants are compared.
struct SoundRun {
  uint64_t seed = 0;
  uint64_t events = 0;           ///< persist events of the run
  DesignChangeCounts before{};   ///< changes before the clients began
  DesignChangeCounts changes{};  ///< changes while they ran
  std::string story;             ///< of the clients
  /// The judge is shown these: the clock at a crash point, and the image.
  std::set<std::pair<uint64_t, uint64_t>> shown;
  /// The clock, and the hash of the medium that the design recovers.
  std::set<std::pair<uint64_t, uint64_t>> recovered;
};

class CrashExplorer::Search {
 public:
  Search(const CrashPlan& plan, Subject& subject);

  CrashReport run(FunctionRef<void(double)> progress);
  void draw(const Violation& violation, sim::Timeline& timeline);

 private:
  struct Node;
  /// The hash of an image, and what its recovery has shown. It keeps its address.
  using Known = std::pair<const uint64_t, Node>;
  /// A surviving image that has been recovered.
  struct Node {
    uint32_t state = kNoState;              ///< index into states_
    std::vector<const Known*> in_recovery;  ///< images of crashes during its recovery
    uint64_t medium = 0;  ///< hash of the medium that the hardware design recovers
  };
  /// An image that has yet to be recovered.
  struct Pending {
    Known* image;
    uint64_t event;
    uint64_t clock;
    uint64_t floor;
    ImageDelta delta;
    const char* phase;
    bool crash_it;  ///< also crash during its recovery
  };
  static constexpr uint32_t kNoState = ~uint32_t{0};  ///< not recovered yet, or recovery failed

  uint64_t program_seed() const { return plan_.program_seed == 0 ? seed_ : plan_.program_seed; }
  bool enough() const { return report_.violations.size() >= plan_.most_violations; }
  /// The engine's promise, or that of a design with epochs.
  Guarantees promised(uint64_t floor = 0) const;
  uint64_t floor_after(const std::vector<uint64_t>& epochs) const;

  SimOptions options(uint64_t seed) const;
  SimOptions recovery_options() const;
  bool has_design() const { return static_cast<bool>(plan_.machine.make_design); }
  Moment moment_of(const SimMachine& machine, const ImageSet& images) const;

  /// Adds the machine's mutations, sites and probes to the report.
  void report_sites(const SimMachine& machine);
  void prepare();
  void create();
  std::optional<sim::Image> recover_created(const sim::Image& image, uint64_t hash, bool new_heap);
  void one_schedule();
  std::vector<CrashPoint> run_schedule();
  /// Runs the subject's clients on `heap` and returns the crash points of the run.
  void fail_run(SimMachine& machine, const char* phase, const Status& why);
  std::vector<CrashPoint> run_clients(SimMachine& machine, SimHeap& heap, const char* phase,
                                      uint64_t most_points, bool close);
  std::vector<const Known*> add_images(const CrashPoint& point, const Pending* from, uint64_t most,
                                       const char* phase);
  void recover_pending();
  std::optional<Fault> power_on(SimMachine& machine);
  sim::StartImage start_with(const ImageDelta& delta);
  std::variant<Subject::Words, Fault> open(SimMachine& machine, bool new_heap = false);
  void recover(const Pending& pending);
  void judge(const std::vector<CrashPoint>& points);
  void judge(const char* phase, const CrashPoint& point, const Known& image);
  void go_on(const Pending& pending);
  void fail(const char* phase, Fault fault, uint64_t event, uint64_t hash, uint64_t clock);
  uint32_t state_index(const Subject::Words& words);
  // Mutants of a hardware design.
  enum class Fate : uint8_t { equivalent, masked, survived, caught };
  void try_mutants(FunctionRef<void(double)> progress);
  SoundRun sound_run(uint64_t seed);
  Fate try_mutant(const DesignFault& mutant, const std::vector<SoundRun>& sound);
  Fate try_mutant(const DesignFault& mutant, const SoundRun& sound);
  uint64_t image_of(const Moment& moment) const;
  const Known& recovered(const CrashPoint& point, uint64_t hash);

  const CrashPlan& plan_;
  Subject& subject_;
  std::optional<uint64_t> epochs_behind_;  ///< of the hardware design
  CrashReport report_;
  std::shared_ptr<ScheduleExplorer> schedules_;
  const std::shared_ptr<sim::HostPages> pages_ = std::make_shared<sim::HostPages>();
  std::unique_ptr<ImageSet> images_;
  Subject::Words initial_;
  std::optional<sim::Image> closed_;  ///< earliest image of a new heap, set up and closed
  uint64_t seed_ = 0;
  std::unordered_map<uint64_t, Node> nodes_;
  std::map<Subject::Words, uint32_t> index_of_state_;
  std::vector<const Subject::Words*> states_;
  // State of the present schedule.
  std::vector<std::vector<const Known*>> images_of_point_;
  std::vector<Pending> pending_;
  std::vector<Pending> to_go_on_;
  std::set<std::tuple<uint64_t, uint64_t, uint32_t>> judged_;  ///< clock, floor, state
  sim::Image image_;  ///< with a design, the one that is recovered
  size_t counted_ = 0;
  // The design's changes before the clients of the last run, and after them.
  DesignChangeCounts changes_before_{};
  DesignChangeCounts changes_after_{};
  std::optional<DesignFault> fault_;  ///< the mutant that runs
  uint64_t usual_events_;             ///< persist events of the last run
};

}  // namespace holdfast::check
