// What each action of `hotlens/timeline/text` does.
#include <algorithm>
#include <charconv>
#include <map>

#include "server/timeline/requests.h"
#include "server/timeline/text_viewer.h"

namespace hotlens::timeline_requests {

using features::Match;
using text::Way;

namespace {

constexpr double kPan = 0.2;  // of what is seen
constexpr std::size_t kMostMatches = 50;

}  // namespace

struct Viewer::Keys {
  // Where a block leads to: a step, its level, what is drawn together, its line.
  static void open(Viewer& on) {
    const features::ShownBlock* block = on.chosen();
    if (block == nullptr) return;
    const std::size_t depth = on.cursor_->depth;
    std::vector<std::string> path(on.view_.path.begin(), on.view_.path.begin() + static_cast<std::ptrdiff_t>(depth));
    if (on.view_.recording && block->open) return open_step(on, block->segment);
    if (block->open) {
      path.push_back(block->segment);
      return on.show(std::move(path));
    }
    if (block->kind != "merged") return line(on);
    on.view_.path = std::move(path);
    on.see(text::filled(*block));
  }

  static void open_step(Viewer& on, const std::string& segment) {
    std::size_t step = 0;
    std::from_chars(segment.data(), segment.data() + segment.size(), step);
    on.show_step(step);
    on.show({});
  }

  static void up(Viewer& on) {
    if (on.view_.recording) return on.say("This is the whole recording: there is no level above it.");
    if (on.view_.path.empty()) return recording(on);
    on.show_block(on.view_.path);
  }

  // The step that was shown is chosen in it.
  static void recording(Viewer& on) {
    if (on.view_.recording) return;
    on.view_.recording = true;
    on.show({}, std::to_string(on.step()));
  }

  template <std::optional<text::Cursor> (*walk)(const text::Levels&, const text::Cursor&, Way), Way way>
  static void go(Viewer& on) {
    if (on.cursor()) on.move(walk(on.levels_, *on.cursor_, way));
  }

  // The block that is chosen, where it is of the lowest level.
  static const features::ShownBlock* here(Viewer& on) {
    const features::ShownBlock* block = on.chosen();
    return block != nullptr && on.cursor_->depth + 1 == on.levels_.size() ? block : nullptr;
  }

  static void zoom(Viewer& on, double factor) {
    const text::ShownLevel& level = on.levels().back();
    const text::Moments around = here(on) != nullptr ? text::filled(*here(on)) : level.seen();
    on.see(text::zoomed(level, around.from + around.length() / 2, factor));
  }
  static void zoom_to_block(Viewer& on) {
    if (const features::ShownBlock* block = here(on)) on.see(text::filled(*block));
  }
  static void fit(Viewer& on) { on.see(std::nullopt); }

  static void pan(Viewer& on, double by) {
    if (!on.view_.zoom) return on.say("All of this level is seen: zoom in first.");
    on.see(text::panned(on.levels().back(), by));
  }

  static void next_step(Viewer& on) { walk_to(on, on.view_.recording ? 0 : on.step() + 1); }
  static void previous_step(Viewer& on) {
    if (!on.view_.recording && on.step() > 0) walk_to(on, on.step() - 1);
  }
  static void walk_to(Viewer& on, std::size_t step) {
    if (step >= on.profile().steps.size()) return;
    on.show_step(step);
    on.show(on.view_.path);
  }

  static void unfold(Viewer& on) {
    on.view_.unfold = !on.view_.unfold;
    on.show({});
  }

  static void sum(Viewer& on) {
    const text::Moments window = on.levels().back().seen();
    const features::Recording* all = on.view_.recording ? &on.opened_->recording() : nullptr;
    on.view_.told =
        text::lines_of(all != nullptr ? features::sums_of(on.opened_->annotated(), all->start + window.from, all->start + window.to)
                                      : features::sums_of(on.blocks(), lowest(on), window.from, window.to),
                       window);
  }
  static std::uint32_t lowest(Viewer& on) { return *blocks::find_block(on.blocks(), on.view_.path); }

  static void compare(Viewer& on) {
    if (on.view_.recording) return on.say("Two steps are compared from one of them: open it first.");
    const auto other = other_step(on.profile(), on.step());
    if (!other) return on.say("This profile has one step: there is none to compare it with.");
    on.view_.told = lines_of_steps(*on.opened_, *other, on.step());
  }

  static void line(Viewer& on) {
    const features::ShownBlock* block = on.chosen();
    if (block == nullptr || block->block == blocks::kNoBlock) return on.say("No line is known for this block.");
    const std::vector<features::Place> places = features::places_of(on.blocks(), on.profile(), block->block);
    if (places.empty()) return on.say("No line is known for this block.");
    on.place_ = places.front();
  }

