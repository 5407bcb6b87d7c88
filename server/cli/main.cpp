// hotlens VERB …: parses the command line and calls the verb; see verbs.h for what each does and CONTRACT-level exit codes.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "annotator/common/attempt.h"
#include "server/cli/verbs.h"
#include "server/mcp/serve.h"
#include "server/session/serve.h"

namespace {

using namespace hotlens;

constexpr const char* kVersion = HOTLENS_VERSION;

void add_format(CLI::App& verb, cli::OutputFormat& format) {
  static const std::map<std::string, cli::OutputFormat> kFormats{{"text", cli::OutputFormat::text}, {"json", cli::OutputFormat::json}};
  verb.add_option("--format", format, "text for people, json for scripts")->transform(CLI::CheckedTransformer(kFormats));
}

struct Arguments {
  session::LspOptions lsp;
  mcp::Options mcp;
  cli::RunOptions run;
  cli::ReportOptions report;
  cli::CheckOptions check;
  cli::DiffOptions diff;
  cli::ExportOptions export_profile;
  cli::ServeOptions serve;
  cli::PredictOptions predict;
  cli::TimelineOptions timeline;
  cli::BenchDeviceOptions bench_device;
  cli::WhatIfOptions whatif;
  cli::PullOptions pull;
  cli::DoctorOptions doctor;
};

void add_lsp(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("lsp", "the language server, for editors");
  verb->footer("Example: hotlens lsp --stdio");
  verb->add_flag("--stdio")->description("speak over standard input and output (the default)");
  verb->add_option("--socket", to.lsp.socket_port, "listen for one client on this loopback port instead");
  verb->add_option("--log", to.lsp.log_file, "write a log to this file");
  verb->allow_extras();  // editors add flags of their own (--clientProcessId=…)
}

void add_mcp(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("mcp", "what the profiles of a folder say, for coding agents (Model Context Protocol)");
  verb->footer("Example: hotlens mcp --folder project\n\nSpeaks over standard input and output. The agent's settings name this command.");
  verb->add_option("--folder", to.mcp.folder, "the project's folder (default: the current one); agents see nothing outside of it");
  verb->add_option("--python", to.mcp.python, "the interpreter that has torch");
  verb->add_flag("--allow-run", to.mcp.allow_run, "let the agent run training scripts of the folder without asking you each time");
}

void add_run(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("run", "profile an unmodified training script or notebook");
  verb->footer(
      "Then the command, as after python: SCRIPT ARGS… (also a notebook, train.ipynb) or -m MODULE ARGS…\n\nExample: hotlens run train.py "
      "--epochs 1\n         hotlens "
      "run -m package.train\n\nExit code: the script's own; 4 where an exception or a signal ended it; 3 where it ended well and nothing "
      "was recorded.");
  verb->add_option("--warmup", to.run.warmup, "steps before anything is timed")->check(CLI::Range(0, 1000000));
  verb->add_option("--steps", to.run.steps, "measured steps")->check(CLI::Range(1, 1000));
  verb->add_option("--step", to.run.step, "what marks a step (default: what the loop does shows it)")
      ->check(CLI::IsMember({"auto", "optimizer", "forward", "loader"}));
  verb->add_option("--repeat", to.run.repeat,
                   "run the script so many times, one after the other, so that `diff` knows how runs differ by chance")
      ->check(CLI::Range(1, 100));
  verb->add_flag("--keep-going", to.run.keep_going, "let the script finish after the measurement");
  verb->add_option("--batch-sizes", to.run.batch_sizes, "run again with each of these and keep their operators too: 6,8")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return std::regex_match(text, std::regex("[1-9][0-9]{0,8}(,[1-9][0-9]{0,8}){0,7}")) ? "" : "must be up to 8 numbers, as in 6,8";
          },
          "N[,N...]"));
  verb->add_option("--vary", to.run.vary,
                   "run again with other values of this number of the script and keep their operators too: BLOCK, or BLOCK=32,48")
      ->check(CLI::Validator(
          [](const std::string& text) {
            static const std::regex kVaried("[A-Za-z_][A-Za-z0-9_]*(=[1-9][0-9]{0,8}(,[1-9][0-9]{0,8}){0,7})?");
            return std::regex_match(text, kVaried) ? "" : "must be the name of a number, as in BLOCK or BLOCK=32,48";
          },
          "NAME[=N,N...]"));
  verb->add_option("--python", to.run.python, "the interpreter that has torch");
  verb->add_option("--out", to.run.out, "the folder that holds .hotlens/profiles (default: the current one)");
  add_format(*verb, to.run.format);
}

