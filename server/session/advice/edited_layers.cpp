#include "server/session/advice/edited_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include "annotator/common/format.h"
#include "annotator/common/own_program.h"
#include "server/features/words/format.h"
#include "server/lab/kept.h"
#include "server/session/documents/convert.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using format::readable;
using protocol::Json;

constexpr std::chrono::milliseconds kPause{120};  // after the last keystroke; the next one ends what began
constexpr std::chrono::seconds kKeptFor{60};
constexpr std::size_t kMostKept = 32;
constexpr std::size_t kMostTold = 3;  // edits of one line, beside the first
constexpr int kMostFailures = 3;      // of the same kind in a row: the step cannot be replayed
constexpr const char* kEditedPart = "edited layers";
constexpr const char* kReplayed = ". The recorded step was replayed with the edit; nothing of the script ran.";
constexpr const char* kSampled = ". The time is told from one call of each kind; nothing of the script ran.";
constexpr const char* kFirst = ". That is told from one call of each kind; the whole step is replayed now, for its memory.";

// "18.9 → ≈ 54.0 ms"
std::string from_to(std::string was, const std::string& is) {
  const std::size_t unit = is.rfind(' ');
  if (unit != std::string::npos && was.ends_with(is.substr(unit))) was.erase(was.size() - (is.size() - unit));
  return was + " → ≈ " + is;
}

// Measured, then predicted.
std::string label_of(const lab::EditedStep& step) {
  return step.time && step.step_was > Ns{} ? from_to(readable(step.step_was), readable(step.time->step)) : "";
}

std::string memory_of(const lab::EditedStep& step) {
  return step.time && step.peak && step.peak_was ? from_to(readable(*step.peak_was), readable(*step.peak)) : "";
}

// "does not fit: … (aten::linear in layers.0.mlp)".
std::string reason_of(const lab::EditRefusal& refused) {
  std::string where = refused.op;
  if (!refused.module.empty()) where += (where.empty() ? "" : " in ") + refused.module;
  return (refused.misfit ? "Does not fit: " : "What the edit costs is not known: ") + refused.reason +
         (where.empty() ? "" : " (" + where + ")");
}

std::string sentences(const lab::EditedStep& step, const lab::LayerEdit& edit) {
  std::string text = edit.what;
  if (edit.modules.size() > 1) text += fmt::format(", {} layers", edit.modules.size());
  text += ".";
  if (step.time) {
    text += fmt::format(" {} step would take ≈ {} ({} to {}) instead of {}", step.edits.size() > 1 ? "With all edits of layers the" : "The",
                        readable(step.time->step), readable(step.time->low), readable(step.time->high), readable(step.step_was));
    if (step.peak && step.peak_was) {
      text += *step.peak == *step.peak_was
                  ? ", with the same peak of memory"
                  : fmt::format(", its peak of memory {} instead of {}", readable(*step.peak), readable(*step.peak_was));
    }
    text += !step.sampled ? kReplayed : step.peak ? kSampled : kFirst;
    if (step.faults) text += " The time is known less well: " + sentence(*step.faults) + ".";
  }
  return text;
}

std::uint32_t line_of(const layers::Line& at) {
  return static_cast<std::uint32_t>(at.line);
}

bool is_in(const layers::Line& at, const fs::path& file) {
  return at.line >= 0 && fs::path(at.file) == file;
}

// Whether every fact of the profile stands in the text as it was executed.
bool is_as_executed(const Document& document) {
  const auto& placements = document.view().placements;
  return document.has_facts() && std::ranges::all_of(placements, [](const auto& one) { return one.state == source::State::fresh; });
}

std::string key_of(const std::string& profile, const std::map<fs::path, std::string>& texts) {
  std::string key = profile;
  for (const auto& [path, text] : texts) key += '\0' + path.string() + '\0' + text;
  return key;
}

// A text that does not parse has no layers yet.
bool is_whole(const Document& document) {
  return document.in_step() && !document.tree().has_errors();
}

}  // namespace

