// What an editor shows for one file: hints, hovers, lenses, actions, diagnostics.
//
// Every feature is a pure function of a FileView (a snapshot: the text as it is now, the profile, where the profile's facts stand in that
// text). No thread, no I/O, no LSP types: the session turns byte columns into the client's encoding, `hotlens check` prints them as they
// are. Each folder knows those before it: `lines/`, the numbers of a line; `words/`, how they are told; `binding/`, the facts of a file
// bound to its text; `hints/`, lists over lines; `hovers/`; `actions/`, lenses too; `timeline/`, the timeline's features.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "annotator/lab/predict/batch_sizes.h"
#include "annotator/profile/profile.h"
#include "annotator/report/cost_card.h"
#include "annotator/source/anchors.h"

namespace hotlens::features {

struct FileView;
struct Baseline;

// What a hint tells of its line (words/hint_units.h).
enum class HintUnit : std::uint8_t { time, share, memory, throughput };

struct Options {
  double min_share = 0.01;                    // of the step; lines below it get no hint
  HintUnit unit = HintUnit::time;             // of hints
  std::size_t long_line = 0;                  // a line of more characters has its hint before its text; 0: none has
  bool markdown = true;                       // hover and tooltip format; false: plain text
  bool images = true;                         // the client renders data-URI images in Markdown
  bool trusted = true;                        // profiling may be offered
  bool running = false;                       // a run is in progress
  bool timeline = false;                      // the client can show the timeline
  bool compares = false;                      // …two profiles above each other
  bool predicting = false;                    // other batch sizes are
  bool calls = false;                         // the client can list the places of a layer
  bool clipboard = false;                     // …copy a text
  bool findings = true;                       // hovers say what the recording gives evidence for
  bool tooltips = true;                       // fill Hint::tooltip; false for clients that resolve it later (ask again for the one line)
  std::optional<std::string> arguments = {};  // kept for the runs of this script
  std::optional<std::string> configuration = {};            // of several that it may run with: the chosen one; "": nobody has chosen yet
  std::shared_ptr<const lab::BatchSizes> batch_sizes = {};  // what was predicted from the profile; null: nothing
  std::shared_ptr<const report::CostCard> costs = {};       // held against the measured peaks of its device; null: none were measured
  std::string label = {};                                   // which profile is shown, where that is not the newest; stands in the lens
  std::shared_ptr<const Baseline> baseline = {};            // the same text with what it is compared with (baseline.h); null: nothing
  friend bool operator==(const Options&, const Options&) = default;
};

// The profile's facts of one file, bound to the text that was executed. Heavy (parses): build off the main strand with bind().
struct FileFacts;

class HintMemory;

// Folders whose files may be read because a profile names them; nothing: any. Where a workspace is not trusted, neither is its profile.
using Folders = std::optional<std::vector<std::filesystem::path>>;

// Null when the profile says nothing about the file at `path`, or kept no copy of it: facts are bound to the text that was executed, never
// to another one. Reads that copy; blocks on I/O. `opened` is the text as it is now, or null: where it is the executed one still, it is not
// parsed again, and a file that did not run has the facts of classes that it took over from one that did
// (annotator/source/moved_classes.h), which is read as it is now if it is in `readable`.
std::shared_ptr<const FileFacts> bind(std::shared_ptr<const profile::Profile> profile, const std::filesystem::path& path,
                                      const source::Tree* opened = nullptr, const Folders& readable = std::nullopt);

// Snapshot of one document. Cheap to copy.
struct FileView {
  std::filesystem::path path;
  source::Tree tree;                                   // the text as it is now
  std::shared_ptr<const FileFacts> facts;              // null: no profile, or nothing in it about this file
  std::shared_ptr<const profile::Profile> profile;     // null: none loaded
  std::vector<source::Anchors::Placement> placements;  // of `facts` in `tree`; filled by view()
};

// Places the facts in the text. Under 5 ms for a 10,000-line file.
FileView view(std::filesystem::path path, source::Tree tree, std::shared_ptr<const FileFacts> facts,
              std::shared_ptr<const profile::Profile> profile);

struct LineRange {
  std::uint32_t begin = 0, end = 0xffffffff;  // end is exclusive
  friend bool operator==(const LineRange&, const LineRange&) = default;
};

// A piece of a hint's label that stands for one call of the line.
struct LabelPart {
  std::string text;
  std::string tooltip;                         // one line; empty: none of its own
  std::optional<source::Position> definition;  // where the module is defined, when that is in the same file
};

struct Hint {
  source::Position at;  // end of the line, or of its indentation (Options::long_line)
  std::string label;    // at most 20 characters
  std::string tooltip;  // Markdown or plain text, see Options
  // Of a line with several calls: the label in pieces, left to right like the calls; else empty.
  std::vector<LabelPart> parts = {};
  double share = 0;     // of an update; 0 where the line has no time of its own
  bool before = false;  // the line's text
};

struct Hover {
  source::Range range;
  std::string contents;
};

struct Lens {
  std::uint32_t line = 0;
  std::string title;
  std::string command;  // a `hotlens.server.*` id; empty: text only
};

struct TextEdit {
  source::Range range;
  std::string text;
};

// Either a command or an edit.
struct Action {
  std::string title;
  std::string kind;                     // "hotlens.profile", "refactor.rewrite"
  std::string command;                  // a `hotlens.server.*` id
  std::optional<std::string> disabled;  // the reason
  std::optional<TextEdit> edit = std::nullopt;
  bool at_place = false;  // the command is about the place where it was asked for
  bool compare = false;   // …and about what that is compared with
};

// Sorted by line, one per line. `memory` (hint_memory.h) is what was said of an earlier text of the same document.
std::vector<Hint> inlay_hints(const FileView& view, LineRange lines, const Options& options);
std::vector<Hint> inlay_hints(const FileView& view, LineRange lines, const Options& options, HintMemory& memory);
// In at most ten lines with the `taken` ones that the caller adds.
std::optional<Hover> hover(const FileView& view, source::Position at, const Options& options, std::size_t taken = 0);
std::vector<Lens> code_lenses(const FileView& view, const Options& options);
std::vector<Action> code_actions(const FileView& view, LineRange lines, const Options& options);

}  // namespace hotlens::features
