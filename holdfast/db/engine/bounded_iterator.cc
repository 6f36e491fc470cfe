// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/engine/bounded_iterator.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::db {
namespace {

class BoundedIterator final : public Iterator {
 public:
  BoundedIterator(std::unique_ptr<Iterator> all, const ReadOptions& options,
                  const Comparator* comparator)
      : all_(std::move(all)), comparator_(comparator) {
    if (options.iterate_lower_bound != nullptr) {
      lower_ = options.iterate_lower_bound->ToString();
    }
    if (options.iterate_upper_bound != nullptr) {
      upper_ = options.iterate_upper_bound->ToString();
    }
  }

  bool Valid() const override { return valid_; }
  void SeekToFirst() override {
    lower_ ? all_->Seek(*lower_) : all_->SeekToFirst();
    check();
  }
  void SeekToLast() override {
    upper_ ? seek_before(*upper_) : all_->SeekToLast();
    check();
  }
  void Seek(const Slice& target) override {
    all_->Seek(lower_ && comparator_->Compare(target, *lower_) < 0 ? Slice(*lower_) : target);
    check();
  }
  void Next() override {
    all_->Next();
    check();
  }
  void Prev() override {
    all_->Prev();
    check();
  }
  Slice key() const override { return all_->key(); }
  Slice value() const override { return all_->value(); }
  Status status() const override { return all_->status(); }

 private:
  void seek_before(const Slice& key) {
    all_->Seek(key);
    if (all_->Valid()) {
      all_->Prev();
    } else if (all_->status().ok()) {
      all_->SeekToLast();
    }
  }
  void check() {
    valid_ = all_->Valid() && (!lower_ || comparator_->Compare(all_->key(), *lower_) >= 0) &&
             (!upper_ || comparator_->Compare(all_->key(), *upper_) < 0);
  }

  const std::unique_ptr<Iterator> all_;
  const Comparator* const comparator_;
  std::optional<std::string> lower_;
  std::optional<std::string> upper_;
  bool valid_ = false;
};

}  // namespace

Iterator* make_bounded(std::unique_ptr<Iterator> all, const ReadOptions& options,
                       const Comparator* comparator) {
  return new BoundedIterator(std::move(all), options, comparator);
}

}  // namespace holdfast::db