std::vector<EditNote> edit_notes(const lab::EditedStep& step, const fs::path& file) {
  std::vector<EditNote> notes;
  std::map<std::uint32_t, std::size_t> others;  // told of a line beside its first one
  for (const lab::LayerEdit& edit : step.edits) {
    if (!is_in(edit.at, file)) continue;
    const auto same = std::ranges::find(notes, line_of(edit.at), &EditNote::line);
    if (same == notes.end()) {
      notes.push_back({.line = line_of(edit.at), .label = label_of(step), .memory = memory_of(step), .text = sentences(step, edit)});
    } else if (++others[same->line] <= kMostTold) {
      same->text = fmt::format("{}; {}", edit.what, same->text);
    }
  }
  for (EditNote& note : notes) {
    if (others[note.line] > kMostTold) note.text = fmt::format("{} edits of layers, among them {}", others[note.line] + 1, note.text);
  }
  if (step.refused && is_in(step.refused->at, file)) {
    const auto same = std::ranges::find(notes, line_of(step.refused->at), &EditNote::line);
    const std::string text = reason_of(*step.refused);
    if (same != notes.end()) notes.erase(same);
    notes.push_back({.line = line_of(step.refused->at),
                     .label = step.refused->misfit ? "does not fit" : "",
                     .text = text,
                     .misfit = step.refused->misfit,
                     .refused = !step.refused->misfit,
                     .number = step.refused->number});
  }
  return notes;
}

std::vector<EditNote> settled_notes(std::vector<EditNote> notes, const lab::StepTime& predicted, Ns measured) {
  std::erase_if(notes, [](const EditNote& note) { return note.label.empty() || note.misfit || note.refused; });
  for (EditNote& note : notes) {
    note.label.clear();
    note.text = fmt::format("Predicted ≈ {} ({} to {}), measured {}.", readable(predicted.step), readable(predicted.low),
                            readable(predicted.high), readable(measured));
  }
  return notes;
}

std::string noted(const EditNote& note, bool markdown) {
  constexpr std::size_t kMost = 1000;  // characters of a reason in the operator's own words
  return markdown ? features::escape_markdown(note.text, kMost) : features::plain(note.text, kMost);
}

std::vector<features::Hint> noted(std::vector<features::Hint> hints, const std::vector<EditNote>& notes, const Document& document,
                                  features::LineRange lines, const features::Options& how) {
  for (const EditNote& note : notes) {
    if (note.line < lines.begin || note.line >= lines.end || note.line >= document.lines().lines()) continue;
    auto at = std::ranges::lower_bound(hints, note.line, {}, [](const features::Hint& hint) { return hint.at.line; });
    if (at == hints.end() || at->at.line != note.line) {
      if (note.label.empty()) continue;
      const auto length = protocol::line_text(document.text(), document.lines(), note.line).size();
      at = hints.insert(at, {.at = {note.line, static_cast<std::uint32_t>(length)}, .label = "", .tooltip = ""});
    }
    const bool of_memory = how.unit == features::HintUnit::memory && !note.memory.empty();
    if (!note.label.empty()) at->label = of_memory ? note.memory : note.label;
    if (!note.label.empty()) at->parts.clear();
    if (how.tooltips) at->tooltip = noted(note, how.markdown) + (at->tooltip.empty() ? "" : "\n\n" + at->tooltip);
  }
  return hints;
}

EditedLayers::EditedLayers(Loop& loop, Client& client, Workspace& workspace, Events events)
    : loop_(loop), client_(client), workspace_(workspace), events_(std::move(events)) {}

const std::vector<EditNote>& EditedLayers::of(const Document& document) {
  static const std::vector<EditNote> kNone;
  const auto found = notes_.find(document.uri());
  const auto& shown = document.profile();
  if (found == notes_.end() || found->second.version != document.version() || !shown) return kNone;
  Notes& held = found->second;
  if (held.profile == shown->id) return held.notes;
  // What was predicted has been measured, or another profile was chosen, which says nothing of it.
  const auto measured = shown->plain_step ? shown->plain_step : shown->profiled_step;
  const bool of_this_text = held.time && measured && is_as_executed(document);
  if (of_this_text) settle(document, held, *measured);
  if (!of_this_text) held.notes.clear();
  held.profile = shown->id;
  held.time.reset();
  show(document, held.notes);
  return held.notes;
}

// Files that were edited together share one prediction.
void EditedLayers::settle(const Document& document, Notes& held, Ns measured) {
  held.notes = settled_notes(std::move(held.notes), *held.time, measured);
  const profile::Profile& shown = *document.profile();
  const std::string both = held.profile + " " + shown.id;
  if (held.notes.empty() || shown.folder.empty() || held.step_was <= Ns{} || std::exchange(settled_, both) == both) return;
  loop_.work([edit = lab::SettledEdit{.before = held.profile,
                                      .after = shown.folder,
                                      .where = {document.path().string(), held.notes.front().line},
                                      .step_was = held.step_was,
                                      .measured = measured,
                                      .predicted = *held.time}] { return lab::keep_settled(edit); },
             [this](const Result<void>& kept) {
               if (!kept) client_.log("the ledger is as it was: " + kept.error().message);
             });
}

