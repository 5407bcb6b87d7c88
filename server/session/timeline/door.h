// The timeline's door: its requests, over the client's connection or from a page in a browser, and the way from a line to its block and
// back.
//
// Requests about profiles are answered one after the other on the pool. What the page wants of the editor (a line shown, lines highlighted)
// and what the editor wants of the page (a block shown) passes through here. Nothing is read, and no port is opened, before somebody asks.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/reader.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"
#include "server/session/timeline/batch_sizes.h"
#include "server/session/timeline/checkpoints.h"
#include "server/session/timeline/sources.h"
#include "server/timeline/library.h"
#include "server/web/server.h"

namespace hotlens::session {

class TimelineDoor {
 public:
  using Json = protocol::Json;
  struct Knowledge {
    std::function<TimelineSources::Known()> sources;  // which profiles may be shown
    std::function<std::string()> current;             // the id of the one shown first; empty: none
    PredictionsOf predictions;                        // of other batch sizes
    std::function<void(const std::string& profile, protocol::Reply reply)> predict;
    PlanOf plan_state;  // of which blocks to checkpoint
    std::function<void(const std::string& profile, protocol::Reply reply)> plan;
    std::function<std::string(const std::filesystem::path& file)> baseline;  // of the one that its hints are compared with; empty: none
  };

  TimelineDoor(Loop& loop, Client& client, Workspace& workspace, Knowledge knowledge);
  TimelineDoor(const TimelineDoor&) = delete;
  TimelineDoor& operator=(const TimelineDoor&) = delete;

  static std::vector<std::string> methods();  // of the requests below
  void request(std::string_view method, const Json& params, protocol::Reply reply);
  std::optional<protocol::RpcError> cursor(const Json& params);
  void open(const Json& argument, protocol::Reply reply);  // of the command

  void profiles_changed();     // one came or went
  void what_ifs_changed();     // one was replayed, verified, or planned
  void batch_sizes_changed();  // a prediction of them, or whether one may be started
  void shut_down() { open_ = false; }

  // The last line of a hover; "" where nothing is offered.
  std::string offer(const Document& document, protocol::Position at) const;

 private:
  struct Asked {
    std::string method;
    Json params;
    protocol::Reply reply;
  };

  void use();
  void answer_next();
  void answered(Result<protocol::Answer> answer);
  void reveal(const Json& params, protocol::Reply reply);
  void point(const Json& params, protocol::Reply reply);
  // Work that somebody asks for in the page: of the profile that is named, or of the current one.
  void begin(const std::function<void(const std::string&, protocol::Reply)>& work, const Json& params, protocol::Reply reply);
  void light(Json lines);  // in the editor, in place of those before
  void ask(std::string_view method, const Json& params, protocol::Reply reply);
  void from_page(protocol::Request request, protocol::Reply reply);
  Result<void> start_web();
  void opened(Json place, bool in_browser, protocol::Reply& reply);
  void tell(std::string_view method, const Json& params);
  source::Position place_in(const Document& document, protocol::Position at) const;

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
  Knowledge knowledge_;
  std::shared_ptr<TimelineSources> sources_ = std::make_shared<TimelineSources>();
  std::shared_ptr<timeline_requests::Library> library_;  // shared with work on the pool
  std::unique_ptr<web::Server> web_;                     // once a client asked for a page in a browser
  std::deque<Asked> asked_;                              // requests without an answer, the first one is being worked on
  Loop::Timer forget_;
  bool highlighted_ = false;  // lines are highlighted in the editor
  bool used_ = false;         // somebody asked for the timeline in this session
  bool open_ = true;
};

}  // namespace hotlens::session
