#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "annotator/advice/edits/changes.h"

namespace hotlens::advice {
namespace {

bool is_name(char letter) {
  return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_name(text[at - 1])) && (end == text.size() || !is_name(text[end]))) return true;
  }
  return false;
}

// "loader" of `loader = DataLoader(…)`; empty where the call is no whole right side.
std::string_view target_of(const PythonText& text, const Call& call) {
  const std::vector<Statement> block = text.block_from(call.whole);
  if (block.empty() || block[0].span.end != call.whole.end) return {};
  std::string_view before = text.at(Span{block[0].span.begin, call.whole.begin});
  before = before.substr(0, before.find_first_of(" =:"));
  return std::ranges::all_of(before, is_name) ? before : std::string_view();
}

// The loader that the training loop takes its batches from.
std::expected<Found, NoEdit> loader_call(const Script& script) {
  std::vector<Found> found = script.calls([](const PythonText&, const Call& call) { return call.what == "torch.utils.data.DataLoader"; });
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
Made option(const Script& script, std::string_view name, const std::string& value, std::span<const std::string_view> off) {
  const auto found = loader_call(script);
  if (!found) return std::unexpected(found.error());
  const Call& call = *found->call;
  const PythonText& text = script.texts()[found->file];
  const std::string where = script.place(found->file, call.whole.begin);
  if (call.spreads()) return no("options of the DataLoader come from elsewhere, at " + where);
  if (const Argument* given = call.named(name)) {
    if (std::ranges::find(off, text.at(given->value)) == off.end())
      return no(fmt::format("`{}` is set at {}: `{}`", name, where, text.at(given->value)));
    return Edits{{found->file, {{given->value, value}}}};
  }
  return Edits{{found->file, with_keyword(call, std::string(name) + "=" + value)}};
}

}  // namespace

Made loader_workers(const Script& script) {
  constexpr std::array<std::string_view, 1> kOff{"0"};
  return option(script, "num_workers", std::to_string(script.sources().loader_workers), kOff);
}

Made pin_memory(const Script& script) {
  constexpr std::array<std::string_view, 1> kOff{"False"};
  return option(script, "pin_memory", "True", kOff);
}

}  // namespace hotlens::advice
