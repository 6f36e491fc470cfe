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

std::string describe(const Access& access) {
  const std::string object = std::to_string(access.object);
  switch (access.kind) {
    case Access::Kind::read:
      return "  r" + object + " = " + name(access.version);
    case Access::Kind::write:
      return "  w" + object + " over " + name(access.replaced);
    case Access::Kind::blind:
      break;
  }
  return "  b" + object;
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
    for (const Access& access : t.accesses) {
      events.push_back({access.at, 1, t.thread, describe(access)});
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
