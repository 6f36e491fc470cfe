// SPDX-License-Identifier: Apache-2.0
//
// A load reads a line's owner first and the line afterwards. Is the load correct if another
// transaction commits exactly in between?
//
// The test makes the memory inaccessible, so that the load faults. The fault's handler lets the
// other transaction commit, then the load continues. So every run hits the window.
//
// ThreadSanitizer builds leave the test out: the handler allocates, which is safe for a provoked
// fault, but ThreadSanitizer reports it.
#include "holdfast/base/sanitizers.h"

#if !HOLDFAST_THREAD_SANITIZER

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>
#include <utility>

#include "holdfast/machine/native/htm/soft_htm.h"

namespace holdfast::native::soft_window_test {
namespace {

class SoftWindow : public testing::Test {
 public:
  ~SoftWindow() override {
    sigaction(SIGSEGV, &previous_, nullptr);
    current_ = nullptr;
    munmap(page_, kPageBytes);
  }

 protected:
  SoftWindow() {
    page_ = static_cast<std::byte*>(
        mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    y_ = reinterpret_cast<uint64_t*>(page_);
    current_ = this;
    struct sigaction action{};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &previous_);
  }

  /// Runs f just before the next access to y_.
  void at_next_access(std::function<void()> f) {
    inside_ = std::move(f);
    ASSERT_EQ(mprotect(page_, kPageBytes, PROT_NONE), 0);
  }

  /// Commits a transaction of another thread that stores to both lines.
  void commit_both(uint64_t value) {
    other_.begin(Tracking::all);
    other_.store(&x_, value);
    other_.store(y_, value);
    other_.commit();
  }

  alignas(kLineBytes) uint64_t x_ = 0;
  uint64_t* y_ = nullptr;  // alone on its page
  SoftShared shared_{3, {}};
  SoftThread t_{shared_, 0};
  SoftThread other_{shared_, 1};
  SoftThread reader_{shared_, 2};

 private:
  static void on_fault(int /*signal*/, siginfo_t* info, void* /*context*/) {
    auto* at = static_cast<std::byte*>(info->si_addr);
    if (current_ == nullptr || !current_->inside_ || at < current_->page_ ||
        at >= current_->page_ + kPageBytes) {
      signal(SIGSEGV, SIG_DFL);  // a real fault: it happens again and ends the test
      return;
    }
    mprotect(current_->page_, kPageBytes, PROT_READ | PROT_WRITE);
    std::exchange(current_->inside_, nullptr)();
  }

  static SoftWindow* current_;  // NOLINT(readability-identifier-naming): a member
  std::byte* page_ = nullptr;
  std::function<void()> inside_;
  struct sigaction previous_{};
};

SoftWindow* SoftWindow::current_ = nullptr;

TEST_F(SoftWindow, ATrackedLoadIsNotMixedWithEarlierOnes) {
  t_.begin(Tracking::all);
  EXPECT_EQ(t_.load(&x_), 0u);
  at_next_access([this] { commit_both(1); });
  EXPECT_THROW(t_.load(y_), HtmAbort);
  EXPECT_EQ(t_.caught(), AbortCause::conflict);
}

TEST_F(SoftWindow, ATrackedRangeIsNotMixedWithEarlierLoads) {
  t_.begin(Tracking::all);
  EXPECT_EQ(t_.load(&x_), 0u);
  at_next_access([this] { commit_both(1); });
  uint64_t range[2];
  EXPECT_THROW(t_.load_range(range, y_, sizeof(range)), HtmAbort);
  EXPECT_EQ(t_.caught(), AbortCause::conflict);
}

TEST_F(SoftWindow, AFirstTrackedLoadMovesToTheNewState) {
  t_.begin(Tracking::all);
  at_next_access([this] { commit_both(1); });
  EXPECT_EQ(t_.load(y_), 1u);
  EXPECT_EQ(t_.load(&x_), 1u);
  t_.commit();
}

TEST_F(SoftWindow, APlainLoadThatSeesACommitSeesAllOfItAfterwards) {
  at_next_access([this] { commit_both(1); });
  EXPECT_EQ(reader_.outside_load(y_), 1u);
  EXPECT_EQ(reader_.outside_load(&x_), 1u);
}

// This is the reason for FUR's isolation wait: the reader meets no owner, but sees one old and one
// new value.
TEST_F(SoftWindow, PlainLoadsAreNoSnapshot) {
  EXPECT_EQ(reader_.outside_load(&x_), 0u);
  at_next_access([this] { commit_both(1); });
  EXPECT_EQ(reader_.outside_load(y_), 1u);
}

// The owner takes the line after the load has read the owner. The load does not doom it, and
// returns the old value.
TEST_F(SoftWindow, APlainLoadMayMissAnOwnerThatComesAfterItsLook) {
  at_next_access([this] {
    other_.begin(Tracking::stores);
    other_.store(y_, uint64_t{1});
  });
  EXPECT_EQ(reader_.outside_load(y_), 0u);
  EXPECT_FALSE(other_.doomed());
  EXPECT_EQ(reader_.outside_load(y_), 0u);
  EXPECT_TRUE(other_.doomed());
  other_.cancel();
}

// A doomed transaction never returns a value of the transaction that doomed it, even if it is
// doomed in the window.
TEST_F(SoftWindow, ALoadDoomedInTheWindowThrows) {
  for (const Tracking tracking : {Tracking::all, Tracking::stores}) {
    t_.begin(tracking);
    t_.store(&x_, uint64_t{7});
    at_next_access([this] { commit_both(1); });
    EXPECT_THROW(t_.load(y_), HtmAbort);
    EXPECT_EQ(t_.caught(), AbortCause::conflict);
    EXPECT_EQ(x_, 1u);
  }
}

// A plain store owns the line while it runs, too.
TEST_F(SoftWindow, APlainStoreInTheWindowFailsATrackedLoad) {
  t_.begin(Tracking::all);
  EXPECT_EQ(t_.load(&x_), 0u);
  at_next_access([this] {
    other_.outside_store(&x_, uint64_t{1});
    other_.outside_store(y_, uint64_t{1});
  });
  EXPECT_THROW(t_.load(y_), HtmAbort);
  t_.caught();
}

// While a transaction publishes, a plain load of another one of its lines must neither doom it nor
// return. The load waits until the publication is over.
TEST_F(SoftWindow, APublishingTransactionIsWaitedFor) {
  std::atomic<bool> publishing{false};
  std::atomic<bool> loaded{false};
  bool returned_early = true;
  std::thread loader([&] {
    while (!publishing) {
      std::this_thread::yield();
    }
    EXPECT_EQ(reader_.outside_load(&x_),
              5u);  // the new value, which was not published when the load began
    loaded = true;
  });
  t_.begin(Tracking::stores);
  t_.store(y_, uint64_t{5});
  t_.store(&x_, uint64_t{5});
  at_next_access([&] {
    publishing = true;
    for (int i = 0; i < 2000; ++i) {
      std::this_thread::yield();
    }
    returned_early = loaded;
  });
  t_.commit();  // publishing y_ faults
  loader.join();
  EXPECT_FALSE(returned_early);
}

}  // namespace
}  // namespace holdfast::native::soft_window_test

#endif
