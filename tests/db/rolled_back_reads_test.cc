// SPDX-License-Identifier: Apache-2.0
//
// Do attempts of a read that are rolled back leave the caller's string alone? Beside a writer the
// last attempt may find no value, or must still know the key.
#include "tests/db/crash_sweep.h"

namespace holdfast::db::rolled_back_reads_test {
namespace {

const std::string kKey = "a key that is longer than a short string";
const std::string kOther = "a key that always has a value, of which more than one block is read";
constexpr size_t kBytes = 3000;
constexpr int kTimes = 20;

class DbRolledBackReads : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, DbRolledBackReads, ::testing::ValuesIn(sim_engines()),
                         engine_name);

/// Beside the reader one thread changes what it reads.
TEST_P(DbRolledBackReads, LeaveTheCallersStringAlone) {
  const std::string engine = GetParam();
  const Description& description = *EngineFactory<SimHeap::Engine>::describe(engine).value();
  SimOptions options;
  if (description.needs_design) {
    options = design_test::options(design_test::tiny(), design_test::durable_design());
  } else {
    options.domain = usual_domain(description);
  }
  options.threads = 2;
  SimMachine machine(options);
  CreateOptions create;
  create.engine = engine;
  create.bytes = 512 << 10;
  create.max_bytes = 2 << 20;
  auto heap = SimHeap::create(machine, create).value();
  auto store = SimStore::open(*heap, BytewiseComparator()).value();
  const std::string value(kBytes, 'v');
  store->write({{kKey, value}, {kOther, value}}).check();
  machine.run_threads(2, [&](int thread) {
    for (int i = 0; i < kTimes; ++i) {
      if (thread == 0) {
        store->write({{kKey, value, i % 2 == 0}, {kOther, value}}).check();
        continue;
      }
      std::string text = "kept";
      const bool found = store->get(kKey, nullptr, &text).value();
      EXPECT_TRUE(text == (found ? value : "kept")) << text.size() << " bytes";
      text = kOther;  // one string for the key and the value, as LevelDB allows
      EXPECT_TRUE(store->get(text, nullptr, &text).value());
      EXPECT_TRUE(text == value) << text.size() << " bytes";
    }
  });
}

}  // namespace
}  // namespace holdfast::db::rolled_back_reads_test
