// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/structures/hash_map.h"
#include "holdfast/workloads/parts/small_workload.h"
#include "holdfast/workloads/parts/weights.h"
#include "holdfast/workloads/tatp/tatp_model.h"

namespace holdfast {

const WorkloadInfo& tatp_info();

template <class H>
struct TatpRoot {
  template <class T>
  using Field = typename H::template Field<T>;
  using Word = Field<uint64_t>;
  using Map = HashMap<H, uint64_t, uint64_t>;
  static constexpr const char* kTypeName = "holdfast.workload.Tatp";
  static constexpr uint32_t kTypeVersion = 1;

  /// The words of tatp::Subscriber.
  struct alignas(kLineBytes) Row {
    Word word[6];
  };
  static constexpr uint64_t kAccessWords = 2;

  TatpRoot(int workers, uint64_t count, uint64_t population_seed)
      : ledger(workers),
        subscribers(count),
        seed(population_seed),
        subscriber(static_cast<Row*>(H::allocate(count * sizeof(Row)))),
        access(allocate(count * tatp::kTypes * kAccessWords)),
        facility(allocate(count * tatp::kTypes)) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    const uint64_t places = subscribers * tatp::kTypes;
    ledger.visit_blocks(visit);
    visit(static_cast<const void*>(subscriber.load()), subscribers * sizeof(Row));
    visit(static_cast<const void*>(access.load()), places * kAccessWords * sizeof(Word));
    visit(static_cast<const void*>(facility.load()), places * sizeof(Word));
    if (const Map* const map = index) {
      visit(static_cast<const void*>(map), sizeof(Map));
      map->visit_blocks(visit);
    }
    forwarding.visit_blocks(visit);
  }

  Ledger<H> ledger;
  Word subscribers;
  Word seed;
  Field<Row*> subscriber;  ///< by s_id - 1
  Field<Word*> access;     ///< by place_of()
  Field<Word*> facility;   ///< by place_of(); 0: no such row
  /// From a subscriber's number to its s_id. Made after the root: one transaction for two maps
  /// would be larger than those that run later, and than small logs.
  Field<Map*> index;
  Map forwarding;  ///< from forwarding_key() to a row

 private:
  static Word* allocate(uint64_t words) {
    return static_cast<Word*>(H::allocate(words * sizeof(Word)));
  }
};

