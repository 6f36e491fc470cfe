// SPDX-License-Identifier: Apache-2.0
//
// holdfast._db: HoldfastDB for python/holdfast/database.py, which makes a mapping of it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/bindings/db/database.h"
#include "holdfast/bindings/db/entries.h"
#include "holdfast/bindings/db/open_options.h"
#include "holdfast/bindings/db/transaction.h"

namespace holdfast::bindings {
namespace {

/// A path as bytes, because not every path is UTF-8.
std::string to_path(const nb::bytes& path) {
  return {path.c_str(), path.size()};
}

std::shared_ptr<Database> py_open(const nb::bytes& path, const nb::dict& given) {
  return Database::open(to_path(path), to_options(given), flag(given, "verify_reads"));
}

/// Calls work(DB&, ReadOptions) for the present state, or for that of the snapshot.
template <class Work>
void read_as_of(Database& database, Snapshot* snapshot, Work&& work) {
  auto read = [&](db::DB& db, const db::Snapshot* as_of) {
    return work(db, database.reading(as_of));
  };
  if (snapshot != nullptr) {
    snapshot->read(read);
  } else {
    database.read([&](db::DB& db) { return read(db, nullptr); });
  }
}

nb::object get(Database& database, nb::handle key, Snapshot* snapshot, const Map* map) {
  const Bytes name(key);
  std::string value;
  bool found = false;
  read_as_of(database, snapshot, [&](db::DB& db, const db::ReadOptions& options) {
    const db::Status status = db.Get(options, family_of(map), name, &value);
    found = status.ok();
    return status.IsNotFound() ? db::Status::OK() : status;
  });
  return found ? nb::object(to_python(value)) : nb::none();
}

db::WriteOptions writing(bool sync) {
  db::WriteOptions options;
  options.sync = sync;
  return options;
}

void put(Database& database, nb::handle key, nb::handle value, const Map* map, bool sync) {
  const Bytes name(key);
  const Bytes content(value);
  database.write([&](db::DB& db) { return db.Put(writing(sync), family_of(map), name, content); });
}

void erase(Database& database, nb::handle key, const Map* map, bool sync) {
  const Bytes name(key);
  database.write([&](db::DB& db) { return db.Delete(writing(sync), family_of(map), name); });
}

/// Opens a map by its name. Without a snapshot, `create` makes a map that does not exist.
Map* open_map(Database& database, nb::handle name, bool create, Snapshot* snapshot) {
  const std::string text = db::Slice(Bytes(name)).ToString();
  db::ColumnFamilyHandle* family = nullptr;
  read_as_of(database, snapshot, [&](db::DB& db, const db::ReadOptions& options) {
    const db::Status status = db.OpenColumnFamily(options, text, &family);
    return create && status.IsInvalidArgument() ? db::Status::OK() : status;
  });
  if (family == nullptr) {
    database.write([&](db::DB& db) { return db.OpenColumnFamily(text, true, &family); });
  }
  std::unique_ptr<db::ColumnFamilyHandle> owned(family);
  return new Map(std::move(owned));
}

void drop_map(Database& database, Map& map) {
  database.write([&](db::DB& db) { return db.DropColumnFamily(map.family()); });
}

/// Returns the names of all named maps.
nb::list maps(Database& database, Snapshot* snapshot) {
  std::vector<std::string> names;
  read_as_of(database, snapshot, [&](db::DB& db, const db::ReadOptions& options) {
    return db.ListColumnFamilies(options, &names);
  });
  nb::list result;
  for (const std::string& name : names) {
    if (name != db::kDefaultColumnFamilyName) {
      result.append(nb::str(name.data(), name.size()));
    }
  }
  return result;
}

/// Removes a key and returns its value, as one transaction. The body is C++ and may run on another
/// thread.
nb::object pop(Database& database, nb::handle key, const Map* map) {
  const Bytes name(key);
  std::string value;
  bool found = false;
  database.write([&](db::DB& db) {
    return db.Transact([&](db::Transaction& t) {
      const db::Status status = t.Get(family_of(map), name, &value);
      found = status.ok();
      if (found) {
        t.Delete(family_of(map), name);
      }
      return status.IsNotFound() ? db::Status::OK() : status;
    });
  });
  return found ? nb::object(to_python(value)) : nb::none();
}

/// The maps of the triples that `write` gets, by the objects that stand for them.
class NamedMaps {
 public:
  explicit NamedMaps(Database& database) : database_(database) {}

