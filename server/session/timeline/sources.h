// Which profiles a timeline may show: what the strand knows, where the pool reads it.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "annotator/profile/profile.h"

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

}  // namespace hotlens::session