/// TATP, the Telecommunication Application Transaction Processing benchmark (description 1.0, IBM
/// Software Group 2009), which EHOU runs (section 4.A): four tables of a home location register,
/// and seven transactions on one subscriber each. Written anew.
///
///   subscribers  of a new population; an existing heap keeps its own
///   mix          standard, or weights of the transactions
///   ack          1: each update also counts in its worker's durable ledger
///
/// Three tables have dense keys and are arrays; call forwardings are in a hash map. Texts of a few
/// letters and numbers of 15 digits are words. Three transactions find the subscriber by the
/// number, through an index. A transaction that misses its row changes nothing and counts as
/// committed, with the answer 0.
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument.
template <class H>
class TatpRunner : public SmallWorkload<H, TatpRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return tatp_info(); }

  TatpRunner(H& heap, const Parameters& parameters);

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t seed) override {
    Status status = this->create_root(workers, subscribers_, seed);
    if (status.ok()) {
      status = this->heap_.update(this->partitions_, [&] {
        this->root_->index = H::template make<typename TatpRoot<H>::Map>();
      });
    }
    constexpr uint64_t kWordsOfASubscriber = 60;  // about
    return status.ok() ? this->in_batches(
                             subscribers_, [&](uint64_t i) { load(i + 1); }, kWordsOfASubscriber)
                       : status;
  }

  const SequentialModel* model() const override { return &model_; }

  Request draw(int worker, Random& random) override {
    this->require(worker);
    const int kind = mix_.draw(random);
    const uint64_t subscriber = tatp::draw_subscriber(random, subscribers_);
    const uint64_t type = 1 + random.below(tatp::kTypes);
    const uint64_t start = random.below(tatp::kStartTimes) * tatp::kHours;
    const uint64_t end = 1 + random.below(24);
    switch (kind) {
      case tatp::kGetSubscriberData:
        return {kind, {subscriber}};
      case tatp::kGetNewDestination:
        return {kind, {subscriber, type, start << 8 | end}};
      case tatp::kGetAccessData:
        return {kind, {subscriber, type}};
      case tatp::kUpdateSubscriberData: {
        const uint64_t bit = random.below(2);
        return {kind, {subscriber, type, bit << 8 | random.below(256)}};
      }
      case tatp::kUpdateLocation:
        return {kind, {subscriber, random.next() >> 32}};
      case tatp::kInsertCallForwarding:
        return {kind,
                {subscriber, type << 8 | start,
                 tatp::Forwarding{end, random.below(tatp::kDigits)}.row()}};
      default:
        return {kind, {subscriber, type << 8 | start}};
    }
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, draw(worker, random));
  }

  OperationResult perform(int worker, const Request& request) override {
    const auto [subscriber, a, b] = request.argument;
    switch (request.kind) {
      case tatp::kGetSubscriberData:
        return this->reading(request.kind, worker,
                             [&] { return tatp::subscriber_answer(row_of(subscriber)); });
      case tatp::kGetNewDestination:
        return this->reading(request.kind, worker,
                             [&] { return new_destination(subscriber, a, b); });
      case tatp::kGetAccessData:
        return this->reading(request.kind, worker,
                             [&] { return tatp::access_answer(access_of(subscriber, a)); });
      case tatp::kUpdateSubscriberData:
        return this->updating(request.kind, worker,
                              [&] { return uint64_t{update_subscriber(subscriber, a, b)}; });
      case tatp::kUpdateLocation:
        return this->updating(request.kind, worker, [&] {
          row(found(subscriber)).word[kLocation] = a;
          return uint64_t{1};
        });
      case tatp::kInsertCallForwarding:
        return this->updating(request.kind, worker, [&] {
          return uint64_t{insert_forwarding(found(subscriber), a >> 8, a & 0xff, b)};
        });
      default:
        return this->updating(request.kind, worker, [&] {
          return uint64_t{this->root_->forwarding.erase(
              tatp::forwarding_key(found(subscriber), a >> 8, a & 0xff))};
        });
    }
  }

 protected:
  using Row = typename TatpRoot<H>::Row;
  using Word = typename TatpRoot<H>::Word;
  /// The columns of Row that transactions change.
  enum Column : size_t { kFlags = 1, kLocation = 5 };

  Row& row(uint64_t subscriber) const { return row_[subscriber - 1]; }
  Word& facility(uint64_t subscriber, uint64_t type) const {
    return facility_[tatp::place_of(subscriber, type)];
  }
  Word* access(uint64_t subscriber, uint64_t type) const {
    return access_ + tatp::place_of(subscriber, type) * TatpRoot<H>::kAccessWords;
  }
  tatp::Subscriber row_of(uint64_t subscriber) const {
    const auto& word = row(subscriber).word;
    return {word[0], word[1], {word[2], word[3]}, word[4], word[5]};
  }
  tatp::AccessInfo access_of(uint64_t subscriber, uint64_t type) const {
    const Word* const words = access(subscriber, type);
    return {words[0], words[1]};
  }
  /// The subscriber that has this one's number, by the index.
  uint64_t found(uint64_t subscriber) const {
    return this->root_->index->find(subscriber).value_or(subscriber);
  }

  Response new_destination(uint64_t subscriber, uint64_t type, uint64_t times) const {
    tatp::Destinations destinations(times);
    if (tatp::Facility(facility(subscriber, type)).active()) {
      for (uint64_t i = 0; i < tatp::kStartTimes; ++i) {
        const uint64_t start = i * tatp::kHours;
        destinations.see(start,
                         this->root_->forwarding.find(tatp::forwarding_key(subscriber, type, start))
                             .value_or(0));
      }
    }
    return destinations.answer();
  }

  bool update_subscriber(uint64_t subscriber, uint64_t type, uint64_t values) {
    Word& word = facility(subscriber, type);
    const tatp::Facility before(word.load());
    if (!before.there()) {
      return false;
    }
    Word& flags = row(subscriber).word[kFlags];
    flags = (flags & ~uint64_t{1}) | values >> 8;
    word = before.with_data_a(values & 0xff).row();
    return true;
  }

  bool insert_forwarding(uint64_t subscriber, uint64_t type, uint64_t start, uint64_t forwarding) {
    bool there = false;
    for (uint64_t t = 1; t <= tatp::kTypes; ++t) {  // the transaction asks for all types
      const bool has = tatp::Facility(facility(subscriber, t)).there();
      there = there || (t == type && has);
    }
    return there && this->root_->forwarding.insert(tatp::forwarding_key(subscriber, type, start),
                                                   forwarding);
  }

  void load(uint64_t subscriber) {
    const tatp::Population all = tatp::population_of(seed_, subscriber);
    const tatp::Subscriber& s = all.subscriber;
    auto& word = row(subscriber).word;
    word[0] = s.number;
    word[1] = s.flags;
    word[2] = s.bytes[0];
    word[3] = s.bytes[1];
    word[4] = s.msc_location;
    word[5] = s.vlr_location;
    this->root_->index->insert(s.number, subscriber);
    for (uint64_t type = 1; type <= tatp::kTypes; ++type) {
      access(subscriber, type)[0] = all.access[type - 1].there;
      access(subscriber, type)[1] = all.access[type - 1].data4;
      facility(subscriber, type) = all.facility[type - 1];
    }
    const uint64_t first = tatp::forwarding_key(subscriber, 1, 0);
    for (size_t i = 0; i < all.forwarding.size(); ++i) {
      if (all.forwarding[i] != 0) {
        this->root_->forwarding.insert(first + i, all.forwarding[i]);
      }
    }
  }

  Status bound() override {
    return this->heap_.read(this->partitions_, [&] {
      subscribers_ = this->root_->subscribers;
      seed_ = this->root_->seed;
      row_ = this->root_->subscriber;
      access_ = this->root_->access;
      facility_ = this->root_->facility;
    });
  }

  uint64_t subscribers_;
  uint64_t seed_ = 0;
  Weights mix_;
  tatp::Model model_;
  Row* row_ = nullptr;
  Word* access_ = nullptr;
  Word* facility_ = nullptr;
};

