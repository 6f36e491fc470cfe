// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "holdfast/base/status.h"
#include "holdfast/workloads/parts/ledger.h"
#include "holdfast/workloads/parts/payload.h"

namespace holdfast {

/// The root of an InsertWorkload that inserts keys with payloads into a map. The size of a payload
/// is chosen at run time, so it is a block of its own, and the map has the key and a pointer. A
/// payload begins with the key's value. Derive a root with a type name from this one.
///
/// Map is a structure from uint64_t to Field<uint64_t>*.
template <class H, class Map>
struct PayloadMap {
  template <class T>
  using Field = typename H::template Field<T>;

  /// The further arguments are those of the map.
  template <class... A>
  PayloadMap(int workers, uint64_t elements, uint64_t payload_words, A... arguments)
      : ledger(workers), size(elements), words(payload_words), map(arguments...) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    map.visit_blocks(visit);
    map.for_each([&](uint64_t, const Field<uint64_t>* payload) {
      visit(static_cast<const void*>(payload), payload_bytes());
      return true;
    });
  }

  bool insert(uint64_t key, uint64_t) {
    auto* const payload = static_cast<Field<uint64_t>*>(H::allocate(payload_bytes()));
    if (!map.insert(key, payload)) {
      H::deallocate(payload, payload_bytes());
      return false;
    }
    Payload(key, words).store(payload);
    return true;
  }
  bool erase(uint64_t key) {
    const std::optional<Field<uint64_t>*> payload = map.find(key);
    if (!payload) {
      return false;
    }
    map.erase(key);
    H::deallocate(*payload, payload_bytes());
    return true;
  }
  template <class F>
  void for_each(F&& f) const {
    map.for_each(
        [&](uint64_t key, const Field<uint64_t>* payload) { return f(key, payload[0].load()); });
  }
  Status check() const {
    if (Status status = map.check(); !status.ok()) {
      return status;
    }
    bool right = true;
    const uint64_t payload_words = words;
    map.for_each([&](uint64_t key, const Field<uint64_t>* payload) {
      right = Payload(key, payload_words).stored(payload);
      return right;
    });
    return right ? Status() : Status(Code::corrupt, "a payload does not belong to its key");
  }

  Ledger<H> ledger;
  Field<uint64_t> size;   ///< elements at the start
  Field<uint64_t> words;  ///< of a payload
  Map map;

 private:
  size_t payload_bytes() const { return words * sizeof(Field<uint64_t>); }
};

}  // namespace holdfast
