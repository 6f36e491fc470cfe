// SPDX-License-Identifier: Apache-2.0
//
// All questions of the conformance suite, and their registration with GoogleTest.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tests/engine/conformance.h"
#include "tests/engine/conformance_concurrent.h"

namespace holdfast::conformance {

/// Registers every question for one World; `make` builds a fresh one per test.
template <class W>
void register_all(const std::string& prefix, std::function<std::unique_ptr<W>()> make) {
  using Question = void (*)(W&);
  static const std::pair<const char*, Question> kQuestions[] = {
      {"ReturnsWhatTheBodyReturns", &returns_what_the_body_returns<W>},
      {"SurvivesReopening", &survives_reopening<W>},
      {"ExceptionRollsBackAndPropagates", &exception_rolls_back_and_propagates<W>},
      {"LibraryErrorsComeBackAsStatus", &library_errors_come_back_as_status<W>},
      {"NestingIsFlat", &nesting_is_flat<W>},
      {"UpdateInsideReadIsRefused", &update_inside_read_is_refused<W>},
      {"ExceptionLeavingANestedBodyDoomsTheOuterOne",
       &exception_leaving_a_nested_body_dooms_the_outer_one<W>},
      {"StrayStoresAreClearErrors", &stray_stores_are_clear_errors<W>},
      {"FieldsOfEverySize", &fields_of_every_size<W>},
      {"RootsKnowTheirType", &roots_know_their_type<W>},
      {"FreedBlocksAreReusedAndNothingLeaks", &freed_blocks_are_reused_and_nothing_leaks<W>},
      {"TheHeapGrowsAndSaysWhenItIsFull", &the_heap_grows_and_says_when_it_is_full<W>},
      {"LargeTransactionsCommitOrRefuseClearly", &large_transactions_commit_or_refuse_clearly<W>},
      {"IncrementsAreNotLost", &increments_are_not_lost<W>},
      {"ReadersSeeWholeTransactions", &readers_see_whole_transactions<W>},
      {"UpdatesSeeWholeTransactions", &updates_see_whole_transactions<W>},
      {"ASwallowedAbortIsRetriedAllTheSame", &a_swallowed_abort_is_retried_all_the_same<W>},
      {"EachExceptionReachesItsOwnCaller", &each_exception_reaches_its_own_caller<W>},
      {"ParallelAllocationIsSound", &parallel_allocation_is_sound<W>},
      {"WriteSkewIsFoundWhereItIsAllowedAndNowhereElse",
       &write_skew_is_found_where_it_is_allowed_and_nowhere_else<W>},
      {"PromotionPreventsWriteSkew", &promotion_prevents_write_skew<W>},
  };
  class Test : public testing::Test {
   public:
    Test(Question question, std::function<std::unique_ptr<W>()> maker)
        : question_(question), make_(std::move(maker)) {}
    void TestBody() override {
      auto world = make_();
      question_(*world);
    }

   private:
    Question question_;
    std::function<std::unique_ptr<W>()> make_;
  };
  for (const auto& [name, question] : kQuestions) {
    testing::RegisterTest(
        prefix.c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
        [question = question, make]() -> testing::Test* { return new Test(question, make); });
  }
}

}  // namespace holdfast::conformance
