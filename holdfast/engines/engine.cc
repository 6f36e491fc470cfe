// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/engine.h"

namespace holdfast {

const char* to_string(Isolation isolation) {
  return isolation == Isolation::snapshot ? "snapshot" : "opaque";
}

const char* to_string(Durability durability) {
  switch (durability) {
    case Durability::none:
      return "none";
    case Durability::lagging:
      return "lagging";
    case Durability::strict:
      return "strict";
  }
  return "unknown";
}

void fail_and_rethrow(Context& context) {
  context.fail(std::current_exception());
  throw;
}

Status Description::check_domain(Domain domain) const {
  if (runs_in(domain)) {
    return {};
  }
  return {Code::unsupported, std::string("engine ") + name +
                                 " never writes back, so it needs caches that survive: domain eadr "
                                 "for power cuts, or process for killed processes, not " +
                                 to_string(domain)};
}

Status Description::check_bytes(uint64_t bytes) const {
  if (bytes <= most_bytes) {
    return {};
  }
  return {Code::invalid_argument, std::string("a heap of engine ") + name + " has at most " +
                                      std::to_string(most_bytes >> 40) +
                                      " TiB, which its logs can address; lower bytes or max_bytes, "
                                      "or choose another engine"};
}

Status Description::check_journal() const {
  return answers_behind_psync ? Status()
                              : Status(Code::unsupported,
                                       std::string("engine ") + name +
                                           " answers updates behind a pfence, which makes nothing "
                                           "durable over a journal; choose another engine, or "
                                           "journal_bytes=0");
}

Statistics& Statistics::operator+=(const Statistics& o) {
  update_commits += o.update_commits;
  read_commits += o.read_commits;
  user_aborts += o.user_aborts;
  for (size_t i = 0; i < aborts.size(); ++i) {
    aborts[i] += o.aborts[i];
  }
  for (size_t i = 0; i < explicit_aborts.size(); ++i) {
    explicit_aborts[i] += o.explicit_aborts[i];
  }
  lock_fallbacks += o.lock_fallbacks;
  batches += o.batches;
  bytes_stored += o.bytes_stored;
  bytes_written += o.bytes_written;
  replayed += o.replayed;
  persist += o.persist;
  return *this;
}

Statistics Statistics::operator-(const Statistics& o) const {
  Statistics d = *this;
  d.update_commits -= o.update_commits;
  d.read_commits -= o.read_commits;
  d.user_aborts -= o.user_aborts;
  for (size_t i = 0; i < aborts.size(); ++i) {
    d.aborts[i] -= o.aborts[i];
  }
  for (size_t i = 0; i < explicit_aborts.size(); ++i) {
    d.explicit_aborts[i] -= o.explicit_aborts[i];
  }
  d.lock_fallbacks -= o.lock_fallbacks;
  d.batches -= o.batches;
  d.bytes_stored -= o.bytes_stored;
  d.bytes_written -= o.bytes_written;
  d.replayed -= o.replayed;
  d.persist = persist - o.persist;
  return d;
}

Error too_many_threads() {
  return Error(
      Status(Code::too_many_threads,
             "more threads use the heap than it was created for; raise max_threads, or end some"));
}

Error log_too_small(uint64_t bytes) {
  return Error(
      Status(Code::too_large,
             "the transaction stores more than its log holds (" + std::to_string(bytes) +
                 " bytes); create the heap with a larger log_bytes, or split the transaction"));
}

Error undo_log_full(uint64_t bytes) {
  return Error(Status(Code::too_large,
                      "the transaction's undo log is full (" + std::to_string(bytes) +
                          " bytes); create the heap with a larger option log_bytes, or split the "
                          "transaction"));
}

Status foreign_area() {
  return {Code::corrupt,
          "the header of the engine area does not fit this engine with these options; it is "
          "damaged, or the options differ from those at creation"};
}

void throw_stray_store(const Context* context, const void* p) {
  if (context != nullptr && context->covers(p, 1)) {
    throw Error(Status(
        Code::misuse,
        "a Field was stored to inside a read-only transaction; use update() instead of read()"));
  }
  if (context != nullptr) {
    throw Error(Status(
        Code::misuse,
        "a Field outside this transaction's heap was stored to: it lies in another heap, or not "
        "in a heap at all. One transaction changes one heap; create objects with make<T>()"));
  }
  throw Error(Status(
      Code::misuse,
      "a Field was stored to outside a transaction; wrap the change in heap.update([&]{ ... })"));
}

Status no_barrier(const char* engine) {
  return {Code::unsupported,
          std::string("engine ") + engine +
              " has no barrier; call fence(), which waits until its updates are durable"};
}

}  // namespace holdfast
