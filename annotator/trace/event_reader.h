// One JSON object of traceEvents becomes one row of the columns. The hot path of reading: no allocation per event.
#pragma once

#include <simdjson.h>

#include <string_view>
#include <unordered_map>
#include <vector>

#include "annotator/trace/trace.h"

namespace hotlens::trace {

class EventReader {
 public:
  // `bytes`: how much text to expect, 0 where that is not known.
  EventReader(Trace& trace, Issues& issues, std::size_t bytes);

  // Reads the next element of traceEvents and counts it. An error means that the JSON itself is broken here and nothing was kept of it.
  simdjson::error_code read(simdjson::ondemand::object object);

  // An element that holds no event keeps its place in the count.
  void skip() { ++next_index_; }
  std::uint32_t seen() const { return next_index_; }

  // After the last event: drops what was only kept in case nothing better comes.
  void finish();

 private:
  struct Raw;
  struct Arguments;
  simdjson::error_code read_fields(simdjson::ondemand::object object, Raw& raw);
  simdjson::error_code read_arguments(simdjson::ondemand::value value, Arguments& arguments);
  void keep(const Raw& raw);
  void keep_sides(std::uint32_t event, Category category, const Arguments& arguments);
  void keep_memory(const Raw& raw);
  void keep_flow(const Raw& raw);
  void keep_metadata(const Raw& raw);
  ThreadId thread_of(std::string_view process, std::string_view thread);
  ProcessId process_of(std::string_view process);
  NameId name_of(std::string_view token);
  Category category_of(const Raw& raw);
  bool is_range(const Raw& raw, NameId name) const;

  Trace& trace_;
  Issues& issues_;
  std::uint32_t next_index_ = 0;
  bool correlated_ = false;  // device work tells its launch
  bool sequenced_ = false;   // backward operators tell their forward
  Names tokens_;             // pid and tid texts, and categories
  std::vector<std::optional<Category>> category_by_token_;
  Names raw_names_;  // names as escaped in the file
  std::vector<NameId> name_by_raw_;
  std::vector<bool> annotation_by_name_, free_by_name_;  // by NameId: is_annotation_name, is_free_name
  std::unordered_map<std::uint32_t, ProcessId> process_by_token_;
  std::unordered_map<std::uint64_t, ThreadId> thread_by_tokens_;
  std::string_view last_process_, last_thread_;
  ThreadId last_;
};

}  // namespace hotlens::trace
