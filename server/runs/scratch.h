// A folder of our own in the system's one for temporary files, gone with everything in it when this is.
#pragma once

#include <filesystem>
#include <string_view>

namespace hotlens::runs {

class Scratch {
 public:
  explicit Scratch(std::string_view purpose);  // "verify" makes hotlens-verify-…
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  const std::filesystem::path& path() const { return path_; }  // empty: none could be made

 private:
  std::filesystem::path path_;
};

}  // namespace hotlens::runs
