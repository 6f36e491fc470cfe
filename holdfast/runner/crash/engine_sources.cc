// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/crash/engine_sources.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "holdfast/runner/spec/guarded.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  const std::ifstream in(path);
  if (!in) {
    throw Error(Status(Code::not_found, "there is no " + path.string()));
  }
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

/// Calls f for each text that stands between `open` and `close`.
template <class F>
void for_each_between(std::string_view text, std::string_view open, char close, F&& f) {
  for (size_t at = text.find(open); at != std::string_view::npos; at = text.find(open, at)) {
    at += open.size();
    f(std::string(text.substr(at, text.find(close, at) - at)));
  }
}

/// The includes, labels and probes of one header.
struct Header {
  std::vector<fs::path> includes;  ///< of engines and their parts
  std::vector<std::string> labels;
  std::vector<std::string> probes;
};

/// Reads each header once: engines share most of them.
class Headers {
 public:
  explicit Headers(fs::path directory) : directory_(std::move(directory)) {}

  const Header& read(const fs::path& file) {
    const auto [at, unread] = known_.try_emplace(file);
    if (unread) {
      const std::string text = content(directory_ / file);
      for_each_between(text, "#include \"holdfast/engines/", '"',
                       [&](const std::string& path) { at->second.includes.emplace_back(path); });
      for_each_between(text, "Site{\"", '"',
                       [&](const std::string& label) { at->second.labels.push_back(label); });
      for_each_between(text, "Probe{\"", '"',
                       [&](const std::string& name) { at->second.probes.push_back(name); });
    }
    return at->second;
  }

 private:
  fs::path directory_;
  std::map<fs::path, Header> known_;
};

void follow(Headers& headers, const fs::path& file, EngineSource& engine) {
  if (!engine.files.insert(file).second) {
    return;
  }
  const Header& header = headers.read(file);
  for (const std::string& label : header.labels) {
    engine.labels[label].insert(file);
  }
  for (const std::string& name : header.probes) {
    engine.probes[name].insert(file);
  }
  for (const fs::path& next : header.includes) {
    follow(headers, next, engine);
  }
}

}  // namespace

bool has_name_in(const NamesOfHeaders& names, const fs::path& where, const std::string& name) {
  const auto found = names.find(name);
  return found != names.end() &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&](const fs::path& file) { return file.parent_path() == where; });
}

Result<std::set<std::string>> probes_below(const fs::path& directory) {
  return guarded([&] {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (entry.path().extension() == ".h") {
        for_each_between(content(entry.path()), "Probe{\"", '"',
                         [&](const std::string& name) { names.insert(name); });
      }
    }
    return names;
  });
}

fs::path engines_directory() {
  return HOLDFAST_ENGINES_DIR;
}

Result<std::vector<EngineSource>> read_engine_sources(const fs::path& directory) {
  return guarded([&] {
    const fs::path root = directory.empty() ? engines_directory() : directory;
    Headers headers(root);
    std::vector<EngineSource> engines;
    // holdfast_engine(<name> engines/<header> <class> ...)
    for_each_between(content(root / "CMakeLists.txt"), "\nholdfast_engine(", ')',
                     [&](const std::string& line) {
                       std::istringstream words(line);
                       EngineSource engine;
                       std::string header;
                       words >> engine.name >> header;
                       const fs::path file = fs::path(header).lexically_relative("engines");
                       engine.folder = file.parent_path();
                       follow(headers, file, engine);
                       engines.push_back(std::move(engine));
                     });
    return engines;
  });
}

}  // namespace holdfast
