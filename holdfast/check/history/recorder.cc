// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/history/recorder.h"

#include <algorithm>
#include <utility>

namespace holdfast::check {

void ClientLog::invoke(bool read_only, Commit commit) {
  read_only_ = read_only;
  commit_ = commit;
  begun_ = false;
  earliest_ = recorder_.tick();
}

void ClientLog::attempt() {
  const uint64_t at = recorder_.tick();
  if (begun_) {
    now().outcome = Outcome::aborted;
    now().end = at;
  }
  begun_ = true;
  writes_ = 0;
  // An engine may take the snapshot of an attempt before it calls the body. So the attempt begins
  // at the last event of the attempt before it.
  Transaction next;
  next.number = ++recorder_.number_;
  next.thread = thread_;
  next.read_only = read_only_;
  next.commit = commit_;
  next.begin = earliest_;
  next.end = kForever;
  transactions_.push_back(std::move(next));
  earliest_ = at;
}

void ClientLog::read(Object object, uint64_t word) {
  earliest_ = recorder_.tick();
  now().accesses.push_back(
      {Access::Kind::read, object, recorder_.version(object, word), {}, earliest_});
}

uint64_t ClientLog::write(Object object, uint64_t replaced) {
  return store(Access::Kind::write, object, recorder_.version(object, replaced));
}

uint64_t ClientLog::write_blindly(Object object) {
  return store(Access::Kind::blind, object, {});
}

uint64_t ClientLog::store(Access::Kind kind, Object object, Version replaced) {
  earliest_ = recorder_.tick();
  const Version version{now().number, ++writes_};
  now().accesses.push_back({kind, object, version, replaced, earliest_});
  return version.word();
}

void ClientLog::answer(Outcome outcome) {
  if (begun_) {
    now().outcome = outcome;
    now().threw = outcome == Outcome::aborted;
    now().end = recorder_.tick();
  }
  begun_ = false;
}

Recorder::Recorder(uint32_t objects, uint32_t clients, uint32_t first_number,
                   std::vector<uint64_t> initial)
    : objects_(objects),
      first_number_(first_number),
      initial_(std::move(initial)),
      number_(first_number) {
  initial_.resize(objects);
  for (uint32_t i = 0; i < clients; ++i) {
    clients_.emplace_back(*this, i);
  }
}

Version Recorder::version(Object object, uint64_t word) const {
  return word == initial_[object] ? Version{} : Version::of_word(word);
}

std::vector<uint64_t> Recorder::translate(const std::vector<uint64_t>& words) const {
  std::vector<uint64_t> translated;
  for (Object object = 0; object < words.size(); ++object) {
    Version v = version(object, words[object]);
    // A number from before this history must name no transaction of it. It wraps around here, and
    // still names none.
    v.transaction -= v.initial() ? 0 : first_number_;
    translated.push_back(v.word());
  }
  return translated;
}

History Recorder::history(uint64_t until) const {
  History history;
  history.objects = objects_;
  // The history has all numbers up to the last transaction that had begun. A lower number that had
  // not begun stays as a live transaction.
  uint32_t begun = 0;
  for (const ClientLog& client : clients_) {
    for (const Transaction& transaction : client.transactions_) {
      if (transaction.begin <= until) {
        begun = std::max(begun, transaction.number - first_number_);
      }
    }
  }
  history.transactions.resize(begun);
  const auto own = [&](Version& v) { v.transaction -= v.initial() ? 0 : first_number_; };
  for (const ClientLog& client : clients_) {
    for (const Transaction& transaction : client.transactions_) {
      if (transaction.number - first_number_ > begun) {
        continue;
      }
      Transaction copy = transaction;
      copy.number -= first_number_;
      for (Access& access : copy.accesses) {
        own(access.version);
        own(access.replaced);
      }
      if (copy.end > until) {
        copy.end = kForever;
        copy.outcome = Outcome::live;
        copy.threw = false;
      }
      history.transactions[copy.number - 1] = std::move(copy);
    }
  }
  return history;
}

}  // namespace holdfast::check
