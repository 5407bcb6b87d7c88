// A person who looks at a timeline as text and presses keys: what each key changes, and what is seen then.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/rpc.h"
#include "server/features/timeline/search.h"
#include "server/text/foot.h"
#include "server/text/walk.h"
#include "server/timeline/library.h"
#include "server/timeline/text_view.h"

namespace hotlens::timeline_requests {

class Viewer {
 public:
  Viewer(Library& library, TextView view, std::size_t columns, text::Near near)
      : library_(library), view_(std::move(view)), columns_(columns), near_(std::move(near)) {}

  // `action` as TIMELINE.md has it. The error says what is wrong with it, or that the profile cannot be read.
  std::optional<protocol::RpcError> act(const protocol::Reader& action);
  protocol::Answer answer();

 private:
  struct Keys;  // text_keys.cpp: what each action does

  std::optional<protocol::RpcError> open();
  std::optional<protocol::RpcError> ready() { return opened_ ? std::nullopt : open(); }
  std::optional<protocol::RpcError> select(const protocol::Reader& action);

  const profile::Profile& profile() const { return opened_->profile(); }
  std::size_t step() const { return *view_.step; }
  const blocks::Blocks& blocks();
  const text::Levels& levels();
  const std::optional<text::Cursor>& cursor();
  const features::ShownBlock* chosen();  // null where nothing is

  void look();
  void leave_what_is_gone();
  std::optional<text::Cursor> found_cursor() const;
  std::vector<std::string> foot();

  void show(std::vector<std::string> path, std::string wanted = {});  // a level
  void show_block(std::vector<std::string> path);                     // in the level that holds it
  void show_step(std::size_t step);
  void see(std::optional<text::Moments> zoom);
  void move(const std::optional<text::Cursor>& cursor);
  void say(std::string note) { note_ = std::move(note); }

  Library& library_;
  TextView view_;
  std::size_t columns_;
  text::Near near_;
  Library::Shared opened_;
  std::shared_ptr<const blocks::Blocks> blocks_;  // of the step, once it is looked at
  text::Levels levels_;                           // empty: to be looked at anew
  std::optional<text::Cursor> cursor_;
  std::string wanted_;  // the segment that the cursor goes to
  std::string note_;
  std::optional<features::Place> place_;  // to be shown in the editor
};

// What a step is compared with: the usual one, and that one with the slowest; nothing where there is but one.
std::optional<std::size_t> other_step(const profile::Profile& profile, std::size_t step);
// How two steps differ, largest changes first.
std::vector<std::string> lines_of_steps(const Opened& opened, std::size_t before, std::size_t after);

}  // namespace hotlens::timeline_requests
