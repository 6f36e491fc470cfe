// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/file/superblock_text.h"

#include <cstring>

namespace holdfast {

std::string join(const Options& options) {
  std::string text;
  for (const auto& [name, value] : options) {
    text.append(name).append("=").append(value).append("\n");
  }
  return text;
}

Options split(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos) {
      options[std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return options;
}

uint32_t format_of(std::span<const std::byte> bytes) {
  uint32_t format = 0;
  if (bytes.size() >= kMagic.size() + sizeof format &&
      std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0) {
    std::memcpy(&format, bytes.data() + kMagic.size(), sizeof format);
  }
  return format;
}

}  // namespace holdfast
