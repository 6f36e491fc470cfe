// SPDX-License-Identifier: Apache-2.0
//
// Cuts the power of a store on the simulated machine at persist events, and recovers the images.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/check/crash/sim_heap.h"
#include "holdfast/db/store/store.h"
#include "tests/db/durable_engines.h"

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

/// On the simulated machine an engine with a design needs simulated time, so it is left out.
inline std::vector<std::string> sim_engines() {
  return names_of(engine_rows<SimMachine>(), [](const auto& row) {
    return is_durable(*row.description) && !row.description->needs_design;
  });
}

inline void expect_tidy(SimHeap& heap, SimStore& store) {
  ASSERT_EQ(store.old_versions().value(), 0u);
  const auto found = heap.check([&](const BlockVisitor& visit) { store.visit_blocks(visit); });
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_TRUE(found.value().errors.empty()) << found.value().errors.front();
  ASSERT_EQ(found.value().leaked_blocks, 0u);
}

/// A program has clients, and a check of each image that they leave. It has these functions:
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

  /// Cuts the power at about `points` events, evenly spread; at all events if 0.
  void run(uint64_t points) const {
    Program whole;
    std::vector<SimImage> images;
    const uint64_t events = run_until(kNoEvent, whole, images);
    ASSERT_GT(events, 200u);
    const uint64_t stride = points == 0 ? 1 : events / points;
    for (uint64_t event = stride / 2; event < events; event += stride) {
      SCOPED_TRACE("seed " + std::to_string(seed_) + " event " + std::to_string(event));
      Program program;
      run_until(event, program, images);
      for (const SimImage& image : images) {
        recover_and_check(image, program);
        if (::testing::Test::HasFatalFailure()) {
          return;
        }
      }
    }
    std::printf("[  events  ] %d\n", static_cast<int>(events));
  }

 private:
  static constexpr uint64_t kNoEvent = ~uint64_t{0};

  const Description& description() const {
    return *EngineFactory<SimHeap::Engine>::describe(engine_).value();
  }

  void recover_and_check(const SimImage& image, const Program& program) const {
    SimMachine machine({.threads = kWorkers, .domain = usual_domain(description())}, image);
    auto heap = SimHeap::open(machine, {}).value();
    auto store = SimStore::open(*heap, BytewiseComparator(), limits(false)).value();
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

  /// Runs until just before persist event `event`. Returns the number of persist events.
  uint64_t run_until(uint64_t event, Program& program, std::vector<SimImage>& images) const {
    SimOptions options;
    options.threads = kWorkers;
    options.domain = usual_domain(description());
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
    program.prepare(*store);
    const uint64_t before = machine.persist_events();
    if (event != kNoEvent) {
      machine.crash_at(before + event);
    }
    machine.run_threads(kWorkers, [&](int worker) { program.work(*store, worker); });
    images = {machine.earliest_image(), machine.latest_image()};
    Random random(mix64(event ^ seed_));
    images.push_back(machine.sample_image(random));
    EXPECT_EQ(machine.crashed(), event != kNoEvent);
    return machine.persist_events() - before;
  }

  const std::string engine_;
  const uint64_t seed_;
  const bool feed_;
  const holdfast::Options options_;
};

}  // namespace holdfast::db
