#include "server/session/profiling/child_verb.h"

#include <string_view>
#include <utility>

#include "annotator/common/own_program.h"
#include "server/session/profiling/profiling.h"

namespace hotlens::session {

namespace fs = std::filesystem;

void ChildVerb::start(Command command, Events events) {
  std::vector<std::string> argv{own_program().value_or(fs::path()).string()};
  argv.insert(argv.end(), command.words.begin(), command.words.end());
  if (!command.python.empty()) argv.insert(argv.end(), {"--python", command.python});
  active_ = Active{};
  active_->id = ++last_;
  active_->verb = command.words.front();
  active_->events = std::move(events);
  const std::string token = "hotlens-" + command.name + "-" + std::to_string(last_);
  active_->progress = std::make_unique<ProgressReport>(client_, loop_, token, command.title);
  const auto on_strand = [this, id = last_](auto handler) {
    return [this, id, handler](const auto& value) {
      loop_.post([this, id, handler, value] {
        if (active_ && active_->id == id) (this->*handler)(*active_, value);
      });
    };
  };
  // <root>/.hotlens/profiles/<id>
  active_->run = runs::start({.argv = std::move(argv), .cwd = command.bundle.parent_path().parent_path().parent_path()},
                             {.output = on_strand(&ChildVerb::on_output), .end = on_strand(&ChildVerb::on_end)});
  active_->events.changed();
}

void ChildVerb::on_output(Active& active, const runs::OutputLine& line) {
  if (!line.is_error) {
    active.answer += line.text + '\n';
    return;
  }
  constexpr std::string_view kSpeaker = "hotlens: ";
  active.said = line.text.starts_with(kSpeaker) ? line.text.substr(kSpeaker.size()) : line.text;
  active.progress->report(active.said, active.events.said(active.said));
}

void ChildVerb::on_end(Active& active, const runs::RunEnd& end) {
  std::string why = end.error ? end.error->message : active.said;
  if (why.empty()) why = "hotlens " + active.verb + " ended without a reason.";
  const bool done =
      active.events.ended({.answer = std::move(active.answer), .why = std::move(why), .end = end, .cancelled = active.cancelled});
  active.progress->end(done ? "Done." : active.cancelled ? "Cancelled." : "Failed.");
  const auto changed = std::move(active.events.changed);
  active_.reset();
  changed();
}

bool ChildVerb::cancel() {
  if (!active_) return false;
  active_->cancelled = true;
  if (active_->run) active_->run->cancel(kCancelGrace);
  return true;
}

void ChildVerb::cancel_progress(const protocol::Json& params) {
  if (active_ && active_->progress->is_named_by(params)) cancel();
}

void ChildVerb::end() {
  if (active_) active_->run.reset();
}

}  // namespace hotlens::session