// All documents of the profile that are whole.
EditedLayers::Texts EditedLayers::texts_beside(const Document& document, Versions& versions) const {
  Texts texts;
  for (const auto& [uri, open] : workspace_.documents) {
    if (open.profile() != document.profile() || !is_whole(open)) continue;
    texts[open.path()] = open.text();
    versions[uri] = open.version();
  }
  return texts;
}

// Whether these texts have had their answer.
bool EditedLayers::answer_from_kept(const Document& document) {
  if (!is_whole(document)) return false;
  Versions versions;
  const auto found = kept_.find(key_of(document.profile()->id, texts_beside(document, versions)));
  if (found == kept_.end() || found->second.until < std::chrono::steady_clock::now()) return false;
  keep(found->second.step, document.profile()->id, versions);
  return true;
}

void EditedLayers::edited(const Document& document) {
  stop();
  due_ = false;
  document_ = document.serial();
  const auto& shown = document.profile();
  unbound_ = shown == nullptr;
  if (!workspace_.trusted || !workspace_.settings.predict_edits || !shown || shown->folder.empty() ||
      failures_[shown->id].times >= kMostFailures)
    return;
  if (!answer_from_kept(document)) wait();
}

void EditedLayers::profiles_bound() {
  const Document* document = unbound_ ? workspace_.documents.find(document_) : nullptr;
  if (document != nullptr && document->profile()) edited(*document);
}

void EditedLayers::wait() {
  timer_ = loop_.after(kPause, [this] { start(false); });
}

void EditedLayers::closed(const std::string& uri) {
  if (notes_.erase(uri) > 0) client_.diagnose(uri, kEditedPart, Json::array());
}

void EditedLayers::stop() {
  timer_.reset();
  if (!active_) return;
  active_->cancelled = true;
  if (active_->run) active_->run->cancel(std::chrono::milliseconds{0});
}

void EditedLayers::end() {
  timer_.reset();
  if (active_) active_->run.reset();
}

void EditedLayers::cancel_progress(const Json& params) {
  if (active_ && active_->progress && active_->progress->is_named_by(params)) stop();
}

// The texts are written to a folder of our own: what is being typed stays where it is.
void EditedLayers::start(bool build) {
  const Document* document = workspace_.documents.find(document_);
  if (document == nullptr || !is_whole(*document) || !document->profile() || events_.disturbs()) return;
  if (active_) {
    due_ = true;
    return;
  }
  active_ = Active{};
  active_->id = ++last_;
  active_->profile = document->profile()->id;
  Texts texts = texts_beside(*document, active_->versions);
  active_->key = key_of(active_->profile, texts);
  auto write = [texts = std::move(texts)] {
    auto drafts = std::make_shared<Drafts>();
    if (drafts->folder.path().empty()) return drafts;
    for (const auto& [file, text] : texts) {
      const fs::path draft = drafts->folder.path() / std::to_string(drafts->texts.size());
      std::ofstream(draft, std::ios::binary) << text;
      drafts->texts[file] = draft;
    }
    return drafts;
  };
  loop_.work(std::move(write),
             [this, id = active_->id, bundle = document->profile()->folder, build](Result<std::shared_ptr<Drafts>> drafts) {
               if (!active_ || active_->id != id) return;
               const bool written = drafts && !(*drafts)->texts.empty();
               if (written) active_->drafts = *std::move(drafts);
               if (written && !active_->cancelled) return run(bundle, workspace_.settings.python, build);
               active_.reset();
               if (std::exchange(due_, false)) wait();
             });
}

void EditedLayers::run(const fs::path& bundle, const std::string& python, bool build) {
  std::vector<std::string> argv{own_program().value_or(fs::path()).string(), "predict", bundle.string(), "--format", "json"};
  if (!build) argv.emplace_back("--quick");
  if (!build && checked_.contains(active_->profile)) argv.emplace_back("--checked");
  if (!python.empty()) argv.insert(argv.end(), {"--python", python});
  for (const auto& [file, draft] : active_->drafts->texts) argv.insert(argv.end(), {"--with", file.string() + "=" + draft.string()});
  argv.emplace_back("--edited");
  if (build)
    active_->progress = std::make_unique<ProgressReport>(client_, loop_, "hotlens-edited-" + std::to_string(last_), "Edited layers");
  const auto on_strand = [this, id = last_](auto handler) {
    return [this, id, handler](const auto& value) {
      loop_.post([this, id, handler, value] {
        if (active_ && active_->id == id) (this->*handler)(*active_, value);
      });
    };
  };
  active_->run = runs::start({.argv = std::move(argv), .cwd = bundle.parent_path().parent_path().parent_path()},
                             {.output = on_strand(&EditedLayers::on_output), .end = on_strand(&EditedLayers::on_end)});
}

