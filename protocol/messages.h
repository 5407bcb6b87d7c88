// Our own messages and commands, as data: MESSAGES.md describes them for people, a test holds the two together, and the session answers
// exactly these.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hotlens::protocol {

constexpr int kProtocolVersion = 1;  // raised when a message changes shape; `experimental.hotlens.protocolVersion` on both sides

enum class Kind : std::uint8_t { request, notification };
enum class Sender : std::uint8_t { client, server };

struct MessageSpec {
  std::string_view method;
  Sender sender;
  Kind kind;
  std::string_view params;  // keys, separated by a space; `?` marks those that may be absent
  std::string_view result;  // keys of the answer; empty for a notification
};

struct CommandSpec {
  std::string_view id;
  std::string_view argument;  // keys of the one optional object argument
  std::string_view result;
};

namespace message {
inline constexpr std::string_view kHints = "hotlens/hints";
inline constexpr std::string_view kHeat = "hotlens/heat";
inline constexpr std::string_view kHeatChanged = "hotlens/heatChanged";
inline constexpr std::string_view kProfileState = "hotlens/profileState";
inline constexpr std::string_view kProfileChanged = "hotlens/profileChanged";
inline constexpr std::string_view kTrust = "hotlens/trust";
inline constexpr std::string_view kHotLines = "hotlens/hotLines";
inline constexpr std::string_view kHistory = "hotlens/history";
inline constexpr std::string_view kShowHotLines = "hotlens/showHotLines";
inline constexpr std::string_view kPrompt = "hotlens/prompt";
inline constexpr std::string_view kChoose = "hotlens/choose";
inline constexpr std::string_view kShowLog = "hotlens/showLog";
inline constexpr std::string_view kOutput = "hotlens/output";
inline constexpr std::string_view kTimelineProfiles = "hotlens/timeline/profiles";
inline constexpr std::string_view kTimelineOverview = "hotlens/timeline/overview";
inline constexpr std::string_view kTimelineLevel = "hotlens/timeline/level";
inline constexpr std::string_view kTimelineDetails = "hotlens/timeline/details";
inline constexpr std::string_view kTimelineArrows = "hotlens/timeline/arrows";
inline constexpr std::string_view kTimelineRange = "hotlens/timeline/range";
inline constexpr std::string_view kTimelineCall = "hotlens/timeline/call";
inline constexpr std::string_view kTimelineSearch = "hotlens/timeline/search";
inline constexpr std::string_view kTimelineBreakdown = "hotlens/timeline/breakdown";
inline constexpr std::string_view kTimelineCompare = "hotlens/timeline/compare";
inline constexpr std::string_view kTimelineCounterpart = "hotlens/timeline/counterpart";
inline constexpr std::string_view kTimelineExport = "hotlens/timeline/export";
inline constexpr std::string_view kTimelineIdle = "hotlens/timeline/idle";
inline constexpr std::string_view kTimelineLanes = "hotlens/timeline/lanes";
inline constexpr std::string_view kTimelineRecording = "hotlens/timeline/recording";
inline constexpr std::string_view kTimelineBatchSizes = "hotlens/timeline/batchSizes";
inline constexpr std::string_view kTimelinePredict = "hotlens/timeline/predict";
inline constexpr std::string_view kTimelineSetBatchSize = "hotlens/timeline/setBatchSize";
inline constexpr std::string_view kTimelineBatchSizesChanged = "hotlens/timeline/batchSizesChanged";
inline constexpr std::string_view kTimelineWhatIfs = "hotlens/timeline/whatIfs";
inline constexpr std::string_view kTimelinePlanCheckpoints = "hotlens/timeline/planCheckpoints";
inline constexpr std::string_view kTimelineSetCheckpoints = "hotlens/timeline/setCheckpoints";
inline constexpr std::string_view kTimelineWhatIfsChanged = "hotlens/timeline/whatIfsChanged";
inline constexpr std::string_view kTimelineText = "hotlens/timeline/text";
inline constexpr std::string_view kTimelineReveal = "hotlens/timeline/reveal";
inline constexpr std::string_view kTimelinePoint = "hotlens/timeline/point";
inline constexpr std::string_view kTimelineHighlight = "hotlens/timeline/highlight";
inline constexpr std::string_view kTimelineChanged = "hotlens/timeline/changed";
inline constexpr std::string_view kTimelineSelect = "hotlens/timeline/select";
inline constexpr std::string_view kTimelineCursor = "hotlens/timeline/cursor";
}  // namespace message

