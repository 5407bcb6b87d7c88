#include "server/session/advice/predicting.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "annotator/lab/predict/kept.h"
#include "annotator/profile/bundle/bundle.h"
#include "protocol/reader.h"
#include "server/session/profiling/profiling.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using protocol::Json;
using protocol::Reader;

std::string two_sizes(std::int64_t batch) {
  const std::int64_t second = lab::second_size(batch);
  return std::to_string(std::min(batch, second)) + "," + std::to_string(std::max(batch, second));
}

}  // namespace

Predicting::Predicting(Loop& loop, Client& client, Workspace& workspace, Events events)
    : loop_(loop), client_(client), workspace_(workspace), events_(std::move(events)), child_(loop, client) {}

Predicting::Prediction Predicting::of(const std::string& profile) const {
  const auto found = predicted_.find(profile);
  return found == predicted_.end() ? nullptr : found->second;
}

Json Predicting::refused(const std::string& why) {
  client_.show(MessageType::warning, why);
  return not_started(why);
}

void Predicting::predict(const Json& argument, protocol::Reply reply) {
  const Reader reader(argument);
  const auto named = reader.maybe("uri");
  const std::string uri = named ? named->string() : "";
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  if (!workspace_.trusted) return reply(refused("The workspace is not trusted: a prediction runs what its profile names."));
  if (child_.running()) return reply(refused("A prediction is in progress."));
  const Shared shown = events_.shown(uri);
  if (!shown || shown->folder.empty() || !shown->batch_size) {
    return reply(refused("The batch size is not known: no profile of this file has one. Profile the script first."));
  }
  auto held = std::make_shared<protocol::Reply>(std::move(reply));
  loop_.work([bundle = shown->folder] { return profile::read_manifest(bundle); },
             [this, held, uri, bundle = shown->folder, batch = *shown->batch_size](Result<profile::Manifest> manifest) {
               if (!manifest) return (*held)(refused(manifest.error().message));
               if (child_.running()) return (*held)(refused("A prediction is in progress."));
               if (!manifest->sized_programs.empty()) {
                 start(bundle, batch);
                 return (*held)(Json{{"started", true}});
               }
               awaited_ = batch;
               events_.record(uri, two_sizes(batch), std::move(*held));
             });
}

void Predicting::take_up(const Shared& shown) {
  if (!shown || shown->folder.empty() || !looked_.insert(shown->id).second) return;
  loop_.work([bundle = shown->folder, id = shown->id] { return lab::read_kept_batch_sizes(bundle, id); },
             [this, id = shown->id](Result<std::optional<lab::BatchSizes>> kept) {
               if (!kept || !*kept || predicted_.contains(id)) return;
               predicted_[id] = std::make_shared<const lab::BatchSizes>(std::move(**kept));
               events_.changed();
             });
}

void Predicting::recorded(const std::optional<fs::path>& bundle) {
  const auto batch = std::exchange(awaited_, std::nullopt);
  if (batch && bundle && !child_.running()) start(*bundle, *batch);
}

void Predicting::start(const fs::path& bundle, std::int64_t batch) {
  failed_ = {};
  child_.start({.words = {"predict", bundle.string(), "--batch-size", lab::sizes_around(batch), "--format", "json"},
                .bundle = bundle,
                .python = workspace_.settings.python,
                .name = "predict",
                .title = "Other batch sizes"},
               {.said = [](const std::string&) { return 0; },
                .ended = [this, bundle](const ChildVerb::Outcome& outcome) { return ended(bundle, outcome); },
                .changed = events_.changed});
}

bool Predicting::ended(const fs::path& bundle, const ChildVerb::Outcome& outcome) {
  const bool done = outcome.end.exit_code == 0;
  if (done) keep(bundle, outcome.answer);
  if (!done && !outcome.cancelled) fail(bundle, outcome.why);
  return done;
}

void Predicting::fail(const fs::path& bundle, const std::string& why) {
  failed_ = {bundle, why};
  client_.show(MessageType::warning, "No prediction: " + why);
}

std::string Predicting::failure_of(const fs::path& bundle) const {
  return failed_.first == bundle ? failed_.second : std::string();
}

void Predicting::keep(const fs::path& bundle, const std::string& answer) {
  auto read = lab::read_batch_sizes(answer);
  if (!read) return fail(bundle, read.error().message);
  for (const lab::Refusal& refusal : read->refused) {
    client_.show(MessageType::info, "Batch size " + std::to_string(refusal.batch) + " is not predicted: " + refusal.reason);
  }
  const std::string profile = read->profile;
  predicted_[profile] = std::make_shared<const lab::BatchSizes>(std::move(*read));
}

}  // namespace hotlens::session
