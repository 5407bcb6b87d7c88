#include "annotator/advice/append.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "annotator/common/file.h"

namespace hotlens::advice {

Result<void> append_line(const std::filesystem::path& file, std::string line, std::string_view what) {
  const auto cannot = [&] {
    return std::unexpected(Error{ErrorCode::unreadable, std::string(what) + " could not be written: " + ::strerror(errno), file.string()});
  };
  const Descriptor open(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (open.get() < 0) return cannot();
  line += '\n';
  if (::write(open.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) return cannot();
  return {};
}

}  // namespace hotlens::advice
