// SPDX-License-Identifier: Apache-2.0
//
// The store's change feed. Included by store.h only.
#pragma once

namespace holdfast::db {

/// Opens the feed, and makes it if `most_bytes` asks for one. Not set: the feed's limit stays.
template <class H>
holdfast::Status Store<H>::open_feed(std::optional<uint64_t> most_bytes, bool store_is_new) {
  const char* const kRoot = "holdfast.db.feed";
  auto root = heap_.template find_root<FeedRoot<H>>(kRoot);
  if (!root && root.status().code() == Code::not_found) {
    if (most_bytes.value_or(0) == 0) {
      return {};
    }
    root = heap_.template root<FeedRoot<H>>(kRoot, store_is_new ? 1 : limits_.feed_begin);
  }
  if (!root) {
    return root.status();
  }
  feed_ = Feed<H>(*root);
  Status status;
  for (bool more = most_bytes.has_value(); more && status.ok();) {
    status = heap_.update(
        [&] { more = feed_.change_limit(*most_bytes, root_->garbage, limits_.versions_freed); });
  }
  if (status.ok()) {
    status = heap_.read([&] { feeding_ = feed_.on(); });
  }
  return status;
}

/// Appends the record of an update transaction, at the end of its body.
template <class H>
void Store<H>::append_to_feed(Versions<H>& versions) {
  if (feeding_ && versions.stamp() != 0) {
    constexpr int kDropPerWrite = 2;  // more than the one record that a write adds
    Blob<H>* const ahead = versions.record_ahead();
    if (ahead != nullptr) {
      Blobs<H>::unlink(root_->filling, ahead);
    }
    if (feed_.append(WriteBatchContents::of(versions.changes()), ahead, root_->garbage,
                     kDropPerWrite)) {
      versions.set_made_garbage();
    }
  }
}

/// Writes the feed's record of a batch that is too large for one transaction.
template <class H>
Result<Blob<H>*> Store<H>::write_ahead_of_feed(std::span<const Change> changes, Commit commit) {
  WriteBatch batch;
  for (const Change& change : changes) {
    add_to_batch(&batch, change);
  }
  return write_ahead(WriteBatchContents::of(batch), commit);
}

template <class H>
Result<uint64_t> Store<H>::sequence() {
  return heap_.read([&] { return feed_.exists() ? feed_.last() : uint64_t{0}; });
}

template <class H>
holdfast::Status Store<H>::change_after(uint64_t sequence, WriteBatch* change, bool* found) {
  if (!feeding_) {
    return {Code::unsupported,
            "the database keeps no changes; open it with change_feed_bytes set, once"};
  }
  uint64_t first = 0;
  uint64_t last = 0;
  std::string content;
  bool there = false;
  Status status = heap_.read([&] {
    first = feed_.first();
    last = feed_.last();
    if (sequence + 1 >= first && sequence < last) {
      there = feed_.load(sequence + 1, &content);
    }
  });
  *found = status.ok() && sequence < last;
  if (!status.ok()) {
    return status;
  }
  if (sequence > last) {
    return {Code::invalid_argument,
            "sequence " + std::to_string(sequence) + " does not exist yet; the last one is " +
                std::to_string(last) + "; after the file was replaced, start anew from a copy"};
  }
  if (sequence + 1 < first) {
    return {Code::not_found, "sequence " + std::to_string(sequence) +
                                 " is too old: changes are kept from " + std::to_string(first) +
                                 " on (change_feed_bytes); start anew from a copy"};
  }
  if (*found && !(there && WriteBatchContents::set(change, std::move(content), true))) {
    return {Code::corrupt, "change " + std::to_string(sequence + 1) + " is damaged"};
  }
  return {};
}

}  // namespace holdfast::db
