// Predictions for other batch sizes on request: this program's own `predict` in a child process, one at a time, with progress and cancel.
//
// No user code runs, but a worker is compiled and operators of the profile run: only where the workspace is trusted.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "annotator/lab/predict/batch_sizes.h"
#include "protocol/rpc.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"
#include "server/session/profiling/child_verb.h"

namespace hotlens::session {

class Predicting {
 public:
  using Json = protocol::Json;
  using Shared = std::shared_ptr<const profile::Profile>;
  using Prediction = std::shared_ptr<const lab::BatchSizes>;
  struct Events {
    // The profile of an open document; of no document (empty) what the workspace shows. May be null.
    std::function<Shared(const std::string& uri)> shown;
    // A run of the script that records `batch_sizes` too; the reply says whether it started.
    std::function<void(const std::string& uri, const std::string& batch_sizes, protocol::Reply reply)> record;
    std::function<void()> changed;  // a prediction began or ended
  };

  Predicting(Loop& loop, Client& client, Workspace& workspace, Events events);
  Predicting(const Predicting&) = delete;
  Predicting& operator=(const Predicting&) = delete;

  // Of the document's profile. One that knows its step at a single batch size is recorded again first, with a second one.
  void predict(const Json& argument, protocol::Reply reply);
  void cancel_progress(const Json& params) { child_.cancel_progress(params); }
  // A run has left a bundle, or has ended without one (nothing): one that was asked for here goes on.
  void recorded(const std::optional<std::filesystem::path>& bundle);
  void end() { child_.end(); }

  // What is kept in the bundle of a profile that is shown counts as predicted here. Looks once.
  void take_up(const Shared& shown);

  bool running() const { return child_.running(); }
  Prediction of(const std::string& profile) const;  // by the profile's id; may be null
  // Why the last prediction came to nothing; empty where it was of another profile, or came to something.
  std::string failure_of(const std::filesystem::path& bundle) const;

 private:
  Json refused(const std::string& why);
  void start(const std::filesystem::path& bundle, std::int64_t batch);
  bool ended(const std::filesystem::path& bundle, const ChildVerb::Outcome& outcome);
  void keep(const std::filesystem::path& bundle, const std::string& answer);
  void fail(const std::filesystem::path& bundle, const std::string& why);

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
  Events events_;
  ChildVerb child_;
  std::optional<std::int64_t> awaited_;  // the batch size of a run that this object asked for
  std::map<std::string, Prediction> predicted_;
  std::set<std::string> looked_;                          // profiles that take_up() has seen
  std::pair<std::filesystem::path, std::string> failed_;  // the last one: of which bundle, and why
};

}  // namespace hotlens::session
