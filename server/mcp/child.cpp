#include "server/mcp/child.h"

#include <filesystem>
#include <utility>

#include "server/session/profiling/sentences.h"

namespace hotlens::mcp {
namespace {

constexpr std::chrono::milliseconds kGrace{700};  // from the word to stop to SIGKILL
constexpr std::size_t kMostOutput = std::size_t{4} << 20;
constexpr std::string_view kSpeaker = "hotlens: ";

}  // namespace

struct Child::State {
  Events events;
  End end;

  void heard(const runs::OutputLine& line) {
    if (!line.is_error) {
      if (end.output.size() < kMostOutput) end.output += line.text + '\n';
      return;
    }
    if (!line.text.starts_with(kSpeaker)) return;
    end.said = line.text.substr(kSpeaker.size());
    events.progress(end.said, std::nullopt);
  }
  void moved(const runs::Progress& progress) {
    if (progress.phase == runs::Phase::failed) return;
    const auto [words, percent] = session::progress_words(progress);
    events.progress(words, percent);
  }
  void ended(const runs::RunEnd& run) {
    end.run = run;
    const auto told = std::move(events.end);  // may destroy this
    told(End(end));
  }
};

namespace {

// What the supervising thread tells goes to the strand, and is lost where the child is gone by then.
template <class State, class Value>
auto on_strand(session::Loop& loop, const std::shared_ptr<State>& state, void (State::*handler)(const Value&)) {
  return [&loop, weak = std::weak_ptr(state), handler](const Value& value) {
    loop.post([weak, handler, value] {
      if (const auto alive = weak.lock()) ((*alive).*handler)(value);
    });
  };
}

}  // namespace

Child::Child(session::Loop& loop, runs::RunRequest request, std::chrono::seconds limit, Events events)
    : state_(std::make_shared<State>(State{std::move(events), {}})),
      run_(runs::start(std::move(request), {.progress = on_strand(loop, state_, &State::moved),
                                            .output = on_strand(loop, state_, &State::heard),
                                            .end = on_strand(loop, state_, &State::ended)})) {
  deadline_ = loop.after(limit, [this] {
    state_->end.late = true;
    run_.cancel(kGrace);
  });
}

}  // namespace hotlens::mcp
