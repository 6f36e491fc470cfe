// SPDX-License-Identifier: Apache-2.0
//
// holdfast._core: the functions of holdfast/runner for Python.
//
// Arguments and results cross as JSON text; Python gets dictionaries and lists. A failed Status
// becomes the exception holdfast._core.Error, with `code` and `message`.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "holdfast/base/status.h"
#include "holdfast/runner/bench/bench.h"
#include "holdfast/runner/bench/replay.h"
#include "holdfast/runner/catalog.h"
#include "holdfast/runner/crash/canary.h"
#include "holdfast/runner/crash/crash.h"
#include "holdfast/runner/db/db_bench.h"
#include "holdfast/runner/heap/heap_tools.h"
#include "holdfast/runner/heap/serve.h"
#include "holdfast/runner/sim/simulate.h"
#include "holdfast/runner/spec/environment.h"
#include "holdfast/runner/spec/json.h"
#include "holdfast/runner/spec/progress.h"
#include "holdfast/runner/spec/record.h"

namespace nb = nanobind;

namespace holdfast {
namespace {

/// Returns the exception class, which is an attribute of the module.
nb::object error_class() {
  return nb::module_::import_("holdfast._core").attr("Error");
}

Json from_python(const nb::object& value) {
  const nb::object text = nb::module_::import_("json").attr("dumps")(value);
  return Json::parse(nb::cast<std::string>(text));
}

nb::object to_python(const Json& value) {
  // Names in a damaged heap may not be valid text. They are replaced, so that the report is
  // readable.
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return nb::module_::import_("json").attr("loads")(text);
}

/// Paths, and messages that name them, may be no UTF-8.
std::string to_path(const nb::bytes& path) {
  return {path.c_str(), path.size()};
}

nb::object to_text(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

[[noreturn]] void raise(const Status& status) {
  const nb::object error = error_class()(to_text(status.to_string()));
  error.attr("code") = to_string(status.code());
  error.attr("message") = to_text(status.message());
  PyErr_SetObject(error_class().ptr(), error.ptr());
  throw nb::python_error();
}

/// Runs `work` without the interpreter's lock.
template <class F>
nb::object unlocked(F&& work) {
  Result<Json> result = [&] {
    const nb::gil_scoped_release release;
    return work();
  }();
  if (!result.ok()) {
    raise(result.status());
  }
  return to_python(*result);
}

/// A progress callback. It takes the interpreter's lock, lets Python handle signals, so that Ctrl-C
/// stops the work, and calls `callable` unless that is None.
class PythonProgress {
 public:
  explicit PythonProgress(nb::object callable) : callable_(std::move(callable)) {}

  void operator()(double share, const std::string& text) {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) {
      throw nb::python_error();
    }
    if (!callable_.is_none()) {
      callable_(share, text);
    }
  }

 private:
  nb::object callable_;
};

nb::object py_bench(const nb::object& spec, nb::object progress) {
  const Json json = from_python(spec);
  PythonProgress call(std::move(progress));
  return unlocked([&] { return bench(json, call); });
}

nb::object py_db_bench(const nb::object& spec, nb::object progress) {
  const Json json = from_python(spec);
  PythonProgress call(std::move(progress));
  return unlocked([&] { return db_bench(json, call); });
}

nb::object py_replay(const nb::object& spec, nb::object progress) {
  const Json json = from_python(spec);
  PythonProgress call(std::move(progress));
  return unlocked([&] { return replay(json, call); });
}

nb::object py_simulate(const nb::object& spec, nb::object progress) {
  const Json json = from_python(spec);
  PythonProgress call(std::move(progress));
  return unlocked([&] { return simulate(json, call); });
}

nb::object py_crash(const nb::object& spec, nb::object progress) {
  const Json json = from_python(spec);
  PythonProgress call(std::move(progress));
  return unlocked([&] { return crash(json, call); });
}

nb::object py_hunt(const nb::object& spec) {
  const Json json = from_python(spec);
  return unlocked([&] { return hunt(json, [](double, const std::string&) {}); });
}

nb::object py_serve(const nb::object& spec, int fd) {
  const Json json = from_python(spec);
  return unlocked([&] { return serve(json, fd); });
}

nb::object py_verify(const nb::object& spec, const nb::bytes& records, nb::object progress) {
  const Json json = from_python(spec);
  const std::string_view bytes(records.c_str(), records.size());
  PythonProgress call(std::move(progress));
  return unlocked([&] { return verify(json, bytes, call); });
}

nb::object py_info(const nb::bytes& path) {
  const std::string file = to_path(path);
  return unlocked([&] { return heap_info(file); });
}

nb::object py_check(const nb::bytes& path) {
  const std::string file = to_path(path);
  return unlocked([&] { return heap_check(file); });
}

nb::object py_dump(const nb::bytes& path) {
  const std::string file = to_path(path);
  return unlocked([&] { return heap_dump(file); });
}

nb::object py_convert(const nb::bytes& source, const nb::bytes& target, const nb::object& spec) {
  const Json json = from_python(spec);
  const std::string from = to_path(source);
  const std::string to = to_path(target);
  return unlocked([&] { return heap_convert(from, to, json); });
}

/// Defines class Error(Exception). args[0] is the whole text; code and message are its parts.
void define_error(nb::module_& module) {
  nb::object error =
      nb::steal(PyErr_NewExceptionWithDoc("holdfast._core.Error",
                                          "An operation failed. `code` names the kind of failure. "
                                          "`message` says what was found and what to do about it.",
                                          PyExc_Exception, nullptr));
  if (!error.is_valid()) {
    throw nb::python_error();
  }
  module.attr("Error") = error;
}

}  // namespace
}  // namespace holdfast

