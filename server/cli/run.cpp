// Profiles an unmodified script: finds the interpreter and the recorder, runs them in this terminal, then says what came out.
#include "server/runs/run.h"
#include "annotator/advice/seen.h"
#include "annotator/common/format.h"
#include "annotator/profile/build/load.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "annotator/profile/profile.h"
#include "annotator/profile/statistics.h"
#include "annotator/ranks/read.h"
#include "annotator/report/loop_text.h"
#include "annotator/report/ranks.h"
#include "server/cli/verbs.h"
#include "server/features/words/format.h"
#include "server/features/words/step_words.h"
#include "server/runs/discovery.h"

namespace hotlens::cli {
namespace {

std::vector<std::string> script_command(const RunOptions& options) {
  std::vector<std::string> command = options.command;
  if (!options.module.empty()) command.insert(command.begin(), {"-m", options.module});
  return command;
}

Result<runs::RunRequest> request(const RunOptions& options) {
  const std::filesystem::path here = std::filesystem::current_path();
  const auto python = runs::find_python(options.python, here, runs::process_environment());
  if (!python) return std::unexpected(python.error());
  const auto recorder = runs::find_recorder();
  if (!recorder) return std::unexpected(recorder.error());
  const runs::ProfileOptions recording{.warmup = options.warmup,
                                       .steps = options.steps,
                                       .step = options.step,
                                       .keep_going = options.keep_going,
                                       .batch_sizes = options.batch_sizes,
                                       .vary = options.vary,
                                       .out = options.out.empty() ? here : here / options.out};
  return runs::RunRequest{.argv = runs::profile_command(python->path, *recorder, recording, script_command(options)),
                          .cwd = here,
                          .streams = runs::Streams::inherited,
                          .own_group = false};
}

// One line that is overwritten while the script is silent; nothing where stderr is not a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const runs::Progress& progress) {
    if (!shown_) return;
    std::string text = fmt::format("\r\x1b[Khotlens: {}", runs::name(progress.phase));
    if (progress.of > 0) text += fmt::format(" {}/{}", progress.step, progress.of);
    std::cerr << text << std::flush;
    dirty_ = true;
  }
  void clear() {
    if (std::exchange(dirty_, false)) std::cerr << "\r\x1b[K" << std::flush;
  }

 private:
  bool shown_;
  bool dirty_ = false;
};

// Who waits for whom; empty for a run of one process. What cannot be read `report` says.
std::string ranks_sentence(const profile::Profile& profile) {
  if (profile.ranks.size() < 2) return {};
  const auto sources = ranks::sources(std::vector{profile.folder.string()}, profile.folder);
  if (!sources) return {};
  const auto all = ranks::read(*sources);
  return all ? report::ranks_sentence(all->set) : std::string();
}

void print_summary(const profile::Profile& profile, bool colour) {
  std::cout << "\nhotlens: " << bold(profile.id, colour) << "\n  " << features::describe_step(profile) << '\n';
  if (const std::string ranks = ranks_sentence(profile); !ranks.empty()) std::cout << "  ranks: " << ranks << '\n';
  if (!profile.step_why.empty()) std::cout << "  step: " << features::plain(profile.step_why) << '\n';
  const std::string lines = report::costliest_lines(profile);
  if (!lines.empty()) std::cout << "  costliest lines of the loop, without the profiler:\n" << lines << "  the profiled step:\n";
  const auto step = static_cast<double>(profile.step_wall().count());
  for (const profile::StageTimes& stage : profile.stages) {
    const Ns wall = profile.shown(stage.wall);
    if (wall <= Ns{} || step <= 0) continue;
    std::cout << fmt::format("  {:<10} {:>9} {:>5}\n", profile::name(stage.stage), format::readable(wall),
                             format::share(static_cast<double>(wall.count()) / step));
  }
  std::cout << "  next: hotlens report, hotlens check FILE.py, or open the model in your editor\n";
}

nlohmann::json as_json(const profile::Profile& profile) {
  return {{"schema", "hotlens.run/1"},
          {"profile", profile.id},
          {"folder", profile.folder.string()},
          {"steps", profile.steps.size()},
          {"step", {{"by", profile.step_by}, {"why", profile.step_why}}},
          {"profiled_step_ns", profile.step_wall().count()}};
}

