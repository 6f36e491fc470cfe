// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/write_batch.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace holdfast::db {
namespace {

constexpr char kPut = 'p';
constexpr char kDelete = 'd';

Slice take(const char*& at) {
  uint64_t size = 0;
  std::memcpy(&size, at, sizeof(size));
  const Slice bytes(at + sizeof(size), size);
  at += sizeof(size) + size;
  return bytes;
}

}  // namespace

WriteBatch::Handler::~Handler() = default;

void WriteBatch::append(const Slice& bytes) {
  const uint64_t size = bytes.size();
  records_.append(reinterpret_cast<const char*>(&size), sizeof(size));
  records_.append(bytes.data(), bytes.size());
}

void WriteBatch::Put(const Slice& key, const Slice& value) {
  records_ += kPut;
  append(key);
  append(value);
}

void WriteBatch::Delete(const Slice& key) {
  records_ += kDelete;
  append(key);
}

bool WriteBatchContents::set(WriteBatch* batch, std::string contents) {
  const char* at = contents.data();
  const char* const end = at + contents.size();
  while (at < end) {
    const char tag = *at++;
    if (tag != kPut && tag != kDelete) {
      return false;
    }
    for (int parts = tag == kPut ? 2 : 1; parts > 0; --parts) {
      uint64_t size = 0;
      if (static_cast<size_t>(end - at) < sizeof(size)) {
        return false;
      }
      std::memcpy(&size, at, sizeof(size));
      at += sizeof(size);
      if (static_cast<uint64_t>(end - at) < size) {
        return false;
      }
      at += size;
    }
  }
  batch->records_ = std::move(contents);
  return true;
}

Status WriteBatch::Iterate(Handler* handler) const {
  const char* at = records_.data();
  const char* const end = at + records_.size();
  while (at < end) {
    const char tag = *at++;
    const Slice key = take(at);
    if (tag == kPut) {
      handler->Put(key, take(at));
    } else {
      handler->Delete(key);
    }
  }
  return Status::OK();
}

}  // namespace holdfast::db
