#include "server/lab/replayable.h"

#include <fmt/format.h>

#include "annotator/common/format.h"
#include "annotator/common/memory.h"
#include "server/lab/build.h"

namespace hotlens::lab {
namespace {

constexpr double kShareOfMemory = 0.8;  // of what is left: the worker itself, and the user's other programs

}  // namespace

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
  return {ErrorCode::unsupported,
          fmt::format(
              "nothing is predicted: {}the replay takes {} bytes at most where the script took {}, so something of the step is not in the "
              "recording (checkpointing, a compiled region, code outside torch)",
              size, count(check.replayed), count(check.real)),
          {}};
}

Room room_for(const Recorded& recorded) {
  const std::size_t left = memory_left();
  if (!recorded.on_cpu) return {.bytes = left, .on_cpu = false};
  return {.bytes = static_cast<std::size_t>(static_cast<double>(left) * kShareOfMemory), .on_cpu = true};
}

std::string too_large(const Room& room, double needed_bytes) {
  if (!room.on_cpu || needed_bytes <= static_cast<double>(room.bytes)) return {};
  return fmt::format("not tried: {} are free here", format::readable(Bytes{static_cast<std::int64_t>(room.bytes)}));
}

std::string too_slow(std::chrono::duration<double, std::milli> needed) {
  return needed > kLongest ? "not tried: it takes too long" : "";
}

}  // namespace hotlens::lab
