#include "server/lab/replayable.h"

#include <fmt/format.h>

#include "annotator/common/format.h"
#include "server/lab/build.h"

namespace hotlens::lab {

Result<std::filesystem::path> worker_that_recorded(const std::string& torch, const std::filesystem::path& python,
                                                   const std::function<void(const std::string&)>& say) {
  const auto found = find_torch(python);
  if (!found) return std::unexpected(found.error());
  if (found->version == torch) return worker_for(python, say);
  return std::unexpected(
      Error{ErrorCode::unsupported,
            fmt::format("the step was recorded with torch {}, and {} has torch {}; name the interpreter that recorded it with --python",
                        torch, python.string(), found->version),
            {}});
}

Error unreplayable(const Refusal& refusal) {
  const std::string where =
      refusal.op.empty() ? "" : fmt::format(" at {}{}", refusal.op, refusal.module.empty() ? "" : " in " + refusal.module);
  return {ErrorCode::unsupported, fmt::format("the recorded step cannot be replayed{}: {}", where, refusal.reason), {}};
}

Error fails_self_check(const SelfCheck& check) {
  const std::string size = check.batch > 0 ? fmt::format("at batch size {} ", check.batch) : "";
  return {
      ErrorCode::unsupported,
      fmt::format("nothing is predicted: {}the replay takes {} at most where the script took {}, so something of the step is not in the "
                  "recording (checkpointing, a compiled region, code outside torch)",
                  size, format::readable(check.replayed), format::readable(check.real)),
      {}};
}

}  // namespace hotlens::lab
