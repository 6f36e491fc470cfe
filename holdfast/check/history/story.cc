// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/history/story.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace holdfast::check {
namespace {

struct Event {
  uint64_t at;
  int order;  ///< orders events with the same `at`
  uint32_t thread;
  std::string text;
};

std::string name(const Version& version) {
  return version.initial() ? "the initial value" : "T" + std::to_string(version.transaction);
}

/// Describes the accesses of one kind to the objects from that of `access` to `last`.
std::string describe(const Access& access, Object last) {
  std::string objects = std::to_string(access.object);
  if (last != access.object) {
    objects += '-' + std::to_string(last);
  }
  switch (access.kind) {
    case Access::Kind::read:
      return "  r" + objects + " = " + name(access.version);
    case Access::Kind::write:
      return "  w" + objects + " over " + name(access.replaced);
    case Access::Kind::blind:
      break;
  }
  return "  b" + objects;
}

/// Returns whether `next` reads as one with `access`: the same for the next object, with no event
/// between.
bool continues(const Access& access, const Access& next) {
  const bool read = access.kind == Access::Kind::read;
  return next.kind == access.kind && next.object == access.object + 1 && next.at == access.at + 1 &&
         (!read || next.version.transaction == access.version.transaction) &&
         next.replaced.transaction == access.replaced.transaction;
}

std::string kind(const Transaction& t) {
  switch (t.commit) {
    case Commit::durable:
      return " begins, durable";
    case Commit::later:
      return " begins, later";
    case Commit::unsaid:
      break;
  }
  return t.read_only ? " begins, read-only" : " begins";
}

std::string ending(Outcome outcome) {
  return outcome == Outcome::committed ? " answered" : " rolled back";
}

}  // namespace

std::string draw_story(const History& history, uint64_t until) {
  std::vector<Event> events;
  uint32_t threads = 0;
  for (const Transaction& t : history.transactions) {
    const std::string own = "T" + std::to_string(t.number);
    threads = std::max(threads, t.thread + 1);
    events.push_back({t.begin, 0, t.thread, own + kind(t)});
    for (size_t i = 0; i < t.accesses.size(); ++i) {
      const Access& first = t.accesses[i];
      while (i + 1 < t.accesses.size() && t.accesses[i + 1].at <= until &&
             continues(t.accesses[i], t.accesses[i + 1])) {
        ++i;
      }
      events.push_back({first.at, 1, t.thread, describe(first, t.accesses[i].object)});
    }
    if (t.outcome != Outcome::live) {
      events.push_back({t.end, 2, t.thread, own + ending(t.outcome)});
    }
  }
  std::erase_if(events, [&](const Event& event) { return event.at > until; });
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.at, a.order) < std::tie(b.at, b.order);
  });
  size_t width = 0;
  for (const Event& event : events) {
    width = std::max(width, event.text.size() + 2);
  }
  std::string text;
  const auto line = [&](uint32_t column, const std::string& what) {
    text += std::string(2 + column * width, ' ') + what + "\n";
  };
  std::string head = "  ";
  for (uint32_t t = 0; t < threads; ++t) {
    const std::string title = "thread " + std::to_string(t);
    head += title + std::string(std::max(width, title.size() + 2) - title.size(), ' ');
  }
  text += head.substr(0, head.find_last_not_of(' ') + 1) + "\n";
  for (const Event& event : events) {
    line(event.thread, event.text);
  }
  return text + (until == kForever ? "" : "  -- the power fails --\n");
}

}  // namespace holdfast::check
