// SPDX-License-Identifier: Apache-2.0
//
// Verifies a store whose file may be damaged anywhere.
//
// An ordinary walk trusts its pointers. The audit reads a block only if the allocator's metadata
// says that there is a block of that size, and reads no block twice. So it ends, and reads only
// memory of the heap.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "holdfast/db/store/store.h"

namespace holdfast::db {

/// Thread safety: no thread may write while it runs. Cost: it reads everything except the bytes of
/// values.
template <class H>
class StoreAudit {
  using Status = holdfast::Status;
  using V = Version<H>;

 public:
  /// Returns ok, or corrupt with the first damage found. Checks the order of keys only if
  /// `comparator` is the store's.
  static Status run(H& heap, const Comparator* comparator) {
    bool plain_keys = false;
    auto root = find_store_root(heap, &plain_keys);
    if (!root) {
      return root.status().code() == Code::not_found ? Status() : root.status();
    }
    auto feed = heap.template find_root<FeedRoot<H>>("holdfast.db.feed");
    if (!feed && feed.status().code() != Code::not_found) {
      return feed.status();
    }
    const std::vector<RootInfo> roots = heap.list_roots();
    Status found;
    const Status status = heap.read([&] {
      StoreAudit audit(heap, comparator);
      audit.everything(roots, **root, feed ? *feed : nullptr);
      found = audit.verdict();
    });
    return status.ok() ? found : status;
  }

 private:
  StoreAudit(H& heap, const Comparator* comparator)
      : data_(static_cast<const Context*>(H::Machine::context())->data),
        comparator_(comparator),
        blocks_(AllocatorWalk<typename H::Engine>(data_, heap.superblock().data_bytes(), check_)
                    .run()) {}

  void everything(const std::vector<RootInfo>& roots, const StoreRoot<H>& root,
                  const FeedRoot<H>* feed) {
    bool good = check_.errors.empty();
    for (const RootInfo& one : roots) {
      good = good && take(one.object, one.bytes);
    }
    good = good && key(root.comparator, &name_);
    ordered_ = good && comparator_ != nullptr && name_ == comparator_->Name();
    slots_ = good ? root.slot_count.load() : 0;
    good = slots_ > 0 && slots_ <= kMostSlots ? take(root.slots, slots_ * sizeof(Slot<H>))
                                              : wrong("the number of slots");
    for (size_t i = 0; i < slots_ && good; ++i) {
      counts_.push_back(root.slots.load()[i].count);
    }
    good =
        good && tree("keys", root.tree, [&](const StoredKey<H>& stored) { return entry(stored); });
    for (size_t i = 0; i < slots_ && good; ++i) {
      const Slot<H>& slot = root.slots.load()[i];
      good = list(slot.nested, slot.nested_tail) && list(slot.old, slot.old_tail);
    }
    good = good && (listed_.empty() || wrong("the lists of old versions"));
    for (const Blob<H>* first : {root.filling.load(), root.garbage.load()}) {
      for (const Blob<H>* one = first; good && one != nullptr; one = one->next) {
        good = blob(one);
      }
    }
    if (good && feed != nullptr) {
      good = changes(*feed);
    }
    if (good) {
      account(blocks_, check_);
    }
  }

  Status verdict() const {
    return check_.errors.empty() ? Status() : Status(Code::corrupt, check_.errors.front());
  }

  bool wrong(const std::string& what) {
    check_.error(what + " of the database: damaged");
    return false;
  }

  // ---- blocks

  uint64_t offset_of(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - data_);
  }
  /// Marks the block at p as reached. Returns false, with an error, if the allocator has no used
  /// block of n bytes there, or if it was reached before.
  bool take(const void* p, size_t n) {
    Block* const block = find_block(blocks_, offset_of(p));
    if (block == nullptr || block->bytes < n || block->free || block->reached) {
      const char* const why = block == nullptr ? " is not an allocated block"
                              : block->free    ? " is in use but also free"
                              : block->reached ? " is owned twice"
                                               : " is larger than its block";
      check_.error("the block at offset " + std::to_string(offset_of(p)) + why);
      return false;
    }
    return block->reached = true;
  }
  /// Returns whether the block at p, already taken, has n bytes after its first `fixed` ones.
  bool room(const void* p, size_t fixed, uint64_t n) {
    return n <= find_block(blocks_, offset_of(p))->bytes - fixed || wrong("a length");
  }

  bool key(const KeyBlock<H>* block, std::string* text) {
    if (!take(block, sizeof(*block)) || !room(block, sizeof(*block), block->bytes)) {
      return false;
    }
    load_key(block, text);
    return true;
  }

  // ---- the tree of keys

  template <class Tree, class See>
  bool tree(const char* what, const Tree& of, See&& see) {
    const char* const problem =
        of.audit([&](const void* p, size_t n) { return take(p, n); }, see,
                 [&](const auto& separator) { return this->separator(separator); });
    if (problem == nullptr) {
      return true;
    }
    return *problem != '\0' ? wrong(std::string("the tree of ") + what + " (" + problem + ")")
           : check_.errors.empty() ? wrong("the tree")
                                   : false;
  }

