// Between the client's cells and the scripts of its notebooks: what it asks of a cell is put to the script, what it is told of a script is
// put into the cells. Values of the protocol in and out; nothing here knows what they mean beyond their places.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/rpc.h"
#include "server/session/documents/notebooks.h"

namespace hotlens::session {

// What turns the answer about the script into one about the cell.
using ForCell = std::function<protocol::Outcome(const protocol::Outcome&)>;

// Puts a question about a cell to the script; null where it is about no cell of an open notebook.
ForCell ask_script(const Notebooks& notebooks, std::string_view method, protocol::Json& params);

// Every place in a script (`uri` with a position, a range, a selection or lines; edits) becomes one in a cell.
protocol::Json in_cells(const Notebooks& notebooks, protocol::Json value);

// What has a place in a script (diagnostics, edits of its text), by cell; of another document all of it.
using ByCell = std::vector<std::pair<std::string, protocol::Json>>;
ByCell by_cell(const Notebooks& notebooks, const std::string& uri, const protocol::Json& list);

}  // namespace hotlens::session
