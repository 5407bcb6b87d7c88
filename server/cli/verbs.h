// The verbs of the command line, one file each. Results go to stdout, messages to stderr; the return value is the exit code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "server/cli/terminal.h"

namespace hotlens::cli {

struct ReportOptions {
  std::vector<std::string> profiles;  // several: the ranks of one run; none: latest
  OutputFormat format = OutputFormat::text;
  bool events = false;
  bool unfold = false;
  std::optional<std::int64_t> step;  // the numbers of this step alone
  std::optional<std::int64_t> rank;  // of several
  bool saved = false;                // what the forward pass keeps until the backward pass
  std::filesystem::path log;         // of a training: time to target, and nothing else
  std::string loss_pattern, metric;  // with `log`: where its values are; neither: the metric of an MLPerf log
  std::optional<double> target, total_steps;
  bool track_record = false;  // what was predicted and what came of it, of the profile's workspace
};
int report(const ReportOptions& options);
int report_target(const ReportOptions& options);  // with a log

struct CheckOptions {
  std::string python;  // empty: found as runs::find_python does
  std::vector<std::filesystem::path> files;
  std::string profile = "latest";
  std::optional<std::int64_t> rank;  // of several
  OutputFormat format = OutputFormat::text;
};
int check(const CheckOptions& options);

struct RunOptions {
  int warmup = 3;
  int steps = 5;
  std::string step;  // what marks a step; empty: chosen by the recorder
  bool keep_going = false;
  int repeat = 1;                    // runs, one after the other
  std::string batch_sizes;           // `6,8`: whose operators are recorded too
  std::vector<std::string> vary;     // `BLOCK`, `BLOCK=32,48`: numbers with whose other values they are
  std::string python;                // empty: found as runs::find_python does
  std::filesystem::path out;         // empty: `.hotlens/profiles` of the working directory
  std::string module;                // `-m`
  std::vector<std::string> command;  // script and its arguments, or the module's arguments
  OutputFormat format = OutputFormat::text;
};
int run(const RunOptions& options);

struct DiffOptions {
  // Each a bundle id, bundle folder, trace file or latest; a folder or a glob of traces: ranks; a folder of bundles: runs.
  std::vector<std::string> profiles;   // the old one and the new one; with `baselines` the new ones
  std::vector<std::string> baselines;  // several runs of the old side
  std::optional<std::int64_t> rank;    // of several
  std::string fail_over;               // "5%"; empty: no gate
  std::string module;                  // a glob; empty: the gate looks at the step
  OutputFormat format = OutputFormat::text;
};
int diff(const DiffOptions& options);

struct ExportOptions {
  std::vector<std::string> profiles;  // none: latest; several, a folder or a glob: ranks, which only parquet takes
  std::string to;                     // perfetto, json, csv, speedscope, parquet
  std::filesystem::path file;         // empty: stdout
};
int export_profile(const ExportOptions& options);

struct ServeOptions {
  std::vector<std::string>
      profiles;            // bundle ids, bundle folders, trace files or latest; the first is shown, beside what is found from here
  std::uint16_t port = 0;  // 0: any that is free
  bool open = true;        // in the browser of the desktop, where there is one
};
int serve(const ServeOptions& options);

struct TimelineOptions {
  std::string profile = "latest";
  std::size_t width = 0;  // columns; 0: those of the terminal, 100 elsewhere
};
int timeline(const TimelineOptions& options);

struct PredictOptions {
  std::string profile = "latest";
  std::string batch_sizes;   // "16,32"; empty: what was edited, or `device`
  std::uint64_t memory = 0;  // with `batch_sizes`, bytes: where memory ends; 0: as much as the device or the machine has
  std::string device;        // a name of a kept measurement, or a file with one: another device
  std::string recorded_on;   // the same of the device that recorded; empty: the kept measurement of that name
  bool edited = false;
  std::vector<std::string> files;   // that were edited; empty: all that differ from what ran
  std::vector<std::string> drafts;  // "FILE=DRAFT": the text of FILE is in DRAFT
  bool quick = false;
  bool checked = false;
  std::string python;  // whose torch replays; empty: found as runs::find_python does
  OutputFormat format = OutputFormat::text;
};
int predict(const PredictOptions& options);

struct WhatIfOptions {
  std::vector<std::string> words;             // a profile, and `list` or kinds, in any order; no kinds: every one that applies
  std::string profile;                        // where `words` names none; empty: latest
  std::string python;                         // whose torch replays; empty: found as runs::find_python does
  bool apply = false;                         // edit the files that the changes are in
  bool dry_run = false;                       // with `apply`: say the edits, write nothing
  bool try_it = false;                        // `sweep`: measure it in a process of the script's own
  std::vector<std::int64_t> models{2, 4, 8};  // `sweep`: how many at once
  bool verify = false;                        // run the script before and after the change
  int limit = 15;                             // minutes that verifying may take
  std::uint64_t budget = 0;                   // bytes that the peak has to stay within, for `checkpoint`; 0: the lowest peak
  OutputFormat format = OutputFormat::text;
};
int whatif(const WhatIfOptions& options);
int whatif_sweep(const WhatIfOptions& options);  // the word `sweep`

struct BenchDeviceOptions {
  std::string python;
  std::filesystem::path out;  // empty: kept for this user alone
  OutputFormat format = OutputFormat::text;
};
int bench_device(const BenchDeviceOptions& options);

struct PullOptions {
  std::string source;                // HOST:FOLDER as scp takes it, or a folder of this machine: a workspace with profiles
  std::filesystem::path into = ".";  // the workspace that they come into
  bool all = false;                  // not the newest alone
  bool watch = false;                // again and again, until somebody stops it
  double every = 10;                 // seconds
};
int pull(const PullOptions& options);

struct DoctorOptions {
  std::string python;
  OutputFormat format = OutputFormat::text;
};
int doctor(const DoctorOptions& options);

}  // namespace hotlens::cli
