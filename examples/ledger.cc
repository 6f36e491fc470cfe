// SPDX-License-Identifier: Apache-2.0
//
// A structure of one's own: a linked list of entries with a running total. An entry that would make
// the total negative throws, and the exception rolls the whole transaction back.
#include <cstdio>
#include <stdexcept>

#include "holdfast/holdfast.h"

namespace {

using Heap = holdfast::DefaultHeap;

struct Entry {
  Heap::Field<long> amount = 0;
  Heap::Field<Entry*> next = nullptr;
};

struct Ledger {
  static constexpr const char* kTypeName = "example.Ledger";  // checked when the heap is opened

  Heap::Field<Entry*> first = nullptr;
  Heap::Field<long> total = 0;

  void add(long amount) {
    auto* entry = Heap::make<Entry>();
    entry->amount = amount;
    entry->next = first;
    first = entry;
    total += amount;
    if (total < 0) {
      throw std::runtime_error("the ledger would be overdrawn");
    }
  }

  void clear() {
    while (Entry* entry = first) {
      first = entry->next;
      Heap::destroy(entry);
    }
    total = 0;
  }
};

long sum(const Ledger& ledger) {
  long total = 0;
  for (const Entry* entry = ledger.first; entry != nullptr; entry = entry->next) {
    total += entry->amount;
  }
  return total;
}

int run(Heap& heap) {
  auto* ledger = heap.root<Ledger>("ledger").value();
  heap.update([&] { ledger->clear(); }).check();
  heap.update([&] {
        ledger->add(100);
        ledger->add(-30);
      })
      .check();
  try {
    heap.update([&] {
          ledger->add(10);
          ledger->add(-500);
        })
        .check();
  } catch (const std::runtime_error& error) {
    std::printf("refused: %s\n", error.what());
  }
  const long total = heap.read([&] { return sum(*ledger); }).value();
  std::printf("total %ld\n", total);
  return total == 70 ? 0 : 1;
}

}  // namespace

int main() {
  auto heap = holdfast::open_or_create("ledger.heap");
  if (!heap) {
    std::fprintf(stderr, "%s\n", heap.status().to_string().c_str());
    return 1;
  }
  return run(*heap.value());
}