namespace command {
inline constexpr std::string_view kProfile = "hotlens.server.profile";
inline constexpr std::string_view kCancel = "hotlens.server.cancel";
inline constexpr std::string_view kPredict = "hotlens.server.predict";
inline constexpr std::string_view kWhatIf = "hotlens.server.whatIf";
inline constexpr std::string_view kTrySweep = "hotlens.server.trySweep";
inline constexpr std::string_view kVerify = "hotlens.server.verify";
inline constexpr std::string_view kApplied = "hotlens.server.applied";
inline constexpr std::string_view kSilence = "hotlens.server.silence";
inline constexpr std::string_view kHintUnit = "hotlens.server.hintUnit";
inline constexpr std::string_view kTellAgain = "hotlens.server.tellAgain";
inline constexpr std::string_view kSetArguments = "hotlens.server.setArguments";
inline constexpr std::string_view kChooseRun = "hotlens.server.chooseRun";
inline constexpr std::string_view kChooseInterpreter = "hotlens.server.chooseInterpreter";
inline constexpr std::string_view kHotLine = "hotlens.server.hotLine";
inline constexpr std::string_view kCalls = "hotlens.server.calls";
inline constexpr std::string_view kDescribe = "hotlens.server.describe";
inline constexpr std::string_view kShowProfile = "hotlens.server.showProfile";
inline constexpr std::string_view kSetBaseline = "hotlens.server.setBaseline";
inline constexpr std::string_view kReload = "hotlens.server.reload";
inline constexpr std::string_view kOpenTimeline = "hotlens.server.openTimeline";
}  // namespace command

inline constexpr std::string_view kStateKeys = "profile? loading running runId? message? chosen? baseline?";

inline constexpr std::array<MessageSpec, 13> kMessages{{
    {message::kHints, Sender::client, Kind::request, "textDocument range?", "version hints"},
    {message::kHeat, Sender::client, Kind::request, "textDocument", "version marks"},
    {message::kHeatChanged, Sender::server, Kind::notification, "", ""},
    {message::kProfileState, Sender::client, Kind::request, "textDocument?", kStateKeys},
    {message::kProfileChanged, Sender::server, Kind::notification, kStateKeys, ""},
    {message::kTrust, Sender::client, Kind::notification, "trusted", ""},
    {message::kHotLines, Sender::client, Kind::request, "textDocument? limit?", "profile? lines total"},
    {message::kHistory, Sender::client, Kind::request, "textDocument? limit?", "profiles total"},
    {message::kShowHotLines, Sender::server, Kind::notification, "", ""},
    {message::kPrompt, Sender::server, Kind::request, "title value message?", "value"},
    {message::kChoose, Sender::server, Kind::request, "title message? choices", "index"},
    {message::kShowLog, Sender::server, Kind::notification, "", ""},
    {message::kOutput, Sender::server, Kind::notification, "text begins?", ""},
}};

