// The texts that repeat from event to event, each looked at once: names, categories, processes and threads become numbers.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "annotator/common/hash.h"
#include "annotator/trace/trace.h"

namespace hotlens::trace {

// Fills Trace::names, processes and threads. Tokens are given as they stand in the file.
class Vocabulary {
 public:
  explicit Vocabulary(Trace& trace) : trace_(trace) {}

  NameId name_of(std::string_view token);
  ProcessId process_of(std::string_view process);
  ThreadId thread_of(std::string_view process, std::string_view thread);

  // Of an event with this name; without a category its process tells, as in the legacy form. Torch before 1.12 filed record_function ranges
  // under operators; `numbered`: the event has a sequence number, as no range has.
  Category category_of(std::string_view category, std::string_view process, NameId name, bool numbered);

  // Of the event that category_of was asked for last: whether nobody told us what its category is.
  bool is_unknown() const { return last_unknown_; }
  std::string_view last_category() const { return last_place_; }

 private:
  Trace& trace_;
  Names tokens_;  // pid and tid texts, and categories
  struct Known {
    Category category = Category::other;
    bool unknown = false;
  };
  std::vector<std::optional<Known>> category_by_token_;
  Names raw_names_;  // names as escaped in the file
  std::vector<NameId> name_by_raw_;
  std::vector<bool> annotation_by_name_, free_by_name_;  // by NameId: is_annotation_name, is_free_name
  std::unordered_map<std::uint32_t, ProcessId> process_by_token_;
  std::unordered_map<std::uint64_t, ThreadId, NumberHash> thread_by_tokens_;
  std::string_view last_process_, last_thread_;
  ThreadId last_;
  std::string_view last_place_;  // of the event before: its category, or the process that stands for it
  Category last_category_ = Category::cpu_op;
  bool last_unknown_ = false;
};

}  // namespace hotlens::trace
