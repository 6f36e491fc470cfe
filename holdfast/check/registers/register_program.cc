// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/registers/register_program.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

namespace holdfast::check {
namespace {

char letter(RegisterStep::Kind kind) {
  switch (kind) {
    case RegisterStep::Kind::read:
      return 'r';
    case RegisterStep::Kind::write:
      return 'w';
    case RegisterStep::Kind::blind:
      return 'b';
    case RegisterStep::Kind::scan:
      break;
  }
  return 's';
}

std::string text_of(const RegisterStep& step) {
  std::string text(1, letter(step.kind));
  if (step.kind == RegisterStep::Kind::scan) {
    return text;
  }
  if (step.pieces > 0) {
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  }
  text += std::to_string(step.object);
  return step.pieces > 1 ? text + '-' + std::to_string(step.object + step.pieces - 1) : text;
}

/// Returns the text before the steps.
std::string prefix(Body::Kind kind) {
  switch (kind) {
    case Body::Kind::update:
      return "u ";
    case Body::Kind::throwing:
      return "x ";
    case Body::Kind::durable:
      return "d ";
    case Body::Kind::later:
      return "l ";
    case Body::Kind::fence:
      return "f";
    case Body::Kind::automatic:
      break;
  }
  return "";
}

/// Parses a program in one pass over its text.
class Parser {
 public:
  static constexpr uint64_t kMostTimes = 10'000;

  Parser(const std::string& text, Object most) : text_(text), most_(most) {}

  RegisterProgram program() {
    RegisterProgram program;
    do {
      program.threads.emplace_back();
      do {
        part(program.threads.back());
      } while (take(';'));
    } while (take('|'));
    if (at_ != text_.size()) {
      fail("a step (r, w or b and a number, R, W or B and pieces, or s), ';' or '|'");
    }
    return program;
  }

 private:
  void part(std::vector<Body>& thread) {
    const bool enclosed = take('(');
    const Body body = transaction();
    uint64_t count = 1;
    if (enclosed) {
      if (!take(')')) {
        fail("a step or ')'");
      }
      count = times();
    }
    if (!body.steps.empty() || body.kind != Body::Kind::automatic) {
      thread.insert(thread.end(), count, body);
    }
  }

  Body transaction() {
    Body body;
    if (take('u')) {
      body.kind = Body::Kind::update;
    } else if (take('x')) {
      body.kind = Body::Kind::throwing;
    } else if (take('d')) {
      body.kind = Body::Kind::durable;
    } else if (take('l')) {
      body.kind = Body::Kind::later;
    } else if (take('f')) {
      body.kind = Body::Kind::fence;
      return body;
    }
    for (;;) {
      RegisterStep step;
      if (take('r')) {
        step = {RegisterStep::Kind::read, object()};
      } else if (take('w')) {
        step = {RegisterStep::Kind::write, object()};
      } else if (take('b')) {
        step = {RegisterStep::Kind::blind, object()};
      } else if (take('R')) {
        step = range(RegisterStep::Kind::read);
      } else if (take('W')) {
        step = range(RegisterStep::Kind::write);
      } else if (take('B')) {
        step = range(RegisterStep::Kind::blind);
      } else if (take('s')) {
        step = {RegisterStep::Kind::scan, 0};
      } else {
        return body;
      }
      body.steps.insert(body.steps.end(), times(), step);
    }
  }

  RegisterStep range(RegisterStep::Kind kind) {
    const Object first = object();
    const size_t behind = at_;
    const Object last = take('-') ? object() : first;
    if (last < first) {
      at_ = behind;
      fail("a last piece from " + std::to_string(first) + " on");
    }
    return {kind, first, last - first + 1};
  }

  /// The count behind a star; 1 where there is none.
  uint64_t times() {
    if (!take('*')) {
      return 1;
    }
    skip_blanks();
    const size_t first = at_;
    const uint64_t count = number(kMostTimes + 1);
    if (count == 0 || count > kMostTimes) {
      at_ = first;
      fail("a count from 1 to " + std::to_string(kMostTimes));
    }
    return count;
  }

  Object object() {
    const size_t first = at_;
    const uint64_t found = number(most_);
    if (at_ == first || found >= most_) {
      at_ = first;
      fail("an object from 0 to " + std::to_string(most_ - 1));
    }
    return static_cast<Object>(found);
  }

  /// Reads digits; 0 where there is none, and `most` for a larger number.
  uint64_t number(uint64_t most) {
    uint64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      value = std::min(value * 10 + static_cast<uint64_t>(text_[at_++] - '0'), most);
    }
    return value;
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
  }

  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) {
      return false;
    }
    ++at_;
    return true;
  }

  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(Status(Code::invalid_argument, "program '" + text_ + "': expected " + expected +
                                                   " at character " + std::to_string(at_ + 1)));
  }

  const std::string& text_;
  Object most_;
  size_t at_ = 0;
};

