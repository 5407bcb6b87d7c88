// One JSON object of traceEvents becomes one row of the columns. The hot path of reading: no allocation per event.
#pragma once

#include <simdjson.h>

#include <map>
#include <string>

#include "annotator/trace/fields.h"
#include "annotator/trace/trace.h"
#include "annotator/trace/vocabulary.h"

namespace hotlens::trace {

// Numbers of one kind that are small enough together for any sum of them to fit, whatever a trace says: 73 years, or 2 exabytes.
class Total {
 public:
  static constexpr std::int64_t kMost = std::int64_t{1} << 61;

  // Takes a number in, whatever its sign; false where the total would be too large.
  bool add(std::int64_t number) {
    const auto size = static_cast<std::uint64_t>(number < 0 ? -number : number);
    if (size > static_cast<std::uint64_t>(kMost) - total_) return false;
    total_ += size;
    return true;
  }

 private:
  std::uint64_t total_ = 0;
};

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
  void keep(const Fields& fields);
  void note_unknown(const Fields& fields, Ns duration);
  void name_unknown();
  void keep_sides(std::uint32_t event, Category category, const Arguments& arguments);
  void keep_message(std::uint32_t event, Category category, std::string_view name, const Arguments& arguments);
  void keep_memory(const Fields& fields);
  void keep_flow(const Fields& fields);
  void keep_metadata(const Fields& fields);

  Trace& trace_;
  Issues& issues_;
  Vocabulary vocabulary_;
  std::uint32_t next_index_ = 0;
  Total time_, bytes_;
  struct Unknown {
    std::int64_t events = 0;
    Ns time{};
  };
  std::map<std::string, Unknown, std::less<>> unknown_;  // work that looks like a device's, by category
  bool correlated_ = false;                              // device work tells its launch
  bool sequenced_ = false;                               // backward operators tell their forward
};

}  // namespace hotlens::trace
