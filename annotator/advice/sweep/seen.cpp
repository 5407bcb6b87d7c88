#include <algorithm>
#include <ranges>

#include "annotator/advice/edits/sources.h"
#include "annotator/advice/sweep/sweep.h"
#include "annotator/lab/predict/recorded.h"
#include "annotator/profile/bundle/resolve.h"
#include "annotator/source/outline/lexer.h"
#include "annotator/source/outline/outline.h"

namespace hotlens::sweep {
namespace {

namespace fs = std::filesystem;
using source::Outline;

constexpr std::size_t kMostBundles = 12;  // newest others that are looked at: each costs reading

// Names of the operators in order, and shapes of the parameters.
struct Operators {
  std::vector<std::string> names;
  std::vector<std::string> parameters;
};

std::optional<Operators> operators_of(const fs::path& bundle) {
  const auto recorded = lab::read_step(bundle);
  if (!recorded) return std::nullopt;
  Operators found;
  try {
    for (const auto& one : recorded->document.at("operators")) {
      const auto& name = one.at("op").get_ref<const std::string&>();
      if (name != "hotlens::free") found.names.push_back(name);
    }
    for (const auto& tensor : recorded->document.at("tensors")) {
      if (tensor.at("kind") == "parameter") found.parameters.push_back(tensor.at("shape").dump());
    }
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return found;
}

// What of the script differs, for people; nullopt where it is another script, or the same run again.
std::optional<std::string> other_settings(const profile::Manifest& one, const profile::Manifest& other, const advice::Sources& ours,
                                          const advice::Sources& theirs) {
  if (one.cwd != other.cwd || one.argv.empty() || other.argv.empty() || one.argv.front() != other.argv.front()) return std::nullopt;
  if (ours.files.size() != theirs.files.size()) return std::nullopt;
  bool literals = false;
  for (std::size_t file = 0; file < ours.files.size(); ++file) {
    if (ours.files[file].path != theirs.files[file].path) return std::nullopt;
    if (ours.files[file].text == theirs.files[file].text) continue;
    if (!differ_in_literals(ours.files[file].text, theirs.files[file].text)) return std::nullopt;
    literals = true;
  }
  if (one.argv != other.argv) return "other arguments";
  return literals ? std::optional<std::string>("other numbers in the code") : std::nullopt;
}

std::optional<Seen> of_profiles(const fs::path& bundle, const profile::Manifest& manifest, const advice::Sources& sources) {
  fs::path folder = fs::absolute(bundle).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // `profiles/ID/`
  std::vector<fs::path> others = profile::bundles(folder.parent_path());
  std::erase_if(others, [&](const fs::path& other) { return other.filename() >= folder.filename(); });
  std::optional<Operators> ours;
  std::optional<Seen> found;
  for (const fs::path& other : others | std::views::take(kMostBundles)) {
    const auto theirs = profile::read_manifest(other);
    if (!theirs || theirs->argv.empty() || theirs->argv.front() != manifest.argv.front()) continue;
    const auto texts = advice::read_executed(other);
    const auto what = texts ? other_settings(manifest, *theirs, sources, *texts) : std::nullopt;
    if (!what) continue;
    if (!ours) ours = operators_of(bundle);
    if (!ours) return std::nullopt;
    const auto operators = operators_of(other);
    if (!operators || operators->names != ours->names) continue;
    if (!found) found = Seen{.what = "the same script with " + *what, .where = {}, .profiles = {}};
    found->profiles.push_back(theirs->id);
    found->same_shapes = found->same_shapes && operators->parameters == ours->parameters;
  }
  return found;
}

std::optional<Seen> of_a_loop(const advice::Sources& sources) {
  const auto step = std::ranges::find(sources.model.stages, attribution::Stage::optimizer, &profile::StageSite::stage);
  if (step == sources.model.stages.end()) return std::nullopt;
  for (const profile::ModelModule& module : sources.model.modules) {
    const auto& site = module.attached ? module.attached : module.constructed;
    if (module.parent != attribution::kNothing || !site || !module.parameters || site->file != step->site.file) continue;
    const std::size_t file = sources.file_of(*site);
    if (*module.parameters == Bytes{} || file >= sources.files.size()) continue;
    const auto line = loop_around(sources.files[file].text, site->line, step->site.line);
    if (line)
      return Seen{
          .what = "a loop that trains a model anew each time", .where = Place{sources.files[file].path.string(), *line}, .profiles = {}};
  }
  return std::nullopt;
}

std::uint32_t statement_of_line(const Outline& outline, std::uint32_t line) {
  for (std::uint32_t at = 0; at < outline.statements.size(); ++at) {
    if (outline.statements[at].line <= line && line <= outline.statements[at].end_line) return at;
  }
  return source::kNoStatement;
}

bool is_inside(const Outline& outline, std::uint32_t statement, std::uint32_t around) {
  return around < statement && statement < outline.statements[around].below;
}

// The innermost loop around a statement that `holds`, within its function.
template <class Holds>
std::optional<std::uint32_t> loop_of(const Outline& outline, std::uint32_t statement, const Holds& holds) {
  const std::uint32_t scope = outline.statements[statement].scope;
  for (std::uint32_t at = outline.statements[statement].parent; at != source::kNoStatement; at = outline.statements[at].parent) {
    if (outline.statements[at].scope != scope) return std::nullopt;
    if (outline.statements[at].kind == source::StatementKind::loop && holds(at)) return at;
  }
  return std::nullopt;
}

// Whether a statement's own text calls a name.
bool calls(std::string_view text, const source::Statement& statement, std::string_view name) {
  for (source::Token token = source::next_token(text, statement.head); token.kind != source::TokenKind::end && token.begin < statement.end;
       token = source::next_token(text, token.end)) {
    if (source::text_of(text, token) == name && source::text_of(text, source::next_token(text, token.end)) == "(") return true;
  }
  return false;
}

}  // namespace

bool differ_in_literals(std::string_view one, std::string_view other) {
  bool differ = false;
  source::Token a = source::next_token(one, 0), b = source::next_token(other, 0);
  while (a.kind == b.kind && a.kind != source::TokenKind::end) {
    if (source::text_of(one, a) != source::text_of(other, b)) {
      if (a.kind != source::TokenKind::number && a.kind != source::TokenKind::string) return false;
      differ = true;
    }
    a = source::next_token(one, a.end);
    b = source::next_token(other, b.end);
  }
  return differ && a.kind == b.kind;
}

std::optional<std::uint32_t> loop_around(std::string_view text, std::uint32_t made, std::uint32_t step) {
  const Outline outline = source::outline_of(text);
  const std::uint32_t making = statement_of_line(outline, made), stepping = statement_of_line(outline, step);
  if (making == source::kNoStatement || stepping == source::kNoStatement) return std::nullopt;
  const auto here = loop_of(outline, making, [&](std::uint32_t loop) { return is_inside(outline, stepping, loop); });
  if (here) return outline.statements[*here].line;
  // The function that makes the model and trains it, called in a loop.
  const std::uint32_t function = outline.statements[making].scope;
  if (function == source::kNoStatement || !is_inside(outline, stepping, function)) return std::nullopt;
  const source::Statement& definition = outline.statements[function];
  if (definition.kind != source::StatementKind::function || definition.scope != source::kNoStatement) return std::nullopt;
  const std::string_view name = text.substr(definition.name_begin, definition.name_end - definition.name_begin);
  for (std::uint32_t at = 0; at < outline.statements.size(); ++at) {
    if (is_inside(outline, at, function) || at == function || !calls(text, outline.statements[at], name)) continue;
    if (const auto loop = loop_of(outline, at, [](std::uint32_t) { return true; })) return outline.statements[*loop].line;
  }
  return std::nullopt;
}

std::optional<Seen> seen(const fs::path& bundle) {
  if (!fs::is_directory(bundle)) return std::nullopt;
  const auto manifest = profile::read_manifest(bundle);
  const auto sources = advice::read_executed(bundle);
  if (!manifest || !sources || manifest->argv.empty()) return std::nullopt;
  if (auto loop = of_a_loop(*sources)) return loop;
  return of_profiles(bundle, *manifest, *sources);
}

}  // namespace hotlens::sweep
