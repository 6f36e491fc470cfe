// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/write_batch.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "holdfast/db/column_family.h"
#include "holdfast/db/map_keys.h"

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

Status no_map_handler(const char* function) {
  return Status::InvalidArgument(
      "the batch has changes of a named map, and its handler does not override", function);
}

}  // namespace

WriteBatch::Handler::~Handler() = default;

Status WriteBatch::Handler::PutCF(uint32_t /*id*/, const Slice& /*key*/, const Slice& /*value*/) {
  return no_map_handler("PutCF");
}
Status WriteBatch::Handler::DeleteCF(uint32_t /*id*/, const Slice& /*key*/) {
  return no_map_handler("DeleteCF");
}
Status WriteBatch::Handler::CreateCF(uint32_t /*id*/, const Slice& /*name*/) {
  return Status::OK();
}
Status WriteBatch::Handler::DropCF(uint32_t /*id*/) {
  return Status::OK();
}

void WriteBatch::append(char tag, std::initializer_list<Slice> parts) {
  const size_t before = records_.size();
  try {
    records_ += tag;
    for (const Slice& part : parts) {
      const uint64_t size = part.size();
      records_.append(reinterpret_cast<const char*>(&size), sizeof(size));
      records_.append(part.data(), part.size());
    }
  } catch (...) {
    records_.resize(before);
    throw;
  }
}

/// Few maps, so a search is quick.
void WriteBatch::need(const std::shared_ptr<NamedMap>& map) {
  if (std::find(maps_.rbegin(), maps_.rend(), map) == maps_.rend()) {
    maps_.push_back(map);
  }
}

void WriteBatch::Put(const Slice& key, const Slice& value) {
  std::string buffer;
  WriteBatchContents::put(this, default_key(key, &buffer), value);
}

void WriteBatch::Delete(const Slice& key) {
  std::string buffer;
  WriteBatchContents::erase(this, default_key(key, &buffer));
}

void WriteBatch::Put(const ColumnFamilyHandle* family, const Slice& key, const Slice& value) {
  if (family == nullptr) {
    return Put(key, value);
  }
  need(family->map());
  if (family->GetID() == 0) {
    return Put(key, value);
  }
  WriteBatchContents::put(this, family->map()->prefix + key.ToString(), value);
}

void WriteBatch::Delete(const ColumnFamilyHandle* family, const Slice& key) {
  if (family == nullptr) {
    return Delete(key);
  }
  need(family->map());
  if (family->GetID() == 0) {
    return Delete(key);
  }
  WriteBatchContents::erase(this, family->map()->prefix + key.ToString());
}

void WriteBatch::Clear() {
  records_.clear();
  maps_.clear();
}

void WriteBatch::Append(const WriteBatch& source) {
  for (const auto& map : source.maps_) {
    need(map);
  }
  records_ += source.records_;
}

void WriteBatchContents::put(WriteBatch* batch, const Slice& stored_key, const Slice& value) {
  batch->append(kPut, {stored_key, value});
}

void WriteBatchContents::erase(WriteBatch* batch, const Slice& stored_key) {
  batch->append(kDelete, {stored_key});
}

bool WriteBatchContents::set(WriteBatch* batch, std::string contents, bool plain_keys) {
  const char* at = contents.data();
  const char* const end = at + contents.size();
  while (at < end) {
    const char tag = *at++;
    if (tag != kPut && tag != kDelete) {
      return false;
    }
    const int parts = tag == kPut ? 2 : 1;
    for (int part = 0; part < parts; ++part) {
      uint64_t size = 0;
      if (static_cast<size_t>(end - at) < sizeof(size)) {
        return false;
      }
      std::memcpy(&size, at, sizeof(size));
      at += sizeof(size);
      if (static_cast<uint64_t>(end - at) < size) {
        return false;
      }
      if (part == 0 && !plain_keys && MapKey::of({at, size}).part == MapKey::Part::unknown) {
        return false;
      }
      at += size;
    }
  }
  batch->records_ = std::move(contents);
  batch->maps_.clear();
  return true;
}

Status WriteBatchContents::for_each(
    const WriteBatch& batch,
    const std::function<Status(const Slice& stored_key, const Slice* value)>& see) {
  const char* at = batch.records_.data();
  const char* const end = at + batch.records_.size();
  Status status;
  while (at < end && status.ok()) {
    const char tag = *at++;
    const Slice key = take(at);
    if (tag == kPut) {
      const Slice value = take(at);
      status = see(key, &value);
    } else {
      status = see(key, nullptr);
    }
  }
  return status;
}

Status WriteBatch::Iterate(Handler* handler) const {
  return WriteBatchContents::for_each(*this, [&](const Slice& stored_key, const Slice* value) {
    const MapKey at = MapKey::of(stored_key);
    if (at.part == MapKey::Part::entry && at.map == 0) {
      value != nullptr ? handler->Put(at.key, *value) : handler->Delete(at.key);
    } else if (at.part == MapKey::Part::entry) {
      return value != nullptr ? handler->PutCF(at.map, at.key, *value)
                              : handler->DeleteCF(at.map, at.key);
    } else if (at.part == MapKey::Part::name_of_id) {
      return value != nullptr ? handler->CreateCF(at.map, *value) : handler->DropCF(at.map);
    } else if (at.part == MapKey::Part::unknown) {
      return Status::Corruption("the batch has a key that belongs to no map");
    }
    return Status::OK();
  });
}

}  // namespace holdfast::db