void print_json(const nlohmann::json& json) {
  std::cout << json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

// A script that a signal ended cannot say so itself; of one that Ctrl-C or a signal to us has ended, the recorder says it.
std::string killed_message(int signal) {
  return fmt::format("hotlens: the script was ended by signal {} ({}). {}\n", signal, ::strsignal(signal),
                     signal == SIGKILL ? "The system does that when memory runs out: try a smaller batch."
                                       : "Run it without Hotlens to see whether it ends alike.");
}

// Of a script that ended without a word to the recorder, which says everything else itself.
std::string unheard_message(const RunOptions& options, int code, bool started) {
  if (!started) return fmt::format("hotlens: the recorder did not start (exit code {}). To see what Python lacks: hotlens doctor\n", code);
  const std::string name = options.module.empty() ? std::filesystem::path(options.command.front()).filename().string() : options.module;
  return fmt::format(
      "hotlens: {} ended with code {} at once, as os._exit does: nothing of it could be kept. Let it end with sys.exit or at its last "
      "line.\n",
      features::plain(name), code);
}

// The script's own code. An exception or a signal gives it none of its own: kScriptFailed.
int exit_code(const runs::RunEnd& end) {
  const bool raised = end.failure && !end.failure->type.empty();
  if (end.signal || raised) return kScriptFailed;
  const int code = end.exit_code.value_or(kScriptFailed);
  if (code != 0) return code;
  return end.bundle ? kDone : kInputUnusable;
}

// What came of one run of the script.
struct Once {
  int code = kDone;
  bool asked = false;                               // somebody stopped it
  std::shared_ptr<const profile::Profile> profile;  // null where nothing was kept
};

// What the new profile tells of changes that were applied before it.
void say_seen(const std::filesystem::path& bundle) {
  const auto seen = advice::take_up_seen(bundle);
  if (!seen) std::cerr << "hotlens: " << features::plain(seen.error().message) << '\n';
  for (const advice::Record& one : seen.value_or(std::vector<advice::Record>{})) {
    std::cerr << "hotlens: " << features::plain(advice::sentence(one)) << '\n';
  }
}

Result<Once> run_once(const RunOptions& options, const runs::RunRequest& wanted) {
  ProgressLine line(use_colour(STDERR_FILENO));
  bool started = false;
  const runs::RunEnd end = runs::run_blocking(wanted, {.progress = [&](const runs::Progress& progress) {
                                                started = true;
                                                line.show(progress);
                                              }});
  line.clear();
  if (end.error) return std::unexpected(*end.error);
  Once once{.code = started || end.signal ? exit_code(end) : kInputUnusable, .asked = end.cancelled || end.signal == SIGINT, .profile = {}};
  if (end.signal && !once.asked) std::cerr << killed_message(*end.signal);
  if (!end.bundle && !end.failure && !end.signal) std::cerr << unheard_message(options, end.exit_code.value_or(0), started);
  if (!end.bundle) return once;
  auto loaded = profile::load(*end.bundle);
  if (!loaded) return std::unexpected(loaded.error());
  once.profile = std::move(*loaded);
  say_seen(*end.bundle);
  return once;
}

// Why no further run follows; `run` counts from 1.
std::string stopped_message(const Once& once, int run, int of) {
  const std::string why = once.asked ? "was stopped" : fmt::format("ended with code {}", once.code);
  return fmt::format("hotlens: run {} of {} {}, so the series ends here; runs that are whole: {}\n", run, of, why, run - 1);
}

// How to compare with these runs.
std::string series_message(const std::vector<std::string>& ids, const std::filesystem::path& out) {
  std::string text = fmt::format("\nhotlens: {} runs; to compare a later one with them:\n  hotlens diff", ids.size());
  if (!out.empty()) return text + ' ' + out.string() + " NEW\n";  // ids are looked for from here, and all of the folder are runs
  for (const std::string& id : ids) text += " --baseline " + id;
  return text + " latest\n";
}

void print_series(const std::vector<nlohmann::json>& rows, int of) {
  print_json({{"schema", "hotlens.run/1"}, {"repeat", of}, {"runs", rows}});
}

}  // namespace

int run(const RunOptions& options) {
  if (options.command.empty() && options.module.empty()) {
    return fail({ErrorCode::usage, "name the script to profile: hotlens run train.py", ""});
  }
  const auto wanted = request(options);
  if (!wanted) return fail(wanted.error());
  const bool series = options.repeat > 1;
  const bool json = options.format == OutputFormat::json;
  int code = kDone;
  std::vector<nlohmann::json> rows;
  std::vector<std::string> ids;
  for (int number = 1; number <= options.repeat && code == kDone; ++number) {
    const Result<Once> once = run_once(options, *wanted);
    if (!once) return fail(once.error());
    const bool stops = once->code != kDone || once->asked;
    if (once->profile && json) rows.push_back(as_json(*once->profile));
    if (once->profile && !json) print_summary(*once->profile, use_colour(STDOUT_FILENO));
    std::cout << std::flush;  // before the next run's own output
    if (once->profile && !stops) ids.push_back(once->profile->id);
    if (series && stops) std::cerr << stopped_message(*once, number, options.repeat);
    code = once->code;
    if (stops) break;
  }
  if (json && series) print_series(rows, options.repeat);
  if (json && !series && !rows.empty()) print_json(rows.front());
  if (!json && series && ids.size() > 1) std::cout << series_message(ids, options.out);
  return code;  // the recorder has said its warnings; `report` repeats them
}

}  // namespace hotlens::cli
