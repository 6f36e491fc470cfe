// SPDX-License-Identifier: Apache-2.0
//
// holdfast._db: HoldfastDB for python/holdfast/database.py, which makes a mapping of it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/bindings/db/database.h"
#include "holdfast/bindings/db/entries.h"
#include "holdfast/bindings/db/transaction.h"

namespace holdfast::bindings {
namespace {

/// A path as bytes, because not every path is UTF-8.
std::string to_path(const nb::bytes& path) {
  return {path.c_str(), path.size()};
}

std::shared_ptr<Database> py_open(const nb::bytes& path, const nb::dict& given) {
  db::Options options;
  options.create_if_missing = nb::cast<bool>(given["create"]);
  options.read_only = nb::cast<bool>(given["read_only"]);
  options.engine = nb::cast<std::string>(given["engine"]);
  options.engine_options = nb::cast<std::map<std::string, std::string>>(given["engine_options"]);
  options.initial_bytes = nb::cast<size_t>(given["initial_bytes"]);
  options.max_bytes = nb::cast<size_t>(given["max_bytes"]);
  options.max_threads = nb::cast<int>(given["max_threads"]);
  if (!given["change_feed_bytes"].is_none()) {
    options.change_feed_bytes = nb::cast<size_t>(given["change_feed_bytes"]);
  }
  if (!given["domain"].is_none()) {
    const auto name = nb::cast<std::string>(given["domain"]);
    auto domain = parse_domain(name);
    if (!domain) {
      raise(to_string(domain.status().code()), domain.status().message());
    }
    options.domain = *domain;
  }
  options.force = nb::cast<bool>(given["force"]);
  return Database::open(to_path(path), options);
}

nb::object get(Database& database, nb::handle key, Snapshot* snapshot) {
  const Bytes name(key);
  std::string value;
  bool found = false;
  auto look = [&](db::DB& db, const db::Snapshot* as_of) {
    db::ReadOptions options;
    options.snapshot = as_of;
    const db::Status status = db.Get(options, name, &value);
    found = status.ok();
    return status.IsNotFound() ? db::Status::OK() : status;
  };
  if (snapshot != nullptr) {
    snapshot->read(look);
  } else {
    database.read([&](db::DB& db) { return look(db, nullptr); });
  }
  return found ? nb::object(to_python(value)) : nb::none();
}

void put(Database& database, nb::handle key, nb::handle value) {
  const Bytes name(key);
  const Bytes content(value);
  database.write([&](db::DB& db) { return db.Put({}, name, content); });
}

void erase(Database& database, nb::handle key) {
  const Bytes name(key);
  database.write([&](db::DB& db) { return db.Delete({}, name); });
}

/// Removes a key and returns its value, as one transaction. The body is C++ and may run on another
/// thread.
nb::object pop(Database& database, nb::handle key) {
  const Bytes name(key);
  std::string value;
  bool found = false;
  database.write([&](db::DB& db) {
    return db.Transact([&](db::Transaction& t) {
      found = t.Get(name, &value).ok();
      if (found) {
        t.Delete(name);
      }
    });
  });
  return found ? nb::object(to_python(value)) : nb::none();
}

/// Writes pairs of key and value as one transaction. The value None deletes the key.
void write(Database& database, const nb::iterable& changes) {
  db::WriteBatch batch;
  for (const nb::handle change : changes) {
    const auto pair = nb::cast<nb::tuple>(change);
    if (pair[1].is_none()) {
      batch.Delete(Bytes(pair[0]));
    } else {
      batch.Put(Bytes(pair[0]), Bytes(pair[1]));
    }
  }
  database.write([&](db::DB& db) { return db.Write({}, &batch); });
}

/// Returns the values of the keys from one state, in their order; None for a missing key.
nb::list get_many(Database& database, const nb::iterable& keys, Snapshot* snapshot) {
  std::vector<std::string> names;
  for (const nb::handle key : keys) {
    names.push_back(db::Slice(Bytes(key)).ToString());
  }
  std::vector<std::string> values;
  std::vector<db::Status> found;
  auto look = [&](db::DB& db, const db::Snapshot* as_of) {
    db::ReadOptions options;
    options.snapshot = as_of;
    found = db.MultiGet(options, {names.begin(), names.end()}, &values);
    return db::Status::OK();
  };
  if (snapshot != nullptr) {
    snapshot->read(look);
  } else {
    database.read([&](db::DB& db) { return look(db, nullptr); });
  }
  nb::list result;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].IsNotFound()) {
      check(found[i], database.path());
    }
    result.append(found[i].ok() ? nb::object(to_python(values[i])) : nb::none());
  }
  return result;
}

std::optional<std::string> bound(nb::handle key) {
  if (key.is_none()) {
    return std::nullopt;
  }
  return db::Slice(Bytes(key)).ToString();
}

Entries* entries(std::shared_ptr<Database> database, Snapshot* snapshot, nb::handle start,
                 nb::handle stop, bool reverse, std::optional<size_t> most, int what) {
  return new Entries(std::move(database), snapshot, Walk{bound(start), bound(stop), reverse, most},
                     static_cast<Entries::What>(what));
}

Entries* entries_of_transaction(std::shared_ptr<Transaction> transaction, nb::handle start,
                                nb::handle stop, bool reverse, std::optional<size_t> most,
                                int what) {
  return new Entries(std::move(transaction), Walk{bound(start), bound(stop), reverse, most},
                     static_cast<Entries::What>(what));
}

