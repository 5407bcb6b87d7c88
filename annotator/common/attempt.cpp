#include "annotator/common/attempt.h"

#include <exception>
#include <filesystem>
#include <new>

#include "annotator/common/memory.h"

namespace hotlens {

Error thrown() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory({});
  } catch (const std::filesystem::filesystem_error& error) {
    return {ErrorCode::unreadable, "cannot read the file: " + error.code().message(), error.path1().string()};
  } catch (const std::exception& error) {
    return {ErrorCode::unreadable, std::string("an error inside Hotlens: ") + error.what() + "; please report it", {}};
  } catch (...) {
    return {ErrorCode::unreadable, "an error inside Hotlens; please report it", {}};
  }
}

}  // namespace hotlens
