// SPDX-License-Identifier: Apache-2.0
//
// DB::GetProperty: names and numbers about the open database.
#include <initializer_list>
#include <numeric>
#include <string>

#include "holdfast/db/engine/heap_db.h"
#include "holdfast/machine/native/journal/journal.h"

namespace holdfast::db {
namespace {

/// Builds text in Prometheus' format. Every number has the labels of the database.
class Exposition {
 public:
  explicit Exposition(std::string labels) : labels_(std::move(labels)) {}

  void counter(const std::string& name, const std::string& help, uint64_t value) {
    add(name, help, "counter", value);
  }
  void gauge(const std::string& name, const std::string& help, uint64_t value) {
    add(name, help, "gauge", value);
  }
  std::string text() const { return text_; }

 private:
  void add(const std::string& name, const std::string& help, const char* type, uint64_t value) {
    const std::string whole = "holdfast_db_" + name;
    text_ += "# HELP " + whole + " " + help + "\n# TYPE " + whole + " " + type + "\n";
    text_ += whole + "{" + labels_ + "} " + std::to_string(value) + "\n";
  }

  std::string labels_;
  std::string text_;
};

const std::string kFilesAtLevel = "num-files-at-level";
const std::string kMapName = "map-name";

/// The domain's name, and whether it is emulated.
std::string domain_of(const NativeMedium& medium) {
  return std::string(to_string(medium.domain())) + (medium.emulated() ? " (emulated)" : "");
}

uint64_t checksummed_pages(const Superblock& shape) {
  return shape.has_page_checksums() ? shape.checksummed_pages() : 0;
}

uint64_t reclaimable_bytes(const HeapSpace& space) {
  return space.reusable + space.untouched;
}
uint64_t free_bytes(const HeapSpace& space) {
  return space.free + reclaimable_bytes(space);
}

}  // namespace

bool HeapDB::GetProperty(const Slice& property_name, std::string* value) {
  if (!check_process().ok()) {
    return false;
  }
  const std::string name = property_name.ToString();
  for (const std::string prefix : {"holdfast.", "leveldb."}) {
    if (name.rfind(prefix, 0) == 0) {
      return property(name.substr(prefix.size()), value);
    }
  }
  return false;
}

bool HeapDB::property(const std::string& name, std::string* value) {
  if (name == "stats") {
    const Statistics s = statistics();
    *value = "engine " + std::string(engine().name) + "\ndomain " + medium().description() +
             "\nupdates " + std::to_string(s.update_commits) + "\nreads " +
             std::to_string(s.read_commits) + "\nbytes written " + std::to_string(s.bytes_written) +
             "\npending writes " + std::to_string(pending().count) + "\n";
    if (auto found = space()) {
      *value += "used bytes " + std::to_string(found->used) + "\nfree bytes " +
                std::to_string(free_bytes(*found)) + "\nreclaimable bytes " +
                std::to_string(reclaimable_bytes(*found)) + "\nfile bytes " +
                std::to_string(medium().allocated_bytes()) + "\n";
    }
    if (const native::JournalCounters j = medium().journal_counters(); j.ring_bytes != 0) {
      *value += "journal bytes " + std::to_string(j.ring_bytes) + "\njournal held bytes " +
                std::to_string(j.held_bytes) + "\njournal groups " + std::to_string(j.groups) +
                "\njournal checkpoints " + std::to_string(j.checkpoints) + "\nchecksummed pages " +
                std::to_string(checksummed_pages(superblock())) + "\ndamaged pages " +
                std::to_string(j.damaged_pages) + "\n";
      if (medium().journaled() != nullptr) {
        *value += "journal flush " + std::string(to_string(medium().journal_flush())) + "\n";
      }
    }
  } else if (name == "used-bytes" || name == "free-bytes" || name == "reclaimable-bytes") {
    auto found = space();
    if (!found) {
      return false;
    }
    *value = std::to_string(name == "used-bytes"   ? found->used
                            : name == "free-bytes" ? free_bytes(*found)
                                                   : reclaimable_bytes(*found));
  } else if (name == "oldest-snapshot-seconds") {
    *value = std::to_string(oldest_snapshot_seconds());
  } else if (name == "lag") {
    *value = std::to_string(lag());
  } else if (name == "pending-writes") {
    *value = std::to_string(pending().count);
  } else if (name == "oldest-pending-ms") {
    *value = std::to_string(milliseconds(pending().age));
  } else if (name == "file-bytes") {
    *value = std::to_string(medium().allocated_bytes());
  } else if (name == "prometheus") {
    *value = prometheus();
  } else if (name == "engine") {
    *value = engine().name;
  } else if (name == "domain") {
    *value = domain_of(medium());
  } else if (name == "open-snapshots") {
    *value = std::to_string(open_views());
  } else if (name == "sequence" || name == "old-versions") {
    auto n = name == "sequence" ? durable_sequence() : old_versions();
    if (!n) {
      return false;
    }
    *value = std::to_string(*n);
  } else if (name == "approximate-memory-usage") {
    auto bytes = medium().bytes_in_memory();
    if (!bytes) {
      return false;
    }
    *value = std::to_string(*bytes);
  } else if (name.rfind(kMapName, 0) == 0) {
    return map_name(name.substr(kMapName.size()), value);
  } else if (name.rfind(kFilesAtLevel, 0) == 0) {
    const std::string level = name.substr(kFilesAtLevel.size());
    if (level.empty() || level.find_first_not_of("0123456789") != std::string::npos ||
        level.size() > 1 || level[0] > '6') {  // LevelDB has seven levels
      return false;
    }
    *value = level == "0" ? "1" : "0";
  } else if (name == "sstables") {
    value->clear();
  } else {
    return false;
  }
  return true;
}

std::string HeapDB::prometheus() {
  const Statistics s = statistics();
  const Superblock& shape = superblock();
  Exposition e("engine=\"" + std::string(engine().name) + "\"");
  e.counter("updates_total", "Update transactions committed since the database was opened.",
            s.update_commits);
  e.counter("reads_total", "Read transactions since the database was opened.", s.read_commits);
  e.counter("aborts_total", "Attempts of transactions that were rolled back and made anew.",
            std::accumulate(s.aborts.begin(), s.aborts.end(), uint64_t{0}));
  e.counter("user_aborts_total", "Transactions rolled back because their body wanted it.",
            s.user_aborts);
  e.counter("stored_bytes_total", "Bytes stored by committed transactions.", s.bytes_stored);
  e.counter("written_bytes_total", "Bytes written to the heap, logs and copies included.",
            s.bytes_written);
  e.counter("fences_total",
            "Persistence fences; in domain file without a journal each is a call of fdatasync.",
            s.persist.pfence + s.persist.psync);
  const PendingUpdates waiting = pending();
  e.gauge("pending_writes", "Writes without sync that are not durable yet.", waiting.count);
  e.gauge("oldest_pending_microseconds", "Age of the oldest of these; 0 without one.",
          static_cast<uint64_t>(milliseconds(waiting.age) * 1000));
  e.gauge("data_bytes", "Bytes of the data region, which grows up to capacity_bytes.",
          shape.data_bytes());
  e.gauge("capacity_bytes", "Bytes the data region may grow to.", shape.capacity);
  if (auto found = space()) {
    e.gauge("used_bytes", "Bytes of the data region in entries and their index.", found->used);
    e.gauge("free_bytes", "Bytes of the data region for new entries.", free_bytes(*found));
    e.gauge("reclaimable_bytes", "Bytes of the data region that compaction can give back.",
            reclaimable_bytes(*found));
  }
  e.gauge("file_bytes", "Bytes of the file system that the file takes.",
          medium().allocated_bytes());
  const native::JournalCounters journal = medium().journal_counters();
  e.gauge("journal_bytes", "Bytes of the journal; 0 without one.", journal.ring_bytes);
  e.gauge("journal_held_bytes", "Bytes of the journal in groups that have not gone home.",
          journal.held_bytes);
  e.counter("journal_groups_total", "Groups written to the journal, each with one sync.",
            journal.groups);
  e.counter("journal_lines_total", "Lines in these groups.", journal.lines);
  e.counter("journal_written_bytes_total", "Bytes of these groups.", journal.group_bytes);
  e.counter("journal_checkpoints_total", "Times that the journal's lines have gone home.",
            journal.checkpoints);
  e.counter("journal_home_bytes_total", "Bytes of the pages that have been written then.",
            journal.home_bytes);
  e.counter("journal_given_back_bytes_total",
            "Bytes of private pages that went back to the system after checkpoints.",
            journal.given_back_bytes);
  e.gauge("checksummed_pages", "Pages of the file that have a checksum; 0 without a journal.",
          checksummed_pages(shape));
  e.counter("damaged_pages_total", "Pages found at checkpoints that differ from their checksums.",
            journal.damaged_pages);
  e.gauge("domain_emulated", "1: the domain is emulated, and nothing survives a power cut; else 0.",
          medium().emulated() ? 1 : 0);
  e.gauge("oldest_snapshot_milliseconds", "Age of the oldest snapshot; 0 without one.",
          static_cast<uint64_t>(oldest_snapshot_seconds() * 1000));
  e.gauge("open_snapshots", "Snapshots and iterators open.", open_views());
  if (auto last = sequence()) {
    e.gauge("sequence", "Number of the last change in the feed, durable or not; 0 without one.",
            *last);
  }
  if (auto old = old_versions()) {
    e.gauge("old_versions", "Replaced versions of values not freed yet.", *old);
  }
  return e.text();
}

}  // namespace holdfast::db
