// SPDX-License-Identifier: Apache-2.0
//
// Histories as text, one transaction per line, numbered from 1:
//
//   1-4            r0=0 w1=0 b2       begin-end, then accesses in order
//   2-9 aborted    r0=1 w0=1          read x0 from T1; replaced T1's value of x0
//   5-  live       r1=1.2 w1=3        read write 2 of T1; T3's last write of x1
//   7-9 threw      r0=1               rolled back; its caller got the exception
//   8-9 durable    w0=2               with Commit::durable; without accesses it is a fence
//   8-9 later t3   w0=2               with Commit::later, on thread 3
//
// r reads; w writes and names the version it replaced; b writes blindly. "0" is the initial value,
// "T.N" is write N of T, and "T" is T's last write of that object.
#pragma once

#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/history.h"

namespace holdfast::check {

/// "lost update: 2 3": the name of the finding, and the transactions of its steps in order.
inline std::string name_and_transactions(const Finding& finding) {
  std::set<uint32_t> who;
  for (const Step& step : finding.steps) {
    who.insert({step.from, step.to});
  }
  std::string result = finding.name + ":";
  for (const uint32_t t : who) {
    result += " " + std::to_string(t);
  }
  return result;
}

struct AccessText {
  Access::Kind kind;
  Object object;
  std::string version;  // the version it found; empty for b
};

inline AccessText parse_access(const std::string& word) {
  const size_t equals = word.find('=');
  const auto object = static_cast<Object>(std::stoul(word.substr(1, equals - 1)));
  const std::string version = equals == std::string::npos ? "" : word.substr(equals + 1);
  switch (word[0]) {
    case 'r':
      return {Access::Kind::read, object, version};
    case 'w':
      return {Access::Kind::write, object, version};
    case 'b':
      return {Access::Kind::blind, object, version};
    default:
      throw std::invalid_argument("no access: " + word);
  }
}

class HistoryBuilder {
 public:
  explicit HistoryBuilder(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.find_first_not_of(' ') != std::string::npos) {
        add(line);
      }
    }
  }

  History build() {
    for (size_t i = 0; i < texts_.size(); ++i) {
      for (size_t k = 0; k < texts_[i].size(); ++k) {
        Access& access = history_.transactions[i].accesses[k];
        if (!texts_[i][k].version.empty()) {
          (access.writes() ? access.replaced : access.version) =
              version(texts_[i][k].version, access.object);
        }
      }
    }
    return std::move(history_);
  }

 private:
  void add(const std::string& line) {
    std::istringstream words(line);
    std::string times;
    words >> times;
    Transaction t;
    t.number = static_cast<uint32_t>(history_.transactions.size() + 1);
    t.thread = t.number;
    const size_t dash = times.find('-');
    t.begin = std::stoull(times.substr(0, dash));
    t.end = dash + 1 < times.size() ? std::stoull(times.substr(dash + 1)) : kForever;
    t.outcome = t.end == kForever ? Outcome::live : Outcome::committed;
    t.read_only = true;
    texts_.emplace_back();
    uint32_t writes = 0;
    for (std::string word; words >> word;) {
      if (word == "aborted" || word == "threw") {
        t.outcome = Outcome::aborted;
        t.threw = word == "threw";
      } else if (word == "durable" || word == "later") {
        t.commit = word == "durable" ? Commit::durable : Commit::later;
      } else if (word[0] == 't') {
        t.thread = static_cast<uint32_t>(std::stoul(word.substr(1)));
      } else if (word != "live") {
        const AccessText access = parse_access(word);
        history_.objects = std::max(history_.objects, access.object + 1);
        t.accesses.push_back({access.kind, access.object, {}});
        if (access.kind != Access::Kind::read) {
          t.read_only = false;
          t.accesses.back().version = {t.number, ++writes};
          last_[{t.number, access.object}] = writes;
        }
        texts_.back().push_back(access);
      }
    }
    history_.transactions.push_back(std::move(t));
  }

  Version version(const std::string& text, Object object) const {
    const auto transaction = static_cast<uint32_t>(std::stoul(text));
    const size_t dot = text.find('.');
    if (dot != std::string::npos) {
      return {transaction, static_cast<uint32_t>(std::stoul(text.substr(dot + 1)))};
    }
    return transaction == 0 ? Version{} : Version{transaction, last_.at({transaction, object})};
  }

  History history_;
  std::vector<std::vector<AccessText>> texts_;
  std::map<std::pair<uint32_t, Object>, uint32_t> last_;
};

inline History history(const std::string& text) {
  return HistoryBuilder(text).build();
}

}  // namespace holdfast::check
