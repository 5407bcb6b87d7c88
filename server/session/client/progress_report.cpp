#include "server/session/client/progress_report.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace hotlens::session {
namespace {

using protocol::Json;

constexpr std::chrono::milliseconds kReportEvery{100};

}  // namespace

struct ProgressReport::State : std::enable_shared_from_this<State> {
  State(Client& to, Loop& on, std::string name, std::string heading)
      : client(to), loop(on), token(std::move(name)), title(std::move(heading)) {}

  void send(Json value, Output::Weight weight = Output::Weight::needed) {
    client.notify("$/progress", {{"token", token}, {"value", std::move(value)}}, weight);
  }

  void begin() {
    begun = true;
    send({{"kind", "begin"}, {"title", title}, {"cancellable", true}, {"message", message}, {"percentage", percent}});
    if (ended) send_end();
  }

  void send_end() { send({{"kind", "end"}, {"message", message}}); }

  // The first of a burst goes out at once, the last of it when the time is over.
  void report_soon() {
    if (!begun || ended || scheduled) return;
    send({{"kind", "report"}, {"message", message}, {"percentage", percent}, {"cancellable", true}}, Output::Weight::droppable);
    changed = false;
    scheduled = true;
    pause = loop.after(kReportEvery, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->scheduled = false;
      if (self->changed) self->report_soon();
    });
  }

  Client& client;
  Loop& loop;
  std::string token, title, message;
  int percent = 0;
  bool begun = false, ended = false, scheduled = false, changed = false;
  Loop::Timer pause;
};

ProgressReport::ProgressReport(Client& client, Loop& loop, std::string token, std::string title)
    : state_(std::make_shared<State>(client, loop, std::move(token), std::move(title))) {
  if (!client.can.progress) return;
  client.request("window/workDoneProgress/create", {{"token", state_->token}}, [state = state_](const protocol::Answer& answer) {
    if (answer) state->begin();
  });
}

ProgressReport::~ProgressReport() {
  end("");
}

void ProgressReport::report(std::string message, int percent) {
  state_->message = std::move(message);
  state_->percent = std::clamp(percent, state_->percent, 100);
  state_->changed = true;
  state_->report_soon();
}

void ProgressReport::end(std::string message) {
  if (std::exchange(state_->ended, true)) return;
  state_->message = std::move(message);
  state_->pause = {};
  if (state_->begun) state_->send_end();
}

bool ProgressReport::is_named_by(const Json& params) const {
  const auto token = params.is_object() ? params.find("token") : params.end();
  return params.is_object() && token != params.end() && *token == state_->token;
}

}  // namespace hotlens::session
