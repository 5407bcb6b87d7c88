#include "server/lab/known_edit.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "annotator/advice/edits/edits.h"
#include "annotator/lab/layers/python/wording.h"
#include "annotator/lab/whatif/kinds.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;

// Where autocast runs on and what it casts to, however it is called, as our own edit writes it; nullopt: another one.
std::optional<std::string> plain_autocast(const advice::PythonText& text, const advice::Call& call) {
  constexpr std::array<std::string_view, 4> kNames{"torch.autocast", "torch.amp.autocast", "torch.cpu.amp.autocast",
                                                   "torch.cuda.amp.autocast"};
  if (std::ranges::find(kNames, call.what) == kNames.end() || call.spreads()) return std::nullopt;
  const bool by_name = call.what.ends_with(".cpu.amp.autocast") || call.what.ends_with(".cuda.amp.autocast");
  std::string device = !by_name ? "" : call.what.find("cuda") != std::string::npos ? "\"cuda\"" : "\"cpu\"", type;
  std::size_t place = 0;
  for (const advice::Argument& one : call.given) {
    std::string value(text.at(one.value));
    std::ranges::replace(value, '\'', '"');
    const bool is_device = one.name == "device_type" || (one.name.empty() && place == 0 && !by_name);
    const bool is_type = one.name == "dtype" || (one.name.empty() && place == 1 && !by_name);
    const bool is_on = one.name == "enabled" && value == "True";
    if (!is_device && !is_type && !is_on) return std::nullopt;
    (is_device ? device : is_type ? type : value) = value;
    place += one.name.empty() ? 1 : 0;
  }
  if (type.empty() && device == "\"cpu\"") type = "torch.bfloat16";
  return "torch.autocast(" + device + ", " + type + ")";
}

std::string with_plain_autocast(const std::string& text) {
  const advice::PythonText parsed(text);
  std::vector<advice::Replacement> all;
  for (const advice::Call& call : parsed.calls()) {
    if (auto plain = plain_autocast(parsed, call)) all.push_back({call.whole, std::move(*plain)});
  }
  return advice::replaced(text, std::move(all));
}

bool says_the_same(const fs::path& file, const std::string& one, const std::string& other) {
  if (one == other) return true;
  const source::Code a(file, with_plain_autocast(one)), b(file, with_plain_autocast(other));
  return layers::same_wording(a.root(), b.root());
}

bool gives(const advice::Edits& edits, const advice::Sources& executed, const layers::Sources& edited) {
  for (std::size_t at = 0; at < executed.files.size(); ++at) {
    const advice::SourceText& file = executed.files[at];
    const auto own = std::ranges::find(edits, at, &advice::FileEdit::file);
    const auto now = edited.files.find(file.path);
    const std::string text = own == edits.end() ? file.text : advice::replaced(file.text, own->replacements);
    if (!says_the_same(file.path, text, now == edited.files.end() ? file.text : now->second->text())) return false;
  }
  return true;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> all;
  for (const auto line : text | std::views::split('\n')) all.emplace_back(line);
  return all;
}

bool says_nothing(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return true;
  line.remove_prefix(first);
  return line.starts_with('#') || line.starts_with("import ") || line.starts_with("from ");
}

// The first line of the edited text that is another one, but for imports, comments and blank lines.
std::int64_t first_edited(std::string_view was, std::string_view is) {
  const auto before = lines_of(was), after = lines_of(is);
  std::size_t at = 0, line = 0;
  while (line < after.size() && at < before.size()) {
    if (before[at] == after[line]) {
      ++at;
      ++line;
    } else if (says_nothing(after[line])) {
      ++line;
    } else {
      break;
    }
  }
  return static_cast<std::int64_t>(line);
}

}  // namespace

std::optional<Candidate> known_edit(const fs::path& bundle, const Program& program, const layers::Sources& edited) {
  const auto executed = advice::read_executed(bundle);
  if (!executed) return std::nullopt;
  Candidates candidates(bundle);
  for (const Kind& kind : kinds()) {
    if (kind.edit == nullptr || kind.depends || kind.of_sizes) continue;
    auto candidate = candidates.edited(program, {&kind});
    if (!candidate || candidate->is_choice) continue;
    const auto edits = advice::edits_of(candidate->item.parts, *executed);
    if (!edits || !gives(*edits, *executed, edited)) continue;
    const advice::SourceText& file = executed->files[edits->front().file];
    candidate->item.where = SourceLine{file.path.string(), first_edited(file.text, edited.files.at(file.path)->text())};
    return std::move(*candidate);
  }
  return std::nullopt;
}

}  // namespace hotlens::lab
