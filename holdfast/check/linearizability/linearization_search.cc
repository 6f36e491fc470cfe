// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/linearizability/linearization_search.h"

#include <algorithm>

#include "holdfast/base/checksum.h"

namespace holdfast::check {
namespace {

/// The value of tried_ for a node at which one move suffices and was made.
constexpr size_t kNothingElse = ~size_t{0};

template <class T>
uint64_t digest(const std::vector<T>& words, uint64_t seed) {
  return checksum(words.data(), words.size() * sizeof(T), seed);
}

}  // namespace

LinearizationSearch::LinearizationSearch(const SequentialModel& model, const ModelState& initial,
                                         const std::vector<ThreadSteps>& threads,
                                         const ModelState* final_state,
                                         const LinearizabilityOptions& options, bool may_cut)
    : model_(model),
      threads_(threads),
      final_state_(final_state),
      options_(options),
      may_cut_(may_cut && final_state != nullptr),
      position_(threads.size()),
      state_(initial) {
  for (const ThreadSteps& steps : threads) {
    for (const ThreadStep& step : steps) {
      left_ += step.operation->response ? 1 : 0;
    }
  }
}

Linearization LinearizationSearch::run() {
  unseen();
  tried_ = {0};
  for (;;) {
    if (explained()) {
      return {.ok = true, .undecided = false, .text = "", .states = seen_.size()};
    }
    if (seen_.size() >= options_.max_states) {
      return {.ok = false,
              .undecided = true,
              .text = "undecided: gave up after " + std::to_string(seen_.size()) + " states",
              .states = seen_.size()};
    }
    if (advance()) {
      continue;
    }
    note_dead_end();
    if (levels_.empty()) {
      return {.ok = false, .undecided = false, .text = finding(), .states = seen_.size()};
    }
    leave();
  }
}

/// Returns whether the order explains all answers. The operations outside of it have no answer and
/// may have had no effect.
bool LinearizationSearch::explained() const {
  return left_ == 0 && (final_state_ == nullptr || cut_ || state_ == *final_state_);
}

/// Collects the operations that may come next: no undecided operation ended before they began. This
/// includes operations without effect, because they fit into any order that exists without them.
void LinearizationSearch::collect_moves() {
  uint64_t first_end = kForever;
  if (options_.real_time) {
    for (size_t t = 0; t < threads_.size(); ++t) {
      const ThreadStep* step = next(t);
      first_end = step == nullptr ? first_end : std::min(first_end, step->end);
    }
  }
  moves_.clear();
  for (size_t t = 0; t < threads_.size(); ++t) {
    const ThreadStep* step = next(t);
    if (step != nullptr && step->operation->begin <= first_end) {
      moves_.push_back({static_cast<uint32_t>(t), true});
    }
  }
  // In most histories the operation that ends first is the likeliest.
  std::sort(moves_.begin(), moves_.end(), [this](const Move& a, const Move& b) {
    const uint64_t a_end = next(a.thread)->end;
    const uint64_t b_end = next(b.thread)->end;
    return a_end != b_end ? a_end < b_end : a.thread < b.thread;
  });
  const size_t effects = moves_.size();
  for (size_t i = 0; i < effects; ++i) {
    const uint32_t t = moves_[i].thread;
    const bool stands_in_the_way =
        position_[t] + 1 < threads_[t].size() || (options_.real_time && next(t)->end != kForever);
    if (!next(t)->operation->response && stands_in_the_way) {
      moves_.push_back({t, false});
    }
  }
  if (may_cut_ && !cut_ && state_ == *final_state_) {
    moves_.push_back({kCut, false});
  }
}

/// Ends the prefix that survived: the operations that follow were lost.
bool LinearizationSearch::enter_cut() {
  cut_ = true;
  if (!unseen()) {
    cut_ = false;
    return false;
  }
  levels_.push_back({{kCut, false}, nullptr, {}});
  return true;
}

bool LinearizationSearch::advance() {
  if (tried_.back() == kNothingElse) {
    return false;
  }
  collect_moves();
  if (tried_.back() == 0) {
    if (const std::optional<Move> free = free_move()) {
      tried_.back() = kNothingElse;
      if (enter(*free)) {
        tried_.push_back(0);
        return true;
      }
      return false;
    }
  }
  while (tried_.back() < moves_.size()) {
    if (enter(moves_[tried_.back()++])) {
      tried_.push_back(0);
      return true;
    }
  }
  return false;
}

/// Returns a move that can be made without trying others: an operation with the right answer that,
/// with this answer, never changes the state. In any explanation from here it can move to the
/// front.
std::optional<LinearizationSearch::Move> LinearizationSearch::free_move() {
  for (const Move& move : moves_) {
    if (move.thread == kCut) {
      continue;
    }
    const Operation& operation = *next(move.thread)->operation;
    if (!operation.response || model_.may_change(operation.request, *operation.response)) {
      continue;
    }
    before_ = state_;  // a copy: with another answer the operation may change it
    if (model_.apply(operation.request, before_) == *operation.response) {
      return move;
    }
  }
  return std::nullopt;
}

bool LinearizationSearch::enter(Move move) {
  if (move.thread == kCut) {
    return enter_cut();
  }
  const Operation& operation = *next(move.thread)->operation;
  Undo undo;
  if (move.takes_effect) {
    before_ = state_;
    const Response told = model_.apply(operation.request, state_);
    if (operation.response && *operation.response != told) {
      state_.swap(before_);
      return false;
    }
    undo.resized = before_.size() != state_.size();
    if (undo.resized) {
      undo.whole = before_;
    } else {
      for (size_t i = 0; i < state_.size(); ++i) {
        if (state_[i] != before_[i]) {
          undo.words.emplace_back(i, before_[i]);
        }
      }
    }
  }
  const bool changes = undo.resized || !undo.words.empty();
  const bool lost = cut_ && operation.response.has_value() && changes;
  const bool survives = cut_ && operation.response.has_value() && operation.durable;
  ++position_[move.thread];
  lost_ += lost ? 1 : 0;
  if (survives || lost_ > options_.lag || !unseen()) {
    --position_[move.thread];
    lost_ -= lost ? 1 : 0;
    restore(undo);
    return false;
  }
  left_ -= operation.response ? 1 : 0;
  effects_ += move.takes_effect ? 1 : 0;
  levels_.push_back({move, &operation, std::move(undo), lost});
  return true;
}

/// Remembers the present node and returns whether it is new. A node is identified by a digest of
/// 128 bits. Two nodes with one digest could hide an explanation, but never invent one.
bool LinearizationSearch::unseen() {
  const uint64_t seed = cut_ ? 2 + 2 * lost_ : 0;
  return seen_
      .insert(
          {digest(state_, digest(position_, seed)), digest(state_, digest(position_, seed + 1))})
      .second;
}

void LinearizationSearch::restore(const Undo& undo) {
  if (undo.resized) {
    state_ = undo.whole;
  }
  for (const auto& [index, word] : undo.words) {
    state_[index] = word;
  }
}

void LinearizationSearch::leave() {
  const Level& level = levels_.back();
  if (level.operation == nullptr) {
    cut_ = false;
    levels_.pop_back();
    tried_.pop_back();
    return;
  }
  restore(level.undo);
  lost_ -= level.lost ? 1 : 0;
  --position_[level.move.thread];
  left_ += level.operation->response ? 1 : 0;
  effects_ -= level.move.takes_effect ? 1 : 0;
  levels_.pop_back();
  tried_.pop_back();
}

LinearizationSearch::Distance LinearizationSearch::distance() const {
  Distance d{left_, 0, 0};
  if (left_ == 0) {  // before that, the final state does not matter
    const ModelState& found = *final_state_;
    d.effects = effects_;
    const size_t common = std::min(state_.size(), found.size());
    d.words = std::max(state_.size(), found.size()) - common;
    for (size_t i = 0; i < common; ++i) {
      d.words += state_[i] == found[i] ? 0 : 1;
    }
  }
  return d;
}

void LinearizationSearch::note_dead_end() {
  const Distance here = distance();
  if (best_.distance <= here) {
    return;
  }
  constexpr size_t kShown = 20;
  best_ = {here, effects_, {}, position_, state_};
  for (size_t i = levels_.size(); i-- > 0 && best_.path.size() < kShown;) {
    if (levels_[i].move.takes_effect) {
      best_.path.push_back(levels_[i].operation);
    }
  }
  std::reverse(best_.path.begin(), best_.path.end());
}

std::string LinearizationSearch::finding() {
  // Returns to the best dead end.
  position_ = best_.position;
  state_ = best_.state;
  if (best_.distance.left == 0) {
    return std::string(
               "the answers can be explained, but never so that what was found afterwards ") +
           (!may_cut_
                ? "results.\n"
                : "results from all but " + std::to_string(options_.lag) + " of the changes.\n") +
           describe_path() + describe_difference();
  }
  return "no order of the operations explains the answers.\n" + describe_path() + describe_rest();
}

std::string LinearizationSearch::describe(const Operation& o) const {
  const std::string answer =
      o.response ? model_.describe(o.request, *o.response) : "never answered";
  return "  thread " + std::to_string(o.thread) + ": " + model_.describe(o.request) + " -> " +
         answer + "  [" + std::to_string(o.begin) + ", " +
         (o.end == kForever ? "" : std::to_string(o.end)) + "]\n";
}

std::string LinearizationSearch::describe_path() const {
  std::string text;
  const size_t effects = best_.effects;
  const size_t shown = best_.path.size();
  if (effects > 0) {
    text = std::string("The ") + (best_.distance.left == 0 ? "closest" : "longest") +
           " explanation puts " + std::to_string(effects) + " operations in this order" +
           (shown < effects ? " (the last " + std::to_string(shown) + "):\n" : ":\n");
  }
  for (const Operation* operation : best_.path) {
    text += describe(*operation);
  }
  return text + (effects > 0 ? "State then: " : "State at the start: ") + model_.describe(state_) +
         "\n";
}

std::string LinearizationSearch::describe_rest() {
  std::string text = "None of these can come next:\n";
  collect_moves();
  for (const Move& move : moves_) {
    if (!move.takes_effect) {
      continue;
    }
    const Operation& operation = *next(move.thread)->operation;
    if (!operation.response) {
      continue;
    }
    ModelState after = state_;
    const Response told = model_.apply(operation.request, after);
    text += describe(operation) +
            "    it would be told: " + model_.describe(operation.request, told) + "\n";
  }
  return text;
}

std::string LinearizationSearch::describe_difference() const {
  std::string text = "Found afterwards: " + model_.describe(*final_state_) + "\n";
  const auto [here, there] =
      std::mismatch(state_.begin(), state_.end(), final_state_->begin(), final_state_->end());
  if (state_.size() == final_state_->size() && here != state_.end()) {
    text += "The first difference is at word " + std::to_string(here - state_.begin()) + ": " +
            std::to_string(*here) + " became " + std::to_string(*there) + "\n";
  }
  for (size_t t = 0; t < threads_.size(); ++t) {
    if (next(t) != nullptr) {
      text += "Without effect here:\n" + describe(*next(t)->operation);
    }
  }
  return text;
}

}  // namespace holdfast::check
