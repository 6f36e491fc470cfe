// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/heap/heap_tools.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <span>
#include <vector>

#include "holdfast/heap/file/inspect.h"
#include "holdfast/heap/heap_at_rest.h"
#include "holdfast/runner/heap/heap_report.h"
#include "holdfast/runner/heap/serve.h"
#include "holdfast/runner/sessions/engine_table.h"

namespace holdfast {
namespace {

std::string hexadecimal(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, value);
  return text;
}

Json to_json(const std::vector<Extent>& extents) {
  Json list = Json::array();
  for (const Extent& extent : extents) {
    list.push_back(
        {{"kind", to_string(extent.kind)}, {"offset", extent.offset}, {"bytes", extent.bytes}});
  }
  return list;
}

Json to_json(const std::string& path, const HeapFileInfo& info) {
  const Superblock& s = info.superblock;
  return {{"path", path},
          {"format", s.format},
          {"uuid", s.uuid_text()},
          {"engine", s.engine},
          {"options", s.options},
          {"in_use", info.in_use},
          {"superblock_healed", info.healed},
          {"file_bytes", info.file_bytes},
          {"disk_bytes", info.disk_bytes},
          {"data_bytes", s.data_bytes()},
          {"capacity_bytes", s.capacity},
          {"area_bytes", s.area_bytes()},
          {"journal_bytes", s.bytes_of(ExtentKind::journal)},
          {"checksummed_pages", s.has_page_checksums() ? s.checksummed_pages() : 0},
          {"growth_bytes", s.growth_bytes},
          {"extents", to_json(s.extents)},
          {"chunk_bytes", s.chunk_bytes},
          {"base", hexadecimal(s.base)},
          {"thread_slots", s.slots}};
}

/// Opens a heap of any engine read-only and without a workload. Recovery, if needed, happens in
/// memory and leaves the file as it is. No other program can change the file meanwhile.
std::unique_ptr<Session> open_any(const std::string& path, const HeapFileInfo& info) {
  SessionSpec spec;
  spec.engine = info.superblock.engine;
  spec.path = path;
  spec.open = SessionSpec::Open::open;
  spec.domain = Domain::process;
  spec.read_only = true;
  return std::move(open_session(spec)).value();
}

struct ConvertPlan {
  const NativeEngine* engine = nullptr;
  std::map<std::string, std::string> options;
  size_t max_bytes = 0;  ///< 0: as in the source
  int max_threads = 0;   ///< at least; the source's number if that is more
  size_t journal_bytes = 0;
};

ConvertPlan parse_convert(const Json& spec, const Superblock& source) {
  ConvertPlan plan;
  Fields fields(spec, "convert");
  plan.engine = find_native_engine(fields.text("engine", source.engine)).value();
  plan.options = fields.map("options");
  plan.max_bytes = static_cast<size_t>(fields.number("max_bytes", 0, 0, kMaxHeapBytes));
  plan.max_threads = static_cast<int>(fields.number("max_threads", 0, 0, kMaxThreads));
  // A journal was the default when the source was made, so an engine without one is no error.
  const bool keeps = plan.engine->description->check_journal().ok();
  const auto journal =
      keeps ? static_cast<int64_t>(source.bytes_of(ExtentKind::journal)) : int64_t{0};
  plan.journal_bytes =
      static_cast<size_t>(fields.number("journal_bytes", journal, 0, kMostJournalBytes));
  fields.finish();
  check_options({plan.engine->description}, plan.options).check();
  if (plan.engine->description->name == source.engine) {
    plan.options.insert(source.options.begin(), source.options.end());
  }
  return plan;
}

/// The options the new file shares with the old one: stored pointers stay valid only at the same
/// base, and the allocator's metadata is part of the data.
CreateOptions same_shape(const Superblock& s) {
  CreateOptions create;
  create.bytes = s.data_bytes();
  create.max_bytes = s.capacity;
  create.growth = s.format == 1 ? 0 : s.growth_bytes;  // a segment of format 1 was often large
  create.base = reinterpret_cast<std::byte*>(s.base);  // NOLINT(performance-no-int-to-ptr)
  create.max_threads = static_cast<int>(s.slots) - 1;  // one slot is the machine's own
  create.chunk_bytes = s.chunk_bytes;
  create.fine_classes = (s.features.incompatible & kFineClassesFeature) != 0;
  return create;
}

/// The data of a closed heap, at an address of their own.
struct CopiedData {
  std::vector<std::byte> bytes;
  int partitions;
};

/// Opens the source, copies its data, and closes it again: both heaps need the same address. Throws
/// Error(corrupt) if a page is damaged, because the copy would get a right checksum of it.
CopiedData copy_data(const std::string& path, const HeapFileInfo& info) {
  const auto session = open_any(path, info);
  session->verify_pages().status().check();
  const std::span<const std::byte> data = session->data();
  // Read here, where the header is aligned. In the copy it is not.
  const auto* header = reinterpret_cast<const DataHeader<AtRest>*>(data.data());
  CopiedData copy{.bytes = {data.begin(), data.end()},
                  .partitions = static_cast<int>(header->partitions.load())};
  session->close().check();
  return copy;
}

}  // namespace

Result<Json> heap_convert(const std::string& source, const std::string& target, const Json& spec) {
  return guarded([&] {
    const HeapFileInfo info = inspect_heap_file(source).value();
    const ConvertPlan plan = parse_convert(spec, info.superblock);
    const CopiedData content = copy_data(source, info);
    CreateOptions create = same_shape(info.superblock);
    create.max_bytes = std::max(plan.max_bytes != 0 ? plan.max_bytes : create.max_bytes,
                                static_cast<size_t>(create.bytes));
    create.max_threads = std::max(create.max_threads, plan.max_threads);
    create.engine = plan.engine->description->name;
    create.options = engine_options(*plan.engine->description, plan.options);
    create.content = content.bytes.data();
    create.content_bytes = content.bytes.size();
    create.partitions = content.partitions;
    create.journal_bytes = plan.journal_bytes;
    // In domain file the content is on the medium when this returns. An engine without write-backs
    // does not run there: its heaps survive a power cut only where caches do.
    const bool synced = plan.engine->description->runs_in(Domain::file);
    plan.engine->create(target, create, synced ? Domain::file : Domain::process).check();
    Json report = to_json(target, inspect_heap_file(target).value());
    report["source"] = source;
    report["source_engine"] = info.superblock.engine;
    report["source_format"] = info.superblock.format;
    return report;
  });
}

Result<Json> heap_info(const std::string& path) {
  return guarded([&] { return to_json(path, inspect_heap_file(path).value()); });
}

Result<Json> heap_check(const std::string& path) {
  return guarded([&] {
    const HeapFileInfo info = inspect_heap_file(path).value();
    const auto session = open_any(path, info);
    Json report = {{"path", path},
                   {"engine", info.superblock.engine},
                   {"recovery", to_json(session->recovery())}};
    report.update(holdfast::to_json(session->check_heap().value()));
    session->close().check();
    return report;
  });
}

Result<Json> heap_dump(const std::string& path) {
  return guarded([&] {
    const HeapFileInfo info = inspect_heap_file(path).value();
    Json report = to_json(path, info);
    const auto session = open_any(path, info);
    report["recovery"] = holdfast::to_json(session->recovery());
    report.update(holdfast::to_json(session->check_heap().value()));
    session->close().check();
    return report;
  });
}

}  // namespace holdfast
