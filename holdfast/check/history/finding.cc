// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/history/finding.h"

namespace holdfast::check {
namespace {

std::string object_name(Object object) {
  return "x" + std::to_string(object);
}

/// Returns the version of `object` that the transaction saw first, if it read before it wrote.
const Version* found_first(const Transaction& transaction, Object object) {
  for (const Access& access : transaction.accesses) {
    if (access.object == object) {
      return access.kind == Access::Kind::read    ? &access.version
             : access.kind == Access::Kind::write ? &access.replaced
                                                  : nullptr;
    }
  }
  return nullptr;
}

}  // namespace

std::string transaction_name(uint32_t number, const History& history) {
  if (number == 0) {
    return "the initial state";
  }
  std::string name = "T" + std::to_string(number);
  switch (history.at(number).outcome) {
    case Outcome::committed:
      return name;
    case Outcome::aborted:
      return name + " (rolled back)";
    case Outcome::live:
      return name + " (not answered)";
  }
  return name;
}

std::string to_string(const Step& step, const History& history) {
  const std::string from = transaction_name(step.from, history);
  const std::string to = transaction_name(step.to, history);
  const std::string object = object_name(step.object);
  switch (step.kind) {
    case EdgeKind::write_read:
      return to + " read " + object + (step.from == step.to ? "" : " from " + from);
    case EdgeKind::write_write: {
      const Version* found = found_first(history.at(step.to), step.object);
      if (found != nullptr && found->transaction == step.from) {
        return to + " replaced " + object + " as " + from + " left it";
      }
      return to + (found == nullptr ? " can only have written " : " wrote ") + object +
             " later than " + from;
    }
    case EdgeKind::read_write: {
      const Version* found = found_first(history.at(step.from), step.object);
      const std::string source =
          found == nullptr ? "" : " from " + transaction_name(found->transaction, history);
      return from + " read " + object + source +
             (found_first(history.at(step.to), step.object) != nullptr
                  ? ", which " + to + " replaced"
                  : ", and " + to + " can only have written it later");
    }
    case EdgeKind::real_time:
      return from + " was answered before " + to + " began";
    case EdgeKind::survived:
      return object + " holds what " + from + " wrote, or a later value";
    case EdgeKind::lost:
      return "what " + from + " wrote into " + object + " is missing";
  }
  return {};
}

std::string to_string(const Finding& finding, const History& history) {
  std::string text = finding.name + ": " + finding.text + "\n";
  for (const Step& step : finding.steps) {
    text += "  " + to_string(step, history) + "\n";
  }
  return text;
}

}  // namespace holdfast::check
