// The timeline's side of a session: which profiles it may show, and the loopback server for pages in a browser.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/timeline/library.h"
#include "server/web/server.h"

namespace hotlens::session {

// What the strand knows and the pool reads.
class TimelineSources {
 public:
  struct Known {
    std::vector<std::filesystem::path> shown;    // profiles that are shown somewhere, the one asked for first in front
    std::vector<std::filesystem::path> folders;  // to look for more bundles from
    std::vector<std::filesystem::path> roots;    // of sources, for a trace without lines
    std::string python;                          // the setting
    friend bool operator==(const Known&, const Known&) = default;
  };

  // True when it changes what is known.
  bool set(Known known);
  std::vector<std::filesystem::path> list() const;
  std::shared_ptr<const profile::Profile> with_lines(std::shared_ptr<const profile::Profile> profile) const;

 private:
  Known known() const;

  mutable std::mutex mutex_;
  Known known_;
};

struct Timeline {
  struct Asked {
    std::string method;
    protocol::Json params;
    std::shared_ptr<protocol::Reply> reply;
  };

  std::shared_ptr<TimelineSources> sources = std::make_shared<TimelineSources>();
  std::shared_ptr<timeline_requests::Library> library;  // shared with work on the pool
  std::unique_ptr<web::Server> web;                     // once a client asked for a page in a browser
  std::deque<Asked> asked;                              // requests without an answer, the first one is being worked on
  bool lit = false;                                     // lines are lit in the editor
  bool used = false;                                    // somebody asked for the timeline in this session

  Timeline();
};

}  // namespace hotlens::session
