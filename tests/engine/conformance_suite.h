// SPDX-License-Identifier: Apache-2.0
//
// All questions of the conformance suite, and their registration with GoogleTest.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/conformance.h"
#include "tests/engine/conformance_allocation.h"
#include "tests/engine/conformance_concurrent.h"
#include "tests/engine/conformance_fields.h"
#include "tests/engine/conformance_history.h"

namespace holdfast::conformance {

inline constexpr Domain kDomains[] = {Domain::process, Domain::file, Domain::pmem, Domain::eadr};

template <class W>
struct Question {
  const char* name;
  void (*ask)(W&);
};

template <class W>
std::vector<Question<W>> all_questions() {
  return {
      {"ReturnsWhatTheBodyReturns", &returns_what_the_body_returns<W>},
      {"SurvivesReopening", &survives_reopening<W>},
      {"ExceptionRollsBackAndPropagates", &exception_rolls_back_and_propagates<W>},
      {"LibraryErrorsComeBackAsStatus", &library_errors_come_back_as_status<W>},
      {"NestingIsFlat", &nesting_is_flat<W>},
      {"UpdateInsideReadIsRefused", &update_inside_read_is_refused<W>},
      {"ExceptionLeavingANestedBodyDoomsTheOuterOne",
       &exception_leaving_a_nested_body_dooms_the_outer_one<W>},
      {"CommitsAndExceptionsAreCounted", &commits_and_exceptions_are_counted<W>},
      {"StrayStoresAreClearErrors", &stray_stores_are_clear_errors<W>},
      {"FieldsOfEverySize", &fields_of_every_size<W>},
      {"FieldsAcrossWords", &fields_across_words<W>},
      {"RootsKnowTheirType", &roots_know_their_type<W>},
      {"OnlyNamesOfRootsFindThem", &only_names_of_roots_find_them<W>},
      {"FreedBlocksAreReusedAndNothingLeaks", &freed_blocks_are_reused_and_nothing_leaks<W>},
      {"ABlockIsFreedOnce", &a_block_is_freed_once<W>},
      {"ABlockIsExchanged", &a_block_is_exchanged<W>},
      {"ASwallowedFailureToAllocateCommitsNothing",
       &a_swallowed_failure_to_allocate_commits_nothing<W>},
      {"FreeRunsAreMerged", &free_runs_are_merged<W>},
      {"HeapsOfLayout1StillWork", &heaps_of_layout_1_still_work<W>},
      {"TheHeapGrowsAndSaysWhenItIsFull", &the_heap_grows_and_says_when_it_is_full<W>},
      {"LargeTransactionsCommitOrRefuseClearly", &large_transactions_commit_or_refuse_clearly<W>},
      {"TransactionsLargerThanTheLogCommitOrNameTheOption",
       &transactions_larger_than_the_log_commit_or_name_the_option<W>},
      {"ASwallowedFailureToStoreCommitsNothing", &a_swallowed_failure_to_store_commits_nothing<W>},
      {"AHeapGrowsForALargeTransactionOnce", &a_heap_grows_for_a_large_transaction_once<W>},
      {"LargeTransactionsRunBesideAllocations", &large_transactions_run_beside_allocations<W>},
      {"IncrementsAreNotLost", &increments_are_not_lost<W>},
      {"ReadersSeeWholeTransactions", &readers_see_whole_transactions<W>},
      {"UpdatesSeeWholeTransactions", &updates_see_whole_transactions<W>},
      {"ASwallowedAbortIsRetriedAllTheSame", &a_swallowed_abort_is_retried_all_the_same<W>},
      {"EachExceptionReachesItsOwnCaller", &each_exception_reaches_its_own_caller<W>},
      {"ParallelAllocationIsSound", &parallel_allocation_is_sound<W>},
      {"WriteSkewIsFoundWhereItIsAllowedAndNowhereElse",
       &write_skew_is_found_where_it_is_allowed_and_nowhere_else<W>},
      {"PromotionPreventsWriteSkew", &promotion_prevents_write_skew<W>},
      {"WhatIsAtRestTakesPlainLoads", &what_is_at_rest_takes_plain_loads<W>},
      {"HistoriesAreWhatWasPromised", &histories_are_what_was_promised<W>},
  };
}

/// The questions that a fault in an engine's loads, stores, ranges, promote or fresh fails. There
/// are few, because they are compiled again whenever an engine changes.
template <class W>
std::vector<Question<W>> access_questions() {
  return {
      {"StrayStoresAreClearErrors", &stray_stores_are_clear_errors<W>},
      {"FieldsOfEverySize", &fields_of_every_size<W>},
      {"FieldsAcrossWords", &fields_across_words<W>},
      {"ReadersSeeWholeTransactions", &readers_see_whole_transactions<W>},
      {"PromotionPreventsWriteSkew", &promotion_prevents_write_skew<W>},
  };
}

/// Registers questions for one World; `make` makes a new one for each test. Names of tests have '_'
/// in place of '-', because a filter of GoogleTest excludes the text after a '-'.
template <class W>
void register_questions(std::string prefix, const std::vector<Question<W>>& questions,
                        const std::function<std::unique_ptr<W>()>& make) {
  std::replace(prefix.begin(), prefix.end(), '-', '_');
  class Test : public testing::Test {
   public:
    Test(Question<W> question, std::function<std::unique_ptr<W>()> maker)
        : question_(question), make_(std::move(maker)) {}
    void TestBody() override {
      auto world = make_();
      question_.ask(*world);
    }

   private:
    Question<W> question_;
    std::function<std::unique_ptr<W>()> make_;
  };
  for (const Question<W>& question : questions) {
    testing::RegisterTest(
        prefix.c_str(), question.name, nullptr, nullptr, __FILE__, __LINE__,
        [question, make]() -> testing::Test* { return new Test(question, make); });
  }
}

template <class W>
void register_all(const std::string& prefix, const std::function<std::unique_ptr<W>()>& make) {
  register_questions<W>(prefix, all_questions<W>(), make);
}

}  // namespace holdfast::conformance