void write_shared(const ProgramShape& shape, Random& random, Body& body) {
  const auto writes = 1 + random.below(static_cast<uint64_t>(shape.writes));
  for (uint64_t i = 0; i < writes; ++i) {
    const auto object = static_cast<Object>(random.below(shape.shared));
    const auto same = [&](const RegisterStep& step) { return step.object == object; };
    if (std::none_of(body.steps.begin(), body.steps.end(), same)) {
      body.steps.push_back(
          {random.chance(shape.blind) ? RegisterStep::Kind::blind : RegisterStep::Kind::write,
           object});
    }
  }
}

/// Appends a step on a random range of pieces: within a line or across the end of one, or of any
/// length, so that some transactions fill a small log alone.
void add_range(const ProgramShape& shape, Random& random, RegisterStep::Kind kind, Body& body) {
  constexpr Object kLengths[] = {3, 9, ~Object{0}};
  const Object most = std::min(shape.pieces, kLengths[random.below(std::size(kLengths))]);
  const auto n = static_cast<Object>(1 + random.below(most));
  const auto first = static_cast<Object>(random.below(shape.pieces - n + 1));
  body.steps.push_back({kind, first, n});
}

/// Returns whether the update needs no other writes.
bool write_ranges(const ProgramShape& shape, Random& random, Body& body) {
  if (shape.ranges == 0 || !random.chance(shape.ranges)) {
    return false;
  }
  constexpr double kBlind = 0.3;
  const uint64_t count =
      random.chance(0.25) ? 1 + random.below(static_cast<uint64_t>(ProgramShape::kMostRanges)) : 1;
  for (uint64_t i = 0; i < count; ++i) {
    add_range(shape, random,
              random.chance(kBlind) ? RegisterStep::Kind::blind : RegisterStep::Kind::write, body);
  }
  if (random.chance(0.2)) {
    add_range(shape, random, RegisterStep::Kind::read, body);  // may find its own writes
  }
  return random.chance(0.5);
}

Body random_body(const ProgramShape& shape, Random& random, Object& mark) {
  Body body;
  if (shape.fences > 0 && random.chance(shape.fences)) {
    body.kind = Body::Kind::fence;
    return body;
  }
  if (random.chance(shape.reads)) {
    // Some run as updates that store nothing, because engines end such updates in another way.
    body.kind = random.chance(0.15) ? Body::Kind::update : Body::Kind::automatic;
    if (random.chance(0.5)) {
      body.steps.push_back({RegisterStep::Kind::scan, 0});
    } else {
      for (uint64_t i = 1 + random.below(3); i > 0; --i) {
        body.steps.push_back(
            {RegisterStep::Kind::read, static_cast<Object>(random.below(shape.shared))});
      }
    }
    if (shape.ranges > 0 && random.chance(0.5)) {
      add_range(shape, random, RegisterStep::Kind::read, body);
    }
    return body;
  }
  if (random.chance(shape.throws)) {
    body.kind = Body::Kind::throwing;
  } else if (shape.durable > 0 && random.chance(shape.durable)) {
    body.kind = Body::Kind::durable;
  } else if (shape.later > 0 && random.chance(shape.later)) {
    body.kind = Body::Kind::later;
  }
  if (random.chance(0.3)) {
    body.steps.push_back(
        {RegisterStep::Kind::read, static_cast<Object>(random.below(shape.shared))});
  }
  if (!write_ranges(shape, random, body)) {
    write_shared(shape, random, body);
  }
  if (shape.marks) {
    body.steps.push_back({RegisterStep::Kind::write, mark++});
  }
  return body;
}

}  // namespace

bool Body::read_only() const {
  return kind == Kind::automatic &&
         std::all_of(steps.begin(), steps.end(), [](const RegisterStep& step) {
           return step.kind == RegisterStep::Kind::read || step.kind == RegisterStep::Kind::scan;
         });
}

bool Body::uses_pieces() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](const RegisterStep& step) { return step.pieces > 0; });
}

Commit Body::commit() const {
  switch (kind) {
    case Kind::durable:
    case Kind::fence:
      return Commit::durable;
    case Kind::later:
      return Commit::later;
    default:
      return Commit::unsaid;
  }
}

Object RegisterProgram::objects() const {
  Object most = 0;
  for (const auto& thread : threads) {
    for (const Body& body : thread) {
      for (const RegisterStep& step : body.steps) {
        const bool no_object = step.kind == RegisterStep::Kind::scan || step.pieces > 0;
        most = std::max(most, no_object ? 0 : step.object + 1);
      }
    }
  }
  return most;
}