  // Which steps a search tells of depends on the step that is searched, so it stays the one where it began.
  static features::Matches matches_in(Viewer& on, std::size_t step, const std::string& query) {
    return features::search(*on.opened_->blocks(step), on.profile(), on.opened_->names(), query, kMostMatches);
  }

  static void follow(Viewer& on, int by) {
    if (!on.view_.search) return on.say("Nothing was searched for yet.");
    TextView::Search& search = *on.view_.search;
    const std::vector<Match> matches = matches_in(on, search.step, search.query).matches;
    if (matches.empty()) return on.say("Nothing in any step is named " + search.query + ".");
    const auto count = static_cast<std::ptrdiff_t>(matches.size());
    search.match = static_cast<std::size_t>((static_cast<std::ptrdiff_t>(search.match) + by + count) % count);
    const Match& match = matches[search.match];
    const std::size_t step = match.step.value_or(static_cast<std::uint32_t>(search.step));
    const std::uint32_t block = match.step ? same_in(on, step, match) : match.block;
    if (block == blocks::kNoBlock) return on.say(match.label + ": not a block of this step");
    on.show_step(step);
    on.show_block(blocks::path_of(on.blocks(), block));
    on.say(std::to_string(search.match + 1) + " of " + std::to_string(matches.size()) + ": " + match.label);
  }

  // What only another step has: where it is there is known to a search in that step.
  static std::uint32_t same_in(Viewer& on, std::size_t step, const Match& match) {
    const std::vector<Match> there = matches_in(on, step, match.label).matches;
    const auto same = std::ranges::find_if(
        there, [&](const Match& each) { return each.kind == match.kind && each.label == match.label && each.block != blocks::kNoBlock; });
    return same == there.end() ? blocks::kNoBlock : same->block;
  }
};

std::optional<protocol::RpcError> Viewer::act(const protocol::Reader& action) {
  static const std::map<std::string_view, void (*)(Viewer&), std::less<>> kActions{
      {"open", Keys::open},
      {"up", Keys::up},
      {"left", Keys::go<text::sideways, Way::back>},
      {"right", Keys::go<text::sideways, Way::on>},
      {"above", Keys::go<text::updown, Way::back>},
      {"below", Keys::go<text::updown, Way::on>},
      {"first", Keys::go<text::end_of, Way::back>},
      {"last", Keys::go<text::end_of, Way::on>},
      {"zoom_in", [](Viewer& on) { Keys::zoom(on, 0.5); }},
      {"zoom_out", [](Viewer& on) { Keys::zoom(on, 2); }},
      {"zoom_to_block", Keys::zoom_to_block},
      {"fit", Keys::fit},
      {"pan_left", [](Viewer& on) { Keys::pan(on, -kPan); }},
      {"pan_right", [](Viewer& on) { Keys::pan(on, kPan); }},
      {"next_step", Keys::next_step},
      {"previous_step", Keys::previous_step},
      {"recording", Keys::recording},
      {"unfold", Keys::unfold},
      {"sum", Keys::sum},
      {"compare", Keys::compare},
      {"line", Keys::line},
      {"next_match", [](Viewer& on) { Keys::follow(on, 1); }},
      {"previous_match", [](Viewer& on) { Keys::follow(on, -1); }},
  };
  const std::string does = action["does"].string();
  const std::string query = does == "search" ? action["query"].string() : "";
  if (auto error = action.error()) return error;
  note_.clear();
  place_.reset();
  if (does == "select") return select(action);
  if (does == "latest") {
    view_ = {.recording = view_.recording, .unfold = view_.unfold};
    return open();
  }
  if (auto error = ready()) return error;
  if (does == "search") {
    view_.search = {.query = query, .step = step(), .match = 0};
    Keys::follow(*this, 0);
  } else if (const auto known = kActions.find(does); known != kActions.end()) {
    known->second(*this);
  } else {
    action["does"].fail("an action of the protocol");
  }
  return action.error();
}

std::optional<protocol::RpcError> Viewer::select(const protocol::Reader& action) {
  const auto profile = action.maybe("profile"), step = action.maybe("step");
  std::vector<std::string> path = strings_in(action["path"]);
  if (step) show_step(step->unsigned32());
  if (profile) view_.profile = profile->string();
  if (auto error = action.error()) return error;
  view_.recording = false;
  show_block(std::move(path));
  return open();
}

}  // namespace hotlens::timeline_requests
