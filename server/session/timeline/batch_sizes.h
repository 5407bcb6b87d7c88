// Other batch sizes in the timeline: what this session knows of predictions, and a chosen size written into the script, as one edit of
// exactly the number, which one undo takes back.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "annotator/lab/predict/batch_sizes.h"
#include "protocol/rpc.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"

namespace hotlens::session {

// Beside what is kept in a profile's bundle.
struct Predictions {
  std::shared_ptr<const lab::BatchSizes> known;  // null: nothing is known in this session
  bool running = false;
  std::string refused;  // why none can be started now; empty: one can
  std::string failed;   // what the last one of this profile failed with
};
// By the profile's id.
using PredictionsOf = std::function<Predictions(const std::string& profile)>;

// Where predictions are started for a page that cannot.
inline constexpr std::string_view kPredictInEditor =
    "Predictions are started in the editor: there is a lens above the line of the batch size.";

// A reply that adds them to the answer to `hotlens/timeline/batchSizes`. `in_editor`: over the editor's own connection.
protocol::Reply with_predictions(protocol::Reply reply, const Client& client, PredictionsOf predictions, bool in_editor);

// `hotlens/timeline/setBatchSize`: {applied, message?}. What the client has open is edited in the version that it has; of another file of
// the workspace the text is read from the disk. Nothing is written where the text does not set the size any more that was measured.
void set_batch_size(Loop& loop, Client& client, Workspace& workspace, const protocol::Json& params, protocol::Reply reply);

}  // namespace hotlens::session
