// The ids of the server's commands that features refer to; protocol/MESSAGES.md describes them.
#pragma once

namespace hotlens::features {

inline constexpr const char* kProfileCommand = "hotlens.server.profile";
inline constexpr const char* kCancelCommand = "hotlens.server.cancel";
inline constexpr const char* kPredictCommand = "hotlens.server.predict";
inline constexpr const char* kArgumentsCommand = "hotlens.server.setArguments";
inline constexpr const char* kChooseRunCommand = "hotlens.server.chooseRun";
inline constexpr const char* kCallsCommand = "hotlens.server.calls";
inline constexpr const char* kDescribeCommand = "hotlens.server.describe";
inline constexpr const char* kTimelineCommand = "hotlens.server.openTimeline";

}  // namespace hotlens::features
