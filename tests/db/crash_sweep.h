// SPDX-License-Identifier: Apache-2.0
//
// Cuts the power of a store on the simulated machine at persist events, and recovers the images.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/check/crash/sim_heap.h"
#include "holdfast/db/store/store.h"
#include "tests/db/durable_engines.h"
#include "tests/same_image.h"
#include "tests/sanitized.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::db {

constexpr int kWorkers = 2;
using SimStore = Store<SimHeap>;

/// Small limits: even a short value is written ahead in several transactions.
inline StoreLimits limits(bool feed) {
  StoreLimits small{
      .short_value = 32, .per_transaction = 64, .pieces_freed = 1, .versions_freed = 1};
  if (feed) {
    small.feed_bytes = 1 << 20;
  }
  return small;
}

inline std::string present(SimStore& store, const std::string& which) {
  std::string value;
  auto found = store.get(which, nullptr, &value);
  return found.ok() ? value : found.status().to_string();
}

/// Returns the content of a follower that has applied all changes of stored keys.
inline Model followed(SimStore& store) {
  Model state;
  bool more = true;
  for (uint64_t sequence = 0; more; ++sequence) {
    WriteBatch change;
    store.change_after(sequence, &change, &more).check();
    const Status status =
        WriteBatchContents::for_each(change, [&](const Slice& key, const Slice* value) {
          if (value == nullptr) {
            state.erase(key.ToString());
          } else {
            state[key.ToString()] = value->ToString();
          }
          return Status::OK();
        });
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  return state;
}

inline Model contents(SimStore& store) {
  Model all;
  EntryArray array;
  EntryBuffer entries(array);
  store.read_ahead(Step::first, {}, nullptr, SIZE_MAX, &entries).check();
  for (const PackedEntry* entry : entries) {
    all[entry->key().ToString()] = entry->value().ToString();
  }
  return all;
}

inline std::vector<std::string> sim_engines() {
  return names_of(engine_rows<SimMachine>(),
                  [](const auto& row) { return is_durable(*row.description); });
}

inline void expect_tidy(SimHeap& heap, SimStore& store) {
  ASSERT_EQ(store.old_versions().value(), 0u);
  const auto found = heap.check([&](const BlockVisitor& visit) { store.visit_blocks(visit); });
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_TRUE(found.value().errors.empty()) << found.value().errors.front();
  ASSERT_EQ(found.value().leaked_blocks, 0u);
}

/// A program has clients, and a check of each image that they leave. It can be copied, and has
/// these functions:
///
///   void prepare(SimStore& store)             before the power can fail
///   void work(SimStore& store, int worker)    one client; records what has been acknowledged
///   void check(SimHeap& heap, SimStore& store) const    after recovery
template <class Program>
class CrashSweep {
 public:
  /// `options`: further ones of the engine.
  CrashSweep(std::string engine, uint64_t seed, bool feed, holdfast::Options options = {})
      : engine_(std::move(engine)), seed_(seed), feed_(feed), options_(std::move(options)) {}

  /// Cuts the power at about `points` events, evenly spread; at all events if 0. Under a sanitizer
  /// at one of kStep. Recovers up to three images of each. One of kCrashAgain recoveries loses
  /// power as well.
  void run(uint64_t points) {
    const uint64_t events = take({}, nullptr);
    ASSERT_GT(events, 200u);
    const uint64_t stride = kStep * (points == 0 ? 1 : std::max<uint64_t>(1, events / points));
    std::vector<Moment> moments;
    for (uint64_t event = stride / 2; event < events;) {
      std::set<uint64_t> wanted;
      for (; event < events && wanted.size() < kAtOnce; event += stride) {
        wanted.insert(event);
      }
      moments.clear();
      ASSERT_EQ(take(wanted, &moments), events) << "another run has other events";
      ASSERT_EQ(moments.size(), wanted.size());
      for (const Moment& moment : moments) {
        check(moment);
        if (::testing::Test::HasFatalFailure()) {
          return;
        }
      }
    }
    std::printf("[  events  ] %d, recoveries %d, power failures in them %d\n",
                static_cast<int>(events), static_cast<int>(recovered_), static_cast<int>(again_));
  }

 private:
  static constexpr uint64_t kAtOnce = 64;     // moments that one run is looked at, for memory
  static constexpr uint64_t kCrashAgain = 7;  // one recovery in so many
  static constexpr uint64_t kAgainPoints = 3;
  static constexpr size_t kMostSeen = 100;

  /// A persist event: the images that a power failure may leave before it, and what the clients
  /// know by then.
  struct Moment {
    uint64_t event;
    Program program;
    std::vector<SimImage> images;
  };

  const Description& description() const {
    return *EngineFactory<SimHeap::Engine>::describe(engine_).value();
  }

  /// An engine that needs a hardware design has one, in simulated time.
  SimOptions machine_options() const {
    SimOptions options;
    if (description().needs_design) {
      options = design_test::options(design_test::tiny(), design_test::durable_design());
    } else {
      options.domain = usual_domain(description());
    }
    options.threads = kWorkers;
    return options;
  }

  /// The images of a power failure now. Leaves out equal ones.
  std::vector<SimImage> images_of(const SimMachine& machine, uint64_t event) const {
    std::vector<SimImage> images = {machine.earliest_image()};
    Random random(mix64(event ^ seed_));
    for (const SimImage& image : {machine.latest_image(), machine.sample_image(random)}) {
      if (std::none_of(images.begin(), images.end(),
                       [&](const SimImage& known) { return same_image(known, image); })) {
        images.push_back(image);
      }
    }
    return images;
  }

  void check(const Moment& moment) {
    SCOPED_TRACE("seed " + std::to_string(seed_) + " event " + std::to_string(moment.event));
    for (const SimImage& image : moment.images) {
      const bool again = recovered_++ % kCrashAgain == 0;
      std::vector<SimImage> inner;
      recover_and_check(image, moment.program, again ? &inner : nullptr);
      for (size_t i = 0; i < inner.size() && !::testing::Test::HasFatalFailure(); ++i) {
        SCOPED_TRACE("power failure " + std::to_string(i) + " in its recovery");
        ++again_;
        recover_and_check(inner[i], moment.program, nullptr);
      }
      if (::testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }

  /// Opens heap and store. `inner` gets the images of some power failures meanwhile.
  void recover_and_check(const SimImage& image, const Program& program,
                         std::vector<SimImage>* inner) const {
    SimOptions options = machine_options();
    options.count_main_events = true;
    SimMachine machine(options, image);
    std::vector<SimImage> seen;
    if (inner != nullptr) {
      machine.before_persist_event([&](uint64_t event) {
        if (seen.size() < kMostSeen) {
          seen.push_back(event % 2 == 0 ? machine.earliest_image() : machine.latest_image());
        }
      });
    }
    machine.power_on();
    auto heap = SimHeap::open(machine, {}).value();
    auto store = SimStore::open(*heap, BytewiseComparator(), limits(false)).value();
    machine.before_persist_event({});
    for (size_t i = 0; inner != nullptr && i < seen.size();
         i += std::max<size_t>(1, seen.size() / kAgainPoints)) {
      inner->push_back(seen[i]);
    }
    program.check(*heap, *store);
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
    if (feed_) {
      ASSERT_EQ(followed(*store), contents(*store));
    }
    store->write({{"after", "the crash"}}).check();
    ASSERT_EQ(present(*store, "after"), "the crash");
  }

  /// Runs the program. Adds the moments just before the `wanted` persist events. Returns the number
  /// of persist events.
  uint64_t take(const std::set<uint64_t>& wanted, std::vector<Moment>* moments) const {
    SimOptions options = machine_options();
    options.seed = seed_;
    options.slot_order = seed_;
    SimMachine machine(options);
    CreateOptions create;
    create.engine = engine_;
    create.bytes = 128 << 10;
    create.max_bytes = 1 << 20;
    create.fine_classes = true;
    // Small logs, because images are as large as logs.
    create.options = known_options(description(), {{"log_bytes", "16384"}, {"markers", "1024"}});
    create.options.insert(options_.begin(), options_.end());
    auto heap = SimHeap::create(machine, create).value();
    auto store = SimStore::open(*heap, BytewiseComparator(), limits(feed_)).value();
    Program program;
    program.prepare(*store);
    const uint64_t before = machine.persist_events();
    machine.before_persist_event([&](uint64_t event) {
      if (wanted.contains(event - before)) {
        moments->push_back({event - before, program, images_of(machine, event)});
      }
    });
    machine.run_threads(kWorkers, [&](int worker) { program.work(*store, worker); });
    machine.before_persist_event({});
    return machine.persist_events() - before;
  }

  const std::string engine_;
  const uint64_t seed_;
  const bool feed_;
  const holdfast::Options options_;
  uint64_t recovered_ = 0;
  uint64_t again_ = 0;
};

}  // namespace holdfast::db
