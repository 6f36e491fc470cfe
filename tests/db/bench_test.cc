// SPDX-License-Identifier: Apache-2.0
//
// Do the benchmarks of `holdfast db bench` do the work of their names, on HoldfastDB and on every
// peer that was built?
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "holdfast/runner/db/db_bench.h"
#include "holdfast/runner/db/peers.h"
#include "holdfast/runner/db/workload.h"
#include "holdfast/runner/db/ycsb.h"
#include "holdfast/runner/db/zipfian.h"
#include "tests/db/durable_engines.h"
#include "tests/native/test_file.h"

namespace holdfast::bench_test {
namespace {

using store_bench::Zipfian;

TEST(DbBenchZipfian, comes_up_in_proportion_to_a_power_of_the_rank) {
  constexpr uint64_t kItems = 1000;
  constexpr int kDraws = 200'000;
  const Zipfian zipfian(kItems);
  Random random(7);
  std::vector<double> seen(kItems);
  for (int i = 0; i < kDraws; ++i) {
    ++seen.at(zipfian.next(random));
  }
  double zeta = 0;
  for (uint64_t i = 1; i <= kItems; ++i) {
    zeta += std::pow(static_cast<double>(i), -Zipfian::kTheta);
  }
  // The formula is exact for the first two, and an approximation by an integral for the others.
  EXPECT_NEAR(seen[0] / kDraws, 1 / zeta, 0.005);
  EXPECT_NEAR(seen[1] / kDraws, std::pow(2, -Zipfian::kTheta) / zeta, 0.005);
  double half = 0;
  double expected = 0;
  for (uint64_t i = 0; i < 30; ++i) {
    half += seen[i] / kDraws;
    expected += std::pow(static_cast<double>(i + 1), -Zipfian::kTheta) / zeta;
  }
  EXPECT_NEAR(half, expected, 0.03);
  EXPECT_GT(seen[999], 0);
}

TEST(DbBenchZipfian, sums_no_more_terms_than_it_must) {
  constexpr uint64_t kItems = Zipfian::kSummed + 1'000'000;
  double zeta = 0;
  for (uint64_t i = kItems; i > 0; --i) {
    zeta += std::pow(static_cast<double>(i), -Zipfian::kTheta);
  }
  EXPECT_NEAR(Zipfian::zeta(kItems) / zeta, 1, 1e-12);
  Random random(1);
  EXPECT_LT(Zipfian(uint64_t{1} << 40).next(random), uint64_t{1} << 40);  // takes no time
}

TEST(DbBenchZipfian, of_one_or_two_items) {
  Random random(1);
  const Zipfian one(1);
  const Zipfian two(2);
  int ones = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(one.next(random), 0U);
    const uint64_t drawn = two.next(random);
    ASSERT_LT(drawn, 2U);
    ones += drawn == 1 ? 1 : 0;
  }
  EXPECT_NEAR(ones, 1000 * 0.335, 60);
}

TEST(DbBenchValues, are_new_bytes_each_time_and_half_of_them_repeat) {
  store_bench::Values values(1);
  const std::string first(values.next(100));
  const std::string second(values.next(100));
  EXPECT_NE(first, second);
  EXPECT_EQ(first.substr(0, 50), first.substr(50));
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(values.next(100'000).size(), 100'000U);
  }
  EXPECT_THROW(values.next(2 << 20), Error);
}

TEST(DbBenchYcsb, proportions_are_relative) {
  const auto parsed = [](double unit) {
    return store_bench::Ycsb::parse(
               {{"readproportion", 3 * unit}, {"updateproportion", 0}, {"insertproportion", unit}})
        .proportions;
  };
  const std::array<double, 5> expected{0.75, 0, 0.25, 0, 0};
  for (const double unit : {0.25, 1.0, 1024.0}) {
    EXPECT_EQ(parsed(unit), expected) << unit;
  }
}

TEST(DbBenchKeys, are_sixteen_digits) {
  EXPECT_EQ(store_bench::key_of(0), "0000000000000000");
  EXPECT_EQ(store_bench::key_of(120'034), "0000000000120034");
}

Json run(Json spec) {
  const NativeTestFile place;
  spec["dir"] = place.directory();
  auto report = db_bench(spec, [](double, const std::string&) {});
  EXPECT_TRUE(report.ok()) << report.status().to_string();
  return report.ok() ? *report : Json{{"context", {}}, {"benchmarks", Json::array()}};
}

/// Returns the medians of a store by benchmark. A failed benchmark fails the test.
std::map<std::string, Json> medians(const Json& report, const std::string& store) {
  std::map<std::string, Json> found;
  for (const Json& entry : report["benchmarks"]) {
    EXPECT_FALSE(entry.contains("error_message")) << entry.dump();
    if (entry["run_type"] == "aggregate" && entry["store"] == store) {
      found[entry["benchmark"]] = entry;
    }
  }
  return found;
}

/// The store's name in reports.
std::string store_of(const std::string& engine, const std::string& domain = "process") {
  return "holdfast/" + engine + "/" + domain;
}

constexpr int64_t kNum = 2000;
constexpr int64_t kReads = 300;

Json all_benchmarks() {
  return Json::array({"fillrandom", "readrandom", "fillsync", "fill100K", "fillbatch", "fillseq",
                      "overwrite", "readrandom", "readmissing", "readhot", "readseq", "readreverse",
                      "seekrandom", "readwhilewriting", "deleterandom", "deleteseq"});
}

/// Expects the counts of a run on two threads, each with all operations. If a name occurs twice,
/// the last one counts.
void expect_counts(const std::map<std::string, Json>& by_name) {
  const auto operations = [&](const std::string& name) {
    return by_name.contains(name) ? by_name.at(name)["operations_done"].get<int64_t>() : -1;
  };
  for (const std::string name : {"fillseq", "fillbatch", "fillrandom", "overwrite", "deleteseq"}) {
    EXPECT_EQ(operations(name), 2 * kNum) << name;
  }
  EXPECT_EQ(operations("fillsync"), 4);
  EXPECT_EQ(operations("fill100K"), 4);
  for (const std::string name : {"readrandom", "readhot", "seekrandom", "readwhilewriting"}) {
    EXPECT_EQ(operations(name), 2 * kReads) << name;
    EXPECT_EQ(by_name.at(name)["looked"], 2 * kReads) << name;
    EXPECT_EQ(by_name.at(name)["found"], 2 * kReads) << name;
    EXPECT_FALSE(by_name.at(name).contains("megabytes_per_second"));
  }
  EXPECT_EQ(by_name.at("readmissing")["found"], 0);
  EXPECT_EQ(operations("readseq"), 2 * kReads);
  EXPECT_EQ(operations("readreverse"), 2 * kReads);
  EXPECT_GT(by_name.at("readseq")["megabytes_per_second"].get<double>(), 0);
  EXPECT_GE(by_name.at("fillseq")["latency_samples"].get<int64_t>(), 2 * kNum / 16);
}

TEST(DbBench, does_every_benchmark_on_holdfast) {
  const Json report = run({{"benchmarks", all_benchmarks()},
                           {"num", kNum},
                           {"reads", kReads},
                           {"threads", 2},
                           {"domains", {"process"}}});
  const auto by_name = medians(report, store_of(db::kDefaultEngine));
  EXPECT_EQ(by_name.size(), 15U);
  expect_counts(by_name);
  EXPECT_EQ(by_name.at("fillseq")["survives"], "process");
}

TEST(DbBench, says_that_a_domain_is_emulated) {
  const Json report = run({{"benchmarks", {"fillseq"}}, {"num", 10}, {"domains", {"pmem"}}});
  const auto by_name = medians(report, store_of(db::kDefaultEngine, "pmem"));
  EXPECT_EQ(by_name.at("fillseq")["survives"], "pmem (emulated)");
}

TEST(DbBench, does_every_benchmark_on_the_peers_that_were_built) {
  Json names = Json::array();
  for (const auto& peer : store_bench::peer_list()) {
    names.push_back(peer.name);
  }
  const Json report = run({{"benchmarks", all_benchmarks()},
                           {"num", kNum},
                           {"reads", kReads},
                           {"threads", 2},
                           {"domains", {"process"}},
                           {"peers", names}});
  size_t missing = 0;
  for (const Json& one : report["context"]["missing"]) {
    EXPECT_NE(one["reason"].get<std::string>().find("install lib"), std::string::npos);
    ++missing;
  }
  EXPECT_EQ(report["context"]["stores"].size(), 1 + names.size() - missing);
  for (const Json& store : report["context"]["stores"]) {
    SCOPED_TRACE(store["name"]);
    const auto by_name = medians(report, store["name"]);
    expect_counts(by_name);
    if (store["name"] != store_of(db::kDefaultEngine)) {
      EXPECT_EQ(by_name.at("fillseq")["survives"], "process");
      EXPECT_EQ(by_name.at("fillsync")["survives"], "file");
      EXPECT_NE(store["version"], "");
    }
  }
}

Json ycsb(const Json& properties) {
  Json whole = {{"name", "y"}, {"recordcount", 200}, {"operationcount", 2000}};
  whole.update(properties);
  return whole;
}

TEST(DbBenchYcsb, does_the_operations_in_their_proportions) {
  const std::vector<std::string> engines = {db::durable_engines().front(), db::kDefaultEngine};
  const Json report = run({{"benchmarks", Json::array({ycsb({{"readproportion", 0.5},
                                                             {"updateproportion", 0.2},
                                                             {"insertproportion", 0.1},
                                                             {"scanproportion", 0.1},
                                                             {"readmodifywriteproportion", 0.1},
                                                             {"requestdistribution", "zipfian"},
                                                             {"maxscanlength", 5}})})},
                           {"threads", 2},
                           {"engines", engines},
                           {"domains", {"process"}},
                           {"rounds", 2}});
  for (const std::string& engine : engines) {
    const auto by_name = medians(report, store_of(engine));
    ASSERT_EQ(by_name.size(), 2U);
    EXPECT_EQ(by_name.at("y-load")["operations_done"], 200);
    const Json& entry = by_name.at("y");
    EXPECT_EQ(entry["operations_done"], 2000);
    EXPECT_EQ(entry["iterations"], 2);
    std::map<std::string, double> share;
    for (const Json& one : entry["operations"]) {
      share[one["operation"]] = one["count"].get<double>() / 2000;
    }
    EXPECT_NEAR(share["read"], 0.5, 0.05);
    EXPECT_NEAR(share["update"], 0.2, 0.05);
    for (const std::string kind : {"insert", "scan", "readmodifywrite"}) {
      EXPECT_NEAR(share[kind], 0.1, 0.04) << kind;
    }
  }
}

TEST(DbBenchYcsb, finds_every_record_it_asks_for) {
  for (const std::string request : {"uniform", "zipfian", "latest"}) {
    for (const std::string order : {"hashed", "ordered"}) {
      const Json report = run({{"benchmarks", Json::array({ycsb({{"readproportion", 0.5},
                                                                 {"updateproportion", 0},
                                                                 {"insertproportion", 0.5},
                                                                 {"requestdistribution", request},
                                                                 {"insertorder", order},
                                                                 {"fieldlength", 1}})})},
                               {"domains", {"process"}}});
      const auto by_name = medians(report, store_of(db::kDefaultEngine));
      EXPECT_EQ(by_name.at("y")["found"], by_name.at("y")["looked"]) << request << ", " << order;
      EXPECT_GT(by_name.at("y")["looked"], 800);
    }
  }
}

TEST(DbBench, refuses_what_cannot_be) {
  const auto refused = [](const Json& spec) {
    return db_bench(spec, [](double, const std::string&) {}).status().to_string();
  };
  EXPECT_NE(refused({{"benchmarks", {"fillsec"}}}).find("fillsec"), std::string::npos);
  EXPECT_NE(refused({{"peers", {"oracle"}}}).find("oracle"), std::string::npos);
  EXPECT_NE(refused({{"dir", "/nowhere/at/all"}, {"num", 1}}), "ok");
  EXPECT_NE(refused({{"numb", 1}}).find("numb"), std::string::npos);
  for (const Json& wrong : {Json{{"requestdistribution", "hotspot"}}, Json{{"recordcount", 0}},
                            Json{{"readproportion", 0}, {"updateproportion", 0}},
                            Json{{"insertorder", "any"}}, Json{{"recordcunt", 1}}}) {
    EXPECT_NE(refused({{"benchmarks", Json::array({wrong})}}).find("ycsb"), std::string::npos)
        << wrong.dump();
  }
}

TEST(DbBench, says_what_to_install_for_a_peer_that_was_not_built) {
  const NativeTestFile empty;
  const Json report = run({{"num", 10}, {"peers", {"lmdb"}}, {"peers_dir", empty.directory()}});
  ASSERT_EQ(report["context"]["missing"].size(), 1U);
  EXPECT_EQ(report["context"]["missing"][0]["reason"],
            "not built: install liblmdb-dev and run `make` again");
  EXPECT_EQ(report["benchmarks"].size(), 2U);
}

}  // namespace
}  // namespace holdfast::bench_test
