// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/env.h"

#include <array>
#include <memory>

namespace holdfast::db {

SequentialFile::~SequentialFile() = default;
RandomAccessFile::~RandomAccessFile() = default;
WritableFile::~WritableFile() = default;
Logger::~Logger() = default;
FileLock::~FileLock() = default;
Env::~Env() = default;

Status Env::NewAppendableFile(const std::string& name, WritableFile** file) {
  *file = nullptr;
  return Status::NotSupported(name, "this Env cannot append to a file");
}

void Log(Logger* logger, const char* format, ...) {
  if (logger != nullptr) {
    std::va_list arguments;
    va_start(arguments, format);
    logger->Logv(format, arguments);
    va_end(arguments);
  }
}

Status WriteStringToFile(Env* env, const Slice& data, const std::string& name) {
  WritableFile* made = nullptr;
  Status status = env->NewWritableFile(name, &made);
  if (!status.ok()) {
    return status;
  }
  const std::unique_ptr<WritableFile> file(made);
  status = file->Append(data);
  if (status.ok()) {
    status = file->Close();
  }
  if (!status.ok()) {
    static_cast<void>(env->RemoveFile(name));
  }
  return status;
}

Status ReadFileToString(Env* env, const std::string& name, std::string* data) {
  data->clear();
  SequentialFile* made = nullptr;
  Status status = env->NewSequentialFile(name, &made);
  if (!status.ok()) {
    return status;
  }
  const std::unique_ptr<SequentialFile> file(made);
  std::array<char, 8192> scratch{};
  Slice part;
  do {
    status = file->Read(scratch.size(), &part, scratch.data());
    data->append(part.data(), status.ok() ? part.size() : 0);
  } while (status.ok() && !part.empty());
  return status;
}

}  // namespace holdfast::db