void add_report(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("report", "steps, stages, modules, buckets and verdict of a profile");
  verb->footer(
      "Example: hotlens report latest --format json\n         hotlens report --log mlperf.log\n         hotlens report --log train.log "
      "--loss-pattern 'step ([0-9]+).*loss ([0-9.]+)' --target 2.0");
  verb->add_option("profile", to.report.profiles,
                   "bundle id, bundle folder, trace file or latest; several files, a folder or a glob: ranks");
  CLI::Option* events = verb->add_flag("--events", to.report.events, "one JSON object a line for every event of a step");
  verb->add_option("--step", to.report.step, "the numbers of this step alone, by the number that the report gives it")->excludes(events);
  verb->add_option("--rank", to.report.rank, "of several ranks, the one to report");
  CLI::Option* record =
      verb->add_flag("--track-record", to.report.track_record, "changes that were verified here, beside what was predicted of them")
          ->excludes(events);
  verb->add_flag("--saved", to.report.saved, "what the forward pass keeps until the backward pass, by module and node")
      ->excludes(events)
      ->excludes(record);
  CLI::Option* log = verb->add_option("--log", to.report.log, "time to target from a training's log: `:::MLLOG` lines, or --loss-pattern")
                         ->excludes(events)
                         ->excludes(record);
  CLI::Option* metric =
      verb->add_option("--metric", to.report.metric, "with --log: the key of an MLPerf log whose values count")->needs(log);
  verb->add_option("--loss-pattern", to.report.loss_pattern,
                   "with --log: where the value is, in brackets; of two brackets the first is the step")
      ->needs(log)
      ->excludes(metric);
  verb->add_option("--target", to.report.target, "with --log: the value to reach, where the log does not tell")->needs(log);
  verb->add_option("--total-steps", to.report.total_steps, "with --log: steps (or what the log counts in) until the target")
      ->needs(log)
      ->check(CLI::Range(0.0, 1e15));
  verb->add_flag("--unfold", to.report.unfold, "every module in a row of its own, equal and small ones too");
  add_format(*verb, to.report.format);
}

void add_check(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("check", "what an editor would show for these files");
  verb->footer("Example: hotlens check model.py --profile latest");
  verb->add_option("files", to.check.files, "Python source files")->required();
  verb->add_option("--profile", to.check.profile, "bundle id, bundle folder, trace file or latest; a folder or a glob: ranks");
  verb->add_option("--rank", to.check.rank, "of several ranks, the one to show");
  verb->add_option("--python", to.check.python, "the interpreter whose packages a trace without a bundle is matched with");
  add_format(*verb, to.check.format);
}

void add_diff(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("diff", "what changed between two profiles, by module; the gate for CI");
  verb->footer(
      "Example: hotlens diff before.pt.trace.json latest --fail-over 5%\n         hotlens diff old_runs new_runs --fail-over 5%\n         "
      "hotlens diff --baseline OLD1 --baseline OLD2 NEW1 NEW2\n\nSeveral runs a side (hotlens run --repeat 3 --out old_runs train.py) tell "
      "how runs differ by chance.");
  verb->add_option(
          "profiles", to.diff.profiles,
          "OLD NEW, or with --baseline the new runs: bundle id, bundle folder, trace file or latest; a folder or a glob of traces: "
          "ranks; a folder of bundles: runs")
      ->required();
  verb->add_option("--baseline", to.diff.baselines, "a run of the old side; once for each of several")->allow_extra_args(false);
  CLI::Option* gate =
      verb->add_option("--fail-over", to.diff.fail_over, "exit with 1 where it got slower by more than this, and beyond noise");
  verb->add_option("--rank", to.diff.rank, "of several ranks, the one to compare by module");
  verb->add_option("--module", to.diff.module, "let the gate look at these modules (a path or a glob) instead of the step")->needs(gate);
  add_format(*verb, to.diff.format);
}

