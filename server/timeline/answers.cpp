#include "server/timeline/answers.h"

#include <map>

#include "annotator/common/attempt.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using protocol::Answer;
using protocol::Code;
using protocol::Json;
using protocol::Reader;
using protocol::RpcError;

using Handler = Answer (*)(Library&, const Reader&);

// Pixels of the level that travels with the page: finer than most windows, and a few kilobytes. A wider page asks again.
constexpr std::uint32_t kFirstWidth = 2048;

std::expected<Library::Shared, RpcError> opened_for(Library& library, const Reader& params) {
  const auto id = params.maybe("profile");
  const std::string name = id ? id->string() : std::string();
  if (auto error = params.error()) return std::unexpected(*error);
  auto opened = library.open(name);
  if (!opened) return std::unexpected(gone(opened.error()));
  return *opened;
}

std::expected<Subject, RpcError> subject_of(Library& library, const Reader& params) {
  const auto wanted = params.maybe("step");
  const auto path_of = params.maybe("path");
  std::vector<std::string> path;
  if (path_of) {
    for (const Reader& segment : path_of->items()) path.push_back(segment.string());
  }
  const std::optional<std::uint32_t> number = wanted ? std::optional(wanted->unsigned32()) : std::nullopt;
  auto opened = opened_for(library, params);
  if (!opened) return std::unexpected(opened.error());
  Subject subject{
      .opened = *opened, .blocks = nullptr, .step = number.value_or(static_cast<std::uint32_t>((*opened)->profile().representative))};
  if (subject.step >= (*opened)->profile().steps.size()) {
    return std::unexpected(gone({ErrorCode::not_found, "the profile has no step " + std::to_string(subject.step), {}}));
  }
  subject.blocks = (*opened)->blocks(subject.step);
  const auto block = blocks::find_block(*subject.blocks, path);
  if (!block) return std::unexpected(gone({ErrorCode::not_found, "this step has no such block; go up a level", {}}));
  subject.block = *block;
  return subject;
}

template <Answer (*request)(const Subject&, const Reader&)>
Answer about(Library& library, const Reader& params) {
  const auto subject = subject_of(library, params);
  if (!subject) return std::unexpected(subject.error());
  return request(*subject, params);
}

Answer below(Library& library, const Reader& params) {
  const auto subject = subject_of(library, params);
  if (!subject) return std::unexpected(subject.error());
  return lanes(library, *subject, params);
}

Answer beside(Library& library, const Reader& params) {
  const auto subject = subject_of(library, params);
  if (!subject) return std::unexpected(subject.error());
  return counterpart(library, *subject, params);
}

// With `recording` about all steps at once, else about one.
template <Answer (*of_step)(const Subject&, const Reader&), Answer (*of_all)(const Opened&, const Reader&)>
Answer either(Library& library, const Reader& params) {
  const auto recording = params.maybe("recording");
  if (!recording || !recording->boolean()) return about<of_step>(library, params);
  const auto opened = opened_for(library, params);
  if (!opened) return std::unexpected(opened.error());
  return of_all(**opened, params);
}

Answer list(Library& library, const Reader&) {
  return profiles(library);
}

Answer summary(Library& library, const Reader& params) {
  const auto opened = opened_for(library, params);
  if (!opened) return std::unexpected(opened.error());
  return overview(library, **opened);
}

template <Answer (*request)(const Opened&)>
Answer about_profile(Library& library, const Reader& params) {
  const auto opened = opened_for(library, params);
  if (!opened) return std::unexpected(opened.error());
  return request(**opened);
}

Answer whole(Library& library, const Reader& params) {
  const auto opened = opened_for(library, params);
  if (!opened) return std::unexpected(opened.error());
  return recording(**opened, params);
}

const std::map<std::string, Handler, std::less<>>& handlers() {
  static const std::map<std::string, Handler, std::less<>> kTable{
      {"hotlens/timeline/profiles", list},        {"hotlens/timeline/overview", summary},
      {"hotlens/timeline/level", about<level>},   {"hotlens/timeline/details", about<details>},
      {"hotlens/timeline/arrows", about<arrows>}, {"hotlens/timeline/range", either<range, range_of_recording>},
      {"hotlens/timeline/search", about<search>}, {"hotlens/timeline/breakdown", about<breakdown>},
      {"hotlens/timeline/compare", compare},      {"hotlens/timeline/export", either<export_window, export_of_recording>},
      {"hotlens/timeline/recording", whole},      {"hotlens/timeline/batchSizes", about_profile<batch_sizes>},
      {"hotlens/timeline/lanes", below},          {"hotlens/timeline/idle", about<idle>},
      {"hotlens/timeline/counterpart", beside},   {"hotlens/timeline/text", text},
      {"hotlens/timeline/call", about<call>},     {"hotlens/timeline/whatIfs", about_profile<what_ifs>},
  };
  return kTable;
}

}  // namespace

RpcError gone(const Error& error) {
  return {Code::invalid_params, error.message, Json{{"gone", error.code == ErrorCode::not_found}}};
}

std::vector<std::string> methods() {
  std::vector<std::string> list;
  for (const auto& [method, handler] : handlers()) list.push_back(method);
  return list;
}

Answer answer(Library& library, std::string_view method, const Json& params) {
  const auto handler = handlers().find(method);
  if (handler == handlers().end()) return std::unexpected(RpcError{Code::method_not_found, "no such method: " + std::string(method)});
  const Json none = Json::object();
  Result<Answer> given = attempt([&] { return handler->second(library, Reader(params.is_null() ? none : params)); });
  return given ? std::move(*given) : std::unexpected(RpcError{Code::internal_error, given.error().message});
}

std::string first_answers(Library& library) {
  const Library::Shared opened = library.ready();
  if (!opened) return {};
  const Json none = Json::object(), of_level{{"width", kFirstWidth}};
  const std::size_t step = opened->profile().representative;
  const Subject subject{.opened = opened, .blocks = opened->blocks(step), .step = step};
  const Answer profiles = list(library, Reader(none)), overview = timeline_requests::overview(library, *opened);
  const Answer level = timeline_requests::level(subject, Reader(of_level));
  if (!profiles || !overview || !level) return {};
  return protocol::dump_json({{"profiles", *profiles}, {"overview", *overview}, {"level", *level}, {"width", kFirstWidth}});
}

}  // namespace hotlens::timeline_requests
