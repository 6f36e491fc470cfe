// SPDX-License-Identifier: Apache-2.0
//
// Do slots, contexts, waiting and the background thread of the native machine work?
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>

#include "holdfast/machine/native/native_machine.h"
#include "tests/child_process.h"
#include "tests/native/test_file.h"

namespace holdfast::threads_test {
namespace {

class NativeThreads : public testing::Test {
 protected:
  std::unique_ptr<NativeMachine> make(int max_threads) {
    files_.push_back(std::make_unique<NativeTestFile>());
    auto result = NativeMachine::open(
        files_.back()->path(),
        {.create = true, .domain = Domain::process, .max_threads = max_threads});
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return std::move(result.value());
  }
  static int self_on_new_thread(NativeMachine& machine) {
    int slot = -2;
    std::thread([&] { slot = machine.self(); }).join();
    return slot;
  }

  std::vector<std::unique_ptr<NativeTestFile>> files_;
};

TEST_F(NativeThreads, ASlotIsTakenOnFirstUseAndReturnedAtThreadExit) {
  const auto machine = make(2);
  EXPECT_EQ(machine->active_slots(), 0);
  const int first = self_on_new_thread(*machine);
  EXPECT_GE(first, 0);
  EXPECT_LT(first, machine->slots());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(self_on_new_thread(*machine), first);
  }
  EXPECT_EQ(machine->active_slots(), first + 1);
}

TEST_F(NativeThreads, OneThreadTooManyGetsNone) {
  const auto machine = make(3);
  std::set<int> slots;
  std::mutex mutex;
  std::atomic<int> arrived{0};
  machine->run_threads(3, [&](int) {
    const int slot = machine->self();
    {
      const std::lock_guard lock(mutex);
      slots.insert(slot);
    }
    if (++arrived == 3) {
      EXPECT_EQ(self_on_new_thread(*machine), -1);
      ++arrived;
    }
    while (arrived < 4) {
      std::this_thread::yield();
    }
    EXPECT_EQ(machine->self(), slot);
  });
  EXPECT_EQ(slots.size(), 3u);
  EXPECT_EQ(slots.count(-1), 0u);
  EXPECT_GE(self_on_new_thread(*machine), 0);
}

TEST_F(NativeThreads, GuestsTakeTurnsInTheBackgroundThreadsSlot) {
  const auto machine = make(1);
  const auto other = make(1);
  const int own = machine->self();
  std::atomic<int> inside{0};
  std::atomic<int> turns{0};
  const auto guest = [&] {
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(machine->self(), -1);
      const NativeMachine::GuestSlot slot(*machine);
      ASSERT_TRUE(slot.taken());
      EXPECT_EQ(inside.fetch_add(1), 0) << "two guests at once";
      EXPECT_EQ(machine->self(), 0);
      static_cast<void>(other->self());  // a thread may change machines meanwhile
      EXPECT_EQ(machine->self(), 0);
      turns.fetch_add(1);
      inside.fetch_sub(1);
    }
  };
  std::thread first(guest);
  std::thread second(guest);
  first.join();
  second.join();
  EXPECT_EQ(turns, 400);
  EXPECT_EQ(machine->self(), own);

  NativeMachine::Atomic<uint64_t> calls{0};
  machine->set_background([&] {
    calls.fetch_add(1);
    return false;
  });
  machine->wait_while(calls, uint64_t{0});
  std::thread([&] {
    EXPECT_EQ(machine->self(), -1);
    const NativeMachine::GuestSlot slot(*machine);
    EXPECT_FALSE(slot.taken());
    EXPECT_EQ(machine->self(), -1);
  }).join();
  machine->set_background(nullptr);
  std::thread(guest).join();
}

TEST(NativeBackground, TriesAgainWithoutMemory) {
  std::atomic<int> calls{0};
  const auto round = [&] {
    const int n = ++calls;
    calls.notify_all();
    if (n <= 3) {
      throw std::bad_alloc();
    }
    return false;
  };
  const native::Background background([] {}, round, native::allowed_processors());
  for (int n = 0; n < 5; n = calls) {
    calls.wait(n);
  }
}