  /// Returns the handle of None, of a name, or of an object with a Map in its attribute `_map`.
  const db::ColumnFamilyHandle* operator[](nb::handle named) {
    if (named.is_none()) {
      return nullptr;
    }
    if (PyUnicode_Check(named.ptr())) {
      const std::string name = db::Slice(Bytes(named)).ToString();
      auto& map = by_name_[name];
      if (map == nullptr) {
        map.reset(open_map(database_, named, false, nullptr));
      }
      return map->family();
    }
    const nb::object map = nb::getattr(named, "_map", nb::handle());
    const Map* found = nullptr;
    if (!map.is_valid() || !nb::try_cast(map, found)) {
      throw nb::type_error("a change is (key, value), or (map, key, value) with a map or its name");
    }
    if (found != nullptr) {
      return found->family();
    }
    const Database* owner = nullptr;
    if (!nb::try_cast(named.attr("_native"), owner) || owner != &database_) {
      raise("misuse", "the default map in a change belongs to another database");
    }
    return nullptr;
  }

 private:
  Database& database_;
  std::map<std::string, std::unique_ptr<Map>> by_name_;
};

/// Returns the parts of a change, which may be any sequence but text or bytes.
nb::tuple parts_of(nb::handle change) {
  PyObject* const from = change.ptr();
  if (PySequence_Check(from) == 0 || PyUnicode_Check(from) || PyBytes_Check(from)) {
    throw nb::type_error("a change is (key, value) or (map, key, value)");
  }
  PyObject* const parts = PySequence_Tuple(from);
  if (parts == nullptr) {
    throw nb::python_error();
  }
  return nb::steal<nb::tuple>(parts);
}

/// Writes pairs of key and value, and triples of map, key and value, as one transaction. The value
/// None deletes the key.
void write(Database& database, const nb::iterable& changes, bool sync) {
  db::WriteBatch batch;
  NamedMaps maps(database);
  for (const nb::handle change : changes) {
    const nb::tuple parts = parts_of(change);
    const bool named = parts.size() == 3;
    if (!named && parts.size() != 2) {
      throw nb::type_error("a change is (key, value) or (map, key, value)");
    }
    const db::ColumnFamilyHandle* const family = named ? maps[parts[0]] : nullptr;
    const nb::handle key = parts[named ? 1 : 0];
    const nb::handle value = parts[named ? 2 : 1];
    if (value.is_none()) {
      batch.Delete(family, Bytes(key));
    } else {
      batch.Put(family, Bytes(key), Bytes(value));
    }
  }
  database.write([&](db::DB& db) { return db.Write(writing(sync), &batch); });
}

/// Writes a transaction of a change feed as it is.
void apply(Database& database, const db::WriteBatch& changes, bool sync) {
  db::WriteBatch copy = changes;
  database.write([&](db::DB& db) { return db.Write(writing(sync), &copy); });
}

/// Returns the values of the keys from one state, in their order; None for a missing key.
nb::list get_many(Database& database, const nb::iterable& keys, Snapshot* snapshot, Map* map) {
  std::vector<std::string> names;
  for (const nb::handle key : keys) {
    names.push_back(db::Slice(Bytes(key)).ToString());
  }
  const std::vector<db::ColumnFamilyHandle*> families(names.size(),
                                                      map == nullptr ? nullptr : map->family());
  std::vector<std::string> values;
  std::vector<db::Status> found;
  read_as_of(database, snapshot, [&](db::DB& db, const db::ReadOptions& options) {
    found = db.MultiGet(options, families, {names.begin(), names.end()}, &values);
    return db::Status::OK();
  });
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

Entries* entries(std::shared_ptr<Database> database, Snapshot* snapshot, const Map* map,
                 nb::handle start, nb::handle stop, bool reverse, std::optional<size_t> most,
                 int what) {
  return new Entries(std::move(database), snapshot, map,
                     Walk{bound(start), bound(stop), reverse, most},
                     static_cast<Entries::What>(what));
}

Entries* entries_of_transaction(std::shared_ptr<Transaction> transaction, const Map* map,
                                nb::handle start, nb::handle stop, bool reverse,
                                std::optional<size_t> most, int what) {
  return new Entries(std::move(transaction), map, Walk{bound(start), bound(stop), reverse, most},
                     static_cast<Entries::What>(what));
}

/// Deletes the keys of a range as one transaction, and returns their number.
size_t delete_range(Database& database, nb::handle start, nb::handle stop, const Map* map) {
  const std::optional<std::string> first = bound(start);
  const std::optional<std::string> end = bound(stop);
  size_t deleted = 0;
  database.write([&](db::DB& db) {
    return db.Transact(
        [&](db::Transaction& t) { return erase_range(t, map, first, end, &deleted); });
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

/// Waits until all writes are durable.
void sync(Database& database) {
  database.read([](db::DB& db) { return db.Sync(); });
}

uint64_t compact(Database& database) {
  uint64_t returned = 0;
  database.write([&](db::DB& db) { return db.Compact(&returned); });
  return returned;
}

/// Lists the changes of a batch for Python.
class Lister final : public db::WriteBatch::Handler {
 public:
  explicit Lister(Database& database) : database_(database) {}

  void Put(const db::Slice& key, const db::Slice& value) override {
    list.append(nb::make_tuple(bytes(key), bytes(value)));
  }
  void Delete(const db::Slice& key) override {
    list.append(nb::make_tuple(bytes(key), nb::none()));
  }
  db::Status PutCF(uint32_t id, const db::Slice& key, const db::Slice& value) override {
    of_map(id).append(nb::make_tuple(bytes(key), bytes(value)));
    return db::Status::OK();
  }
  db::Status DeleteCF(uint32_t id, const db::Slice& key) override {
    of_map(id).append(nb::make_tuple(bytes(key), nb::none()));
    return db::Status::OK();
  }
  db::Status CreateCF(uint32_t /*id*/, const db::Slice& /*name*/) override {
    changes_maps = true;
    return db::Status::OK();
  }
  db::Status DropCF(uint32_t /*id*/) override {
    changes_maps = true;
    return db::Status::OK();
  }

  nb::list list;              ///< of the default map
  nb::dict maps;              ///< a list for each named map
  bool changes_maps = false;  ///< a change of a named map, or of the maps themselves

 private:
  static nb::bytes bytes(const db::Slice& from) { return nb::bytes(from.data(), from.size()); }

  /// Returns the list of a map. Its key is the map's name, or its number if it has been dropped.
  nb::list of_map(uint32_t id) {
    changes_maps = true;
    if (lists_.count(id) == 0) {
      std::string name;
      bool there = false;
      database_.read([&](db::DB& db) {
        there = db.GetProperty("holdfast.map-name" + std::to_string(id), &name);
        return db::Status::OK();
      });
      maps[there ? nb::object(nb::str(name.data(), name.size())) : nb::cast(id)] = lists_[id];
    }
    return lists_[id];
  }

  Database& database_;
  std::map<uint32_t, nb::list> lists_;
};

/// Returns up to about `most_bytes` of changes after `sequence`, each as (sequence, list, maps,
/// batch). `list` has the changes of the default map as (key, value or None). `maps` has such a
/// list for each named map. `batch` is None if `list` says all.
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
  nb::list result;
  for (auto& [number, batch] : found) {
    Lister lister(database);
    check(batch.Iterate(&lister), database.path());
    // Moved, because nanobind ends the process if there is no memory for a copy.
    result.append(nb::make_tuple(number, lister.list, lister.maps,
                                 lister.changes_maps ? nb::cast(std::move(batch)) : nb::none()));
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
      .def("get", &get, nb::arg("key").none(), nb::arg("snapshot").none(), nb::arg("map").none())
      .def("put", &put, nb::arg("key").none(), nb::arg("value").none(), nb::arg("map").none(),
           nb::arg("sync"))
      .def("delete", &erase, nb::arg("key").none(), nb::arg("map").none(), nb::arg("sync"))
      .def("pop", &pop, nb::arg("key").none(), nb::arg("map").none())
      .def("write", &write, nb::arg("changes"), nb::arg("sync"))
      .def("apply", &apply, nb::arg("changes"), nb::arg("sync"))
      .def("sync", &sync)
      .def("get_many", &get_many, nb::arg("keys"), nb::arg("snapshot").none(),
           nb::arg("map").none())
      .def("delete_range", &delete_range, nb::arg("start").none(), nb::arg("stop").none(),
           nb::arg("map").none())
      .def("open_map", &open_map, nb::arg("name"), nb::arg("create"), nb::arg("snapshot").none())
      .def("drop_map", &drop_map, nb::arg("map"))
      .def("maps", &maps, nb::arg("snapshot").none())
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
  m.def("entries", &entries, nb::arg("database"), nb::arg("snapshot").none(), nb::arg("map").none(),
        nb::arg("start").none(), nb::arg("stop").none(), nb::arg("reverse"),
        nb::arg("limit").none(), nb::arg("what"));
  nb::class_<db::WriteBatch>(m, "Batch");
  nb::class_<Map>(m, "Map").def_prop_ro("name", [](const Map& self) {
    const std::string& name = self.family()->GetName();
    return nb::str(name.data(), name.size());
  });
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
      .def("get", &Transaction::get, nb::arg("key").none(), nb::arg("map").none())
      .def("put", &Transaction::put, nb::arg("key").none(), nb::arg("value").none(),
           nb::arg("map").none())
      .def("delete", &Transaction::erase, nb::arg("key").none(), nb::arg("map").none())
      .def(
          "delete_range",
          [](Transaction& self, nb::handle start, nb::handle stop, const Map* map) {
            return self.erase_range(bound(start), bound(stop), map);
          },
          nb::arg("start").none(), nb::arg("stop").none(), nb::arg("map").none())
      .def("entries", &entries_of_transaction, nb::arg("map").none(), nb::arg("start").none(),
           nb::arg("stop").none(), nb::arg("reverse"), nb::arg("limit").none(), nb::arg("what"))
      .def("commit", &Transaction::commit)
      .def("end", &Transaction::end);
}
