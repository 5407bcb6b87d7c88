// Document symbols in the client's terms, as JSON text: an answer may hold thousands, so they are written as they come.
#pragma once

#include <string>
#include <vector>

#include "server/features/hints/symbols.h"
#include "server/session/documents/convert.h"

namespace hotlens::session {

std::string symbols_text(const std::vector<features::Symbol>& symbols, const Places& places);

}  // namespace hotlens::session
