// SPDX-License-Identifier: Apache-2.0
//
// Does each function for an option of the C interface set the member of its name, and no other?
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/db/c/c_objects.h"

namespace holdfast::db::c_options_test {
namespace {

/// All members of Options that the C interface can set.
std::string text_of(const Options& o) {
  std::string text;
  const auto add = [&](const char* name, const auto& value) {
    text += std::string(" ") + name + "=" + std::to_string(value);
  };
  const auto address = [](const void* p) { return reinterpret_cast<uintptr_t>(p); };
  add("comparator", address(o.comparator));
  add("create", o.create_if_missing);
  add("exists", o.error_if_exists);
  add("paranoid", o.paranoid_checks);
  add("env", address(o.env));
  add("log", address(o.info_log));
  add("buffer", o.write_buffer_size);
  add("files", o.max_open_files);
  add("cache", address(o.block_cache));
  add("block", o.block_size);
  add("restart", o.block_restart_interval);
  add("file", o.max_file_size);
  add("compression", static_cast<int>(o.compression));
  add("filter", address(o.filter_policy));
  for (const auto& [name, value] : o.engine_options) {
    text += " " + name + "=" + value;
  }
  add("initial", o.initial_bytes);
  add("most", o.max_bytes);
  add("journal", o.journal_bytes.value_or(7));
  add("threads", o.max_threads);
  add("lag", o.lag);
  add("lag_ms", o.lag_ms);
  add("read_only", o.read_only);
  add("domain", o.domain ? static_cast<int>(*o.domain) : -1);
  add("force", o.force);
  return text + " " + o.engine;
}

struct Case {
  std::function<void(leveldb_options_t*)> call;
  std::function<void(Options&)> expected;
};

TEST(DbInCOptions, EachFunctionSetsItsMember) {
  leveldb_cache_t* const cache = leveldb_cache_create_lru(1);
  leveldb_env_t* const env = leveldb_create_default_env();
  leveldb_filterpolicy_t* const filter = leveldb_filterpolicy_create_bloom(10);
  struct Silent final : Logger {
    void Logv(const char* /*format*/, std::va_list /*arguments*/) override {}
  } log;
  leveldb_logger_t logger{&log};
  char* error = nullptr;
  const std::vector<Case> cases = {
      {[](auto* o) { leveldb_options_set_comparator(o, nullptr); },
       [](Options& o) { o.comparator = nullptr; }},
      {[&](auto* o) { leveldb_options_set_filter_policy(o, filter); },
       [&](Options& o) { o.filter_policy = reinterpret_cast<const FilterPolicy*>(filter); }},
      {[](auto* o) { leveldb_options_set_filter_policy(o, nullptr); },
       [](Options& o) { o.filter_policy = nullptr; }},
      {[](auto* o) { leveldb_options_set_create_if_missing(o, 2); },
       [](Options& o) { o.create_if_missing = true; }},
      {[](auto* o) { leveldb_options_set_create_if_missing(o, 0); },
       [](Options& o) { o.create_if_missing = false; }},
      {[](auto* o) { leveldb_options_set_error_if_exists(o, 1); },
       [](Options& o) { o.error_if_exists = true; }},
      {[](auto* o) { leveldb_options_set_paranoid_checks(o, 1); },
       [](Options& o) { o.paranoid_checks = true; }},
      {[](auto* o) { leveldb_options_set_env(o, nullptr); }, [](Options& o) { o.env = nullptr; }},
      {[&](auto* o) { leveldb_options_set_env(o, env); },
       [](Options& o) { o.env = Env::Default(); }},
      {[&](auto* o) { leveldb_options_set_info_log(o, &logger); },
       [&](Options& o) { o.info_log = &log; }},
      {[](auto* o) { leveldb_options_set_info_log(o, nullptr); },
       [](Options& o) { o.info_log = nullptr; }},
      {[](auto* o) { leveldb_options_set_write_buffer_size(o, 11); },
       [](Options& o) { o.write_buffer_size = 11; }},
      {[](auto* o) { leveldb_options_set_max_open_files(o, 12); },
       [](Options& o) { o.max_open_files = 12; }},
      {[&](auto* o) { leveldb_options_set_cache(o, cache); },
       [&](Options& o) { o.block_cache = cache->rep.get(); }},
      {[](auto* o) { leveldb_options_set_cache(o, nullptr); },
       [](Options& o) { o.block_cache = nullptr; }},
      {[](auto* o) { leveldb_options_set_block_size(o, 13); },
       [](Options& o) { o.block_size = 13; }},
      {[](auto* o) { leveldb_options_set_block_restart_interval(o, 14); },
       [](Options& o) { o.block_restart_interval = 14; }},
      {[](auto* o) { leveldb_options_set_max_file_size(o, 15); },
       [](Options& o) { o.max_file_size = 15; }},
      {[](auto* o) { leveldb_options_set_compression(o, leveldb_snappy_compression); },
       [](Options& o) { o.compression = kSnappyCompression; }},
      {[](auto* o) { holdfast_options_set_engine(o, "any"); },
       [](Options& o) { o.engine = "any"; }},
      {[](auto* o) { holdfast_options_set_engine_option(o, "name", "16"); },
       [](Options& o) { o.engine_options["name"] = "16"; }},
      {[](auto* o) { holdfast_options_set_sizes(o, 17, 18); },
       [](Options& o) {
         o.initial_bytes = 17;
         o.max_bytes = 18;
       }},
      {[](auto* o) { holdfast_options_set_sizes(o, 0, 19); }, [](Options& o) { o.max_bytes = 19; }},
      {[](auto* o) { holdfast_options_set_journal_bytes(o, 19); },
       [](Options& o) { o.journal_bytes = 19; }},
      {[](auto* o) { holdfast_options_set_max_threads(o, 20); },
       [](Options& o) { o.max_threads = 20; }},
      {[](auto* o) { holdfast_options_set_lag(o, 21, 22); },
       [](Options& o) {
         o.lag = 21;
         o.lag_ms = 22;
       }},
      {[](auto* o) { holdfast_options_set_read_only(o, 1); },
       [](Options& o) { o.read_only = true; }},
      {[](auto* o) { holdfast_options_set_force(o, 1); }, [](Options& o) { o.force = true; }},
      {[&](auto* o) { holdfast_options_set_domain(o, "eadr", &error); },
       [](Options& o) { o.domain = Domain::eadr; }},
      {[&](auto* o) { holdfast_options_set_domain(o, "nonsense", &error); }, [](Options&) {}},
  };
  leveldb_options_t* const made = leveldb_options_create();
  Options expected;
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].call(made);
    cases[i].expected(expected);
    EXPECT_EQ(text_of(made->rep), text_of(expected)) << "case " << i;
  }
  EXPECT_NE(error, nullptr) << "there is no such domain";
  leveldb_free(error);
  leveldb_options_destroy(made);
  leveldb_filterpolicy_destroy(filter);
  leveldb_env_destroy(env);
  leveldb_cache_destroy(cache);
}