Object RegisterProgram::pieces() const {
  Object most = 0;
  for (const auto& thread : threads) {
    for (const Body& body : thread) {
      for (const RegisterStep& step : body.steps) {
        most = std::max(most, step.pieces > 0 ? step.object + step.pieces : 0);
      }
    }
  }
  return most;
}

std::string RegisterProgram::text() const {
  std::string text;
  for (size_t t = 0; t < threads.size(); ++t) {
    text += t == 0 ? "" : " | ";
    for (size_t i = 0; i < threads[t].size(); ++i) {
      const Body& body = threads[t][i];
      text += i == 0 ? "" : " ; ";
      text += prefix(body.kind);
      for (size_t s = 0; s < body.steps.size(); ++s) {
        text += s == 0 ? "" : " ";
        text += text_of(body.steps[s]);
      }
    }
  }
  return text;
}

Result<RegisterProgram> RegisterProgram::parse(const std::string& text, Object most) {
  try {
    return Parser(text, most).program();
  } catch (const Error& error) {
    return error.status();
  }
}

namespace {

/// Tries the program without each of its parts, the last one first. parts(thread) returns the
/// number of parts, and drop(thread, i) removes one.
template <class Parts, class Drop>
bool leave_out(RegisterProgram& program, FunctionRef<bool(const RegisterProgram&)> fails,
               Parts&& parts, Drop&& drop) {
  bool smaller = false;
  for (size_t t = 0; t < program.threads.size(); ++t) {
    for (size_t i = parts(program.threads[t]); i-- > 0;) {
      RegisterProgram without = program;
      if (drop(without.threads[t], i) && fails(without)) {
        program = std::move(without);
        smaller = true;
      }
    }
  }
  return smaller;
}

using Thread = std::vector<Body>;

size_t step_count(const Thread& thread) {
  size_t steps = 0;
  for (const Body& body : thread) {
    steps += body.steps.size();
  }
  return steps;
}

/// A transaction keeps at least one step: leave_out removes transactions as a whole before.
bool drop_step(Thread& thread, size_t i) {
  for (Body& body : thread) {
    if (i < body.steps.size()) {
      body.steps.erase(body.steps.begin() + static_cast<std::ptrdiff_t>(i));
      return !body.steps.empty();
    }
    i -= body.steps.size();
  }
  return false;
}

RegisterStep& step_at(Thread& thread, size_t i) {
  size_t body = 0;
  while (i >= thread[body].steps.size()) {
    i -= thread[body++].steps.size();
  }
  return thread[body].steps[i];
}

/// Returns a function that leaves out pieces of a step with more than one: half of them or one, at
/// the front or at the back.
auto drop_pieces(bool half, bool front) {
  return [=](Thread& thread, size_t i) {
    RegisterStep& step = step_at(thread, i);
    if (step.pieces < 2) {
      return false;
    }
    const Object fewer = half ? step.pieces / 2 : 1;
    step.pieces -= fewer;
    step.object += front ? fewer : 0;
    return true;
  };
}

}  // namespace

RegisterProgram shrink(RegisterProgram program, FunctionRef<bool(const RegisterProgram&)> fails) {
  const auto drop_body = [](Thread& thread, size_t i) {
    thread.erase(thread.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  };
  const auto bodies = [](const Thread& thread) { return thread.size(); };
  // A fault may need no program, as that of a new heap. One body stays, for a machine has a thread.
  const auto still = [&](const RegisterProgram& smaller) {
    const bool any = std::any_of(smaller.threads.begin(), smaller.threads.end(),
                                 [](const Thread& thread) { return !thread.empty(); });
    return any && fails(smaller);
  };
  while (leave_out(program, still, bodies, drop_body) ||
         leave_out(program, still, step_count, drop_step) ||
         leave_out(program, still, step_count, drop_pieces(true, false)) ||
         leave_out(program, still, step_count, drop_pieces(true, true)) ||
         leave_out(program, still, step_count, drop_pieces(false, false)) ||
         leave_out(program, still, step_count, drop_pieces(false, true))) {
  }
  std::erase_if(program.threads, [](const Thread& thread) { return thread.empty(); });
  return program;
}

RegisterProgram random_program(const ProgramShape& shape, Random& random) {
  RegisterProgram program;
  Object mark = shape.shared;
  for (int t = 0; t < shape.threads; ++t) {
    program.threads.emplace_back();
    for (int i = 0; i < shape.transactions; ++i) {
      program.threads.back().push_back(random_body(shape, random, mark));
    }
  }
  return program;
}

}  // namespace holdfast::check
