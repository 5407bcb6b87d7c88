#include <fmt/format.h>

#include <algorithm>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/loaders.h"

namespace hotlens::advice {
namespace {

bool is_name(char letter) {
  return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

// The loader that the training loop takes its batches from.
std::expected<Found, NoEdit> loader_call(const Script& script) {
  const std::vector<Found> found = data_loaders(script);
  if (found.empty()) return no("none of the files that ran makes a torch.utils.data.DataLoader");
  if (found.size() == 1) return found.front();
  const auto loop = script.stage(attribution::Stage::data);
  const std::string_view line = loop ? script.texts()[loop->first].at(loop->second) : std::string_view();
  std::vector<Found> used;
  for (const Found& one : found) {
    const std::string_view target = target_of(script.texts()[one.file], *one.call);
    if (!target.empty() && loop && loop->first == one.file && has_word(line, target)) used.push_back(one);
  }
  if (used.size() != 1) return no("several places make a DataLoader, and which one the loop uses is not certain: " + script.places(found));
  return used.front();
}

// An option that is off, by its default or as a literal, is given this value.
Made set(const Script& script, const LoaderOption& option, const std::string& value) {
  const auto found = loader_call(script);
  if (!found) return std::unexpected(found.error());
  const Call& call = *found->call;
  const PythonText& text = script.texts()[found->file];
  const std::string where = script.place(found->file, call.whole.begin);
  if (call.spreads()) return no("options of the DataLoader come from elsewhere, at " + where);
  const Argument* was = given(call, option);
  if (was == nullptr) return Edits{{found->file, with_keyword(call, fmt::format("{}={}", option.name, value))}};
  const std::string_view now = text.at(was->value);
  if (now == option.off) return Edits{{found->file, {{was->value, value}}}};
  if (was->kind == "integer" || was->kind == "true")
    return no(fmt::format("the DataLoader at {} has {}={} already", where, option.name, now));
  return no(fmt::format("`{}` of the DataLoader at {} is an expression: `{}`", option.name, where, now));
}

}  // namespace

std::vector<Found> data_loaders(const Script& script) {
  return script.calls([](const PythonText&, const Call& call) { return call.what == "torch.utils.data.DataLoader"; });
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_name(text[at - 1])) && (end == text.size() || !is_name(text[end]))) return true;
  }
  return false;
}

std::string_view target_of(const PythonText& text, const Call& call) {
  const std::vector<Statement> block = text.block_from(call.whole);
  if (block.empty() || block[0].span.end != call.whole.end) return {};
  std::string_view before = text.at(Span{block[0].span.begin, call.whole.begin});
  before = before.substr(0, before.find_first_of(" =:"));
  const bool plain = std::ranges::all_of(before, [](char letter) { return is_name(letter) || letter == '.'; });  // "self.loader"
  return plain ? before : std::string_view();
}

const Argument* given(const Call& call, const LoaderOption& option) {
  if (const Argument* named = call.named(option.name)) return named;
  const bool by_position = option.position < call.given.size() && call.given[option.position].name.empty();
  return by_position ? &call.given[option.position] : nullptr;
}

Made loader_workers(const Script& script) {
  return set(script, {.name = "num_workers", .off = "0", .position = 5}, std::to_string(script.sources().loader_workers));
}

Made pin_memory(const Script& script) {
  return set(script, {.name = "pin_memory", .off = "False", .position = 7}, "True");
}

}  // namespace hotlens::advice
