// SPDX-License-Identifier: Apache-2.0
//
// Is the initial state of a simulated workload built once, natively, and is it right whether it was
// built or found in the cache?
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "holdfast/runner/heap/heap_tools.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/sim/population.h"
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/runner/sim/simulate.h"
#include "holdfast/workloads/registry.h"
#include "tests/engine_options.h"
#include "tests/sanitized.h"
#include "tests/workload_options.h"

namespace holdfast::set_up_test {
namespace {

namespace fs = std::filesystem;

const Progress kQuiet = [](double, const std::string&) {};

class Folder : public testing::Test {
 public:
  ~Folder() override { fs::remove_all(folder_); }

 protected:
  Folder() { fs::remove_all(folder_); }

  /// All images in the folder, finished or not.
  std::vector<std::string> images() const {
    std::vector<std::string> names;
    if (fs::exists(folder_)) {
      for (const auto& entry : fs::directory_iterator(folder_)) {
        if (entry.path().extension() != ".lock") {
          names.push_back(entry.path().string());
        }
      }
    }
    return names;
  }

  const std::string folder_ = testing::TempDir() + "holdfast-set-up-" + std::to_string(getpid());
};

// ---- the cache

class RunnerImageCache : public Folder {
 protected:
  CachedImage get(const std::string& sources = "v1", const std::string& key = "size=3\n") {
    return ImageCache(folder_).get("numbers", key, sources, [this](const std::string& path) {
      ++builds_;
      std::ofstream(path, std::ios::binary) << std::string(10000, 'x');
      return ImageExtent{4096, 5000};
    });
  }
  /// Expects that the image is rebuilt with this reason, and then found.
  void expect_rebuilt(const std::string& why) {
    const CachedImage again = get();
    EXPECT_TRUE(again.built);
    EXPECT_NE(again.because.find(why), std::string::npos) << again.because;
    EXPECT_FALSE(get().built);
    EXPECT_EQ(images().size(), 1U);
  }

