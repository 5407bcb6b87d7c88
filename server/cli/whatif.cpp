// What a change of the training step would give, from replays of the recorded and of the edited step: none of the user's code runs.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <tuple>
#include <utility>

#include "annotator/advice/edits/edits.h"
#include "annotator/advice/rules/rules.h"
#include "annotator/advice/sweep/sweep.h"
#include "annotator/common/harmless.h"
#include "annotator/lab/checkpoint/kept.h"
#include "annotator/profile/build/load.h"
#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/bundle/resolve.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/place_name.h"
#include "server/cli/verbs.h"
#include "server/cli/whatif_change.h"
#include "server/lab/suggestions.h"
#include "server/lab/what_ifs.h"
#include "server/runs/discovery.h"
#include "server/runs/kept_files.h"

namespace hotlens::cli {
namespace {

std::vector<std::string> parts(const std::string& text, char by) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    found.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

// What was asked for, of the words of the command line.
struct Asked {
  std::string profile;
  bool list = false, every = true;
  std::vector<lab::Together> replayed;  // kinds of recorded programs
  std::vector<std::string> found;       // kinds of rules
  std::optional<lab::SourceLine> only;  // the changes of this place alone
};

bool is_rule(std::string_view name) {
  return std::ranges::find(rules::rules(), name, &rules::Rule::kind) != rules::rules().end();
}

bool is_kind(const std::string& name) {
  return lab::kind_named(name) != nullptr || is_rule(name);
}

// "fused_optimizer@train.py:41": the kind, and its place where one is named.
std::pair<std::string, std::optional<lab::SourceLine>> split_place(const std::string& word) {
  const std::size_t at = word.find('@'), colon = word.rfind(':');
  std::int64_t line = 0;
  if (at == std::string::npos || colon == std::string::npos || colon < at) return {word, std::nullopt};
  const char *begin = word.data() + colon + 1, *end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(begin, end, line);
  if (error != std::errc{} || stop != end || line < 1) return {word, std::nullopt};
  return {word.substr(0, at), lab::SourceLine{word.substr(at + 1, colon - at - 1), line - 1}};
}

// Whether a file is the one that a person names, by its last parts.
bool is_at(const std::string& file, std::int64_t line, const lab::SourceLine& place) {
  return line == place.line && (file == place.file || file.ends_with("/" + place.file));
}

// What belongs elsewhere is refused, with the line where it belongs.
void keep_place(lab::WhatIfs& all, const lab::SourceLine& place) {
  for (lab::WhatIf& item : std::exchange(all.items, {})) {
    if (item.where && is_at(item.where->file, item.where->line, place)) {
      all.items.push_back(std::move(item));
      continue;
    }
    const std::string home = item.where ? item.where->file + ":" + std::to_string(item.where->line + 1) : "no line that is known";
    all.refused.push_back({item.kind, {.reason = "it belongs at " + home}});
  }
}

// "fused_optimizer,channels_last+autocast_bf16": two, of which the second is two changes at once. False where it begins with no kind.
bool names_kinds(const std::string& word) {
  return is_kind(parts(parts(word, ',').front(), '+').front());
}

Error unknown(const std::string& name) {
  std::string known;
  for (const lab::Kind& kind : lab::kinds()) known += (known.empty() ? "" : ", ") + std::string(kind.name);
  for (const rules::Rule& rule : rules::rules()) known += lab::kind_named(rule.kind) ? "" : ", " + std::string(rule.kind);
  return {ErrorCode::usage, "`" + name + "` is no change that is known; there are " + known, {}};
}

std::optional<Error> add_kinds(const std::string& word, Asked& asked) {
  asked.every = false;
  for (const std::string& together : parts(word, ',')) {
    const std::vector<std::string> names = parts(together, '+');
    lab::Together kinds;
    for (const std::string& name : names) {
      if (!is_kind(name)) return unknown(name);
      if (const lab::Kind* kind = lab::kind_named(name)) kinds.push_back(kind);
    }
    if (names.size() == 1) asked.found.push_back(together);
    if (kinds.size() == names.size() && std::ranges::find(asked.replayed, kinds) == asked.replayed.end()) asked.replayed.push_back(kinds);
    if (names.size() > 1 && kinds.size() < names.size()) {
      return Error{ErrorCode::usage, "`" + together + "`: only changes that are replayed can be made at once", {}};
    }
  }
  return std::nullopt;
}

// A word that could be a change as well as a profile.
bool is_word(const std::string& text, const WhatIfOptions& options) {
  return std::ranges::find(options.words, text) != options.words.end() && text.find_first_of("/.") == std::string::npos;
}

Result<Asked> asked_for(const WhatIfOptions& options) {
  Asked asked{.profile = options.profile, .replayed = {}, .found = {}};
  for (const std::string& word : options.words) {
    if (word == "list") {
      asked.list = true;
    } else if (auto [kind, place] = split_place(word); names_kinds(kind)) {
      if (auto error = add_kinds(kind, asked)) return std::unexpected(std::move(*error));
      asked.only = std::move(place);
    } else if (asked.profile.empty()) {
      asked.profile = word;
    } else {
      return std::unexpected(unknown(std::filesystem::exists(word) ? asked.profile : word));
    }
  }
  if (asked.every) {
    for (const lab::Kind& kind : lab::kinds()) {
      if (kind.is_replayed() || asked.list) asked.replayed.push_back({&kind});
    }
  }
  if (asked.profile.empty()) asked.profile = "latest";
  return asked;
}

// Kinds whose evidence is in the recording, those that were asked for, at the place that was.
void add_findings(lab::WhatIfs& all, const profile::Profile& profile, const Asked& asked) {
  all.step = profile::step_time(profile::mean_update(profile));
  for (const profile::Finding& finding : profile.findings) {
    const bool wanted = asked.found.empty() || std::ranges::find(asked.found, finding.kind) != asked.found.end();
    const bool there = !asked.only || (finding.line && is_at(finding.file, *finding.line, *asked.only));
    if (wanted && there && std::ranges::find(all.items, advice::what_if_of(finding.kind), &lab::WhatIf::kind) == all.items.end())
      all.findings.push_back(finding);
  }
}

// What was asked for is of the recording alone: what gives evidence for the change.
Result<std::vector<profile::Finding>> found_changes(const std::filesystem::path& path, const Asked& asked) {
  if (std::filesystem::is_regular_file(path)) {
    return std::unexpected(
        Error{ErrorCode::unreadable, "a trace does not hold the script that it is of; `hotlens run` records both", path.string()});
  }
  const auto profile = profile::load(path);
  if (!profile) return std::unexpected(profile.error());
  lab::WhatIfs found;
  add_findings(found, **profile, asked);
  return std::move(found.findings);
}

// To be made.
void add_found_changes(lab::WhatIfs& all, const std::vector<profile::Finding>& found, const Asked& asked) {
  for (const profile::Finding& finding : found) all.items.push_back(lab::change_of(finding));
  if (found.empty()) all.refused.push_back({asked.found.front(), {.reason = "the recording gives no evidence that it would help"}});
}

bool names_one(const Asked& asked) {
  return asked.replayed.size() == 1 || (asked.replayed.empty() && asked.found.size() == 1);
}

// Whether a kind changes what is trained.
bool depends(const Asked& asked) {
  return std::ranges::any_of(asked.replayed, [](const lab::Together& kinds) { return std::ranges::any_of(kinds, &lab::Kind::depends); });
}

Error names_no_change(const std::string& flag) {
  return {ErrorCode::usage, "name one change, `+` joins several: hotlens whatif fused_optimizer " + flag, {}};
}

lab::WhatIfs nothing_of(const std::filesystem::path& profile) {
  lab::WhatIfs none;
  none.profile = profile.filename().string();
  return none;
}

// What needs a recorded program: of a trace nothing, and that is said of the kinds that were named.
Result<lab::WhatIfs> replayed(const WhatIfOptions& options, const Asked& asked, const std::filesystem::path& profile, const Say& say) {
  if (std::filesystem::is_regular_file(profile)) {
    lab::WhatIfs none = nothing_of(profile);
    for (const lab::Together& kinds : asked.replayed) {
      const bool also_found = kinds.size() == 1 && is_rule(kinds.front()->name);
      if (asked.every || also_found) continue;
      const lab::NotHere why{.reason = "a trace has no recorded program to replay; `hotlens run` records one"};
      none.refused.push_back({std::string(kinds.front()->name), why});
    }
    return none;
  }
  if (asked.replayed.empty()) return nothing_of(profile);
  lab::WhatIfAsk ask{.bundle = profile, .wanted = asked.replayed, .python = {}, .say = say};
  if (!asked.list && (!options.apply || options.verify || options.budget > 0)) {
    const auto python = runs::find_python(options.python, std::filesystem::current_path(), runs::process_environment());
    if (!python) return std::unexpected(python.error());
    ask.python = python->path;
  }
  ask.instead = !options.apply && !options.verify;
  if (options.budget > 0) ask.budget = Bytes{static_cast<std::int64_t>(options.budget)};
  return lab::ask_what_ifs(ask);
}

// What a page draws of it later. That a budget needs no checkpoint says nothing of others. A bundle that cannot be written to is as it was.
void keep_checkpoints(const lab::WhatIfs& all, const std::filesystem::path& bundle, const WhatIfOptions& options) {
  const bool planned = std::ranges::any_of(all.items, [](const lab::WhatIf& item) { return item.curve.has_value(); });
  const std::string text = planned || options.budget == 0 ? lab::checkpoints_to_keep(all) : std::string();
  if (!text.empty()) std::ignore = runs::write_whole(lab::kept_checkpoints(bundle), text + '\n');
}

// A place in a notebook as a traceback has it: "train.ipynb cell 3" and the line there.
void name_cells(lab::WhatIfs& all, const std::filesystem::path& bundle) {
  const auto model = std::filesystem::is_directory(bundle) ? profile::read_model(bundle) : Result<profile::Model>(profile::Model{});
  for (lab::WhatIf& item : all.items) {
    if (!item.where || !model || item.where->line < 0) continue;
    const auto file = std::ranges::find(model->files, std::filesystem::path(item.where->file), &profile::SourceFile::path);
    if (file == model->files.end()) continue;
    const auto at = profile::cell_line(file->cells, static_cast<std::uint32_t>(item.where->line));
    if (at) item.where = lab::SourceLine{item.where->file + " cell " + std::to_string(at->cell), at->line};
  }
}

}  // namespace

int whatif(const WhatIfOptions& options) {
  if (std::ranges::find(options.words, "sweep") != options.words.end()) return whatif_sweep(options);
  if (options.try_it) return fail({ErrorCode::usage, "--try is for `sweep`: hotlens whatif sweep --try", {}});
  const auto asked = asked_for(options);
  if (!asked) return fail(asked.error());
  const bool changes = options.apply || options.verify;
  if ((options.dry_run && !options.apply) || (changes && !names_one(*asked))) {
    return fail(names_no_change(options.verify ? "--verify" : "--apply"));
  }
  if (changes && depends(*asked)) return fail({ErrorCode::usage, "this changes what is trained: it is told, and not made", {}});
  const auto path = profile::resolve(asked->profile, std::filesystem::current_path());
  if (!path) return fail(is_word(asked->profile, options) ? unknown(asked->profile) : path.error());
  const Say say = [](const std::string& what) { std::cerr << "hotlens: " << harmless(what) << std::endl; };
  auto all = replayed(options, *asked, *path, say);
  if (!all && !asked->every) return fail(all.error());
  if (!all) {  // nothing can be replayed; what the recording tells is told all the same
    say(all.error().message);
    all = nothing_of(*path);
  }
  if (std::filesystem::is_directory(*path)) keep_checkpoints(*all, *path, options);
  if (asked->only) keep_place(*all, *asked->only);
  keep_predictions(*all, *path, say);
  if (changes) {
    if (asked->replayed.empty()) {
      const auto found = found_changes(*path, *asked);
      if (!found) return fail(found.error());
      add_found_changes(*all, *found, *asked);
      if (!options.dry_run) keep_foretold(*found, *path, say);
    }
    if (const auto made = make_changes(*all, *path, options, say); !made) return fail(made.error());
  } else {
    const auto profile = profile::load(*path);
    if (!profile && all->items.empty()) return fail(profile.error());
    if (profile) add_findings(*all, **profile, *asked);
    if (!profile) say(profile.error().message);  // what was replayed is told all the same
  }
  if (asked->list) {
    if (const auto found = sweep::seen(*path)) say(sweep::spelled(*found));
  }
  lab::mark_silenced(*all, *path);
  name_cells(*all, *path);
  std::cout << (options.format == OutputFormat::json ? lab::as_json(*all) + '\n' : lab::as_text(*all, use_colour(STDOUT_FILENO)));
  return changes && all->items.empty() ? kInputUnusable : kDone;
}

}  // namespace hotlens::cli
