// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/crash/workload_subject.h"

#include <algorithm>
#include <utility>

#include "holdfast/base/catalogue.h"
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/workloads/catalogue.h"

namespace holdfast {

using check::Fault;
using check::kForever;
using check::Operation;

namespace {

std::vector<const WorkloadInfo*> with_model() {
  std::vector<const WorkloadInfo*> all;
  for (const WorkloadInfo* info : workload_infos()) {
    if (info->has_model) {
      all.push_back(info);
    }
  }
  return all;
}

std::optional<Fault> fault_of(const check::Linearization& judged) {
  if (judged.ok) {
    return {};
  }
  return Fault{judged.undecided ? "undecided" : "not linearizable", judged.text};
}

}  // namespace

WorkloadSubject::WorkloadSubject(const WorkloadInfo& info, Parameters parameters, int threads,
                                 int operations)
    : info_(info),
      parameters_(std::move(parameters)),
      threads_(threads),
      operations_per_thread_(operations) {}

Status WorkloadSubject::set_up(SimHeap& heap) {
  constexpr uint64_t kSeed = 1;
  const auto workload = make_sim_workload(info_.name, heap, parameters_);
  if (workload->model() == nullptr) {
    return Status(Code::unsupported, std::string("workload ") + info_.name +
                                         " has no sequential model to judge its answers by; " +
                                         row_names(with_model()) +
                                         " have one, and registers has programs instead");
  }
  return workload->set_up(threads_, kSeed);
}

Status WorkloadSubject::attach(SimHeap& heap) {
  workload_ = make_sim_workload(info_.name, heap, parameters_);
  return workload_->attach();
}

void WorkloadSubject::start(uint64_t seed, const Words& initial, bool /*continues*/) {
  initial_ = initial;
  clock_ = 0;
  refused_ = {};
  requests_.assign(static_cast<size_t>(threads_), {});
  operations_.assign(static_cast<size_t>(threads_), {});
  for (int thread = 0; thread < threads_; ++thread) {
    Random random(mix64(seed) + static_cast<uint64_t>(thread));
    for (int i = 0; i < operations_per_thread_; ++i) {
      requests_[static_cast<size_t>(thread)].push_back(workload_->draw(thread, random));
    }
  }
}

void WorkloadSubject::client(int thread, SimHeap&) {
  std::vector<Operation>& done = operations_[static_cast<size_t>(thread)];
  for (const Request& request : requests_[static_cast<size_t>(thread)]) {
    done.push_back({static_cast<uint32_t>(thread), ++clock_, kForever, request, {}});
    try {
      const OperationResult result = workload_->perform(thread, request);
      done.back().response = result.response;
      done.back().end = ++clock_;
    } catch (const Error& error) {
      refused_ = refused_.ok() ? error.status() : refused_;
      return;
    }
  }
}

void WorkloadSubject::visit_blocks(const std::function<void(const void*, size_t)>& visit) {
  workload_->list_blocks(visit);
}

/// The operations that had begun by then. Those that were answered up to `floor` are durable.
std::vector<Operation> WorkloadSubject::operations_until(uint64_t until, uint64_t floor) const {
  std::vector<Operation> all;
  for (const auto& thread : operations_) {
    for (Operation operation : thread) {
      if (operation.begin > until) {
        continue;
      }
      if (operation.end > until) {
        operation.end = until;
        operation.response.reset();
      }
      operation.durable = operation.response && operation.end <= floor;
      all.push_back(operation);
    }
  }
  return all;
}

check::Linearization WorkloadSubject::judge(uint64_t until, const Words* recovered, uint64_t floor,
                                            const check::LinearizabilityOptions& options) const {
  return check_linearizable(*workload_->model(), initial_, operations_until(until, floor),
                            recovered, options);
}

std::optional<Fault> WorkloadSubject::judge_run(const check::Guarantees&) {
  return refused_.ok() ? fault_of(judge(kForever, nullptr, 0, {}))
                       : Fault{"operation refused", refused_.to_string()};
}

std::optional<Fault> WorkloadSubject::judge_crash(const check::Guarantees& promised, uint64_t until,
                                                  const Words& recovered) {
  const Promise& promise = promised.durability;
  const uint64_t lag = promise.durability == Durability::lagging ? promise.bound : 0;
  const check::Linearization judged =
      judge(until, &recovered, promised.floor, {.observed = promise.observed, .lag = lag});
  lost_max_ = std::max(lost_max_, judged.lost);
  return fault_of(judged);
}

std::string WorkloadSubject::story(uint64_t until) const {
  struct Line {
    uint64_t at;
    std::string text;
  };
  std::vector<Line> lines;
  const SequentialModel& model = *workload_->model();
  for (const Operation& operation : operations_until(until)) {
    const std::string who = "  thread " + std::to_string(operation.thread) + ": ";
    lines.push_back({operation.begin, who + model.describe(operation.request)});
    if (operation.response) {
      lines.push_back({operation.end, who + "  answered " +
                                          model.describe(operation.request, *operation.response)});
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.at < b.at; });
  std::string text;
  for (const Line& line : lines) {
    text += line.text + "\n";
  }
  return text + (until == kForever ? "" : "  -- the power fails --\n");
}

}  // namespace holdfast
