// What the server answers to the timeline's requests (protocol/TIMELINE.md), whatever connection they come over.
//
// A request is a function of the library and the params; it may read a profile from disk, so call it off the strand. Nothing is kept
// between two requests but what the library holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "annotator/lab/predict/batch_sizes.h"
#include "protocol/rpc.h"
#include "server/timeline/library.h"

namespace hotlens::timeline_requests {

// What answer() knows. `reveal`, `point`, `predict`, `setBatchSize` and `setCheckpoints` are none of them: they are
// the connection's, which knows the editor.
std::vector<std::string> methods();

protocol::Answer answer(Library& library, std::string_view method, const protocol::Json& params);

// Of the answer to `batchSizes` what is predicted, in place of what it says.
void put_batch_sizes(protocol::Json& answer, const lab::BatchSizes& predicted);

// What a page asks for first, as JSON text: {profiles, overview, level, width}, the level of the step that the overview calls
// representative, for `width` pixels. Empty where the current profile is not open yet. Reads no trace and waits for none.
std::string first_answers(Library& library);

}  // namespace hotlens::timeline_requests