// Those of TIMELINE.md, where a result that is long is told in words.
inline constexpr std::array<MessageSpec, 30> kTimelineMessages{{
    {message::kTimelineProfiles, Sender::client, Kind::request, "", "profiles current?"},
    {message::kTimelineOverview, Sender::client, Kind::request, "profile?", "profile steps representative …"},
    {message::kTimelineLevel, Sender::client, Kind::request, "profile? step? path? from? to? width unfold?", "block crumbs tracks …"},
    {message::kTimelineDetails, Sender::client, Kind::request, "profile? step? path?", "calls share times places …"},
    {message::kTimelineArrows, Sender::client, Kind::request, "profile? step? path? from? to?", "arrows total"},
    {message::kTimelineRange, Sender::client, Kind::request, "profile? step? path? recording? from to", "from to device tracks …"},
    {message::kTimelineCall, Sender::client, Kind::request, "profile? step? path? back", "position count path?"},
    {message::kTimelineSearch, Sender::client, Kind::request, "profile? step? query limit?", "matches total"},
    {message::kTimelineBreakdown, Sender::client, Kind::request, "profile? step? metric module? limit?", "rows total"},
    {message::kTimelineCompare, Sender::client, Kind::request, "before after? module? beforeStep? afterStep?", "step rows before after"},
    {message::kTimelineCounterpart, Sender::client, Kind::request, "profile? step? path? other otherStep? side", "path? judged?"},
    {message::kTimelineExport, Sender::client, Kind::request, "profile? step? recording? from? to?", "name text"},
    {message::kTimelineIdle, Sender::client, Kind::request, "profile? step? track at", "parts doing …"},
    {message::kTimelineLanes, Sender::client, Kind::request, "profile? step? path? from? to? width open?", "threads counters …"},
    {message::kTimelineRecording, Sender::client, Kind::request, "profile? from? to? width", "extent window tracks"},
    {message::kTimelineBatchSizes, Sender::client, Kind::request, "profile?", "points places predict …"},
    {message::kTimelinePredict, Sender::client, Kind::request, "profile?", "started message?"},
    {message::kTimelineSetBatchSize, Sender::client, Kind::request, "file was batchSize", "applied message?"},
    {message::kTimelineWhatIfs, Sender::client, Kind::request, "profile?", "outcomes checkpoints? command? edits plan?"},
    {message::kTimelinePlanCheckpoints, Sender::client, Kind::request, "profile?", "started message?"},
    {message::kTimelineSetCheckpoints, Sender::client, Kind::request, "profile blocks", "applied message?"},
    {message::kTimelineText, Sender::client, Kind::request, "view? actions? columns folder? home?", "view lines marks …"},
    {message::kTimelineReveal, Sender::client, Kind::request, "file line column?", "shown"},
    {message::kTimelinePoint, Sender::client, Kind::request, "lines", "shown"},
    {message::kTimelineHighlight, Sender::server, Kind::notification, "lines", ""},
    {message::kTimelineChanged, Sender::server, Kind::notification, "current?", ""},
    {message::kTimelineBatchSizesChanged, Sender::server, Kind::notification, "", ""},
    {message::kTimelineWhatIfsChanged, Sender::server, Kind::notification, "", ""},
    {message::kTimelineSelect, Sender::server, Kind::notification, "profile step path before?", ""},
    {message::kTimelineCursor, Sender::client, Kind::notification, "textDocument position", ""},
}};

inline constexpr std::array<CommandSpec, 20> kCommands{{
    {command::kProfile, "script? args? python? uri? batchSizes? vary? configuration? saved? interpreters?",
     "started asked? runId? script? command? message?"},
    {command::kSetArguments, "script? python? uri? arguments?", "started asked? file? runId? script? command? message?"},
    {command::kChooseRun, "script? python? uri? configuration?", "started asked? runId? script? command? message?"},
    {command::kChooseInterpreter, "script? python? uri? interpreter? interpreters?", "started asked? runId? script? command? message?"},
    {command::kCancel, "runId?", "cancelled"},
    {command::kPredict, "uri?", "started runId? message?"},
    {command::kWhatIf, "uri?", "started message?"},
    {command::kTrySweep, "uri?", "started message?"},
    {command::kVerify, "profile? kind? uri? python?", "started asked? message?"},
    {command::kApplied, "profile? kind? uri? blocks?", "kept message?"},
    {command::kSilence, "profile? kind? uri?", "silenced message?"},
    {command::kTellAgain, "all?", "told asked? message?"},
    {command::kHintUnit, "unit?", "unit"},
    {command::kHotLine, "uri? position? back?", "shown message? rank? total? uri? position? text? label? ns? share?"},
    {command::kCalls, "uri? position?", "places message?"},
    {command::kDescribe, "uri? position?", "markdown? message?"},
    {command::kShowProfile, "profile? uri?", "shown profile? message?"},
    {command::kSetBaseline, "profile? uri? clear?", "baseline? message?"},
    {command::kReload, "", "loading"},
    {command::kOpenTimeline, "profile? path? uri? position? browser? compare?", "profile step? path? before? url?"},
}};

// The table rows of MESSAGES.md and TIMELINE.md.
std::string table_row(const MessageSpec& spec);
std::string table_row(const CommandSpec& spec);

}  // namespace hotlens::protocol