TEST(NativeBackground, DoesNotBeginWithoutMemory) {
  const auto prepare = [] { throw std::bad_alloc(); };
  const auto round = [] {
    ADD_FAILURE();
    return false;
  };
  EXPECT_THROW(native::Background(prepare, round, native::allowed_processors()), std::bad_alloc);
}

// A program may block a signal in its threads, and wait for it.
TEST_F(NativeThreads, ABackgroundThreadTakesNoSignalOfTheProgram) {
  const int how = end_of_child([&] {
    const auto machine = make(3);
    NativeMachine::Atomic<uint64_t> calls{0};
    machine->set_background([&] {
      calls.fetch_add(1);
      return false;
    });
    machine->wait_while(calls, uint64_t{0});
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    kill(getpid(), SIGUSR1);
    const timespec longest{60, 0};
    const bool got = sigtimedwait(&signals, nullptr, &longest) == SIGUSR1;
    machine->set_background(nullptr);
    return got ? 0 : 1;
  });
  EXPECT_EQ(how, 0);
}

TEST_F(NativeThreads, BesideABackgroundThreadTheLastSlotIsForGuests) {
  const auto machine = make(3);
  EXPECT_EQ(machine->self(), 1);
  NativeMachine::Atomic<uint64_t> calls{0};
  machine->set_background([&] {
    EXPECT_EQ(machine->self(), 0);
    calls.fetch_add(1);
    return false;
  });
  machine->wait_while(calls, uint64_t{0});
  std::thread([&] {
    EXPECT_EQ(machine->self(), 2);
    std::atomic<int> inside{0};
    const auto guest = [&] {
      for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(machine->self(), -1);
        const NativeMachine::GuestSlot slot(*machine);
        ASSERT_TRUE(slot.taken());
        EXPECT_EQ(inside.fetch_add(1), 0) << "two guests at once";
        EXPECT_EQ(machine->self(), 3);
        inside.fetch_sub(1);
      }
    };
    std::thread first(guest);
    std::thread second(guest);
    first.join();
    second.join();
    // Without the background thread it is a slot like the others, and guests have slot 0.
    machine->set_background(nullptr);
    std::thread([&] {
      EXPECT_EQ(machine->self(), 3);
      std::thread([&] {
        EXPECT_EQ(machine->self(), -1);
        const NativeMachine::GuestSlot slot(*machine);
        EXPECT_EQ(machine->self(), 0);
      }).join();
    }).join();
  }).join();
}

TEST_F(NativeThreads, AnExpectedBackgroundThreadStartsBesideAGuest) {
  const auto machine = make(3);
  machine->expect_background();
  EXPECT_EQ(machine->self(), 1);
  std::thread([&] {
    EXPECT_EQ(machine->self(), 2);
    std::thread([&] {
      EXPECT_EQ(machine->self(), -1);
      const NativeMachine::GuestSlot guest(*machine);
      EXPECT_EQ(machine->self(), 3);
      NativeMachine::Atomic<uint64_t> calls{0};
      machine->set_background([&] {
        EXPECT_EQ(machine->self(), 0);
        calls.fetch_add(1);
        return false;
      });
      machine->wait_while(calls, uint64_t{0});
      EXPECT_EQ(machine->self(), 3);
      machine->set_background(nullptr);
    }).join();
    EXPECT_EQ(self_on_new_thread(*machine), 3) << "none is expected any more";
  }).join();
}

TEST_F(NativeThreads, NoBackgroundThreadStartsInASlotThatAGuestHas) {
  const auto machine = make(1);
  machine->expect_background();
  EXPECT_EQ(machine->self(), 1);
  NativeMachine::Atomic<uint64_t> calls{0};
  const auto count = [&] {
    calls.fetch_add(1);
    return false;
  };
  std::thread([&] {
    const NativeMachine::GuestSlot guest(*machine);
    EXPECT_EQ(machine->self(), 0);
    EXPECT_THROW(machine->set_background(count), Error);
  }).join();
  EXPECT_EQ(calls.load(), 0u);
  machine->set_background(count);
  machine->wait_while(calls, uint64_t{0});
  machine->set_background(nullptr);
}