void add_export(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("export", "a profile as a file for other tools");
  verb->footer("Example: hotlens export latest --to speedscope -o step.speedscope.json");
  verb->add_option("profile", to.export_profile.profiles,
                   "bundle id, bundle folder, trace file or latest; for parquet also several, a folder or a glob: ranks");
  verb->add_option("--to", to.export_profile.to, "perfetto (also for chrome://tracing), json, csv, speedscope or parquet")
      ->required()
      ->check(CLI::IsMember({"perfetto", "json", "csv", "speedscope", "parquet"}));
  verb->add_option("-o,--output", to.export_profile.file, "write here instead of standard output");
}

void add_serve(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("serve", "the timeline of a profile, in a browser on this machine");
  verb->footer("Example: hotlens serve latest");
  verb->add_option("profiles", to.serve.profiles,
                   "bundle ids, bundle folders, trace files, folders of traces or latest; the first is shown, ranks of one run as lanes");
  verb->add_option("--port", to.serve.port, "listen on this loopback port (default: any that is free)");
  verb->add_flag("!--no-open", to.serve.open, "only print the address");
}

void add_timeline(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("timeline", "the step drawn as text, down to what takes most of its time");
  verb->footer("Example: hotlens timeline x.pt.trace.json.gz --width 120");
  verb->add_option("profile", to.timeline.profile, "bundle id, bundle folder, trace file or latest");
  verb->add_option("--width", to.timeline.width, "columns; those of the terminal where it is not given")->check(CLI::Range(40, 500));
}

void add_pull(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("pull", "the newest profile of a workspace elsewhere: on another machine, or on shared storage");
  verb->footer(
      "Example: hotlens pull cluster:project\n         hotlens pull /mnt/shared/project --all\n         hotlens pull cluster:project "
      "--watch\n\nssh and scp do it, as they are set up. An editor that is open here shows what came.");
  verb->add_option("source", to.pull.source, "HOST:FOLDER as scp takes it, or a folder: a workspace in which scripts were profiled")
      ->required();
  verb->add_option("--into", to.pull.into, "the workspace that it comes into; the current folder where it is not given");
  verb->add_flag("--all", to.pull.all, "all profiles that are not here yet");
  CLI::Option* watch = verb->add_flag("--watch", to.pull.watch, "again and again, until it is stopped");
  verb->add_option("--every", to.pull.every, "with --watch: seconds between two looks")->needs(watch)->check(CLI::Range(0.1, 86400.0));
}

CLI::Option* add_bytes(CLI::App& verb, const char* name, std::uint64_t& to, const char* what) {
  return verb.add_option(name, to, what)->transform(CLI::AsSizeValue(true))->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62));
}

void add_predict(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("predict", "what another batch size or edited layers would cost, without running the script");
  verb->footer(
      "Example: hotlens predict --batch-size 16,32,64\n         hotlens predict --edited model.py\n\nA batch size needs the step at two "
      "sizes: hotlens run --batch-sizes 6,8 train.py");
  verb->add_option("profile", to.predict.profile, "bundle id, bundle folder or latest");
  CLI::Option* sizes = verb->add_option("--batch-size", to.predict.batch_sizes, "one or several, such as 16,32");
  add_bytes(*verb, "--memory", to.predict.memory,
            "with --batch-size: where memory ends (16GB, 24GiB); else the device's, or this machine's")
      ->needs(sizes);
  verb->add_option_function<std::vector<std::string>>(
          "--edited",
          [&to](const std::vector<std::string>& files) {
            to.predict.edited = true;
            for (const std::string& file : files) {
              if (!file.empty() && file != "{}") to.predict.files.push_back(file);
            }
          },
          "files as they are now, against what ran; all of the project where none is named")
      ->expected(0, 1000);
  verb->add_option("--with", to.predict.drafts, "take the text of FILE from DRAFT, as editors do with what is not saved yet")
      ->type_name("FILE=DRAFT")
      ->expected(1, 1000);
  verb->add_option("--device", to.predict.device, "another device: what bench-device measured there, by name or as a file");
  verb->add_option("--recorded-on", to.predict.recorded_on, "with --device: the same of the device that recorded; else what is kept of it");
  verb->add_flag("--quick", to.predict.quick, "with --edited: a moment of replays, and nothing is built for them");
  verb->add_flag("--checked", to.predict.checked, "with --quick: the step was replayed before and is sound; a first figure comes early");
  verb->add_option("--python", to.predict.python, "the interpreter whose torch replays the step");
  add_format(*verb, to.predict.format);
}

