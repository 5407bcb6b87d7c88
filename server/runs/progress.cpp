#include "server/runs/progress.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "annotator/common/json_member.h"

namespace hotlens::runs {
namespace {

using Json = nlohmann::json;

constexpr std::array kPhases{Phase::start,   Phase::warmup, Phase::plain, Phase::measured, Phase::map,
                             Phase::program, Phase::write,  Phase::done,  Phase::failed};

std::optional<std::int64_t> number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

Failure failure(const Json& line) {
  const auto error = line.find("error");
  if (error == line.end() || !error->is_object())
    return {.message = text_member(line, "message"), .sentence = text_member(line, "message")};
  Failure failure{.type = text_member(*error, "type"),
                  .message = text_member(*error, "message"),
                  .file = text_member(*error, "file"),
                  .traceback = text_member(*error, "traceback"),
                  .sentence = text_member(line, "message")};
  if (const auto at = number(*error, "line"); at && *at >= 0 && *at < 100'000'000) failure.line = static_cast<std::uint32_t>(*at);
  if (const auto cell = number(*error, "cell"); cell && *cell > 0 && *cell < 100'000'000) failure.cell = static_cast<std::uint32_t>(*cell);
  return failure;
}

}  // namespace

Frame frame_of(std::string_view file, std::uint32_t line) {
  constexpr std::string_view kCell = ".ipynb cell ";
  const auto at = file.rfind(kCell);
  std::uint32_t cell = 0;
  const std::string_view digits = at == std::string_view::npos ? std::string_view() : file.substr(at + kCell.size());
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), cell);
  if (digits.empty() || read.ec != std::errc{} || read.ptr != digits.data() + digits.size()) return {.file = file, .line = line};
  return {.file = file.substr(0, at + std::string_view(".ipynb").size()), .line = line, .cell = cell};
}

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::start:
      return "start";
    case Phase::warmup:
      return "warmup";
    case Phase::plain:
      return "plain";
    case Phase::measured:
      return "measured";
    case Phase::map:
      return "map";
    case Phase::program:
      return "program";
    case Phase::write:
      return "write";
    case Phase::done:
      return "done";
    case Phase::failed:
      return "failed";
  }
  return "";
}

std::vector<Frame> frames_of(std::string_view traceback) {
  constexpr std::string_view kFile = "  File \"", kLine = "\", line ";
  std::vector<Frame> frames;
  for (std::size_t begin = 0; begin < traceback.size();) {
    const std::size_t end = std::min(traceback.find('\n', begin), traceback.size());
    std::string_view line = traceback.substr(begin, end - begin);
    begin = end + 1;
    const auto file_end = line.rfind(kLine);
    if (!line.starts_with(kFile) || file_end == std::string_view::npos || file_end < kFile.size()) continue;
    const std::string_view file = line.substr(kFile.size(), file_end - kFile.size());
    std::uint32_t number = 0;
    const std::string_view digits = line.substr(file_end + kLine.size());
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc{} || number == 0) continue;
    frames.push_back(frame_of(file, number - 1));
  }
  return frames;
}

std::optional<Progress> parse_progress(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  const std::string phase = text_member(object, "phase");
  for (const Phase known : kPhases) {
    if (name(known) != phase) continue;
    Progress progress{.phase = known,
                      .step = number(object, "step").value_or(0),
                      .of = number(object, "of").value_or(0),
                      .message = text_member(object, "message")};
    if (const std::string bundle = text_member(object, "bundle"); known == Phase::done && !bundle.empty()) progress.bundle = bundle;
    if (known == Phase::failed) progress.failure = failure(object);
    return progress;
  }
  return std::nullopt;
}

}  // namespace hotlens::runs
