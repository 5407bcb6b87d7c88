// What edits of layers would cost, said while somebody types: this program's own `predict --edited` in a child process, once the typing
// pauses; the next keystroke ends it.
//
// No user code runs, but operators of the profile do, as in Predicting: only where the workspace is trusted, and not beside a profiling
// run, which it would disturb. The worker is compiled after somebody agreed.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotator/lab/edited/edited.h"
#include "server/runs/run.h"
#include "server/runs/scratch.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/progress_report.h"
#include "server/session/client/workspace.h"

namespace hotlens::session {

// For a line of a document.
struct EditNote {
  std::uint32_t line = 0;   // in the annotator's lines
  std::string label;        // of its hint; empty: the hint stays as it is
  std::string memory;       // the same where hints show memory; empty: the label is for all units
  std::string text;         // for the hover; plain
  bool misfit = false;      // the edited model cannot run
  bool refused = false;     // nothing is known of the edit
  std::string number = {};  // an edited one whose other values can be recorded
};

// Those of one file.
std::vector<EditNote> edit_notes(const lab::EditedStep& step, const std::filesystem::path& file);

// What became of a prediction once the edited text was profiled: "Predicted ≈ 54.0 ms (51.0 ms to 57.0 ms), measured 53.1 ms".
std::vector<EditNote> settled_notes(std::vector<EditNote> notes, const lab::StepTime& predicted, Ns measured);

// The hints of some lines, with what the notes say; sorted as before.
std::vector<features::Hint> noted(std::vector<features::Hint> hints, const std::vector<EditNote>& notes, const Document& document,
                                  features::LineRange lines, const features::Options& how);
// As a paragraph of a hover.
std::string noted(const EditNote& note, bool markdown);

class EditedLayers {
 public:
  struct Events {
    std::function<bool()> disturbs;  // a run is being measured
    std::function<void()> changed;   // notes came or went
  };

  EditedLayers(Loop& loop, Client& client, Workspace& workspace, Events events);
  EditedLayers(const EditedLayers&) = delete;
  EditedLayers& operator=(const EditedLayers&) = delete;

  void edited(const Document& document);
  void profiles_bound();  // the text that was edited last may have one now
  void closed(const std::string& uri);
  void stop();  // ends a child that is left
  void end();   // the same, and waits for its end
  void cancel_progress(const protocol::Json& params);

  // Empty where the text is another one since. Those of a profile that is no longer shown say what was measured.
  const std::vector<EditNote>& of(const Document& document);

 private:
  using Versions = std::map<std::string, std::int64_t>;  // by URI
  struct Drafts {
    runs::Scratch folder{"edited"};
    std::map<std::filesystem::path, std::filesystem::path> texts;
  };
  struct Active {
    std::int64_t id = 0;
    std::string profile, key;
    Versions versions;
    std::shared_ptr<const Drafts> drafts;
    std::unique_ptr<ProgressReport> progress;  // where the worker is built
    std::string written, said;
    std::optional<Result<lab::EditedStep>> answer;  // the last one
    std::optional<runs::Run> run;
    bool cancelled = false;
  };
  struct Notes {
    std::int64_t version = 0;
    std::string profile;  // by id: it was predicted from this one
    std::optional<lab::StepTime> time;
    Ns step_was{};
    std::vector<EditNote> notes;
  };
  // The same text of all open documents has the same answer, for a while: other files may change on the disk.
  struct Kept {
    std::chrono::steady_clock::time_point until;
    lab::EditedStep step;
  };
  struct Failures {
    std::string last;
    int times = 0;  // in a row
  };

  using Texts = std::map<std::filesystem::path, std::string>;
  Texts texts_beside(const Document& document, Versions& versions) const;
  bool answer_from_kept(const Document& document);
  void failed(const std::string& profile, const std::string& why);
  void wait();
  void start(bool build);
  void run(const std::filesystem::path& bundle, const std::string& python, bool build);
  void on_output(Active& active, const runs::OutputLine& line);
  void on_end(Active& active, const runs::RunEnd& end);
  void keep(const lab::EditedStep& step, const std::string& profile, const Versions& versions);
  void show(const Document& document, const std::vector<EditNote>& notes);
  void settle(const Document& document, Notes& held, Ns measured);
  void offer_to_build();

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
  Events events_;
  std::optional<Loop::Timer> timer_;
  std::int64_t document_ = 0;  // the serial of the one that was edited last
  bool unbound_ = false;       // it showed no profile then
  bool due_ = false;           // another prediction is wanted once the active one has ended
  bool offered_ = false;
  std::optional<Active> active_;
  std::int64_t last_ = 0;
  std::map<std::string, Failures> failures_;  // by the profile's id
  std::set<std::string> checked_;             // profiles whose recorded step was replayed, by id
  std::map<std::string, Kept> kept_;          // by profile and texts
  std::map<std::string, Notes> notes_;        // by URI
  std::string settled_;                       // the profiles of the prediction that the ledger has had last
};

}  // namespace hotlens::session