TEST(DbInCOptions, OfReadsAndWrites) {
  leveldb_readoptions_t* const read = leveldb_readoptions_create();
  for (const bool yes : {true, false}) {
    leveldb_readoptions_set_verify_checksums(read, yes ? 2 : 0);
    EXPECT_EQ(read->rep.verify_checksums, yes);
    leveldb_readoptions_set_fill_cache(read, yes ? 0 : 2);
    EXPECT_EQ(read->rep.fill_cache, !yes);
  }
  const leveldb_snapshot_t snapshot{reinterpret_cast<const Snapshot*>(read)};
  leveldb_readoptions_set_snapshot(read, &snapshot);
  EXPECT_EQ(read->rep.snapshot, snapshot.rep);
  leveldb_readoptions_set_snapshot(read, nullptr);
  EXPECT_EQ(read->rep.snapshot, nullptr);
  std::string key = "lower";  // the options keep a copy
  holdfast_readoptions_set_iterate_lower_bound(read, key.data(), 3);
  key = "upper";
  holdfast_readoptions_set_iterate_upper_bound(read, key.data(), 5);
  key = "other";
  EXPECT_EQ(read->rep.iterate_lower_bound->ToString(), "low");
  EXPECT_EQ(read->rep.iterate_upper_bound->ToString(), "upper");
  holdfast_readoptions_set_iterate_lower_bound(read, nullptr, 0);
  EXPECT_EQ(read->rep.iterate_lower_bound, nullptr);
  leveldb_readoptions_destroy(read);
  leveldb_writeoptions_t* const write = leveldb_writeoptions_create();
  for (const bool yes : {false, true}) {
    leveldb_writeoptions_set_sync(write, yes ? 2 : 0);
    EXPECT_EQ(write->rep.sync, yes);
  }
  leveldb_writeoptions_destroy(write);
}

void count_up(void* number) {
  ++*static_cast<int*>(number);
}

TEST(DbInCOptions, ObjectsEndWithTheirDestructors) {
  int ended = 0;
  const auto compare = [](void*, const char*, size_t, const char*, size_t) { return 5; };
  const auto name = [](void*) { return "name"; };
  leveldb_comparator_t* const comparator =
      leveldb_comparator_create(&ended, &count_up, compare, name);
  leveldb_options_t* const options = leveldb_options_create();
  leveldb_options_set_comparator(options, comparator);
  EXPECT_EQ(options->rep.comparator->Compare("a", "a"), 5);
  EXPECT_STREQ(options->rep.comparator->Name(), "name");
  leveldb_options_destroy(options);
  EXPECT_EQ(ended, 0) << "it belongs to the caller";
  leveldb_comparator_destroy(comparator);
  EXPECT_EQ(ended, 1);
  leveldb_filterpolicy_destroy(
      leveldb_filterpolicy_create(&ended, &count_up, nullptr, nullptr, nullptr));
  EXPECT_EQ(ended, 2);
  leveldb_filterpolicy_destroy(leveldb_filterpolicy_create_bloom(10));
}

TEST(DbInCOptions, ACopyEndsWithAZeroByte) {
  const std::string text(24, 'v');
  for (int i = 0; i < 8; ++i) {  // memory that is not zero
    void* blocks[7];
    for (void*& block : blocks) {
      block = std::malloc(text.size() + 1);
      std::memset(block, 'x', text.size() + 1);
    }
    for (void* block : blocks) {
      std::free(block);
    }
    char* const copy = malloc_copy(text);
    EXPECT_STREQ(copy, text.c_str());
    leveldb_free(copy);
  }
}

}  // namespace
}  // namespace holdfast::db::c_options_test
