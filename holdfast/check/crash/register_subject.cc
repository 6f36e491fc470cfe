// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/crash/register_subject.h"

#include <algorithm>
#include <utility>

#include "holdfast/check/durability/durability.h"
#include "holdfast/check/durability/recovered_order.h"
#include "holdfast/check/history/story.h"
#include "holdfast/check/isolation/isolation.h"

namespace holdfast::check {
namespace {

/// Returns the largest transaction number in the objects. The numbers of a run begin after it.
uint32_t largest_number(const Subject::Words& words) {
  uint32_t largest = 0;
  for (const uint64_t word : words) {
    largest = std::max(largest, Version::of_word(word).transaction);
  }
  return largest;
}

}  // namespace

/// Tells which objects are pieces, because a program counts them apart.
Fault RegisterSubject::fault_of(const Finding& finding, const History& history) const {
  const std::string pieces = registers_.all_objects() == objects()
                                 ? ""
                                 : "piece 0 is x" + std::to_string(objects()) + ", and so on\n";
  return {finding.name, to_string(finding, history) + pieces};
}

RegisterSubject::RegisterSubject(const Shape& shape, std::optional<RegisterProgram> program)
    : shape_(shape),
      given_(std::move(program)),
      registers_(objects(), shape.program.shared, shape.boxed, pieces()) {}

/// Returns the number of objects: the shared ones, and one mark for each possible update.
Object RegisterSubject::objects() const {
  const Object marks =
      shape_.program.marks
          ? static_cast<Object>(shape_.program.threads * shape_.program.transactions)
          : 0;
  return std::max(shape_.program.shared + marks, given_ ? given_->objects() : 0);
}

Object RegisterSubject::pieces() const {
  return std::max(shape_.program.string(), given_ ? given_->pieces() : 0);
}

int RegisterSubject::threads() const {
  return given_ ? static_cast<int>(given_->threads.size()) : shape_.program.threads;
}

Status RegisterSubject::set_up(SimHeap& heap) {
  if (Status status = registers_.set_up(heap); !status.ok()) {
    return status;
  }
  if (Status status = registers_.attach(heap); !status.ok()) {
    return status;
  }
  for (int i = 0; i < shape_.prelude; ++i) {
    if (Status status = prelude(heap, static_cast<Object>(i)); !status.ok()) {
      return status;
    }
  }
  return {};
}

/// Runs update i of the prelude. With a string the updates have many sizes, all small enough for
/// every log.
Status RegisterSubject::prelude(SimHeap& heap, Object i) {
  constexpr Object kSizes = 5;
  return heap.update([&] {
    registers_.touch(i % shape_.program.shared);
    if (const Object all = pieces(); all > 0 && i % kSizes > 0) {
      const Object count = std::min(all, i % kSizes);
      registers_.touch_pieces(7 * i % (all - count + 1), count);
    }
  });
}

void RegisterSubject::start(uint64_t seed, const Words& initial, bool continues) {
  uint32_t first = largest_number(initial);
  if (!continues) {
    crashed_last_.reset();
  } else {
    if (!crashed_last_) {
      crashed_last_ = recorder_->last_number();
    }
    // A transaction that recovery rolled back may reappear after the next crash. Every other seed
    // stores what the lost transactions have stored: an equal record may complete a torn one.
    if (seed % 2 == 0) {
      first = std::max(first, *crashed_last_);
    }
  }
  Random random(mix64(seed));
  running_ = given_ ? *given_ : random_program(shape_.program, random);
  recorder_ = std::make_unique<Recorder>(registers_.all_objects(), static_cast<uint32_t>(threads()),
                                         first, initial);
  refused_ = {};
  not_fit_ = {};
  history_.reset();
}

void RegisterSubject::client(int thread, SimHeap& heap) {
  for (const Body& body : running_.threads[static_cast<size_t>(thread)]) {
    const Status status =
        registers_.execute(heap, body, recorder_->client(static_cast<uint32_t>(thread)));
    if (status.code() == Code::too_large && body.uses_pieces()) {
      not_fit_ = status;
      ++too_large_;
    } else if (!status.ok()) {
      refused_ = refused_.ok() ? status : refused_;
      return;
    }
  }
}

std::optional<Fault> RegisterSubject::judge_run(const Guarantees& promised) {
  if (!refused_.ok()) {
    return Fault{"operation refused", refused_.to_string()};
  }
  if (promised.any_size && !not_fit_.ok()) {
    return Fault{"operation refused", not_fit_.to_string()};
  }
  const History history = recorder_->history();
  const auto found = check_isolation(history, promised.isolation, true);
  return found.empty() ? std::optional<Fault>() : fault_of(found.front(), history);
}

std::optional<Fault> RegisterSubject::judge_crash(const Guarantees& promised, uint64_t until,
                                                  const Words& recovered) {
  if (!history_ || known_until_ != until) {
    history_ = recorder_->history(until);
    known_until_ = until;
  }
  const std::vector<uint64_t> words = recorder_->translate(recovered);
  const DurabilityOptions options{.isolation = promised.isolation, .floor = promised.floor};
  auto found = check_durability(*history_, words, promised.durability, options);
  if (found.empty()) {
    found = check_recovered_order(*history_, words, promised.durability, options);
  }
  if (!found.empty()) {
    return fault_of(found.front(), *history_);
  }
  if (promised.durability.bound > 0) {
    lost_max_ = std::max(lost_max_, lost_updates(*history_, words, options));
  }
  return {};
}

std::string RegisterSubject::story(uint64_t until) const {
  return recorder_ == nullptr ? "" : draw_story(recorder_->history(until), until);
}

}  // namespace holdfast::check
