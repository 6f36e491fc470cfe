// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/durability/recovered_order.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "holdfast/check/isolation/isolation.h"

namespace holdfast::check {
namespace {

/// Returns whether everything that was answered has survived.
bool keeps_everything(const History& history, const Promise& promised) {
  return promised.durability == Durability::strict && promised.observed &&
         std::none_of(history.transactions.begin(), history.transactions.end(),
                      [](const Transaction& t) { return t.commit == Commit::later; });
}

/// Returns the history with a last transaction that reads the recovered words. Attempts that did
/// not survive lose their accesses, also those that threw: they may have seen what is lost, or a
/// writer whose own accesses are left out because nothing says that it survived. No legal history
/// is accused for that, because an order of all transactions also orders a part of them. The part
/// is complete: it has every transaction from which one of its own has read.
History with_reader(const History& history, const std::vector<uint64_t>& recovered_words,
                    const Survivors& survived) {
  constexpr uint64_t kReads = kForever - 1;  // later than every answer
  History seen = history;
  for (Transaction& t : seen.transactions) {
    if (!survived[t.number]) {
      t.accesses.clear();
    } else if (t.outcome == Outcome::live) {
      t.outcome = Outcome::committed;  // it took effect before the crash
      t.end = kReads - 1;
    }
  }
  Transaction reader;
  reader.number = static_cast<uint32_t>(seen.transactions.size() + 1);
  reader.thread = ~uint32_t{0};
  reader.read_only = true;
  reader.outcome = Outcome::committed;
  reader.begin = kReads;
  reader.end = kReads;
  for (Object object = 0; object < recovered_words.size(); ++object) {
    reader.accesses.push_back(
        {Access::Kind::read, object, Version::of_word(recovered_words[object])});
  }
  seen.transactions.push_back(std::move(reader));
  return seen;
}

/// Tells what the reader has seen as the fates of writes, because the history lacks the reader.
Finding without_reader(const Finding& finding, const Transaction& reader) {
  std::set<uint32_t> members;
  std::set<Object> objects;
  std::vector<Step> steps;
  for (const Step& step : finding.steps) {
    members.insert({step.from, step.to});
    if (step.from == reader.number && step.kind == EdgeKind::read_write) {
      objects.insert(step.object);
      steps.push_back({step.to, step.to, EdgeKind::lost, step.object});
    } else if (step.from != reader.number && step.to != reader.number) {
      steps.push_back(step);
    }
  }
  for (const Access& access : reader.accesses) {
    const uint32_t writer = access.version.transaction;
    if (writer != 0 && (members.contains(writer) || objects.contains(access.object))) {
      steps.push_back({writer, writer, EdgeKind::survived, access.object});
    }
  }
  return {"survivors without an order",
          "no order of the transactions leaves what recovery found (" + finding.name + ")",
          std::move(steps)};
}

}  // namespace

std::vector<Finding> check_recovered_order(const History& history,
                                           const std::vector<uint64_t>& recovered_words,
                                           const Promise& promised,
                                           const DurabilityOptions& options) {
  if (promised.durability == Durability::none) {
    return {};
  }
  const History seen =
      with_reader(history, recovered_words,
                  keeps_everything(history, promised)
                      ? survivors(history, recovered_words, options.real_time)
                      : proven_survivors(history, recovered_words, options.real_time));
  std::vector<Finding> findings =
      check_isolation(seen, options.isolation, options.real_time, options.most);
  for (Finding& finding : findings) {
    finding = without_reader(finding, seen.transactions.back());
  }
  return findings;
}

}  // namespace holdfast::check