NB_MODULE(_core, m) {
  using namespace holdfast;  // NOLINT(google-build-using-namespace): one function
  m.doc() = "Holdfast's runner: catalogues, benchmarks, kill tests, simulated runs, heap files.";
  define_error(m);
  m.attr("RECORD_BYTES") = sizeof(Record);
  m.attr("READY_KIND") = Record::kReady;
  m.def(
      "engines", [] { return to_python(engine_catalog()); },
      "The engines, as a list of dictionaries.");
  m.def("workloads", [] { return to_python(workload_catalog()); }, "The workloads.");
  m.def(
      "machines",
      [](const std::string& directory) { return to_python(machine_catalog(directory)); },
      nb::arg("directory") = "",
      "The machines: native, and the simulated ones described in directory.");
  m.def(
      "designs", [] { return to_python(design_catalog()); },
      "The hardware designs of simulated machines.");
  m.def(
      "environment", [] { return to_python(environment()); },
      "Processor, kernel, compiler, commit: the context of a measurement.");
  m.def("bench", &py_bench, nb::arg("spec"), nb::arg("progress").none() = nb::none(),
        "Measures natively; see holdfast/runner/bench/bench.h for the fields. The function calls "
        "progress(share, text) about once a second, which may raise to stop.");
  m.def("db_bench", &py_db_bench, nb::arg("spec"), nb::arg("progress").none() = nb::none(),
        "Measures HoldfastDB and its peers; see holdfast/runner/db/db_bench.h.");
  m.def(
      "db_bench_catalog", [] { return to_python(db_bench_catalog()); },
      "The benchmarks and peers of db_bench.");
  m.def("replay", &py_replay, nb::arg("spec"), nb::arg("progress").none() = nb::none(),
        "Measures log replay natively; see holdfast/runner/bench/replay.h.");
  m.def("sim", &py_simulate, nb::arg("spec"), nb::arg("progress").none() = nb::none(),
        "Runs on the simulated machine; see holdfast/runner/sim/simulate.h.");
  m.def("crash", &py_crash, nb::arg("spec"), nb::arg("progress").none() = nb::none(),
        "Crashes a small program at its persist events; see holdfast/runner/crash/crash.h.");
  m.def("hunt", &py_hunt, nb::arg("spec"),
        "Searches for the effect of a planted bug; see holdfast/runner/crash/canary.h.");
  m.def(
      "planted_bugs", [] { return to_python(planted_bug_catalog().value()); },
      "Canaries and harmless bugs of each engine; see holdfast/runner/crash/canary.h.");
  m.def("serve", &py_serve, nb::arg("spec"), nb::arg("fd"),
        "The worker of a kill test: writes one record of RECORD_BYTES per operation to fd.");
  m.def("verify", &py_verify, nb::arg("spec"), nb::arg("records"),
        nb::arg("progress").none() = nb::none(),
        "Recovers a heap and verifies the records that its worker sent before it was killed.");
  m.def("info", &py_info, nb::arg("path"),
        "The facts in a heap file's superblock; works while the heap is in use.");
  m.def("check", &py_check, nb::arg("path"),
        "Opens a heap and walks its allocator and structures.");
  m.def("dump", &py_dump, nb::arg("path"),
        "The heap's superblocks, roots and allocator in detail.");
  m.def("convert", &py_convert, nb::arg("source"), nb::arg("target"), nb::arg("spec"),
        "Copies a heap to another engine: spec has engine and options.");
}
