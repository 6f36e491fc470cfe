// SPDX-License-Identifier: Apache-2.0
//
// Several threads move money between accounts while another one adds them up: it always sees the
// same sum. Any thread may call update and read.
#include <array>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "holdfast/engines/fur/fur.h"
#include "holdfast/holdfast.h"

namespace {

using Heap = holdfast::Heap<holdfast::FurOpa<holdfast::NativeMachine>>;  // another engine
constexpr size_t kAccounts = 16;
constexpr long kMoney = 1000;
constexpr int kTransfers = 2000;

struct Bank {
  std::array<Heap::Field<long>, kAccounts> accounts;

  Bank() {
    for (auto& account : accounts) {
      account = kMoney;
    }
  }

  void transfer(size_t from, size_t to, long amount) {
    accounts[from] -= amount;
    accounts[to] += amount;
  }

  long sum() const {
    long total = 0;
    for (const auto& account : accounts) {
      total += account;
    }
    return total;
  }
};

/// Adds up the accounts until no worker runs. Returns the number of wrong sums.
int audit_while(Heap& heap, const Bank& bank, const std::atomic<int>& running) {
  int wrong = 0;
  while (running.load() > 0) {
    wrong += heap.read([&] { return bank.sum(); }).value() != kMoney * static_cast<long>(kAccounts);
  }
  return wrong;
}

}  // namespace

int main() {
  holdfast::NativeOptions native;
  native.domain = holdfast::Domain::process;  // survives a killed process; no disk is waited for
  std::remove("threads.heap");
  const auto heap = Heap::create("threads.heap", {}, native).value();
  auto* bank = heap->root<Bank>("bank").value();

  std::atomic<int> running = 2;
  std::vector<std::thread> workers;
  workers.reserve(2);
  for (size_t worker = 0; worker < 2; ++worker) {
    workers.emplace_back([&, worker] {
      for (size_t i = 0; i < kTransfers; ++i) {
        heap->update([&] { bank->transfer((i + worker) % kAccounts, (i * 7) % kAccounts, 1); })
            .check();
      }
      running.fetch_sub(1);
    });
  }
  const int wrong = audit_while(*heap, *bank, running);
  for (auto& worker : workers) {
    worker.join();
  }
  std::printf("%d transfers, %d wrong sums\n", 2 * kTransfers, wrong);
  return wrong == 0 ? 0 : 1;
}
