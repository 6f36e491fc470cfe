// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/spec/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#ifndef HOLDFAST_VERSION
#define HOLDFAST_VERSION "unknown"
#endif
#ifndef HOLDFAST_COMMIT
#define HOLDFAST_COMMIT "unknown"
#endif
#ifndef HOLDFAST_BUILD_TYPE
#define HOLDFAST_BUILD_TYPE "unknown"
#endif

namespace holdfast {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The value of the first line "name : value" of /proc/cpuinfo.
std::string cpuinfo(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && line.starts_with(name)) {
      const size_t value = line.find_first_not_of(' ', colon + 1);
      return value == std::string::npos ? "" : line.substr(value);
    }
  }
  return "";
}

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[64];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S%z", &local)};
}

Json caches() {
  Json list = Json::array();
  for (int i = 0; i < 16; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    const std::string size = first_line(folder + "size");
    if (size.empty()) {
      break;
    }
    const int64_t unit = size.back() == 'K' ? 1024 : size.back() == 'M' ? 1024 * 1024 : 1;
    list.push_back({{"type", first_line(folder + "type")},
                    {"level", std::atoi(first_line(folder + "level").c_str())},
                    {"size", std::atoll(size.c_str()) * unit},
                    {"shared", first_line(folder + "shared_cpu_list")}});
  }
  return list;
}

Json load_average() {
  double load[3] = {};
  const int count = getloadavg(load, 3);
  Json list = Json::array();
  for (int i = 0; i < count; ++i) {
    list.push_back(load[i]);
  }
  return list;
}

}  // namespace

Json environment() {
  utsname system{};
  uname(&system);
  const std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return {{"date", date()},
          {"host_name", system.nodename},
          {"executable", "holdfast"},
          {"num_cpus", std::thread::hardware_concurrency()},
          {"mhz_per_cpu", static_cast<int>(std::atof(cpuinfo("cpu MHz").c_str()))},
          {"cpu_scaling_enabled", !governor.empty() && governor != "performance"},
          {"caches", caches()},
          {"load_avg", load_average()},
          {"library_version", HOLDFAST_VERSION},
          {"library_build_type", HOLDFAST_BUILD_TYPE},
          {"cpu_model", processor()["model"]},
          {"architecture", system.machine},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"compiler", "g++ " __VERSION__},
          {"commit", HOLDFAST_COMMIT},
#ifdef NDEBUG
          {"assertions", false}
#else
          {"assertions", true}
#endif
  };
}

Json processor() {
  Json features = Json::object();
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  features["clflush"] = (d & (1U << 19)) != 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) {
    b = d = 0;
  }
  features["clflushopt"] = (b & (1U << 23)) != 0;
  features["clwb"] = (b & (1U << 24)) != 0;
  features["rtm"] = (b & (1U << 11)) != 0;
  features["tsxldtrk"] = (d & (1U << 16)) != 0;
#endif
  return {{"model", cpuinfo("model name")}, {"features", features}};
}

}  // namespace holdfast