/// Ends a forked child when the thread that has forked ends, behind the return of its slots.
struct EndOfChild {
  bool child = false;
  ~EndOfChild() {
    if (child) {
      _exit(0);
    }
  }
};

// Another thread may be taking a slot at the fork. The child lacks that thread, and must not wait
// for its lock.
TEST_F(NativeThreads, TheThreadOfAForkedChildEnds) {
  if (!wipes_pages_at_fork()) {
    GTEST_SKIP() << "this system, an emulator, does not wipe pages at fork";
  }
  const auto machine = make(1);
  std::atomic<bool> stop{false};
  std::thread guest([&] {
    while (!stop) {
      const NativeMachine::GuestSlot slot(*machine);
    }
  });
  for (int i = 0; i < 50 && !HasFailure(); ++i) {
    std::thread([&] {
      static thread_local EndOfChild end;  // constructed before the slot owner, so destroyed later
      EXPECT_EQ(machine->self(), 1);
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);
        end.child = true;
        return;
      }
      int how = -1;
      EXPECT_EQ(waitpid(child, &how, 0), child);
      EXPECT_EQ(how, 0);
    }).join();
  }
  stop = true;
  guest.join();
}

TEST_F(NativeThreads, AThreadWithoutASlotCanStillPersist) {
  const auto machine = make(1);
  ASSERT_GE(machine->self(), 0);
  std::thread([&] {
    uint64_t word = 0;
    EXPECT_EQ(machine->self(), -1);
    machine->pwb(&word, Site{});
    machine->psync(Site{});
  }).join();
  EXPECT_EQ(machine->counters().pwb, 1u);
}

TEST_F(NativeThreads, TwoMachinesAtOnce) {
  const auto a = make(2);
  const auto b = make(4);
  const int in_a = a->self();
  std::thread([&] {
    EXPECT_GE(b->self(), 0);
    EXPECT_NE(a->self(), in_a);
  }).join();
  const int in_b = b->self();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(a->self(), in_a);
    EXPECT_EQ(b->self(), in_b);
  }
}

TEST_F(NativeThreads, MachinesMayEndBeforeThreadsAndTheOtherWayRound) {
  std::thread([&] {
    for (int i = 0; i < 20; ++i) {
      const auto machine = make(1);
      EXPECT_GE(machine->self(), 0);
      files_.clear();
    }
  }).join();
  auto machine = make(1);
  std::atomic<int> step{0};
  std::thread outlives([&] {
    EXPECT_GE(machine->self(), 0);
    step = 1;
    while (step != 2) {
      std::this_thread::yield();
    }
  });
  while (step != 1) {
    std::this_thread::yield();
  }
  machine.reset();
  step = 2;
  outlives.join();
}

// The destructor of a thread-local object may call self() after the thread's slot was returned.
TEST_F(NativeThreads, AskingDuringThreadExitGivesNone) {
  const auto machine = make(1);
  static std::atomic<int> late{-2};
  struct Late {
    NativeMachine* machine = nullptr;
    ~Late() { late = machine->self(); }
  };
  std::thread([&] {
    static thread_local Late object;  // constructed before the slot owner, so destroyed after it
    object.machine = machine.get();
    EXPECT_GE(machine->self(), 0);
  }).join();
  EXPECT_EQ(late, -1);
  EXPECT_GE(self_on_new_thread(*machine), 0);
}

TEST_F(NativeThreads, TheContextBelongsToTheThread) {
  int here = 0;
  EXPECT_EQ(NativeMachine::context(), nullptr);
  NativeMachine::set_context(&here);
  std::thread([] { EXPECT_EQ(NativeMachine::context(), nullptr); }).join();
  EXPECT_EQ(NativeMachine::context(), &here);
  NativeMachine::set_context(nullptr);
}

