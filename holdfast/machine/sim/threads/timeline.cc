// SPDX-License-Identifier: Apache-2.0
//
// Writes timelines in the Trace Event Format
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): complete
// events ("X") with ts and dur in microseconds, instant events ("i"), and metadata ("M") that names
// process and threads.
#include "holdfast/machine/sim/threads/timeline.h"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <set>
#include <tuple>

#include "holdfast/machine/sim/threads/thread_runner.h"

namespace holdfast::sim {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

std::string thread_name(int slot) {
  return slot == kMainSlot         ? "main"
         : slot == kBackgroundSlot ? "background (log replayer)"
                                   : "worker " + std::to_string(slot - kFirstWorker);
}

const char* to_string(TransactionKind kind) {
  return kind == TransactionKind::read ? "read" : "update";
}

const char* to_string(Timeline::Kind kind) {
  switch (kind) {
    case Timeline::Kind::transaction:
      return "transaction";
    case Timeline::Kind::attempt:
      return "attempt";
    case Timeline::Kind::phase:
      return "phase";
  }
  return "unknown";
}

}  // namespace

const char* to_string(Timeline::Outcome outcome) {
  switch (outcome) {
    case Timeline::Outcome::none:
      return "none";
    case Timeline::Outcome::committed:
      return "committed";
    case Timeline::Outcome::read_only:
      return "read-only";
    case Timeline::Outcome::rolled_back:
      return "rolled back";
    case Timeline::Outcome::aborted:
      return "aborted";
    case Timeline::Outcome::crash:
      return "crash";
    case Timeline::Outcome::unfinished:
      return "unfinished";
  }
  return "unknown";
}

void Timeline::add(const Slice& slice) {
  if (slices_.size() < limit_) {
    slices_.push_back(slice);
    return;
  }
  if (left_out_++ == 0) {
    full_at_ = slice.end;
  }
}

/// Writes one event after another.
class Timeline::Writer {
 public:
  Writer(const Timeline& timeline, std::ostream& out) : timeline_(timeline), out_(out) {}

  void metadata(const char* what, int slot, const std::string& arguments) {
    begin("M", what) << ",\"tid\":" << slot << ",\"args\":{" << arguments << "}}";
  }

  void instant(const char* name, int slot, uint64_t at, const std::string& arguments) {
    begin("i", name) << ",\"tid\":" << slot << ",\"s\":\"g\",\"ts\":" << microseconds(shown(at))
                     << ",\"args\":{" << arguments << "}}";
  }

  void slice(const Slice& s) {
    const char* const name = s.kind == Kind::transaction ? to_string(s.transaction)
                             : s.kind == Kind::attempt   ? "aborted attempt"
                                                         : holdfast::to_string(s.phase);
    const uint64_t from = shown(s.begin);
    begin("X", name) << ",\"tid\":" << s.slot << ",\"cat\":\"" << to_string(s.kind)
                     << "\",\"ts\":" << microseconds(from)
                     << ",\"dur\":" << microseconds(shown(s.end) - from);
    if (s.outcome != Outcome::none) {
      out_ << ",\"args\":{\"outcome\":\"" << sim::to_string(s.outcome) << '"';
      if (s.kind == Kind::attempt) {
        out_ << ",\"cause\":\"" << holdfast::to_string(s.cause) << '"';
      } else if (s.attempts != 0) {
        out_ << ",\"attempts\":" << s.attempts;
      }
      out_ << '}';
    }
    out_ << '}';
  }

 private:
  std::ostream& begin(const char* type, const char* name) {
    out_ << (first_ ? "\n" : ",\n") << "{\"ph\":\"" << type << "\",\"name\":" << quoted(name)
         << ",\"pid\":1";
    first_ = false;
    return out_;
  }

  /// The time since the origin, in thousandths of the microseconds that viewers show.
  uint64_t shown(uint64_t time) const {
    const uint64_t passed = std::max(time, timeline_.origin_) - timeline_.origin_;
    return timeline_.timed_ ? (passed + 500) / 1000 : passed * 1000;
  }
  static std::string microseconds(uint64_t thousandths) {
    char text[32];
    std::snprintf(text, sizeof text, "%llu.%03llu",
                  static_cast<unsigned long long>(thousandths / 1000),
                  static_cast<unsigned long long>(thousandths % 1000));
    return text;
  }

  const Timeline& timeline_;
  std::ostream& out_;
  bool first_ = true;
};

void Timeline::write(std::ostream& out) const {
  // Outer slices come before inner ones that begin at the same time, because viewers nest slices in
  // the order of the file.
  std::vector<const Slice*> sorted;
  std::set<int> slots;
  for (const Slice& s : slices_) {
    sorted.push_back(&s);
    slots.insert(s.slot);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Slice* a, const Slice* b) {
    return std::tie(a->begin, a->kind) < std::tie(b->begin, b->kind);
  });

  const std::string note = left_out_ == 0 ? ""
                                          : "full after " + std::to_string(slices_.size()) +
                                                " slices: " + std::to_string(left_out_) +
                                                " later ones are left out";
  out << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"time\":\""
      << (timed_ ? "simulated" : "none: one machine step is shown as a microsecond") << '"';
  if (!note.empty()) {
    out << ",\"note\":" << quoted(note);
  }
  out << "},\"traceEvents\":[";
  Writer writer(*this, out);
  writer.metadata("process_name", 0, "\"name\":" + quoted(process_));
  for (const int slot : slots) {
    writer.metadata("thread_name", slot, "\"name\":" + quoted(thread_name(slot)));
    writer.metadata("thread_sort_index", slot, "\"sort_index\":" + std::to_string(slot));
  }
  for (const Slice* s : sorted) {
    writer.slice(*s);
  }
  if (left_out_ != 0) {
    writer.instant("timeline full", kMainSlot, full_at_, "\"note\":" + quoted(note));
  }
  if (crash_) {
    writer.instant("power failure", crash_->slot, crash_->at, "");
  }
  out << "\n]}\n";
}

}  // namespace holdfast::sim
