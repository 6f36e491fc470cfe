// SPDX-License-Identifier: Apache-2.0
//
// The keys of all maps of a database, in one order. A stored key is one of:
//
//   key            an entry of the default map; the key does not begin with 0xff
//   ff 00          the id of the next map
//   ff 01 name     the id of the map with this name
//   ff 02 id       the name of the map with this id
//   ff 03 id key   an entry of a named map
//   ff ff ...      an entry of the default map; its key begins with the second ff
//
// An id is a number from 1 on in 4 bytes, most significant first. Within each map the order of
// stored keys is the order of keys.
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/db/slice.h"

namespace holdfast::db {

inline constexpr char kEscape = '\xff';

/// The second byte of a stored key that begins with kEscape.
enum class KeyKind : char { next_id = 0, id_of_name = 1, name_of_id = 2, entry = 3 };

/// Returns whether the stored key is not simply a key of the default map.
inline bool is_escaped(const Slice& key) {
  return !key.empty() && key[0] == kEscape;
}

std::string stored_key(KeyKind kind, const Slice& rest = {});
/// Returns an id as a stored key has it.
std::string id_bytes(uint32_t id);
/// Returns the id in these bytes; 0 if they hold none.
uint32_t read_id(const Slice& bytes);

/// Returns the stored key of a key of the default map. If that is not the key itself, *buffer keeps
/// it.
inline Slice default_key(const Slice& key, std::string* buffer) {
  if (!is_escaped(key)) [[likely]] {
    return key;
  }
  buffer->assign(1, kEscape);
  buffer->append(key.data(), key.size());
  return *buffer;
}

/// Returns the first key behind all stored keys with a named map's prefix.
std::string end_of_map(const Slice& prefix);

/// A stored key in its parts.
struct MapKey {
  enum class Part { entry, next_id, id_of_name, name_of_id, unknown };
  Part part = Part::unknown;
  uint32_t map = 0;  ///< of an entry or a name; 0: the default map
  Slice key = {};    ///< the key in its map; or a map's name

  static MapKey of(const Slice& stored);
};

}  // namespace holdfast::db
