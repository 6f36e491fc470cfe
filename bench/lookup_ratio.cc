// SPDX-License-Identifier: Apache-2.0
//
// Measures how much of the speed of ordinary memory lookups keep.
//
// The same red-black tree of 10,000 keys, filled in the same order, is once in a durable heap and
// once in plain memory. One pinned thread reads them alternately, for a few milliseconds each; the
// figures are medians. A read-only transaction has one lookup or a hundred, because entering and
// leaving it has a cost of its own.
//
//   lookup_ratio [--enforce]     exit status 1 when a bar is missed
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include "holdfast/engines/fur/fur.h"
#include "holdfast/engines/romulus/romulus.h"
#include "holdfast/heap/heap.h"
#include "holdfast/heap/plain_heap.h"
#include "holdfast/machine/native/native_machine.h"
#include "holdfast/runner/spec/environment.h"
#include "holdfast/runner/spec/temporary_heap.h"
#include "holdfast/structures/rb_tree.h"

namespace holdfast {
namespace {

constexpr uint64_t kKeys = 10'000;
constexpr int kTurns = 61;
constexpr uint64_t kLookupsPerTurn = 40'000;
constexpr uint64_t kSeed = 1;

std::vector<uint64_t> shuffled(uint64_t seed) {
  std::vector<uint64_t> keys(kKeys);
  std::iota(keys.begin(), keys.end(), 0);
  Random random(seed);
  for (size_t i = keys.size(); i > 1; --i) {
    std::swap(keys[i - 1], keys[random.below(i)]);
  }
  return keys;
}

template <class H>
RbTree<H, uint64_t, uint64_t>& filled_tree(H& heap) {
  using Tree = RbTree<H, uint64_t, uint64_t>;
  Tree* tree = heap.template root<Tree>("tree").value();
  const std::vector<uint64_t> keys = shuffled(kSeed);
  for (size_t i = 0; i < keys.size(); i += 100) {
    heap.update([&] {
          for (size_t k = i; k < std::min(i + 100, keys.size()); ++k) {
            tree->insert(keys[k], keys[k] + 1);
          }
        })
        .check();
  }
  return *tree;
}

/// Looks up kLookupsPerTurn keys, `per_transaction` in each transaction, and uses the sum of the
/// values.
template <class H, class Tree>
void look_up(H& heap, const Tree& tree, const std::vector<uint64_t>& keys,
             uint64_t per_transaction) {
  uint64_t total = 0;
  for (uint64_t done = 0; done < kLookupsPerTurn; done += per_transaction) {
    uint64_t sum = 0;
    heap.read([&] {
          sum = 0;
          for (uint64_t i = 0; i < per_transaction; ++i) {
            sum += *tree.find(keys[(done + i) % kKeys]);
          }
        })
        .check();
    total += sum;
  }
  asm volatile("" : : "r"(total));
}

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + kTurns / 2, values.end());
  return values[kTurns / 2];
}

/// Prints one line per transaction size; returns whether the bar is met at the larger one.
template <class E>
bool compare(double bar) {
  NativeOptions native;
  native.domain = Domain::process;
  const TemporaryHeap file("", Domain::process, E::kDescription.name);
  const auto heap = Heap<E>::create(file.path(), CreateOptions{}, native).value();
  PlainHeap plain;
  const auto& tree = filled_tree(*heap);
  const auto& plain_tree = filled_tree(plain);
  const std::vector<uint64_t> keys = shuffled(kSeed + 1);
  bool met = false;
  auto& machine = heap->machine();
  for (const uint64_t per_transaction : {uint64_t{1}, uint64_t{100}}) {
    std::vector<double> plain_ns;
    std::vector<double> durable_ns;
    machine.run_threads(1, [&](int) {
      const auto timed = [&](auto& some_heap, const auto& some_tree) {
        const uint64_t start = machine.now();
        look_up(some_heap, some_tree, keys, per_transaction);
        return static_cast<double>(machine.now() - start) * machine.ns_per_tick() / kLookupsPerTurn;
      };
      for (int turn = 0; turn < kTurns; ++turn) {
        plain_ns.push_back(timed(plain, plain_tree));
        durable_ns.push_back(timed(*heap, tree));
      }
    });
    const double ratio = median(plain_ns) / median(durable_ns);
    met = ratio >= bar;
    std::printf(
        "%-12s %3lu lookup(s) per transaction: plain %6.1f ns, durable %6.1f ns, ratio %.3f\n",
        E::kDescription.name, static_cast<unsigned long>(per_transaction), median(plain_ns),
        median(durable_ns), ratio);
  }
  std::printf("%-12s bar %.2f: %s\n", E::kDescription.name, bar, met ? "met" : "MISSED");
  return met;
}

int run(bool enforce) {
  const Json here = environment();
  std::printf("%s, %s, commit %s, build %s\n", here["cpu_model"].get<std::string>().c_str(),
              here["kernel"].get<std::string>().c_str(), here["commit"].get<std::string>().c_str(),
              here["library_build_type"].get<std::string>().c_str());
  const bool log = compare<RomulusLog<NativeMachine>>(0.90);
  const bool fur = compare<FurOpa<NativeMachine>>(0.50);
  return enforce && !(log && fur) ? 1 : 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  try {
    return holdfast::run(argc > 1 && std::string_view(argv[1]) == "--enforce");
  } catch (const holdfast::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
