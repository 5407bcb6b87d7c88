// The recorder's files as values: manifest.json, model.json, loop.json and saved.json (annotator/recorder/FORMAT.md). Numbers are checked,
// ids point into their tables, and a bundle that is half written or newer than this program is an error that says what to do.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "annotator/attribution/owners/owners.h"
#include "annotator/profile/compiled.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/profile.h"
#include "annotator/profile/saved.h"

namespace hotlens::profile {

// What one process of the training recorded.
struct RankTrace {
  std::filesystem::path file;  // absolute
  std::int64_t rank = 0;
  std::vector<Ns> plain_steps, profiled_steps;
};

// The operators of one step of the script, run with another batch size than its own.
struct SizedProgram {
  std::filesystem::path file;            // absolute
  std::int64_t batch_size = 0, was = 0;  // `was`: of the bundle's own program
};

// The same, run with another value of a number in its texts or on its command line.
struct VariedProgram {
  std::filesystem::path file;  // absolute
  std::string name;            // of the number, as it was asked for
  std::int64_t value = 0, was = 0;
  std::filesystem::path source;                        // of the text that has it; empty: the command line
  std::uint32_t line = 0, column = 0, end_column = 0;  // of the number there, 0-based, in bytes
};

struct Manifest {
  std::string id, created, torch;
  std::vector<std::string> argv;
  std::string cwd;           // where it was run
  std::int64_t threads = 0;  // that torch computes with on the host; 0 where not told
  std::vector<Device> devices;
  std::string commit;             // of the script's folder in git; empty where it is in none
  bool edited = false;            // since that commit
  std::string step_by, step_why;  // what was taken for a step: "loader", and the sentence that says why
  std::vector<Ns> plain_steps, profiled_steps;
  std::vector<std::int64_t> plain_faults;  // minor page faults of plain steps, where the system told
  std::vector<Ns> plain_fetching;          // of plain steps what a DataLoader without workers took to make batches
  std::optional<Ns> fault_time;            // what one took on that machine
  bool gives_freed_back = false;           // glibc's allocator, with its own thresholds
  std::optional<bool> cudnn_benchmark;     // whether cuDNN tried its convolutions; nullopt where it had none to choose
  std::optional<std::int64_t> samples_per_step;
  std::optional<std::int64_t> batch_size;    // a part of `samples_per_step`, where gradients of several batches are accumulated
  std::vector<std::string> optimizers;       // classes of those of torch's that stepped
  std::optional<Bytes> optimizer_elsewhere;  // state of optimizers that is of no single parameter
  std::vector<Issue> warnings;
  std::vector<RankTrace> traces;  // of every rank, first the one that wrote the bundle
  std::optional<std::filesystem::path> map_trace;
  std::optional<std::filesystem::path> program;  // the operators of one step
  std::vector<SizedProgram> sized_programs;
  std::vector<VariedProgram> varied_programs;
  std::optional<CompilationLog> compiled;                       // of a script that uses torch.compile
  std::vector<std::optional<std::int64_t>> compilation_starts;  // by compilation: microseconds since the epoch
  std::string loop;                                             // the file's name; empty where nothing was watched
  std::string saved;     // the same of saved.json; empty in an older bundle, and in one without a map step
  bool stopped = false;  // by a signal: Ctrl-C, SIGTERM
};

// A method of a model of a library that has layers run again in its backward pass: all that have the same one.
struct CheckpointSwitch {
  std::uint32_t module = attribution::kNothing;
  std::string method;
  friend bool operator==(const CheckpointSwitch&, const CheckpointSwitch&) = default;
};

struct ModelModule {
  std::string path, class_name;
  std::string package;  // that the class is of: "torch"
  std::uint32_t parent = attribution::kNothing;
  std::optional<Bytes> parameters;            // own and children's, as all three
  std::optional<Bytes> gradients, optimizer;  // held between two steps
  std::optional<Site> attached, constructed, class_site;
  std::optional<CheckpointSwitch> checkpoint_switch = {};  // of a layer
};

struct ModelCall {
  std::uint32_t module = attribution::kNothing, parent = attribution::kNothing;
  std::optional<Site> site;
};

struct ModelLine {
  FileId file;
  std::uint32_t line = 0;
  std::string function;
};

struct Model {
  std::vector<SourceFile> files;
  std::vector<ModelModule> modules;
  std::vector<ModelCall> calls;
  std::uint32_t call_sites = 0;  // the numbers in map.site_of_call are below it
  std::vector<ModelLine> lines;
  std::vector<StageSite> stages;
  attribution::ModuleMap map;
};

Result<Manifest> read_manifest(const std::filesystem::path& folder);
Result<Model> read_model(const std::filesystem::path& folder);
// The switch that reaches exactly these modules, where no code of the workspace calls them, which could checkpoint some of them.
std::optional<CheckpointSwitch> checkpoint_switch(const Model& model, std::span<const std::string> paths);
// What the manifest names as `loop`. `files`: how many the model has; statements of others, or whose numbers cannot be, are left out.
Result<Loop> read_loop(const std::filesystem::path& folder, const Manifest& manifest, std::size_t files);
// What the manifest names as `saved`, its modules by their number in the model. Numbers that cannot be are left out with their row.
Result<SavedTensors> read_saved(const std::filesystem::path& folder, const std::string& name, const Model& model);
// A step without the profiler: the mean update of the watched loop, else (null) the median of the steps timed so.
std::optional<Ns> plain_step(const Manifest& manifest, const Loop* loop);

// Nullopt where the run does not tell.
std::optional<PageFaults> page_faults(const Manifest& manifest);
// What the lens and the header say of a profile, without reading its trace.
std::optional<Ns> shown_step(const std::filesystem::path& bundle, const Manifest& manifest);

}  // namespace hotlens::profile
