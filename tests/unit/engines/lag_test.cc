// SPDX-License-Identifier: Apache-2.0
//
// Does every engine that can lag by itself end a fence, a barrier, and a durable update that
// changes nothing, whether other transactions keep arriving or none arrives any more?
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/unit/engines/engine_rows.h"

namespace holdfast::lag_test {
namespace {

using engine_rows_test::machine_for;
using engine_rows_test::row_of;
using engine_rows_test::RowHeap;

std::vector<std::string> engines_that_lag() {
  return names_of(engine_rows<SimMachine>(), [](const auto& row) { return row.description->lags; });
}

/// A call that waits, and whether the engine has it.
struct Wait {
  const char* name;
  std::function<bool(RowHeap&)> call;
};

const std::vector<Wait>& waits() {
  static const std::vector<Wait> all = {
      {"fence",
       [](RowHeap& heap) {
         heap.engine().fence();
         return true;
       }},
      {"barrier",
       [](RowHeap& heap) {
         const Status status = heap.engine().barrier();
         EXPECT_TRUE(status.ok() || status.code() == Code::unsupported) << status.message();
         return status.ok();
       }},
      {"durable update",
       [](RowHeap& heap) {
         heap.engine().update([] {}, Commit::durable);
         return true;
       }},
  };
  return all;
}

class EngineLag : public testing::TestWithParam<std::string> {
 protected:
  /// Runs `work` with each wait, several times with other schedules.
  template <class F>
  void with_each(F&& work) {
    for (const Wait& wait : waits()) {
      for (uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(std::string(wait.name) + ", seed " + std::to_string(seed));
        const auto& row = row_of(GetParam());
        SimMachine machine(machine_for(*row.description, seed));
        RowHeap heap(machine, row, with_tiny(*row.description, {{"lag", "4"}}));
        heap.engine().format().check();
        heap.recover().check();
        work(machine, heap, wait);
      }
    }
  }
};

TEST_P(EngineLag, NewTransactionsDoNotKeepAWaitFromReturning) {
  constexpr int kMany = 2000;  // if a wait takes longer, it waits for the others' end
  int meanwhile = 0;
  with_each([&](SimMachine& machine, RowHeap& heap, const Wait& wait) {
    bool waits = false;
    bool returned = false;
    bool has_it = true;
    machine.run_threads(RowHeap::kThreads, [&](int worker) {
      const auto own = static_cast<size_t>(worker);
      if (worker == 0) {
        for (uint64_t i = 1; i <= 3; ++i) {
          heap.write(8 * own, i);
        }
        waits = true;
        has_it = wait.call(heap);
        returned = true;
        return;
      }
      int done = 0;
      for (; done < kMany && !returned; ++done) {
        if (worker == 1) {
          heap.write(8 * own, static_cast<uint64_t>(done));
        } else {
          static_cast<void>(heap.read(8));
        }
        meanwhile += waits ? 1 : 0;
      }
      EXPECT_TRUE(done < kMany || !has_it) << "worker " << worker;
    });
  });
  EXPECT_GT(meanwhile, 20) << "hardly any transaction arrived during a wait";
}

TEST_P(EngineLag, AWaitReturnsThoughNoTransactionArrives) {
  with_each([](SimMachine& machine, RowHeap& heap, const Wait& wait) {
    machine.run_threads(1, [&](int) {
      for (uint64_t i = 1; i <= 3; ++i) {
        heap.write(0, i);
      }
      if (wait.call(heap)) {
        EXPECT_EQ(heap.engine().pending().count, 0u);
      }
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineLag, testing::ValuesIn(engines_that_lag()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace holdfast::lag_test
