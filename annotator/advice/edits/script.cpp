#include "annotator/advice/edits/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hotlens::advice {
namespace {

constexpr std::array<std::string_view, 3> kEdited{"Adam", "AdamW", "SGD"};

std::string_view class_of(const Call& call) {
  return std::string_view(call.what).substr(call.what.rfind('.') + 1);
}

bool is_edited(const Call& call) {
  return std::ranges::find(kEdited, class_of(call)) != kEdited.end();
}

// "torch.optim.RMSprop", "torch.optim.adam.Adam"; no schedulers.
bool is_optimizer(const Call& call) {
  const std::string_view name = class_of(call);
  return call.what.starts_with("torch.optim.") && !call.what.starts_with("torch.optim.lr_scheduler.") && !name.empty() && name[0] >= 'A' &&
         name[0] <= 'Z';
}

}  // namespace

TSNode node_of(const PythonText& text, const Call& call) {
  return ts_node_descendant_for_byte_range(text.root(), call.whole.begin, call.whole.end - 1);
}

std::string_view class_around(const PythonText& text, const Call& call) {
  const TSNode owner = around(node_of(text, call), "class_definition");
  return ts_node_is_null(owner) ? std::string_view() : text.at(field(owner, "name"));
}

std::string model_of(const PythonText& text, const Call& optimizer) {
  constexpr std::string_view kEnd = ".parameters()";
  const std::string_view parameters = optimizer.given.empty() ? "" : text.at(optimizer.given[0].value);
  return std::string(parameters.substr(0, parameters.ends_with(kEnd) ? parameters.size() - kEnd.size() : 0));
}

std::unexpected<NoEdit> no(std::string reason) {
  return std::unexpected(NoEdit{.reason = std::move(reason), .by_hand = {}});
}

Replacement appended(const Call& call, const std::string& keyword) {
  if (call.given.empty()) return {{call.arguments.begin + 1, call.arguments.begin + 1}, keyword};
  const std::uint32_t end = call.given.back().whole.end;
  return {{end, end}, ", " + keyword};
}

std::vector<Replacement> with_keyword(const Call& call, const std::string& keyword) {
  if (!call.lone_generator) return {appended(call, keyword)};
  return {{{call.arguments.begin, call.arguments.begin}, "("}, {{call.arguments.end, call.arguments.end}, ", " + keyword + ")"}};
}

Made before_statement(const Script& script, const Found& call, const std::string& statement, std::vector<std::string> needs) {
  const PythonText& text = script.texts()[call.file];
  const std::vector<Statement> block = text.block_from(call.call->whole);
  const std::string indentation = block.empty() ? std::string() : script.indentation(call.file, block[0].span.begin);
  if (block.empty() || !is_blank(indentation)) return no("another statement stands on the line of the optimizer");
  const std::uint32_t begin = block[0].span.begin;
  return Edits{{call.file, {{{begin, begin}, statement + std::string(line_end(text.text())) + indentation}}, std::move(needs)}};
}

Edits listed(ByPlace edits, const std::vector<std::string>& needs) {
  Edits all;
  for (auto& [file, replacements] : edits) {
    all.push_back({.file = file, .replacements = {}, .needs = needs});
    for (auto& [begin, one] : replacements) all.back().replacements.push_back(std::move(one));
  }
  return all;
}

Script::Script(const Sources& sources) : sources_(sources) {
  for (const SourceText& file : sources.files) texts_.emplace_back(file.text);
}

std::string Script::name(std::size_t file) const {
  return sources_.files[file].path.filename().string();
}

std::string Script::place(std::size_t file, std::uint32_t byte) const {
  return fmt::format("{}:{}", name(file), texts_[file].line_of(byte) + 1);
}

std::string Script::places(const std::vector<Found>& found) const {
  std::string all;
  for (const Found& one : found) all += (all.empty() ? "" : ", ") + place(one.file, one.call->whole.begin);
  return all;
}

std::expected<Found, NoEdit> Script::optimizer_call() const {
  std::vector<Found> found = calls([](const PythonText&, const Call& call) { return is_optimizer(call); });
  if (found.empty()) return no("none of the files that ran calls an optimizer of torch.optim: a library makes the optimizer");
  // Of branches that make one or another, the one that ran.
  const auto stepped = [&](const Found& one) {
    return std::ranges::find(sources_.optimizers, class_of(*one.call)) != sources_.optimizers.end();
  };
  if (!sources_.optimizers.empty()) {
    std::erase_if(found, [&](const Found& one) { return !stepped(one); });
    if (found.empty())
      return no(fmt::format("none of the files that ran makes the optimizer that steps, {}, from torch.optim", sources_.optimizers[0]));
  }
  if (found.size() > 1) return no("several places make an optimizer: " + places(found));
  if (!is_edited(*found[0].call)) {
    return no(fmt::format("{} is not edited, only Adam, AdamW and SGD are, at {}", class_of(*found[0].call), places(found)));
  }
  return found.front();
}

std::optional<std::pair<std::size_t, Span>> Script::stage(attribution::Stage stage) const {
  const auto site = std::ranges::find(sources_.model.stages, stage, &profile::StageSite::stage);
  if (site == sources_.model.stages.end()) return std::nullopt;
  const std::size_t file = sources_.file_of(site->site);
  if (file == texts_.size()) return std::nullopt;
  const profile::Site& at = site->site;
  auto span = texts_[file].span_of(at.line, at.end_line, at.column, at.end_column);
  if (!span) return std::nullopt;
  const std::string& text = texts_[file].text();
  while (span->begin < span->end && (text[span->begin] == ' ' || text[span->begin] == '\t')) ++span->begin;
  return std::pair(file, *span);
}

std::string Script::indentation(std::size_t file, std::uint32_t byte) const {
  const std::string& text = texts_[file].text();
  const std::size_t line = byte == 0 ? 0 : text.rfind('\n', byte - 1) + 1;
  return text.substr(line, byte - line);
}

const profile::ModelModule* Script::module(std::string_view path) const {
  const auto& modules = sources_.model.modules;
  const auto found = std::ranges::find(modules, path, [](const auto& one) -> std::string_view { return one.path; });
  return found == modules.end() ? nullptr : &*found;
}

std::set<std::string> Script::classes_of(std::span<const std::string> paths) const {
  std::set<std::string> found;
  for (const profile::ModelModule& module : sources_.model.modules) {
    if (std::ranges::find(paths, module.path) != paths.end()) found.insert(module.class_name);
  }
  return found;
}

}  // namespace hotlens::advice
