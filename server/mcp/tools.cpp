#include "server/mcp/tools.h"

#include <algorithm>
#include <utility>

namespace hotlens::mcp {
namespace {

using Properties = std::initializer_list<std::pair<const char*, Json>>;

Json described(const char* type, const char* description) {
  Json schema{{"type", type}};
  if (*description != '\0') schema["description"] = description;
  return schema;
}

Json text(const char* description = "") {
  return described("string", description);
}
Json number(const char* description = "") {
  return described("number", description);
}
Json whole(const char* description = "") {
  return described("integer", description);
}
Json truth(const char* description = "") {
  return described("boolean", description);
}

Json properties(Properties all) {
  Json schemas = Json::object();
  for (const auto& [name, schema] : all) schemas[name] = schema;
  return schemas;
}

Json object(Properties all, std::vector<std::string> required) {
  return {{"type", "object"}, {"properties", properties(all)}, {"required", std::move(required)}};
}

Json list(Json items, const char* description = "") {
  Json schema = described("array", description);
  schema["items"] = std::move(items);
  return schema;
}

Json profile_argument() {
  return text("A bundle id, `latest` (the default), `previous`, or a trace file of torch.profiler in the folder.");
}
Json limit_argument() {
  Json schema = whole("Rows at most.");
  schema.update({{"minimum", 1}, {"maximum", 200}});
  return schema;
}
Json timeout_argument() {
  Json schema = whole("Seconds after which it is stopped; 600 where absent.");
  schema.update({{"minimum", 1}, {"maximum", 3600}});
  return schema;
}

Json place_line() {
  return whole("1-based");
}

Json verdict() {
  const Json evidence = object({{"what", text()}, {"ns", whole()}, {"where", text()}}, {"what", "ns"});
  return object({{"kind", text("data, launch, sync, copy, compute, memory, communication or unclear")}, {"evidence", list(evidence)}},
                {"kind", "evidence"});
}

Json hot_line() {
  return object({{"file", text()},
                 {"line", place_line()},
                 {"text", text("of the line")},
                 {"hint", text("what an editor shows beside the line")},
                 {"ns", whole("per step")},
                 {"share", number("of the step, 0 to 1")}},
                {"file", "line", "text", "hint", "ns", "share"});
}

Json change(Properties more, std::vector<std::string> required) {
  Json schema = object({{"outcome", text("same (within noise), faster, slower, added or removed")},
                        {"old_ns", whole()},
                        {"new_ns", whole()},
                        {"change_ns", whole()},
                        {"noise_ns", whole("how much of it may be chance")}},
                       {"outcome"});
  for (const auto& [name, each] : more) schema["properties"][name] = each;
  for (std::string& name : required) schema["required"].push_back(std::move(name));
  return schema;
}

Tool report_tool() {
  const Json stage = object({{"name", text()}, {"ns", whole()}, {"share", number()}}, {"name", "ns", "share"});
  const Json module = object({{"path", text("as in named_modules()")},
                              {"class", text()},
                              {"calls", whole("per step")},
                              {"ns", whole("forward and backward, children included")},
                              {"self_ns", whole("without children")},
                              {"share", number("of the step")},
                              {"file", text()},
                              {"line", place_line()}},
                             {"path", "class", "ns", "self_ns", "share"});
  return {.name = "report",
          .title = "Report of a profile",
          .description =
              "Where a measured training step spends its time and memory: the step time, what limits it (verdict), stages, "
              "and the modules that spend most themselves, each with the file and line that makes it.",
          .answer = report,
          .properties = properties({{"profile", profile_argument()}, {"limit", limit_argument()}}),
          .output = object({{"profile", text()},
                            {"source", text("the script and its arguments")},
                            {"created", text()},
                            {"summary", text()},
                            {"step_ns", whole("without a profiler, where that was timed")},
                            {"profiled_step_ns", whole("the step that all other times are of")},
                            {"verdict", verdict()},
                            {"stages", list(stage)},
                            {"modules", list(module, "the most expensive first")},
                            {"modules_total", whole()},
                            {"memory", described("object", "bytes: the peak, and what was held then")},
                            {"torch", text()},
                            {"samples_per_step", whole()},
                            {"warnings", list(text())}},
                           {"profile", "summary", "step_ns", "verdict", "stages", "modules", "warnings"})};
}

Tool hot_lines_tool() {
  return {.name = "hot_lines",
          .title = "Hot lines",
          .description = "The lines of the project's own code that cost most of a training step, the costliest first.",
          .answer = hot_lines,
          .properties = properties({{"profile", profile_argument()}, {"limit", limit_argument()}}),
          .output = object({{"profile", text()}, {"summary", text()}, {"total", whole()}, {"lines", list(hot_line())}},
                           {"profile", "total", "lines"})};
}

Tool check_tool() {
  const Json line = object({{"line", place_line()},
                            {"hint", text("≠: edited since it was measured, ~: the code around it was")},
                            {"text", text()},
                            {"cell", whole("of a notebook: the code cell, from 1, that the line counts in")}},
                           {"line", "hint", "text"});
  const Json file = object({{"file", text()},
                            {"known", truth("whether the profile says anything about this file")},
                            {"total", whole("lines with a time")},
                            {"lines", list(line)}},
                           {"file", "known", "total", "lines"});
  Json files = list(text());
  files.update({{"minItems", 1}, {"maxItems", 20}});
  return {.name = "check",
          .title = "Times beside lines",
          .description =
              "What an editor shows beside the lines of these Python files: time, share of the step and number of calls, "
              "placed in the text as it is now.",
          .answer = check,
          .properties = properties({{"files", files}, {"profile", profile_argument()}, {"limit", limit_argument()}}),
          .required = {"files"},
          .output = object({{"profile", text()}, {"files", list(file)}}, {"profile", "files"})};
}

Tool diff_tool() {
  const Json side = object({{"profile", text()}, {"source", text()}, {"summary", text()}}, {"profile", "summary"});
  const Json named = change({{"name", text()}}, {"name"});
  const Json module = change({{"path", text()},
                              {"made", list(text(), "how it is made otherwise: it has changed, whatever its time")},
                              {"file", text()},
                              {"line", place_line()}},
                             {"path"});
  return {.name = "diff",
          .title = "Compare two profiles",
          .description =
              "What became slower or faster between two profiles, beyond the noise between runs: the step, stages, the "
              "modules that explain it, and operators.",
          .answer = diff,
          .properties = properties({{"old", text("The earlier profile; `previous` where absent.")},
                                    {"new", text("The later profile; `latest` where absent.")},
                                    {"limit", limit_argument()}}),
          .output = object({{"old", side},
                            {"new", side},
                            {"summary", text()},
                            {"step", change({{"steps", text("plain (no profiler was on) or profiled")}}, {"steps"})},
                            {"stages", list(named)},
                            {"modules", list(module)},
                            {"operators", list(named)}},
                           {"old", "new", "summary", "step", "stages", "modules", "operators"})};
}

Tool predict_tool() {
  Json size = whole();
  size["minimum"] = 1;
  Json sizes = list(size);
  sizes.update({{"minItems", 1}, {"maxItems", 8}});
  const Json point = object({{"batch_size", whole()},
                             {"measured", truth()},
                             {"step_ns", whole()},
                             {"low_ns", whole()},
                             {"high_ns", whole()},
                             {"samples_per_s", number()},
                             {"peak_bytes", whole()},
                             {"method", text()},
                             {"note", text()}},
                            {"batch_size", "measured", "peak_bytes"});
  const Json refused = object({{"batch_size", whole()}, {"module", text()}, {"operator", text()}, {"reason", text()}}, {"reason"});
  return {.name = "predict",
          .title = "Predict other batch sizes",
          .description =
              "Step time and peak memory of other batch sizes, from replays of the recorded operators: the script does not "
              "run. The profile has to know two sizes (hotlens run --batch-sizes 6,8 train.py). May take minutes.",
          .work = Work::predict,
          .properties = properties({{"batch_sizes", sizes}, {"profile", profile_argument()}, {"timeout_s", timeout_argument()}}),
          .required = {"batch_sizes"},
          .output = object(
              {{"profile", text()}, {"self_check", list(described("object", ""))}, {"points", list(point)}, {"refused", list(refused)}},
              {"profile", "points", "refused"})};
}

Tool whatif_tool() {
  const Json item = object({{"kind", text()},
                            {"title", text()},
                            {"file", text()},
                            {"line", place_line()},
                            {"ratio", number("of the step's time afterwards to before")},
                            {"low", number()},
                            {"high", number()},
                            {"saved_ns", whole()},
                            {"peak_bytes_change", whole()},
                            {"assumes", list(text())}},
                           {"kind", "title"});
  return {.name = "whatif",
          .title = "What a change would give",
          .description =
              "Changes that would make the step faster or smaller (fused optimizer, autocast, channels last, …), each "
              "replayed in turn with the recorded step: the script does not run. With list: true only which apply, at once.",
          .work = Work::whatif,
          .properties = properties({{"kinds", list(text(),
                                                   "Such as fused_optimizer, or two at once: channels_last+autocast_bf16. "
                                                   "All that apply where absent.")},
                                    {"list", truth("Only say which apply.")},
                                    {"profile", profile_argument()},
                                    {"timeout_s", timeout_argument()}}),
          .output = object({{"profile", text()},
                            {"self_check", described("object", "")},
                            {"items", list(item)},
                            {"refused", list(object({{"kind", text()}, {"reason", text()}}, {"kind", "reason"}))}},
                           {"profile", "items", "refused"})};
}

Tool profile_tool() {
  return {.name = "profile",
          .title = "Profile a training script",
          .description =
              "Runs a training script of the folder for a few steps, measures them and stops it. This runs the project's "
              "code, so the person is asked first; where the client cannot ask, the server has to be started with "
              "--allow-run. Without a script it runs what was profiled last.",
          .work = Work::profile,
          .properties = properties({{"script", text("Relative to the folder.")},
                                    {"configuration", text("Which of the script's run configurations; the one chosen last where absent.")},
                                    {"arguments", list(text(), "Of the script; those it had last where absent.")},
                                    {"timeout_s", timeout_argument()}}),
          .output = object({{"profile", text()},
                            {"source", text()},
                            {"summary", text()},
                            {"step_ns", whole()},
                            {"profiled_step_ns", whole()},
                            {"created", text()},
                            {"verdict", verdict()},
                            {"hot_lines", list(hot_line())},
                            {"warnings", list(text())}},
                           {"profile", "summary", "step_ns", "verdict", "hot_lines"})};
}

}  // namespace

Json Tool::listed() const {
  const bool runs_code = work == Work::profile;
  Json input{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) input["required"] = required;
  return {{"name", name},
          {"title", title},
          {"description", description},
          {"inputSchema", std::move(input)},
          {"outputSchema", output},
          {"annotations",
           {{"readOnlyHint", !runs_code}, {"destructiveHint", runs_code}, {"idempotentHint", !runs_code}, {"openWorldHint", runs_code}}}};
}

const std::vector<Tool>& tools() {
  static const std::vector<Tool> kTools{report_tool(),  hot_lines_tool(), check_tool(),  diff_tool(),
                                        predict_tool(), whatif_tool(),    profile_tool()};
  return kTools;
}

const Tool* tool_named(std::string_view name) {
  const auto found = std::ranges::find(tools(), name, &Tool::name);
  return found == tools().end() ? nullptr : &*found;
}

Result<void> check_names(const Tool& tool, const Json& arguments) {
  for (const auto& [name, value] : arguments.items()) {
    if (tool.properties.contains(name)) continue;
    std::string known;
    for (const auto& [each, schema] : tool.properties.items()) known += (known.empty() ? "" : ", ") + each;
    return std::unexpected(Error{ErrorCode::usage, "`" + name + "` is no argument of " + tool.name + "; there are " + known + ".", {}});
  }
  return {};
}

}  // namespace hotlens::mcp
