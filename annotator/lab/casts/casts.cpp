#include "annotator/lab/casts/casts.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

constexpr const char* kUsual = "float32";

// Whether something else than factories of torch may say what type a batch has.
bool reads_data(const Sources& sources) {
  constexpr std::array<std::string_view, 10> kOthers{"numpy",    "pandas",  "PIL",   "torchvision", "torchaudio",
                                                     "datasets", "sklearn", "scipy", "h5py",        "cv2"};
  return std::ranges::any_of(sources.files, [&](const auto& file) {
    return !sources.packages.contains(file.first) && std::ranges::any_of(kOthers, [&](std::string_view name) {
      return file.second->text().find("import " + std::string(name)) != std::string::npos ||
             file.second->text().find("from " + std::string(name)) != std::string::npos;
    });
  });
}

// Statements that then say nothing are `pass`.
std::shared_ptr<const source::Code> without(const source::Code& code, const ScriptCasts& casts) {
  std::map<Span, std::string> spans;
  for (const Node& statement : casts.statements) {
    if (statement.code == &code) spans[span_of(statement)] = passed(statement);
  }
  for (const Site& site : casts.sites) {
    const auto [begin, end] = site.part;
    if (site.call.code == &code) spans[site.part] = line_ends(std::string_view(code.text()).substr(begin, end - begin));
  }
  const auto bare = replaced(code, spans);
  // `x = x`, and `model` alone.
  std::map<Span, std::string> silent;
  source::walk(bare->root(), [&](Node node) {
    const Node one = node.is("expression_statement") ? node.child() : Node{};
    const bool nothing = one.is("identifier") || (one.is("assignment") && one.field("left").text() == one.field("right").text());
    if (nothing) silent[span_of(node)] = passed(node);
    return true;
  });
  return silent.empty() ? bare : replaced(*bare, silent);
}

Sources plain(const Sources& sources, const ScriptCasts& casts) {
  Sources all = sources;
  std::set<const source::Code*> own;
  for (const Site& site : casts.sites) own.insert(site.call.code);
  for (const Node& statement : casts.statements) own.insert(statement.code);
  for (auto& [path, code] : all.files) {
    if (own.contains(code.get())) code = without(*code, casts);
  }
  return all;
}

// Whether lines that differ may be about types: who types something else waits for no reading of all files.
bool may_cast(const Sources& executed, const Sources& edited) {
  constexpr std::array<std::string_view, 5> kWords{".to(", "half", "float", "double", "dtype"};
  return std::ranges::any_of(edited.files, [&](const auto& file) {
    const auto found = executed.files.find(file.first);
    if (found == executed.files.end() || found->second == file.second || edited.packages.contains(file.first)) return false;
    const std::string_view was = found->second->text(), is = file.second->text();
    const auto [one, other] = std::ranges::mismatch(was, is);
    const std::string_view alike = was.substr(0, static_cast<std::size_t>(one - was.begin()));
    const std::size_t line = alike.rfind('\n') == std::string_view::npos ? 0 : alike.rfind('\n');
    std::size_t same = 0;
    while (same < std::min(was.size(), is.size()) - line && was[was.size() - 1 - same] == is[is.size() - 1 - same]) ++same;
    while (same > 0 && was[was.size() - same] != '\n') --same;
    return std::ranges::any_of(kWords, [&](std::string_view word) {
      return was.substr(line, was.size() - line - same).find(word) != std::string_view::npos ||
             is.substr(line, is.size() - line - same).find(word) != std::string_view::npos;
    });
  });
}

Unclear unclear(const Site& site, std::string reason) {
  return {.reason = std::move(reason), .at = line_of(site.call)};
}

}  // namespace

TakenOut<CastEdit> without_casts(const Sources& executed, const Sources& edited) {
  if (!may_cast(executed, edited)) return std::nullopt;
  const ScriptCasts was = casts_in(executed), is = casts_in(edited);
  CastEdit edit;
  const std::string usual_was = was.standard.value_or(kUsual), usual_is = is.standard.value_or(kUsual);
  const std::string old = was.model.value_or(usual_was), now = is.model.value_or(usual_is);
  const auto at = [&](Node node) {
    if (edit.at.line < 0) edit.at = line_of(node);
  };
  if (usual_was != usual_is) edit.standard = usual_is;
  if (old != now) edit.model = now;
  for (const Node& statement : is.statements) {
    if (edit.standard) at(statement);
  }
  for (const Site& site : is.sites) {
    if (site.of_model && edit.model) at(site.call);
  }
  for (const Site& site : is.sites) {
    if (site.of_model) continue;
    const auto before =
        std::ranges::find_if(was.sites, [&](const Site& one) { return !one.of_model && one.given.name == site.given.name; });
    if (before != was.sites.end() && before->given.dtype == site.given.dtype) continue;
    edit.given.push_back(site.given);
    at(site.call);
  }
  for (const Site& site : was.sites) {
    const bool still =
        site.of_model || std::ranges::any_of(is.sites, [&](const Site& one) { return !one.of_model && one.given.name == site.given.name; });
    if (!still) return std::unexpected(unclear(site, "what type `" + site.given.name + "` has without this cast is not known"));
  }
  if (!edit.model && !edit.standard && edit.given.empty()) {
    const auto same = [](const Site& one, const Site& other) { return same_wording(one.call, other.call); };
    if (std::ranges::equal(was.sites, is.sites, same) && was.statements.size() == is.statements.size()) return std::nullopt;
    return Plain<CastEdit>{.executed = plain(executed, was), .edited = plain(edited, is), .edits = {}};
  }
  if (edit.standard && (reads_data(edited) || is.late || was.late))
    return std::unexpected(Unclear{.reason = "whether the batch has the default type cannot be told", .at = edit.at});
  if (is.models > 1 && edit.model)
    return std::unexpected(Unclear{.reason = "which of several models this casts is not followed", .at = edit.at});
  edit.what = "dtype ";
  if (edit.model || edit.given.empty()) {
    edit.what += edit.model ? old + " → " + now : usual_was + " → " + usual_is;
  } else {
    edit.what += "of `" + edit.given[0].name + "` → " + edit.given[0].dtype;
  }
  return Plain<CastEdit>{.executed = plain(executed, was), .edited = plain(edited, is), .edits = {std::move(edit)}};
}

}  // namespace hotlens::layers
