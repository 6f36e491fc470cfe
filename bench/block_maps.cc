// SPDX-License-Identifier: Apache-2.0
//
// Measures the price of the maps that show when a block is freed twice.
//
//   block_maps [--turns N]
//
// Transactions of engine romulus-log, in memory, each allocate and free sixteen blocks of 64 bytes.
// Layout 1 of the heap has no maps of allocated blocks, and layout 2 has. The layouts run in turns,
// in the same heap. Each figure is a median of processor time.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "holdfast/heap/layout.h"
#include "holdfast/holdfast.h"

namespace holdfast {
namespace {

using H = Heap<RomulusLog<NativeMachine>>;
constexpr int kBlocks = 16;
constexpr int kTransactions = 20'000;

double processor_now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Returns the nanoseconds of an allocation and a free.
double measure(H& heap, uint64_t layout_mark) {
  auto* const header = reinterpret_cast<DataHeader<H::Engine>*>(heap.superblock().base);
  heap.update([&] { header->mark = layout_mark; }).check();
  const double start = processor_now();
  for (int i = 0; i < kTransactions; ++i) {
    heap.update([&] {
          void* blocks[kBlocks];
          for (void*& block : blocks) {
            block = H::allocate(64);
          }
          for (void* block : blocks) {
            H::deallocate(block, 64);
          }
        })
        .check();
  }
  return (processor_now() - start) / kTransactions / kBlocks * 1e9;
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

int main_of(int argc, char** argv) {
  const bool has_turns = argc == 3 && std::strcmp(argv[1], "--turns") == 0;
  const int turns = has_turns ? std::atoi(argv[2]) : 15;
  const char* const file = "/dev/shm/block_maps.heap";
  std::remove(file);
  NativeOptions native;
  native.domain = Domain::process;
  CreateOptions create;
  create.bytes = 4 << 20;
  auto heap = H::create(file, create, native).value();
  measure(*heap, kLayoutMark2);  // makes the blocks, which later turns reuse
  std::vector<double> without;
  std::vector<double> with;
  for (int turn = 0; turn < turns; ++turn) {
    without.push_back(measure(*heap, kLayoutMark1));
    with.push_back(measure(*heap, kLayoutMark2));
  }
  std::printf("an allocation and a free: %.1f ns without maps, %.1f ns with maps\n",
              median(without), median(with));
  heap->close().check();
  std::remove(file);
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  return holdfast::main_of(argc, argv);
}
