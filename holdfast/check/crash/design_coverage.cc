// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/crash/design_coverage.h"

#include <algorithm>
#include <iterator>

namespace holdfast::check {

void DesignCoverage::begin(const SimMachine& machine) {
  const std::vector<DesignCoverageRow> now = machine.design_coverage();
  begun_.clear();
  for (const DesignCoverageRow& row : now) {
    begun_.push_back(row.count);
  }
  last_ = begun_;
  for (size_t i = rows_.size(); i < now.size(); ++i) {
    rows_.push_back({now[i].name, now[i].declared});
  }
}

void DesignCoverage::end(const SimMachine& machine) {
  const std::vector<DesignCoverageRow> now = machine.design_coverage();
  for (size_t i = 0; i < now.size(); ++i) {
    rows_[i].met += now[i].count - begun_[i];
  }
}

void DesignCoverage::point(const SimMachine& machine) {
  const std::vector<DesignCoverageRow> now = machine.design_coverage();
  for (size_t i = 0; i < now.size(); ++i) {
    rows_[i].behind += now[i].count > last_[i] ? 1 : 0;
    last_[i] = now[i].count;
  }
}

std::vector<DesignCoverage::Row> DesignCoverage::rows() const {
  std::vector<Row> rows;
  std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(rows),
               [](const Row& row) { return row.met != 0 || row.declared; });
  return rows;
}

std::vector<std::string> DesignCoverage::uncovered() const {
  std::vector<std::string> names;
  for (const Row& row : rows()) {
    if (row.behind == 0) {
      names.push_back(row.name);
    }
  }
  return names;
}

}  // namespace holdfast::check