void add_whatif(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("whatif", "what a change of the training step would give, without running the script");
  verb->footer(
      "Example: hotlens whatif list\n         hotlens whatif fused_optimizer,channels_last+autocast_bf16\n         hotlens whatif "
      "checkpoint --budget 60MB\n         hotlens whatif sweep --try --models 4,8\n         hotlens whatif x.pt.trace.json.gz\n\n`+` makes "
      "changes at once. `accumulate` needs a profile of two batch sizes: hotlens run --batch-sizes 8,6 train.py");
  verb->add_option(
      "what", to.whatif.words,
      "a profile (bundle id, folder, trace file; latest where none is named), and list: which changes apply, without a replay; "
      "or one or several of them; all where none is named");
  verb->add_option("--profile", to.whatif.profile, "bundle id, bundle folder, trace file or latest");
  verb->add_flag("--apply", to.whatif.apply, "edit exactly the expressions that the change names");
  verb->add_flag("--dry-run", to.whatif.dry_run, "with --apply: say the edits and write nothing");
  verb->add_flag("--try", to.whatif.try_it, "sweep: measure several models as one, in a process that runs the script to its second update");
  verb->add_option("--models", to.whatif.models, "sweep: how many models (default 2,4,8)")
      ->delimiter(',')
      ->check(CLI::Range(2, 256))
      ->expected(1, 8);
  verb->add_flag("--verify", to.whatif.verify, "run the script before and after the change, in pairs, without editing its files");
  add_bytes(*verb, "--budget", to.whatif.budget, "checkpoint: the peak of memory to stay within, at the least time (60MB, 2GiB)");
  verb->add_option("--limit", to.whatif.limit, "minutes that verifying may take (default 15)")->check(CLI::Range(1, 100000));
  verb->add_option("--python", to.whatif.python, "the interpreter whose torch replays the step");
  add_format(*verb, to.whatif.format);
}

void add_bench_device(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("bench-device", "what this device reaches at its best: products, convolutions, copies");
  verb->footer("Example: hotlens bench-device --out here.json");
  verb->add_option("--out", to.bench_device.out, "write the measurement here too, for another machine");
  verb->add_option("--python", to.bench_device.python, "the interpreter whose torch measures");
  add_format(*verb, to.bench_device.format);
}

void add_doctor(CLI::App& app, Arguments& to) {
  CLI::App* verb = app.add_subcommand("doctor", "what Hotlens found on this machine, with a fix for what is missing");
  verb->footer("Example: hotlens doctor");
  verb->add_option("--python", to.doctor.python, "the interpreter to look at");
  add_format(*verb, to.doctor.format);
}

// Everything from the script (or from `-m MODULE` on) is the script's own: it is cut off before our options are parsed.
std::vector<std::string> cut_script_command(std::vector<std::string> words, cli::RunOptions& run) {
  static constexpr std::array<std::string_view, 9> kWithValue{"--warmup", "--steps",       "--step", "--python", "--out",
                                                              "--format", "--batch-sizes", "--vary", "--repeat"};
  if (words.empty() || words.front() != "run") return words;
  std::size_t at = 1;
  while (at < words.size() && words[at].starts_with('-') && words[at] != "--" && words[at] != "-m") {
    at += std::ranges::find(kWithValue, words[at]) != kWithValue.end() ? 2 : 1;
  }
  at = std::min(at, words.size());
  std::size_t command = at;
  if (at < words.size() && words[at] == "--") command = at + 1;
  if (command + 1 < words.size() && words[command] == "-m") {
    run.module = words[command + 1];
    command += 2;
  }
  run.command.assign(words.begin() + static_cast<std::ptrdiff_t>(command), words.end());
  words.resize(at);
  return words;
}

