// SPDX-License-Identifier: Apache-2.0
//
// A process dies in the middle of a transaction. The next program that opens the heap finds every
// committed transaction whole, and nothing of the unfinished one.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "holdfast/holdfast.h"

namespace {

using Heap = holdfast::DefaultHeap;
constexpr const char* kFile = "crash.heap";

struct Pair {
  Heap::Field<long> left = 0;
  Heap::Field<long> right = 0;
};

void write_and_die() {
  const auto heap = Heap::create(kFile, {}, holdfast::NativeOptions{}).value();
  auto* pair = heap->root<Pair>("pair").value();
  heap->update([&] {
        pair->left = 1;
        pair->right = 1;
      })
      .check();
  heap->update([&] {
        pair->left = 2;
        _exit(0);  // as if killed here: right is still 1
      })
      .check();
}

int recover_and_read() {
  const auto heap = Heap::open(kFile, {}, holdfast::NativeOptions{}).value();
  auto* pair = heap->find_root<Pair>("pair").value();
  const long left = heap->read([&] { return pair->left.load(); }).value();
  const long right = heap->read([&] { return pair->right.load(); }).value();
  std::printf("recovered: left %ld, right %ld\n", left, right);
  return left == 1 && right == 1 ? 0 : 1;
}

}  // namespace

int main() {
  std::remove(kFile);
  const pid_t child = fork();  // before any heap is open: an open heap does not survive fork
  if (child == 0) {
    write_and_die();
    return 1;  // not reached
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    return 1;
  }
  return recover_and_read();
}
