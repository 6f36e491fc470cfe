// SPDX-License-Identifier: Apache-2.0
//
// A small workload whose history can be read off the words it leaves behind, to decide after a
// crash whether the engine kept its word.
//
// Data: kGroups groups of two words on lines of their own, always stored together; and for each
// transaction that may ever run a record on a line of its own. Update number `id` picks one or two
// groups, reads both words of each, stores `id` into them, and stores into its record: id, and for
// every group what it found there (plus 1; 0 means "not touched"). So the records tell which
// updates survived, what each had read, and in which order the words were overwritten.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::history_test {

inline constexpr size_t kGroups = 3;
inline constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);
inline constexpr size_t kMaxUpdates = 48;

inline size_t group_word(size_t group, size_t half) {
  return (2 * group + half) * kLineWords;
}
inline size_t record_word(uint64_t id) {
  return (2 * kGroups + id) * kLineWords;
}

/// The answers callers got before the crash.
struct Acknowledged {
  std::vector<uint64_t> updates;
  std::vector<uint64_t> seen;  ///< by read-only transactions that returned
  std::string torn;            ///< a transaction that saw halves of two states
};

template <class E>
class Worker {
 public:
  Worker(EngineFixture<E>& heap, Acknowledged& told, uint64_t seed)
      : heap_(heap), told_(told), random_(seed) {}

  void update(uint64_t id) {
    const size_t first = random_.below(kGroups);
    const size_t second = random_.chance(0.3) ? random_.below(kGroups) : first;
    heap_.engine().update([&] {
      heap_.set(record_word(id), id);
      take(id, first);
      if (second != first) {
        take(id, second);
      }
    });
    told_.updates.push_back(id);
  }

  void read() {
    std::array<uint64_t, kGroups> seen{};
    heap_.engine().read([&] {
      for (size_t g = 0; g < kGroups; ++g) {
        seen[g] = both(g, "read-only");
      }
    });
    told_.seen.insert(told_.seen.end(), seen.begin(), seen.end());
  }

 private:
  uint64_t both(size_t group, const char* who) {
    const uint64_t a = heap_.get(group_word(group, 0));
    const uint64_t b = heap_.get(group_word(group, 1));
    if (a != b) {
      told_.torn =
          std::string(who) + " transaction saw " + std::to_string(a) + " and " + std::to_string(b);
    }
    return a;
  }

  void take(uint64_t id, size_t group) {
    const uint64_t found = both(group, "update");
    heap_.set(record_word(id) + 1 + group, found + 1);
    heap_.set(group_word(group, 0), id);
    heap_.set(group_word(group, 1), id);
  }

  EngineFixture<E>& heap_;
  Acknowledged& told_;
  Random random_;
};

/// "" if what is in the heap is a state that the engine may leave behind, else what is wrong.
template <class E>
std::string judge(EngineFixture<E>& heap, const Acknowledged& told) {
  std::vector<uint64_t> words(record_word(kMaxUpdates + 1));
  heap.engine().read([&] {
    for (size_t i = 0; i < words.size(); ++i) {
      words[i] = heap.get(i);
    }
  });
  auto survived = [&](uint64_t id) { return id == 0 || words[record_word(id)] == id; };
  if (!told.torn.empty()) {
    return told.torn;
  }
  for (const uint64_t id : told.updates) {
    if (!survived(id)) {
      return "update " + std::to_string(id) + " returned and is lost";
    }
  }
  for (const uint64_t id : told.seen) {
    if (!survived(id)) {
      return "update " + std::to_string(id) +
             " was seen by a read-only transaction that returned, and is lost";
    }
  }
  for (size_t g = 0; g < kGroups; ++g) {
    size_t writers = 0;
    for (uint64_t id = 1; id <= kMaxUpdates; ++id) {
      const uint64_t found = words[record_word(id) + 1 + g];
      if (found != 0 && !survived(id)) {
        return "update " + std::to_string(id) + " survived in part";
      }
      if (found != 0 && !survived(found - 1)) {
        return "update " + std::to_string(id) + " survived, " + std::to_string(found - 1) +
               ", which it read, is lost";
      }
      writers += found != 0 ? 1 : 0;
    }
    // Every survivor that stored to the group must be on the chain of values from the last one
    // back.
    const uint64_t last = words[group_word(g, 0)];
    if (last != words[group_word(g, 1)]) {
      return "group " + std::to_string(g) + " holds halves of two updates";
    }
    for (uint64_t id = last; id != 0; --writers) {
      const uint64_t found = survived(id) ? words[record_word(id) + 1 + g] : 0;
      if (found == 0 || writers == 0) {
        return "group " + std::to_string(g) + " holds " + std::to_string(last) +
               ", but the chain breaks at " + std::to_string(id);
      }
      id = found - 1;
    }
    if (writers != 0) {
      return "a survivor's store to group " + std::to_string(g) + " is lost";
    }
  }
  return "";
}

}  // namespace holdfast::history_test