cli::Printed printed(const std::string& verb, const Arguments& arguments) {
  const std::map<std::string_view, bool> as_json{{"run", arguments.run.format == cli::OutputFormat::json},
                                                 {"report", arguments.report.format == cli::OutputFormat::json || arguments.report.events},
                                                 {"check", arguments.check.format == cli::OutputFormat::json},
                                                 {"diff", arguments.diff.format == cli::OutputFormat::json},
                                                 {"export", arguments.export_profile.to != "csv"},
                                                 {"predict", arguments.predict.format == cli::OutputFormat::json},
                                                 {"whatif", arguments.whatif.format == cli::OutputFormat::json},
                                                 {"doctor", arguments.doctor.format == cli::OutputFormat::json}};
  const auto found = as_json.find(verb);
  return found != as_json.end() && found->second ? cli::Printed::json : cli::Printed::text;
}

Result<int> dispatch(const std::string& verb, const Arguments& arguments) {
  if (verb == "lsp") return session::serve(arguments.lsp);
  if (verb == "mcp") return mcp::serve(arguments.mcp);
  std::error_code gone;
  std::ignore = std::filesystem::current_path(gone);
  if (gone) {
    return std::unexpected(Error{ErrorCode::unreadable, "the current folder does not exist any more; change to one that does", {}});
  }
  if (verb == "run") return cli::run(arguments.run);
  if (verb == "report") return cli::report(arguments.report);
  if (verb == "check") return cli::check(arguments.check);
  if (verb == "diff") return cli::diff(arguments.diff);
  if (verb == "export") return cli::export_profile(arguments.export_profile);
  if (verb == "serve") return cli::serve(arguments.serve);
  if (verb == "predict") return cli::predict(arguments.predict);
  if (verb == "bench-device") return cli::bench_device(arguments.bench_device);
  if (verb == "timeline") return cli::timeline(arguments.timeline);
  if (verb == "whatif") return cli::whatif(arguments.whatif);
  if (verb == "pull") return cli::pull(arguments.pull);
  return cli::doctor(arguments.doctor);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"Hotlens shows where a PyTorch training step spends its time, beside the lines that spend it."};
  app.name("hotlens");
  app.set_version_flag("--version", std::string("hotlens ") + kVersion);
  app.require_subcommand(1);
  Arguments arguments;
  add_lsp(app, arguments);
  add_mcp(app, arguments);
  add_run(app, arguments);
  add_report(app, arguments);
  add_check(app, arguments);
  add_diff(app, arguments);
  add_export(app, arguments);
  add_serve(app, arguments);
  add_predict(app, arguments);
  add_timeline(app, arguments);
  add_bench_device(app, arguments);
  add_whatif(app, arguments);
  add_pull(app, arguments);
  add_doctor(app, arguments);
  try {
    std::vector<std::string> words = cut_script_command({argv + 1, argv + argc}, arguments.run);
    std::ranges::reverse(words);  // CLI11 takes a vector from its end
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cli::kDone : cli::kWrongUsage;
  }
  const std::string verb = app.get_subcommands().front()->get_name();
  [[maybe_unused]] cli::Sink messages(std::cerr, STDERR_FILENO, cli::Printed::text);
  cli::Sink results(std::cout, STDOUT_FILENO, printed(verb, arguments));
  const Result<int> code = attempt([&] { return dispatch(verb, arguments); });
  const Result<void> written = results.finish();
  if (!code) return cli::fail(code.error());
  return *code == cli::kDone && !written ? cli::fail(written.error()) : *code;
}
