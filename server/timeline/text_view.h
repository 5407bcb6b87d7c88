// Where a client of `hotlens/timeline/text` stands. The client keeps it between two requests, as JSON that it does not look into; the
// server keeps nothing. A view of a profile, a step or a block that is not there any more leads to the nearest one that is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/reader.h"
#include "server/text/axis.h"

namespace hotlens::timeline_requests {

struct TextView {
  std::string profile;              // empty: what is shown now
  std::optional<std::size_t> step;  // absent: the representative one
  bool recording = false;           // the whole recording is shown; `step` is what it was opened from
  bool unfold = false;
  std::vector<std::string> path;      // of the lowest open level
  std::optional<text::Moments> zoom;  // of the lowest level
  struct Cursor {
    std::size_t depth = 0;
    std::string track;  // its id
    Ns at{};            // start of the block
  };
  std::optional<Cursor> cursor;
  struct Search {
    std::string query;
    std::size_t step = 0;  // that was searched
    std::size_t match = 0;
  };
  std::optional<Search> search;
  std::vector<std::string> told;  // what ran in the window that was added up, or how two steps differ
};

TextView view_in(const protocol::Reader& json);
protocol::Json view_json(const TextView& view);

std::vector<std::string> strings_in(const protocol::Reader& list);

}  // namespace hotlens::timeline_requests
