#include "annotator/advice/seen.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "annotator/advice/seen_size.h"
#include "annotator/advice/track_record.h"
#include "annotator/common/file.h"
#include "annotator/common/format.h"
#include "annotator/profile/bundle/resolve.h"
#include "annotator/profile/loop.h"

namespace hotlens::advice {
namespace {

namespace fs = std::filesystem;

constexpr double kError = 0.05;  // how often the interval may miss

std::string file_name(const std::string& path) {
  return fs::path(path).filename().string();
}

std::optional<profile::RunSamples> steps_of(const fs::path& bundle, const profile::Manifest& manifest) {
  if (manifest.plain_steps.empty()) return std::nullopt;
  std::optional<double> others;
  if (!manifest.loop.empty()) {
    const auto loop = profile::read_loop(bundle, manifest, 0);
    if (loop) others = profile::share_of_others(*loop);
  }
  return profile::RunSamples{.runs = {profile::sample(manifest.plain_steps)}, .prior = profile::prior_of(others)};
}

// The byte of a position; nullopt where the text has none such.
std::optional<std::size_t> byte_of(const std::string& text, std::int64_t line, std::int64_t character) {
  std::size_t at = 0;
  for (; line > 0; --line) {
    at = text.find('\n', at);
    if (at == std::string::npos) return std::nullopt;
    ++at;
  }
  if (character < 0 || static_cast<std::size_t>(character) > text.size() - at) return std::nullopt;
  return at + static_cast<std::size_t>(character);
}

bool same_devices(const profile::Manifest& before, const profile::Manifest& after) {
  return std::ranges::equal(before.devices, after.devices,
                            [](const profile::Device& one, const profile::Device& other) { return one.name == other.name; });
}

// What else than the text may have changed the time.
std::optional<std::string> other_terms(const profile::Manifest& before, const profile::Manifest& after) {
  if (before.torch != after.torch) return fmt::format("torch is {}, and was {}", after.torch, before.torch);
  if (before.threads != after.threads) return fmt::format("torch computes with {} threads, and did with {}", after.threads, before.threads);
  if (!same_devices(before, after)) return "it ran on another device";
  return std::nullopt;
}

// One number, in digits, is another one, and nothing else.
bool differ_by_a_number(std::string_view one, std::string_view other) {
  constexpr std::string_view kDigits = "0123456789";
  const auto [left, right] = std::ranges::mismatch(one, other);
  one.remove_prefix(static_cast<std::size_t>(left - one.begin()));
  other.remove_prefix(static_cast<std::size_t>(right - other.begin()));
  const auto [last, rest] = std::mismatch(one.rbegin(), one.rend(), other.rbegin(), other.rend());
  one.remove_suffix(static_cast<std::size_t>(last - one.rbegin()));
  other.remove_suffix(static_cast<std::size_t>(rest - other.rbegin()));
  return one.find_first_not_of(kDigits) == one.npos && other.find_first_not_of(kDigits) == other.npos && one != other;
}

// Why the commands differ by more than a number, or not at all.
std::optional<std::string> other_than_a_number(const Ran& before, const Ran& after) {
  const auto &was = before.manifest.argv, &is = after.manifest.argv;
  if (before.manifest.cwd != after.manifest.cwd || was.size() != is.size()) return "it is another command";
  std::size_t numbers = 0;
  for (std::size_t at = 0; at < was.size(); ++at) {
    if (was[at] == is[at]) continue;
    if (!differ_by_a_number(was[at], is[at])) return "it is another command";
    ++numbers;
  }
  if (before.files.size() != after.files.size()) return "it is made of other files";
  for (const auto& [path, file] : before.files) {
    const auto found = after.files.find(path);
    if (found == after.files.end()) return file_name(path) + " is not part of it any more";
    if (found->second.sha256 == file.sha256) continue;
    const bool texts = file.text && found->second.text;
    if (!texts || !differ_by_a_number(*file.text, *found->second.text)) return file_name(path) + " was changed elsewhere as well";
    ++numbers;
  }
  return numbers == 1 ? std::nullopt : std::optional<std::string>("not one number alone is another one");
}

std::optional<std::string> other_file(const std::set<std::string>& edited, const Ran& before, const Ran& after) {
  for (const auto& [path, file] : before.files) {
    const auto found = after.files.find(path);
    if (found == after.files.end()) return file_name(path) + " is not part of it any more";
    if (!edited.contains(path) && found->second.sha256 != file.sha256) return file_name(path) + " was changed as well";
  }
  for (const auto& [path, file] : after.files) {
    if (!before.files.contains(path)) return file_name(path) + " is new in it";
  }
  return std::nullopt;
}

// Why a file is not the one that its edits leave.
std::optional<std::string> other_text(const std::string& path, const std::vector<lab::SourceEdit>& edits, const Ran& before,
                                      const Ran& after) {
  const auto was = before.files.find(path), is = after.files.find(path);
  if (was == before.files.end() || is == after.files.end()) return file_name(path) + " is not part of both profiles";
  if (was->second.sha256 == is->second.sha256) return "the change is not in " + file_name(path) + " any more";
  if (!was->second.text || !is->second.text) return "the text of " + file_name(path) + " was not kept";
  if (edited_text(*was->second.text, edits) != is->second.text) return file_name(path) + " was changed elsewhere as well, or otherwise";
  return std::nullopt;
}

std::optional<std::string> other_texts(const std::vector<lab::SourceEdit>& edits, const Ran& before, const Ran& after) {
  std::map<std::string, std::vector<lab::SourceEdit>> by_file;
  std::set<std::string> edited;
  for (const lab::SourceEdit& edit : edits) {
    by_file[edit.file].push_back(edit);
    edited.insert(edit.file);
  }
  for (const auto& [path, of] : by_file) {
    if (auto why = other_text(path, of, before, after)) return why;
  }
  return other_file(edited, before, after);
}

std::expected<Step, std::string> step_of(const Ran& before, const Ran& after) {
  if (auto why = other_terms(before.manifest, after.manifest)) return std::unexpected(std::move(*why));
  if (!before.steps || !after.steps) return std::unexpected("one of the profiles timed no step without the profiler");
  const auto noise = profile::noise(*before.steps, *after.steps, kError);
  const Ns was = before.steps->level(), is = after.steps->level();
  if (!noise || was <= Ns{} || is <= Ns{}) return std::unexpected("one step alone tells no time");
  const auto ratio = [&](Ns time) { return static_cast<double>(std::max(time, Ns{1}).count()) / static_cast<double>(was.count()); };
  return Step{.ratio = {.ratio = ratio(is), .low = ratio(is - *noise), .high = ratio(is + *noise)}, .was = was, .now = is};
}

// Applied changes that nothing was said of since, each with the place of its record; of the same change the last.
std::vector<Record> open_changes(const Ledger& ledger) {
  std::vector<Record> open;
  for (const Record& record : ledger.records) {
    const bool applied = record.event == Event::applied && !record.edits.empty();
    if (!applied && record.event != Event::seen && record.event != Event::unseen) continue;
    std::erase_if(open, [&](const Record& one) { return one.profile == record.profile && one.kind == record.kind; });
    if (applied) open.push_back(record);
  }
  return open;
}

bool same_command(const profile::Manifest& one, const profile::Manifest& other) {
  return one.argv == other.argv && one.cwd == other.cwd;
}

// Begun later than the change: what began in the same second may have read the text before it.
bool may_have_it(const profile::Manifest& later, const Record& applied, const profile::Manifest& before) {
  return later.id != before.id && later.created >= applied.time && !later.stopped && same_command(later, before);
}

std::optional<fs::path> next_profile(const std::vector<fs::path>& newest_first, const Record& applied, const profile::Manifest& before) {
  std::optional<fs::path> next;
  for (const fs::path& bundle : newest_first) {
    const auto manifest = profile::read_manifest(bundle);
    if (!manifest) continue;
    if (manifest->created < applied.time) break;
    if (may_have_it(*manifest, applied, before)) next = bundle;
  }
  return next;
}

Record told(const Record& applied, const Ran& before, const Ran& after) {
  Record record{.event = Event::unseen,
                .time = time_now(),
                .profile = applied.profile,
                .kind = applied.kind,
                .torch = after.manifest.torch,
                .file = applied.file,
                .line = applied.line,
                .method = {},
                .ratio = {},
                .assumes = {},
                .after = after.manifest.id};
  const auto step = judged(applied.edits, before, after);
  if (!step) {
    record.reason = step.error();
    return record;
  }
  record.event = Event::seen;
  record.ratio = step->ratio;
  record.step_was = step->was;
  record.step = step->now;
  return record;
}

}  // namespace

Result<Ran> read_ran(const fs::path& bundle) {
  auto manifest = profile::read_manifest(bundle);
  if (!manifest) return std::unexpected(manifest.error());
  const auto model = profile::read_model(bundle);
  if (!model) return std::unexpected(model.error());
  Ran ran{.manifest = std::move(*manifest), .files = {}};
  for (const profile::SourceFile& file : model->files) {
    if (!file.workspace) continue;
    Ran::File kept{.sha256 = file.sha256, .text = {}};
    if (!file.copy.empty()) {
      if (auto text = read_file_inside(bundle, file.copy, kMostSource)) kept.text = std::move(*text);
    }
    ran.files.emplace(file.path.string(), std::move(kept));
  }
  ran.steps = steps_of(bundle, ran.manifest);
  return ran;
}

std::optional<std::string> edited_text(const std::string& text, std::vector<lab::SourceEdit> edits) {
  const auto place = [](const lab::SourceEdit& edit) { return std::pair(edit.line, edit.character); };
  std::ranges::stable_sort(edits, std::ranges::greater{}, place);
  std::string made = text;
  std::size_t last = text.size();
  for (const lab::SourceEdit& edit : edits) {
    const auto begin = byte_of(text, edit.line, edit.character), end = byte_of(text, edit.end_line, edit.end_character);
    if (!begin || !end || *begin > *end || *end > last || text.compare(*begin, *end - *begin, edit.was) != 0) return std::nullopt;
    made.replace(*begin, *end - *begin, edit.text);
    last = *begin;
  }
  return made;
}

std::expected<Step, std::string> judged(const std::vector<lab::SourceEdit>& edits, const Ran& before, const Ran& after) {
  if (auto why = other_texts(edits, before, after)) return std::unexpected(std::move(*why));
  if (before.manifest.samples_per_step != after.manifest.samples_per_step) return std::unexpected("a step has another number of samples");
  return step_of(before, after);
}

std::expected<Step, std::string> judged_size(const Ran& before, const Ran& after) {
  if (auto why = other_than_a_number(before, after)) return std::unexpected(std::move(*why));
  return step_of(before, after);
}

Result<std::vector<Record>> take_up_seen(const fs::path& bundle) {
  const fs::path file = ledger_of(bundle), store = bundle.parent_path();
  const auto ledger = read_ledger(file);
  if (!ledger) return std::unexpected(ledger.error());
  std::vector<Record> added;
  const std::vector<Record> open = open_changes(*ledger);
  const std::vector<fs::path> all = profile::bundles_in(store);
  for (const Record& applied : open) {
    // A ledger is data: its ids name folders of the store and nothing else.
    const auto known = std::ranges::find(all, applied.profile, [](const fs::path& one) { return one.filename().string(); });
    if (known == all.end()) continue;
    const auto before = read_ran(*known);
    if (!before) continue;
    const auto next = next_profile(all, applied, before->manifest);
    if (!next) continue;
    const auto after = read_ran(*next);
    if (!after) continue;
    Record record = told(applied, *before, *after);
    if (auto kept = add(file, record); !kept) return std::unexpected(kept.error());
    added.push_back(std::move(record));
  }
  for (Record& record : seen_size(*ledger, all, bundle)) {
    if (auto kept = add(file, record); !kept) return std::unexpected(kept.error());
    if (record.event == Event::seen) added.push_back(std::move(record));
  }
  return added;
}

std::string sentence(const Record& seen) {
  if (seen.event != Event::seen) return fmt::format("{} is not counted as seen in {}: {}", seen.kind, seen.after, seen.reason);
  const std::string_view what = seen.kind == kBatchSize ? "The predicted batch size" : std::string_view(seen.kind);
  return fmt::format("{} is in this profile: {} → {}, {}", what, format::readable(seen.step_was), format::readable(seen.step),
                     change_in_words(*seen.ratio));
}

}  // namespace hotlens::advice