TEST_F(NativeThreads, RunThreadsPinsAndWaits) {
  const auto machine = make(8);
  const auto processors = native::allowed_processors();
  ASSERT_FALSE(processors.empty());
  std::atomic<int> sum{0};
  machine->run_threads(5, [&](int i) {
    const auto mine = native::allowed_processors();
    EXPECT_EQ(mine, std::vector<int>{processors[static_cast<size_t>(i) % processors.size()]});
    sum += i;
  });
  EXPECT_EQ(sum, 10);
  EXPECT_EQ(native::allowed_processors(), processors);
}

TEST_F(NativeThreads, RunThreadsPassesAnExceptionOn) {
  const auto machine = make(8);
  std::atomic<int> finished{0};
  EXPECT_THROW(machine->run_threads(3,
                                    [&](int i) {
                                      if (i == 1) {
                                        throw std::runtime_error("one");
                                      }
                                      ++finished;
                                    }),
               std::runtime_error);
  EXPECT_EQ(finished, 2);
}

TEST_F(NativeThreads, TheBackgroundThreadRunsInItsOwnSlotUntilReplaced) {
  const auto machine = make(2);
  NativeMachine::Atomic<uint64_t> calls{0};
  std::atomic<int> slot{-2};
  machine->set_background([&] {
    slot = machine->self();
    return calls.fetch_add(1) % 2 == 0;
  });
  uint64_t seen = 0;
  while (seen < 20) {
    seen = machine->wait_while(calls, seen);
  }
  machine->set_background(nullptr);
  const uint64_t after = calls.load();
  EXPECT_GE(slot, 0);
  machine->run_threads(2, [&](int) {  // both ordinary slots are still free
    EXPECT_GE(machine->self(), 0);
    EXPECT_NE(machine->self(), slot);
  });
  EXPECT_EQ(calls.load(), after);

  NativeMachine::Atomic<uint64_t> others{0};
  machine->set_background([&] {
    others.fetch_add(1);
    return false;
  });
  machine->wait_while(others, uint64_t{0});
  machine->set_background([] { return false; });  // replaces it; the destructor stops this one
  EXPECT_EQ(calls.load(), after);
}

TEST_F(NativeThreads, TheBackgroundThreadEndsQuietlyWhenTheMediumFails) {
  const auto machine = make(2);
  NativeMachine::Atomic<uint64_t> called{0};
  machine->set_background([&]() -> bool {
    called.store(1);
    throw MediumFailure(Status(Code::io_error, "test"));
  });
  machine->wait_while(called, uint64_t{0});
  machine->set_background(nullptr);
}

// A function may keep the failure to itself.
TEST_F(NativeThreads, TheBackgroundThreadEndsOnceTheMediumHasFailed) {
  const NativeTestFile file;
  NativeOptions options{.create = true, .domain = Domain::file, .max_threads = 1};
  options.sync = [](int) {
    errno = EIO;
    return -1;
  };
  const auto machine = std::move(NativeMachine::open(file.path(), options).value());
  std::atomic<int> calls{0};
  machine->set_background([&] {
    EXPECT_THROW(machine->psync(Site{}), MediumFailure);
    ++calls;
    return false;
  });
  const auto has_ended = [&] {
    const NativeMachine::GuestSlot slot(*machine);
    return slot.taken();
  };
  EXPECT_EQ(machine->self(), 1);
  std::thread([&] {
    while (!has_ended() && calls < 100) {
      std::this_thread::yield();
    }
  }).join();
  EXPECT_EQ(calls, 1);
  machine->set_background(nullptr);
}

TEST_F(NativeThreads, WaitingTakesNoSlot) {
  const auto machine = make(1);
  NativeMachine::Atomic<uint64_t> word{0};
  std::atomic<bool> waiting{false};
  std::thread waiter([&] {
    waiting = true;
    EXPECT_EQ(machine->wait_while(word, uint64_t{0}), 1u);
  });
  while (!waiting) {
    std::this_thread::yield();
  }
  for (int i = 0; i < 1000; ++i) {
    std::this_thread::yield();  // lets the waiter reach its slow path
  }
  EXPECT_GE(machine->self(), 0);
  word.store(1);
  waiter.join();
}