  bool separator(uint64_t /*sequence*/) { return true; }
  /// Checks that a separator is after the last key before it, and keeps it as the least next key.
  bool separator(const StoredKey<H>& stored) {
    std::string text;
    if (!key(stored.block, &text) || !same_head(stored, text)) {
      return false;
    }
    if (ordered_ && any_ && comparator_->Compare(last_, text) >= 0) {
      return wrong("the order of keys");
    }
    least_ = text;
    bounded_ = true;
    return true;
  }

  bool same_head(const StoredKey<H>& stored, const std::string& text) {
    const KeyHead head{Slice(text)};
    return (stored.head.word[0] == head.word[0] && stored.head.word[1] == head.word[1]) ||
           wrong("a key's first bytes");
  }

  /// Checks a key with its versions, newest first.
  bool entry(const StoredKey<H>& stored) {
    std::string text;
    if (!version(V::of(stored.block), nullptr, &text) || !same_head(stored, text)) {
      return false;
    }
    if (ordered_ && ((any_ && comparator_->Compare(last_, text) >= 0) ||
                     (bounded_ && comparator_->Compare(text, least_) < 0))) {
      return wrong("the order of keys");
    }
    last_ = text;
    any_ = true;
    const V* newer = V::of(stored.block);
    for (const V* at = newer->older; at != nullptr; newer = at, at = at->older) {
      if (!version(at, newer, &text)) {
        return false;
      }
      if (ordered_ && comparator_->Compare(last_, text) != 0) {
        return wrong("the key of an old version");
      }
    }
    return true;
  }

  bool version(const V* at, const V* newer, std::string* text) {
    if (!take(at, sizeof(V)) || !room(at, sizeof(V), at->key.bytes)) {
      return false;
    }
    load_key(&at->key, text);
    if (at->newer.load() != newer) {
      return wrong("a version's links");
    }
    const uint64_t stamp = at->stamp;  // no snapshot would see a stamp beyond its slot's count
    if (Stamp::slot(stamp) >= slots_ || Stamp::count(stamp) > counts_[Stamp::slot(stamp)]) {
      return wrong("a version's stamp");
    }
    if (at->listed != 0) {
      listed_.insert(at);
    }
    if (at->deleted()) {
      return at->blob.load() == nullptr || wrong("a deletion");
    }
    if (const Blob<H>* value = at->blob) {
      uint64_t bytes = 0;
      return blob(value, &bytes) && (bytes == at->bytes || wrong("the length of a value"));
    }
    return at->bytes.load() <= kMostShortValue
               ? room(at, V::block_bytes(text->size(), 0), at->bytes)
               : wrong("the length of a value");
  }

  bool blob(const Blob<H>* at, uint64_t* bytes = nullptr) {
    if (!take(at, sizeof(*at))) {
      return false;
    }
    for (const Piece<H>* piece = at->first; piece != nullptr; piece = piece->next) {
      if (!take(piece, sizeof(*piece)) || !room(piece, sizeof(*piece), piece->bytes)) {
        return false;
      }
      if (bytes != nullptr) {
        *bytes += piece->bytes;
      }
      if (piece->next.load() == nullptr && at->last.load() != piece) {
        return wrong("a long value's last piece");
      }
    }
    return true;
  }

  /// Checks a list of old versions: each belongs to a key, is in one list, once, and names the one
  /// before it or 1.
  bool list(const V* first, const V* tail) {
    const V* last = nullptr;
    for (const V* at = first; at != nullptr; at = at->next) {
      if (listed_.erase(at) == 0) {  // it has not been visited, or is in a list already
        return wrong("a list of old versions");
      }
      const uint64_t before = at->listed;
      if (last != nullptr && before != 1 && before != reinterpret_cast<uintptr_t>(last)) {
        return wrong("a list of old versions");
      }
      last = at;
    }
    return last == tail || wrong("a list of old versions");
  }

  bool changes(const FeedRoot<H>& feed) {
    uint64_t bytes = 0;
    uint64_t next = feed.first;
    const bool good =
        tree("changes", feed.tree, [&](uint64_t sequence, const FeedRecord<H>& record) {
          uint64_t held = 0;
          if (!blob(record.blob, &held)) {
            return false;
          }
          bytes += held;
          return (held == record.bytes && sequence == next++) || wrong("a record of the feed");
        });
    const bool same = bytes == feed.bytes.load() && next == feed.next.load();
    return good && (same || feed.most_bytes.load() == 0 || wrong("the feed's numbers"));
  }

  std::byte* data_;
  uint64_t slots_ = 0;
  const Comparator* comparator_;
  HeapCheck check_;
  std::vector<Block> blocks_;
  std::vector<uint64_t> counts_;         ///< update transactions, by slot
  std::string name_;                     ///< the name of the store's comparator
  bool ordered_ = false;                 ///< comparator_ is the store's
  std::string last_;                     ///< the last key seen
  bool any_ = false;                     ///< a key has been seen
  std::string least_;                    ///< the last separator seen
  bool bounded_ = false;                 ///< a separator has been seen
  std::unordered_set<const V*> listed_;  ///< versions that say they are in a list
};

}  // namespace holdfast::db
