// SPDX-License-Identifier: Apache-2.0
#include <holdfast/holdfast.h>

#include <cstdio>

struct Counter {
  holdfast::DefaultHeap::Field<long> visits = 0;
};

int main() {
  auto heap = holdfast::open_or_create("hello.heap").value();
  auto* counter = heap->root<Counter>("counter").value();
  const long visits = heap->update([&] { return (counter->visits += 1).load(); }).value();
  std::printf("visit %ld\n", visits);
}
