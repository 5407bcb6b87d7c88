#include "server/session/predicting.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "annotator/lab/predict/kept.h"
#include "annotator/profile/bundle/bundle.h"
#include "protocol/reader.h"
#include "server/session/profiling.h"

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
    : loop_(loop), client_(client), workspace_(workspace), events_(std::move(events)) {}

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
  if (active_) return reply(refused("A prediction is in progress."));
  const Shared shown = events_.shown(uri);
  if (!shown || shown->folder.empty() || !shown->samples_per_step) {
    return reply(refused("The batch size is not known: no profile of this file has one. Profile the script first."));
  }
  auto held = std::make_shared<protocol::Reply>(std::move(reply));
  loop_.work([bundle = shown->folder] { return profile::read_manifest(bundle); },
             [this, held, uri, bundle = shown->folder, batch = *shown->samples_per_step](Result<profile::Manifest> manifest) {
               if (!manifest) return (*held)(refused(manifest.error().message));
               if (active_) return (*held)(refused("A prediction is in progress."));
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
  if (batch && bundle && !active_) start(*bundle, *batch);
}

void Predicting::start(const fs::path& bundle, std::int64_t batch) {
  std::error_code error;
  std::vector<std::string> argv{fs::read_symlink("/proc/self/exe", error).string(),
                                "predict",
                                bundle.string(),
                                "--batch-size",
                                lab::sizes_around(batch),
                                "--format",
                                "json"};
  if (!workspace_.settings.python.empty()) argv.insert(argv.end(), {"--python", workspace_.settings.python});
  failed_ = {};
  active_.emplace();
  active_->id = ++last_;
  active_->bundle = bundle;
  active_->progress = std::make_unique<ProgressReport>(client_, loop_, "hotlens-predict-" + std::to_string(last_), "Other batch sizes");
  const auto on_strand = [this, id = last_](auto handler) {
    return [this, id, handler](const auto& value) {
      loop_.post([this, id, handler, value] {
        if (active_ && active_->id == id) (this->*handler)(*active_, value);
      });
    };
  };
  // <root>/.hotlens/profiles/<id>: an environment is looked for where the run was.
  active_->run = runs::start({.argv = std::move(argv), .cwd = bundle.parent_path().parent_path().parent_path()},
                             {.output = on_strand(&Predicting::on_output), .end = on_strand(&Predicting::on_end)});
  events_.changed();
}

void Predicting::on_output(Active& active, const runs::OutputLine& line) {
  if (!line.is_error) {
    active.answer += line.text + '\n';
    return;
  }
  constexpr std::string_view kSpeaker = "hotlens: ";
  active.said = line.text.starts_with(kSpeaker) ? line.text.substr(kSpeaker.size()) : line.text;
  active.progress->report(active.said, 0);
}

void Predicting::on_end(Active& active, const runs::RunEnd& end) {
  const bool done = end.exit_code == 0;
  if (done) keep(active.bundle, active.answer);
  if (!done && !active.cancelled) {
    const std::string why = end.error ? end.error->message : active.said;
    fail(active.bundle, why.empty() ? "hotlens predict ended without a reason." : why);
  }
  active.progress->end(done ? "Done." : active.cancelled ? "Cancelled." : "Failed.");
  active_.reset();
  events_.changed();
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

void Predicting::cancel_progress(const Json& params) {
  if (!active_ || !active_->progress->is_named_by(params)) return;
  active_->cancelled = true;
  if (active_->run) active_->run->cancel(kCancelGrace);
}

void Predicting::end() {
  if (active_) active_->run.reset();
}

}  // namespace hotlens::session
