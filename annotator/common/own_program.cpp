#include "annotator/common/own_program.h"

#include <system_error>

namespace hotlens {

Result<std::filesystem::path> own_program() {
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);  // Linux alone has it
  if (error) return std::unexpected(Error{ErrorCode::not_found, "Cannot tell where this program is: " + error.message() + ".", {}});
  return program;
}

}  // namespace hotlens
