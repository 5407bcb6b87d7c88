// Advice that somebody does not want at a place: silenced by its code action, told again by a command that lists what is silenced.
//
// What is silenced stands in `.hotlens/silenced.jsonl` (annotator/advice/FORMAT.md). Nothing runs for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "annotator/advice/silenced.h"
#include "protocol/rpc.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"

namespace hotlens::session {

class Silencing {
 public:
  using Json = protocol::Json;
  struct Entry {
    std::filesystem::path list;  // that says what is silenced
    advice::Silenced place;
  };
  struct Events {
    // The place of the hint that is shown of this profile and kind; `line`: which of several, in the text that ran.
    std::function<std::optional<Entry>(const std::string& profile, const std::string& kind, std::optional<std::uint32_t> line)> find;
    std::function<std::vector<std::filesystem::path>()> lists;  // the files that may say what is silenced
    std::function<void()> changed;
  };

  Silencing(Loop& loop, Client& client, Events events) : loop_(loop), client_(client), events_(std::move(events)) {}
  Silencing(const Silencing&) = delete;
  Silencing& operator=(const Silencing&) = delete;

  void silence(const Json& argument, protocol::Reply reply);
  // Asks which; with `all` nobody is asked.
  void tell_again(const Json& argument, protocol::Reply reply);

 private:
  using Entries = std::vector<Entry>;
  using Held = std::shared_ptr<protocol::Reply>;

  void ask(const Entries& entries);
  void tell(Entries entries, Held reply);

  Loop& loop_;
  Client& client_;
  Events events_;
};

}  // namespace hotlens::session