/// Deletes the keys of a range as one transaction, and returns their number.
size_t delete_range(Database& database, nb::handle start, nb::handle stop) {
  const std::optional<std::string> first = bound(start);
  const std::optional<std::string> end = bound(stop);
  size_t deleted = 0;
  database.write([&](db::DB& db) {
    return db.Transact([&](db::Transaction& t) { return erase_range(t, first, end, &deleted); });
  });
  return deleted;
}

nb::object property(Database& database, const std::string& name) {
  std::string value;
  bool known = false;
  database.read([&](db::DB& db) {
    known = db.GetProperty(name, &value);
    return db::Status::OK();
  });
  return known ? nb::object(nb::str(value.data(), value.size())) : nb::none();
}

void compact(Database& database) {
  database.write([](db::DB& db) {
    db.CompactRange(nullptr, nullptr);
    return db::Status::OK();
  });
}

/// Returns up to about `most_bytes` of changes after `sequence`, each as (sequence, [(key, value or
/// None), ...]).
nb::list changes(Database& database, uint64_t sequence, size_t most_bytes) {
  std::vector<std::pair<uint64_t, db::WriteBatch>> found;
  size_t bytes = 0;
  database.read([&](db::DB& db) {
    return db.ChangesSince(sequence, [&](uint64_t next, const db::WriteBatch& batch) {
      found.emplace_back(next, batch);
      bytes += batch.ApproximateSize();
      return bytes < most_bytes;
    });
  });
  struct Lister final : db::WriteBatch::Handler {
    void Put(const db::Slice& key, const db::Slice& value) override {
      list.append(
          nb::make_tuple(nb::bytes(key.data(), key.size()), nb::bytes(value.data(), value.size())));
    }
    void Delete(const db::Slice& key) override {
      list.append(nb::make_tuple(nb::bytes(key.data(), key.size()), nb::none()));
    }
    nb::list list;
  };
  nb::list result;
  for (const auto& [number, batch] : found) {
    Lister lister;
    check(batch.Iterate(&lister));
    result.append(nb::make_tuple(number, lister.list));
  }
  return result;
}

/// Copies the database. Writers continue meanwhile.
void backup(Database& database, const nb::bytes& path) {
  const std::string file = to_path(path);
  database.read([&](db::DB& db) { return db.Checkpoint(file); }, file);
}

/// Verifies the database. The caller keeps writers out.
void verify(Database& database) {
  database.read([](db::DB& db) { return db.Verify(); });
}

void define_database(nb::module_& m) {
  nb::class_<Database>(m, "Database")
      .def("get", &get, nb::arg("key").none(), nb::arg("snapshot").none() = nb::none())
      .def("put", &put, nb::arg("key").none(), nb::arg("value").none())
      .def("delete", &erase, nb::arg("key").none())
      .def("pop", &pop, nb::arg("key").none())
      .def("write", &write)
      .def("get_many", &get_many, nb::arg("keys"), nb::arg("snapshot").none() = nb::none())
      .def("delete_range", &delete_range, nb::arg("start").none(), nb::arg("stop").none())
      .def("property", &property)
      .def("compact", &compact)
      .def("changes", &changes)
      .def("backup", &backup)
      .def("verify", &verify)
      .def("close", &Database::close)
      .def_prop_ro("closed", &Database::closed)
      .def_prop_ro("path", [](const Database& self) { return to_python(self.path()); })
      .def_prop_ro("read_only", &Database::read_only);
  m.def("open", &py_open, nb::arg("path"), nb::arg("options"));
  m.def("entries", &entries, nb::arg("database"), nb::arg("snapshot").none(),
        nb::arg("start").none(), nb::arg("stop").none(), nb::arg("reverse"),
        nb::arg("limit").none(), nb::arg("what"));
}

}  // namespace
}  // namespace holdfast::bindings

NB_MODULE(_db, m) {
  using namespace holdfast::bindings;  // NOLINT(google-build-using-namespace): one function
  // A program may keep a database in a global variable until the interpreter ends.
  nb::set_leak_warnings(false);
  m.doc() = "HoldfastDB: databases, snapshots, transactions and walks, for holdfast.database.";
  define_database(m);
  nb::class_<Snapshot>(m, "Snapshot")
      .def("__init__",
           [](Snapshot* self, std::shared_ptr<Database> database) {
             new (self) Snapshot(std::move(database));
           })
      .def("close", &Snapshot::close);
  nb::class_<Entries>(m, "Entries")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &Entries::next);
  nb::class_<Transaction>(m, "Transaction")
      .def("__init__",
           [](Transaction* self, std::shared_ptr<Database> database, bool exclusive) {
             new (self) Transaction(std::move(database), exclusive);
           })
      .def("get", &Transaction::get, nb::arg("key").none())
      .def("put", &Transaction::put, nb::arg("key").none(), nb::arg("value").none())
      .def("delete", &Transaction::erase, nb::arg("key").none())
      .def(
          "delete_range",
          [](Transaction& self, nb::handle start, nb::handle stop) {
            return self.erase_range(bound(start), bound(stop));
          },
          nb::arg("start").none(), nb::arg("stop").none())
      .def("entries", &entries_of_transaction, nb::arg("start").none(), nb::arg("stop").none(),
           nb::arg("reverse"), nb::arg("limit").none(), nb::arg("what"))
      .def("commit", &Transaction::commit)
      .def("end", &Transaction::end);
}