void EditedLayers::on_output(Active& active, const runs::OutputLine& line) {
  if (!line.is_error) {
    active.written += line.text + '\n';
    if (line.text != "}") return;  // where a document ends
    active.answer = lab::read_edited_step(std::exchange(active.written, {}));
    const bool is_first = *active.answer && !(*active.answer)->peak && (*active.answer)->time && !active.cancelled;
    if (is_first) keep(**active.answer, active.profile, active.versions);
    return;
  }
  constexpr std::string_view kSpeaker = "hotlens: ";
  active.said = line.text.starts_with(kSpeaker) ? line.text.substr(kSpeaker.size()) : line.text;
  if (active.progress) active.progress->report(active.said, 0);
}

void EditedLayers::on_end(Active& active, const runs::RunEnd& end) {
  const bool done = end.exit_code == 0 && !active.cancelled;
  const Result<lab::EditedStep> step = done && active.answer ? *active.answer : std::unexpected(Error{ErrorCode::failed, active.said, {}});
  if (step) {
    failures_.erase(active.profile);
    if (step->peak) checked_.insert(active.profile);
    if (kept_.size() >= kMostKept) kept_.clear();
    if (!step->unbuilt) kept_.insert_or_assign(active.key, Kept{std::chrono::steady_clock::now() + kKeptFor, *step});
    keep(*step, active.profile, active.versions);
  } else if (!active.cancelled) {
    failed(active.profile, step.error().message);
  }
  if (active.progress) active.progress->end(step ? "Done." : active.cancelled ? "Cancelled." : "Failed.");
  const bool wanted = step && step->unbuilt && !step->edits.empty();
  active_.reset();
  if (wanted) offer_to_build();
  if (std::exchange(due_, false)) wait();
}

// One answer is lost; what always fails alike is not tried for ever.
void EditedLayers::failed(const std::string& profile, const std::string& why) {
  Failures& failures = failures_[profile];
  if (failures.last != why) {
    client_.log("an edit of layers is not predicted: " + why);
    failures = {.last = why};
  }
  ++failures.times;
}

void EditedLayers::keep(const lab::EditedStep& step, const std::string& profile, const Versions& versions) {
  bool changed = false;
  for (const auto& [uri, version] : versions) {
    const Document* document = workspace_.documents.find(uri);
    if (document == nullptr || document->version() != version) continue;
    std::vector<EditNote> notes = edit_notes(step, document->path());
    show(*document, notes);
    changed = changed || !notes.empty() || notes_.contains(uri);
    if (notes.empty()) {
      notes_.erase(uri);
    } else {
      notes_[uri] = {.version = version, .profile = profile, .time = step.time, .step_was = step.step_was, .notes = std::move(notes)};
    }
  }
  if (changed) events_.changed();
}

void EditedLayers::show(const Document& document, const std::vector<EditNote>& notes) {
  Json list = Json::array();
  const Places places(document.text(), document.lines(), client_.can.encoding);
  for (const EditNote& note : notes) {
    if (!(note.misfit || note.refused) || note.line >= document.lines().lines()) continue;
    const std::string_view text = protocol::line_text(document.text(), document.lines(), note.line);
    const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
    const source::Range range{{note.line, static_cast<std::uint32_t>(first)}, {note.line, static_cast<std::uint32_t>(text.size())}};
    list.push_back({{"range", to_json(places.to_client(range))},
                    {"severity", note.misfit ? severity::kWarning : severity::kInformation},
                    {"source", "hotlens"},
                    {"code", note.misfit ? "misfit" : "not-predicted"},
                    {"message", noted(note, false)}});
  }
  client_.diagnose(document.uri(), kEditedPart, std::move(list));
}

void EditedLayers::offer_to_build() {
  constexpr const char* kBuild = "build";
  if (std::exchange(offered_, true) || !client_.can.message_actions) return;
  client_.ask(
      MessageType::info,
      "You edited a layer. Hotlens can tell what it would cost before it runs; it builds a small program for that first, once, in about "
      "half a minute.",
      {{.title = "Build It", .id = kBuild}}, [this](const std::string& id) {
        if (id == kBuild) start(true);
      });
}

}  // namespace hotlens::session
