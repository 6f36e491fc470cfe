// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/map_keys.h"

#include <utility>

#include "holdfast/db/column_family.h"

namespace holdfast::db {
namespace {

constexpr size_t kIdBytes = 4;
constexpr size_t kKindBytes = 2;

}  // namespace

NamedMap::NamedMap(std::string its_name, uint32_t its_id, std::shared_ptr<const void> of)
    : name(std::move(its_name)),
      id(its_id),
      prefix(id == 0 ? std::string() : stored_key(KeyKind::entry, id_bytes(id))),
      database(std::move(of)) {}

std::string stored_key(KeyKind kind, const Slice& rest) {
  std::string key{kEscape, static_cast<char>(kind)};
  key.append(rest.data(), rest.size());
  return key;
}

std::string id_bytes(uint32_t id) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(id >> shift);
  }
  return bytes;
}

uint32_t read_id(const Slice& bytes) {
  uint32_t id = 0;
  for (size_t i = 0; i < kIdBytes && bytes.size() >= kIdBytes; ++i) {
    id = id << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return id;
}

std::string end_of_map(const Slice& prefix) {
  std::string end = prefix.ToString();
  for (size_t i = end.size(); i > 0 && ++end[i - 1] == '\0'; --i) {
  }
  return end;
}

MapKey MapKey::of(const Slice& stored) {
  if (!is_escaped(stored)) {
    return {Part::entry, 0, stored};
  }
  Slice rest = stored;
  rest.remove_prefix(1);
  if (is_escaped(rest)) {
    return {Part::entry, 0, rest};
  }
  if (rest.empty()) {
    return {};
  }
  const auto kind = static_cast<KeyKind>(rest[0]);
  rest.remove_prefix(kKindBytes - 1);
  switch (kind) {
    case KeyKind::next_id:
      return {rest.empty() ? Part::next_id : Part::unknown};
    case KeyKind::id_of_name:
      return {Part::id_of_name, 0, rest};
    case KeyKind::name_of_id:
      return {rest.size() == kIdBytes ? Part::name_of_id : Part::unknown, read_id(rest)};
    case KeyKind::entry: {
      const uint32_t id = read_id(rest);
      if (id == 0) {  // also if too few bytes are left
        return {};
      }
      rest.remove_prefix(kIdBytes);
      return {Part::entry, id, rest};
    }
  }
  return {};
}

}  // namespace holdfast::db