// There are more threads than processors, and each waits for the next one. So a waiting thread must
// yield.
TEST_F(NativeThreads, WaitersLetTheOnesTheyWaitForRun) {
  const auto machine = make(8);
  constexpr uint64_t kRounds = 300;
  constexpr int kThreads = 4;
  NativeMachine::Atomic<uint64_t> turn{0};
  machine->run_threads(kThreads, [&](int i) {
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint64_t mine = round * kThreads + static_cast<uint64_t>(i);
      for (uint64_t now = turn.load(); now != mine;) {
        now = machine->wait_while(turn, now);
      }
      turn.store(mine + 1);
    }
  });
  EXPECT_EQ(turn.load(), kRounds * kThreads);
}

TEST_F(NativeThreads, AWaitEndsWhenTheOwnTransactionIsDoomed) {
  const auto machine = make(2);
  alignas(kLineBytes) static uint64_t word;
  word = 0;
  const NativeMachine::Atomic<uint64_t> never{0};
  auto& htm = machine->htm(machine->self());
  htm.begin(Tracking::stores);
  htm.store(&word, uint64_t{1});
  htm.suspend();
  std::thread([&] { machine->htm(machine->self()).outside_load(&word); }).join();
  EXPECT_EQ(machine->wait_while(never, uint64_t{0}), 0u);
  EXPECT_THROW(htm.resume(), HtmAbort);
  EXPECT_EQ(htm.caught(), AbortCause::conflict);
}

TEST_F(NativeThreads, TheClockIsMonotonicOverThreads) {
  const auto machine = make(4);
  NativeMachine::Atomic<uint64_t> latest{0};
  NativeMachine::Atomic<uint64_t> lock{0};
  machine->run_threads(2, [&](int) {
    for (int i = 0; i < 20000; ++i) {
      uint64_t free = 0;
      while (!lock.compare_exchange(free, 1)) {
        machine->wait_while(lock, uint64_t{1});
        free = 0;
      }
      const uint64_t now = machine->now();
      EXPECT_GE(now, latest.load());
      latest.store(now);
      lock.store(0);
    }
  });
}

TEST_F(NativeThreads, AllocatedMemoryIsZeroAlignedAndSeparate) {
  const auto machine = make(1);
  std::set<uintptr_t> lines;
  for (const size_t bytes : {1u, 8u, 64u, 65u, 4096u, 100000u}) {
    for (const size_t alignment : {8u, 64u, 4096u}) {
      auto* p = static_cast<unsigned char*>(machine->allocate(bytes, alignment));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % alignment, 0u);
      EXPECT_TRUE(lines.insert(reinterpret_cast<uintptr_t>(p) / kLineBytes).second);
      for (size_t i = 0; i < bytes; ++i) {
        ASSERT_EQ(p[i], 0);
        p[i] = 0xff;
      }
    }
  }
}

TEST_F(NativeThreads, CopiesAnyAlignmentAndSize) {
  std::vector<uint8_t> from(200);
  for (size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<uint8_t>(i + 1);
  }
  for (size_t to_offset = 0; to_offset < 9; ++to_offset) {
    for (size_t from_offset = 0; from_offset < 9; ++from_offset) {
      for (size_t n = 0; n < 40; ++n) {
        std::vector<uint8_t> to(64);
        std::vector<uint8_t> expected(64);
        std::copy_n(from.begin() + static_cast<ptrdiff_t>(from_offset), n,
                    expected.begin() + static_cast<ptrdiff_t>(to_offset));
        NativeMachine::copy(to.data() + to_offset, from.data() + from_offset, n);
        ASSERT_EQ(to, expected) << to_offset << ' ' << from_offset << ' ' << n;
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::threads_test