/// Parses `standard` or weights. Returns invalid_argument for another text.
Result<Weights> parse_tatp_mix(const std::string& text);

template <class H>
TatpRunner<H>::TatpRunner(H& heap, const Parameters& parameters)
    : SmallWorkload<H, TatpRoot<H>>(heap, parameters),
      subscribers_(static_cast<uint64_t>(parameters.number("subscribers", 1, 100'000'000))),
      mix_(parse_tatp_mix(parameters.text("mix")).value()) {}

/// The runner with its judge. check() compares all columns that no transaction changes with the
/// population, and examines the index and the forwardings. Only the ledger shows the loss of whole
/// updates.
template <class H>
class Tatp final : public SmallJudge<TatpRunner<H>> {
 public:
  using SmallJudge<TatpRunner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      ModelState state;
      for (uint64_t s = 1; s <= this->subscribers_; ++s) {
        state.push_back(s);
        for (const auto& word : this->row(s).word) {
          state.push_back(word);
        }
        for (uint64_t type = 1; type <= tatp::kTypes; ++type) {
          state.push_back(this->access(s, type)[0]);
          state.push_back(this->access(s, type)[1]);
        }
        for (uint64_t type = 1; type <= tatp::kTypes; ++type) {
          state.push_back(this->facility(s, type));
        }
        const uint64_t first = tatp::forwarding_key(s, 1, 0);
        for (uint64_t i = 0; i < tatp::kTypes * tatp::kStartTimes; ++i) {
          state.push_back(this->root_->forwarding.find(first + i).value_or(0));
        }
      }
      return state;
    });
  }

  Status check() override {
    return this->in_read([&]() -> Status {
      for (const auto* map : {this->root_->index.load(), &this->root_->forwarding}) {
        if (Status status = map->check(); !status.ok()) {
          return status;
        }
      }
      for (uint64_t s = 1; s <= this->subscribers_; ++s) {
        if (const char* wrong = problem_of(s); wrong != nullptr) {
          return corrupt("subscriber " + std::to_string(s) + " " + wrong);
        }
      }
      if (this->root_->index->size() != this->subscribers_) {
        return corrupt("the index has numbers of no subscriber");
      }
      return check_forwardings();
    });
  }

 private:
  static Status corrupt(const std::string& text) { return Status(Code::corrupt, "tatp: " + text); }

  const char* problem_of(uint64_t s) const {
    const tatp::Population all = tatp::population_of(this->seed_, s);
    tatp::Subscriber row = this->row_of(s);
    if (((row.flags ^ all.subscriber.flags) & ~uint64_t{1}) != 0 || row.vlr_location >> 32 != 0) {
      return "has wrong flags or a wrong location";
    }
    row.flags = all.subscriber.flags;
    row.vlr_location = all.subscriber.vlr_location;
    if (row != all.subscriber) {
      return "has a wrong number, data or location";
    }
    if (this->root_->index->find(row.number).value_or(0) != s) {
      return "is not in the index";
    }
    for (uint64_t type = 1; type <= tatp::kTypes; ++type) {
      if (this->access_of(s, type) != all.access[type - 1]) {
        return "has wrong access info";
      }
      if (tatp::Facility(this->facility(s, type)).fixed_part() !=
          tatp::Facility(all.facility[type - 1]).fixed_part()) {
        return "has a wrong special facility";
      }
    }
    return nullptr;
  }

  Status check_forwardings() const {
    Status status;
    this->root_->forwarding.for_each([&](uint64_t key, uint64_t row) {
      const uint64_t place = key / tatp::kStartTimes;
      const tatp::Forwarding forwarding = tatp::Forwarding::of(row);
      const bool there = place < this->subscribers_ * tatp::kTypes &&
                         tatp::Facility(this->facility_[place]).there();
      if (!there || forwarding.end_time < 1 || forwarding.end_time > 24 ||
          forwarding.number >= tatp::kDigits) {
        status = corrupt("forwarding " + std::to_string(key) +
                         (there ? " has a wrong time or number" : " has no special facility"));
      }
      return status.ok();
    });
    return status;
  }
};

/// The registry's row.
using TatpWorkload = WorkloadRow<tatp_info, TatpRunner, Tatp>;

}  // namespace holdfast
