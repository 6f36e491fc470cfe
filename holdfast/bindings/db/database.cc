// SPDX-License-Identifier: Apache-2.0
#include "holdfast/bindings/db/database.h"

namespace holdfast::bindings {

namespace {

/// Paths, and messages that name them, may be no UTF-8.
nb::object to_text(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

}  // namespace

void raise(const char* code, const std::string& message, int system_error,
           const std::string& path) {
  const nb::object error =
      nb::module_::import_("holdfast.errors")
          .attr("database_error")(code, to_text(message), system_error, to_text(path));
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

void check(const db::Status& status, const std::string& path) {
  if (!status.ok()) {
    raise(to_string(status.code()), status.message(), status.system_error(), path);
  }
}

nb::bytes to_python(const std::string& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

Bytes::Bytes(nb::handle from) {
  if (PyBytes_Check(from.ptr())) {
    slice_ =
        db::Slice(PyBytes_AS_STRING(from.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(from.ptr())));
  } else if (PyUnicode_Check(from.ptr())) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(from.ptr(), &size);
    if (text == nullptr) {
      throw nb::python_error();
    }
    slice_ = db::Slice(text, static_cast<size_t>(size));
  } else {
    Py_buffer view;
    if (PyObject_GetBuffer(from.ptr(), &view, PyBUF_SIMPLE) != 0) {
      if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) {
        throw nb::python_error();  // a buffer with gaps, or one that has been released
      }
      PyErr_Clear();
      const std::string type = nb::cast<std::string>(nb::str(from.type().attr("__name__")));
      throw nb::type_error(("keys and values are bytes or str, not " + type).c_str());
    }
    const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> held(&view, PyBuffer_Release);
    copy_.assign(static_cast<const char*>(view.buf), static_cast<size_t>(view.len));
    slice_ = copy_;
  }
}

std::shared_ptr<Database> Database::open(const std::string& path, const db::Options& options,
                                         bool verify_reads) {
  db::DB* opened = nullptr;
  db::Status status;
  {
    const Unlocked unlocked;
    status = db::DB::Open(options, path, &opened);
  }
  std::unique_ptr<db::DB> owned(opened);
  check(status, path);
  return std::shared_ptr<Database>(
      new Database(path, std::move(owned), options.read_only, verify_reads));
}

Database::~Database() {
  close();
}

void Database::refuse_in_child() const {
  if (forked_child()) {
    raise("misuse", path_ + " was opened before fork(); open it anew in the child");
  }
}

void Database::settle(Gate::Answer answer) const {
  if (answer == Gate::Answer::closed) {
    raise("closed", path_ + " is closed");
  }
  if (answer == Gate::Answer::own_lock) {
    raise("misuse", path_ +
                        " is locked by this thread's own transaction(); write through the "
                        "transaction, or after it");
  }
}

void Database::lock_writers(const void* holder) {
  refuse_in_child();
  if (read_only_) {
    raise("read-only", path_ + " was opened with read_only=True");
  }
  try {
    wait([&] { return gate_.lock_writers(holder); }, [] {});
  } catch (...) {
    gate_.unlock_writers(holder);
    throw;
  }
}

void Database::add(Dependent* dependent) {
  const std::lock_guard lock(dependents_mutex_);
  dependents_.insert(dependent);
}

void Database::remove(Dependent* dependent) {
  if (forked_child()) {
    return;
  }
  const Unlocked unlocked;
  if (gate_.enter() != Gate::Answer::entered) {
    finish();  // drops all of them
    return;
  }
  const Gate::Exit exit(gate_, false);
  {
    const std::lock_guard lock(dependents_mutex_);
    if (dependents_.erase(dependent) == 0) {
      return;
    }
  }
  // Without the lock. A call that has the dependent's own lock may wait for this one in add().
  dependent->drop();
}

void Database::close() {
  if (forked_child()) {
    // Without the gate: its lock may stay held for ever in the child.
    db_.reset();
    return;
  }
  const Unlocked unlocked;
  finish();
}

void Database::finish() {
  gate_.close();
  const std::lock_guard once(ending_mutex_);  // concurrent calls wait for the first one
  if (!ended_) {
    const std::lock_guard lock(dependents_mutex_);
    for (Dependent* dependent : dependents_) {
      dependent->drop();
    }
    dependents_.clear();
    db_.reset();
    ended_ = true;
  }
}

Snapshot::Snapshot(std::shared_ptr<Database> database) : database_(std::move(database)) {
  database_->read([&](db::DB& db) {
    const auto release = [&](const db::Snapshot* snapshot) { db.ReleaseSnapshot(snapshot); };
    std::unique_ptr<const db::Snapshot, decltype(release)> opened(db.GetSnapshot(), release);
    if (opened == nullptr) {
      return db::Status::IOError("no snapshot could be opened; the database may have failed");
    }
    database_->add(this);
    db_ = &db;
    snapshot_ = opened.release();
    return db::Status::OK();
  });
}

Snapshot::~Snapshot() {
  database_->remove(this);
}

void Snapshot::drop() {
  const std::lock_guard lock(mutex_);
  db_->ReleaseSnapshot(snapshot_);
  snapshot_ = nullptr;
}

}  // namespace holdfast::bindings
