// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/threads/slots.h"

namespace holdfast::native {

int SlotTable::take() {
  const std::lock_guard lock(mutex_);
  const size_t end = taken_.size() - (keeps_last_for_guests() ? 1 : 0);
  for (size_t slot = kBackground + 1; slot < end; ++slot) {
    if (!taken_[slot]) {
      mark_taken(slot);
      return static_cast<int>(slot);
    }
  }
  return -1;
}

bool SlotTable::take_background() {
  const std::lock_guard lock(mutex_);
  if (taken_[kBackground]) {
    return false;
  }
  mark_taken(kBackground);
  return true;
}

void SlotTable::expect_background(bool expected) {
  if (fork_guard_.forked_child()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  expects_background_ = expected;
}

int SlotTable::take_as_guest() {
  std::unique_lock turn(guest_mutex_);
  const std::lock_guard lock(mutex_);
  const size_t slot = keeps_last_for_guests() ? taken_.size() - 1 : size_t{kBackground};
  if (taken_[slot]) {
    return -1;
  }
  mark_taken(slot);
  static_cast<void>(turn.release());  // leave() unlocks it
  return static_cast<int>(slot);
}

void SlotTable::leave(int slot) {
  give_back(slot);
  guest_mutex_.unlock();
}

void SlotTable::mark_taken(size_t slot) {
  taken_[slot] = true;
  // Only stored under the mutex, so the load may be relaxed. The store is sequentially consistent:
  // next the thread publishes in its slot that it is active, and a scanner must not miss the slot.
  if (const int end = static_cast<int>(slot) + 1; end > active_.load(std::memory_order_relaxed)) {
    active_.store(end);
  }
}

void SlotTable::give_back(int slot) {
  if (fork_guard_.forked_child()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  taken_[static_cast<size_t>(slot)] = false;
}

namespace {

/// The thread uses no machine: its next self() looks for its slot.
void forget() {
  thread_state.table = nullptr;
  thread_state.probes = nullptr;
}

/// The slots that a thread holds in all machines. Returned when the thread ends.
class SlotOwner {
 public:
  SlotOwner() = default;
  SlotOwner(const SlotOwner&) = delete;
  SlotOwner& operator=(const SlotOwner&) = delete;

  ~SlotOwner() {
    thread_state.exiting = true;
    forget();
    for (const Held& held : held_) {
      held.table->give_back(held.slot);
    }
  }

  int find(const SlotTable* table) const {
    for (const Held& held : held_) {
      if (held.table.get() == table) {
        return held.slot;
      }
    }
    return -1;
  }

  void hold(const std::shared_ptr<SlotTable>& table, int slot) { held_.push_back({table, slot}); }
  void drop(const SlotTable* table) {
    std::erase_if(held_, [&](const Held& held) { return held.table.get() == table; });
  }

  /// Makes room for one more slot, so that hold() cannot fail, and forgets machines that have
  /// ended. A table lives while a thread remembers it, so no other machine's table has its address.
  void prepare() {
    std::erase_if(held_, [](const Held& held) { return held.table->closed(); });
    held_.reserve(held_.size() + 1);
  }

 private:
  struct Held {
    std::shared_ptr<SlotTable> table;
    int slot;
  };
  std::vector<Held> held_;
};

SlotOwner& slot_owner() {
  static thread_local SlotOwner owner;
  return owner;
}

void remember(const SlotTable* table, int slot) {
  thread_state.table = table;
  thread_state.probes = table->probes();
  thread_state.slot = slot;
}

}  // namespace

int find_or_take_slot(const std::shared_ptr<SlotTable>& table) {
  if (thread_state.exiting) {
    return -1;  // the destructor of another thread-local object has called
  }
  SlotOwner& owner = slot_owner();
  int slot = owner.find(table.get());
  if (slot < 0) {
    forget();
    owner.prepare();
    slot = table->take();
    if (slot < 0) {
      return -1;
    }
    owner.hold(table, slot);
  }
  remember(table.get(), slot);
  return slot;
}

GuestSlot::GuestSlot(const std::shared_ptr<SlotTable>& table) : table_(table) {
  const bool exiting = thread_state.exiting;  // then the SlotOwner has been destroyed
  if (!exiting) {
    slot_owner().prepare();
  }
  slot_ = table->take_as_guest();
  if (slot_ >= 0) {
    if (!exiting) {
      slot_owner().hold(table, slot_);
    }
    remember(table.get(), slot_);
  }
}

GuestSlot::~GuestSlot() {
  if (slot_ >= 0) {
    forget();
    if (!thread_state.exiting) {
      slot_owner().drop(table_.get());
    }
    table_->leave(slot_);
  }
}

void count_for(ProbeCounts* probes) {
  forget();
  thread_state.probes = probes;
}

int find_slot(const SlotTable* table) {
  if (thread_state.table == table) {
    return thread_state.slot;
  }
  return thread_state.exiting ? -1 : slot_owner().find(table);
}

void hold_background_slot(const std::shared_ptr<SlotTable>& table) {
  SlotOwner& owner = slot_owner();
  owner.prepare();
  owner.hold(table, SlotTable::kBackground);
  remember(table.get(), SlotTable::kBackground);
}

}  // namespace holdfast::native