  std::atomic<int> builds_ = 0;
};

TEST_F(RunnerImageCache, BuildsOnce) {
  const CachedImage first = get();
  EXPECT_TRUE(first.built);
  EXPECT_EQ(first.extent.offset, 4096U);
  EXPECT_EQ(first.extent.bytes, 5000U);
  const CachedImage second = get();
  EXPECT_FALSE(second.built);
  EXPECT_EQ(second.because, "");
  EXPECT_EQ(second.extent.offset, 4096U);
  EXPECT_EQ(second.extent.bytes, 5000U);
  EXPECT_EQ(second.file.path(), first.file.path());
  EXPECT_EQ(builds_, 1);
  EXPECT_TRUE(get("v1", "size=4\n").built) << "another key is another image";
  EXPECT_EQ(images().size(), 2U);
}

TEST_F(RunnerImageCache, OtherSourcesReplaceTheFile) {
  get();
  const CachedImage other = get("v2");
  EXPECT_TRUE(other.built);
  EXPECT_NE(other.because.find("another version"), std::string::npos);
  EXPECT_FALSE(get("v2").built);
  EXPECT_EQ(images().size(), 1U);
}

TEST_F(RunnerImageCache, AFileCutShortIsRebuilt) {
  get();
  fs::resize_file(images().front(), 9000);
  expect_rebuilt("cut short");
  fs::resize_file(images().front(), 10);
  expect_rebuilt("cut short");
}

TEST_F(RunnerImageCache, AChangedFileIsRebuilt) {
  get();
  {
    std::fstream file(images().front(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(6000);
    file << "y";
  }
  expect_rebuilt("changed");
}

TEST_F(RunnerImageCache, ADamagedDescriptionIsRebuilt) {
  get();
  const std::string path = images().front();
  struct stat before{};
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    std::string text(4096, '\0');
    file.seekg(-4096, std::ios::end);
    file.read(text.data(), 4096);
    const size_t at = text.find("offset=4096");
    ASSERT_NE(at, std::string::npos);
    file.seekp(-4096 + static_cast<std::streamoff>(at) + 7, std::ios::end);
    file << "8";
  }
  const timespec times[2] = {before.st_atim, before.st_mtim};  // as a disk would damage it
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  expect_rebuilt("damaged");
}

TEST_F(RunnerImageCache, AFoundImageStaysWholeWhenItsNameIsReplaced) {
  get();
  const CachedImage old = get();
  get("v2");
  fs::remove_all(folder_);
  char byte = 0;
  EXPECT_EQ(pread(old.file.fd(), &byte, 1, 9999), 1);
  EXPECT_EQ(byte, 'x');
}

TEST_F(RunnerImageCache, WhatAKilledBuilderLeftIsRemoved) {
  const std::string path = get().file.path();
  fs::remove(path);
  std::ofstream(path + ".new") << "half";
  EXPECT_TRUE(get().built);
  EXPECT_EQ(images(), std::vector<std::string>{path});
}

TEST_F(RunnerImageCache, AFailedBuildLeavesNoFile) {
  const auto failing = [](const std::string& path) -> ImageExtent {
    std::ofstream(path) << "half";
    throw Error(Status(Code::out_of_space, "the disk is full"));
  };
  EXPECT_THROW((void)ImageCache(folder_).get("numbers", "k=1\n", "v1", failing), Error);
  EXPECT_TRUE(images().empty());
}

TEST_F(RunnerImageCache, AnUnusableFolderIsAClearError) {
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/file") << "not a folder";
  try {
    (void)ImageCache(folder_ + "/file/cache").get("n", "k=1\n", "v1", [](const std::string&) {
      return ImageExtent{};
    });
    FAIL() << "used a file as a folder";
  } catch (const Error& error) {
    EXPECT_NE(error.status().message().find("HOLDFAST_CACHE"), std::string::npos);
    EXPECT_NE(error.status().message().find(folder_), std::string::npos);
  }
}

TEST_F(RunnerImageCache, TogetherTheyBuildOnce) {
  std::vector<std::thread> threads(4);
  std::atomic<int> built = 0;
  for (std::thread& thread : threads) {
    thread = std::thread([&] { built += get().built ? 1 : 0; });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(built, 1);
  EXPECT_EQ(builds_, 1);
}

// ---- populations and the runs that map them

class RunnerSetUp : public Folder {
 protected:
  Json spec() const {
    return {{"workload", "tpcc"},
            {"params", {{"items", 200}, {"customers", 30}, {"orders", 30}, {"districts", 2}}},
            {"engines", {engine_rows<SimMachine>().front().description->name}},
            {"threads", {2}},
            {"transactions", 30},
            {"cache", folder_}};
  }
  static Json entry_of(const Json& spec) { return simulate(spec, kQuiet).value()["benchmarks"][0]; }
  static bool built(const Json& entry) {
    return !entry.at("host_image").at("built").get<std::string>().empty();
  }
  /// The entry without the fields that may differ between two runs of one seed.
  static Json result(Json entry) {
    for (auto it = entry.begin(); it != entry.end();) {
      it = it.key().starts_with("host_") ? entry.erase(it) : std::next(it);
    }
    return entry;
  }
};

TEST_F(RunnerSetUp, ColdAndWarmCacheGiveTheSameRun) {
  const Json cold = entry_of(spec());
  const Json warm = entry_of(spec());
  EXPECT_TRUE(built(cold)) << cold.dump(1);
  EXPECT_FALSE(built(warm));
  EXPECT_EQ(result(cold), result(warm));
  EXPECT_EQ(cold["check"], "ok");
  fs::remove(images().front());
  EXPECT_EQ(result(entry_of(spec())), result(cold)) << "built anew";
}

TEST_F(RunnerSetUp, OneImageServesEveryEngineSeedMixAndNumberOfThreads) {
  Json all = spec();
  auto engines = engine_names(false);
  engines.resize(kSanitized ? 2 : engines.size());
  all["engines"] = engines;
  all["domain"] = "eadr";  // where all of them run
  all["threads"] = {1, 3};
  for (const int seed : {1, 2}) {
    all["seed"] = seed;
    all["params"]["mix"] = seed == 1 ? "standard" : "payment";
    const Json report = simulate(all, kQuiet).value();
    for (const Json& entry : report["benchmarks"]) {
      EXPECT_FALSE(entry.contains("error_message")) << entry.dump(1);
      EXPECT_EQ(entry["check"], "ok");
    }
  }
  EXPECT_EQ(images().size(), 1U);
}

TEST_F(RunnerSetUp, AnotherScaleIsAnotherImage) {
  entry_of(spec());
  Json other = spec();
  other["params"]["items"] = 201;
  EXPECT_TRUE(built(entry_of(other)));
  EXPECT_EQ(images().size(), 2U);
}

TEST_F(RunnerSetUp, EveryWorkloadStartsFromAnImage) {
  auto engines = one_of_each_kind(
      engine_rows<SimMachine>(), names_of(engine_rows<SimMachine>(), [](const auto& row) {
        return is_durable(*row.description) && !row.description->needs_design;
      }));
  engines.resize(kSanitized ? 1 : engines.size());
  for (const WorkloadInfo* info : workload_infos()) {
    const Json small = {{"workload", info->name}, {"params", tiny_parameters(*info)},
                        {"engines", engines},     {"threads", {3}},
                        {"transactions", 20},     {"cache", folder_}};
    const Json report = simulate(small, kQuiet).value();
    for (const Json& entry : report["benchmarks"]) {
      EXPECT_FALSE(entry.contains("error_message")) << entry.dump(1);
      EXPECT_EQ(entry["iterations"], 60);
    }
  }
}

TEST_F(RunnerSetUp, TheSimulatedMachineCanPopulateItself) {
  Json self = spec();
  self["cache"] = "off";
  const Json entry = entry_of(self);
  EXPECT_EQ(entry["check"], "ok") << entry.dump(1);
  EXPECT_EQ(entry["host_image"]["path"], "");
  EXPECT_TRUE(images().empty());
}

TEST_F(RunnerSetUp, TheWarmUpIsNotMeasured) {
  Json cold = spec();
  cold["warm_up"] = 0;
  Json warm = spec();
  warm["warm_up"] = 25;
  const Json a = entry_of(cold);
  const Json b = entry_of(warm);
  EXPECT_EQ(a["iterations"], 60);
  EXPECT_EQ(b["iterations"], 60);
  EXPECT_NE(a["simulated_steps"], b["simulated_steps"]) << "other transactions";
  const Json context = simulate(spec(), kQuiet).value()["context"];
  EXPECT_EQ(context["warm_up_per_thread"], 3);
}

TEST_F(RunnerSetUp, APopulationIsTheSameBytesEachTimeItIsBuilt) {
  SessionSpec session;
  session.workload = "map";
  const Population population = Population::of(session, SimOptions());
  const auto first = open_population(population, ImageCache(folder_ + "/a"));
  const auto second = open_population(population, ImageCache(folder_ + "/b"));
  ASSERT_TRUE(first.file.built && second.file.built);
  ASSERT_EQ(first.content->bytes(), second.content->bytes());
  EXPECT_EQ(std::memcmp(first.content->data(), second.content->data(), first.content->bytes()), 0);
  EXPECT_GT(first.content->bytes(), 10'000U * 32) << "it has ten thousand entries";
}

TEST_F(RunnerSetUp, AnImageIsAHeapThatChecks) {
  entry_of(spec());
  const std::string path = images().front();
  const std::string engine = heap_info(path).value()["engine"];
  EXPECT_TRUE(AnyEngine<SimMachine>::describe(engine).value()->plain_reads) << engine;
  const auto modified = fs::last_write_time(path);
  const Json report = heap_check(path).value();
  EXPECT_TRUE(report["ok"].get<bool>()) << report.dump(1);
  EXPECT_EQ(fs::last_write_time(path), modified);
}

TEST_F(RunnerSetUp, ACrashedHeapOverAnImageRecovers) {
  SessionSpec session;
  session.workload = "bank";
  session.threads = 2;
  SimOptions options;
  options.threads = 2;
  const Population population = Population::of(session, options);
  const Parameters parameters =
      Parameters::make(*find_workload("bank").value(), session.parameters).value();
  for (const std::string& engine : engine_names(false)) {
    const Description& about = *find_native_engine(engine).value()->description;
    if (about.durability == Durability::none) {
      continue;  // its heap would not survive the crash
    }
    options.domain = usual_domain(about);
    SimImage left;
    {
      const PopulationImage image = open_population(population, ImageCache(folder_));
      SimMachine machine(options);
      machine.medium().offer(image.content);
      CreateOptions create;
      create.engine = engine;
      create.base = population.base;
      create.slots = image.slots;
      create.chunk_bytes = image.chunk_bytes;
      create.content = image.content->data();
      create.content_bytes = image.content->bytes();
      const auto heap = SimHeap::create(machine, create).value();
      const auto bank = make_sim_workload("bank", *heap, parameters);
      bank->attach().check();
      machine.crash_at(machine.persist_events() + 500);
      machine.run_threads(2, [&](int worker) {
        Random random(static_cast<uint64_t>(worker) + 1);
        for (int i = 0; i < 1000; ++i) {
          bank->operation(worker, random);
        }
      });
      ASSERT_TRUE(machine.crashed()) << engine;
      Random random(7);
      left = machine.sample_image(random);
    }
    SimMachine machine(options, left);
    machine.power_on();
    auto opened = SimHeap::open(machine);
    ASSERT_TRUE(opened.ok()) << engine << ": " << opened.status().to_string();
    SimHeap& heap = **opened;
    const auto bank = make_sim_workload("bank", heap, parameters);
    ASSERT_TRUE(bank->attach().ok());
    EXPECT_TRUE(bank->check().ok()) << engine << ": " << bank->check().to_string();
    EXPECT_TRUE(heap.check().value().errors.empty()) << engine;
  }
}

TEST_F(RunnerSetUp, NoRoomForTheImageIsAClearErrorAndLeavesNoFile) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit low = before;
  low.rlim_cur = 8 << 20;  // stops the heap file's growth, as a full disk would
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const Json entry = entry_of(spec());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(entry.contains("error_message"));
  const std::string message = entry["error_message"];
  EXPECT_NE(message.find(folder_), std::string::npos) << message;
  EXPECT_NE(message.find("HOLDFAST_CACHE"), std::string::npos) << message;
  EXPECT_TRUE(images().empty());
}

TEST_F(RunnerSetUp, MaxBytesBelowThePopulationIsRefused) {
  Json tight = spec();
  tight["max_bytes"] = 256 << 10;
  tight["bytes"] = 256 << 10;
  const std::string message = entry_of(tight).value("error_message", "");
  EXPECT_NE(message.find("max_bytes"), std::string::npos) << message;
}

}  // namespace
}  // namespace holdfast::set_up_test
