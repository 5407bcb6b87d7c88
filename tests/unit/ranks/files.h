// Traces of ranks as files.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace hotlens::ranks {

class TraceFile {
 public:
  // `more`: keys of the root, each with a comma behind it.
  TraceFile(const std::string& name, const std::string& events, const std::string& more = {})
      : path_(std::filesystem::temp_directory_path() / ("hotlens-" + std::to_string(getpid()) + "-" + name + ".json")) {
    std::ofstream(path_) << "{" << more << "\"traceEvents\":[" << events << "]}";
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace hotlens::ranks
