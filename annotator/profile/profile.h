// The profile: what one recorded run (or one trace) says about the step, its modules and its source lines.
//
// A Profile is built once by load() and never changes; every reader shares it as shared_ptr<const Profile>. It knows nothing of editors,
// JSON or tree-sitter: places in source are plain line and byte-column numbers as the running program saw them, in the text it executed.
//
// Invariants: every nanosecond of a measured step is in exactly one bucket; numbers are kept per measured step, and shown are those of one
// step, the representative one, so that parts add up to wholes wherever two numbers meet; a time that is not known is absent, never 0.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/attribution/structure/stage.h"
#include "annotator/common/error.h"
#include "annotator/common/units.h"
#include "annotator/kernels/kernel_name.h"
#include "annotator/profile/costs.h"
#include "annotator/profile/held.h"
#include "annotator/profile/page_faults.h"

namespace hotlens::profile {

enum class How : std::uint8_t { recorded, frames, annotations, guess, none };
using attribution::Bucket;  // every nanosecond of a step is in exactly one
using attribution::Direction;
using attribution::name;  // "gradient_accumulation"
using attribution::Stage;

std::string_view name(How how);

struct FileTag;
using FileId = Id<FileTag>;  // into Profile::files

struct KernelTag;
using KernelId = Id<KernelTag>;  // into Profile::kernels

// One step's times of one module or line in one direction. All but `cpu_self` include what it called.
struct Times {
  Ns cpu_total{};              // host time inside, children included
  Ns cpu_self{};               // host time inside, without child modules
  Ns device{};                 // device busy: union over streams of the kernels it launched, children included
  Ns span{};                   // first launch or operator to last end, host and device
  Ns recompute_cpu{};          // part of cpu_total that runs the forward again (checkpointing)
  Ns recompute_device{};       // the same of device
  Ns waiting{};                // part of cpu_total in which the host waits for the device: synchronisation, `.item()`, a full launch queue
  Ns idle_before{};            // the device idled until this one's first kernel came, which was launched late; once per run of it
  Ns idle_inside{};            // the device idled between kernels of this one, the later of which was launched late
  Ns exposed_communication{};  // device communication beside which no other device work ran
  Ns estimated{};              // part of cpu_total: of fused kernels of compiled code, divided among modules by an estimate
};
Times operator+(const Times& a, const Times& b);

// Indexed by measured step (size = Profile::steps.size()).
using PerStep = std::vector<Times>;

// One interval on the representative step's time axis (Profile::representative), for timeline slices.
struct Slice {
  Ns start{};  // from the start of the step
  Ns duration{};
  Direction direction = Direction::forward;
};

// What ran on the device; on a run without device work, the operators that do their work themselves.
struct Kernel {
  std::string name;           // as the trace has it
  kernels::KernelName parts;  // family and what else the name tells
};

// How much of it one module, or the step, ran in the representative step.
struct KernelUse {
  KernelId kernel;
  std::int64_t calls = 0;
  Ns time{};  // summed durations
};

// A place in the text that was executed. Lines and columns are 0-based, columns count UTF-8 bytes.
struct Site {
  FileId file;
  std::uint32_t line = 0;
  std::uint32_t end_line = 0;
  std::optional<std::uint32_t> column, end_column;  // absent where Python could not tell (Python < 3.11)
  std::string function;                             // qualified name: "BasicBlock.forward"; "<module>" at the top
};

// Why time passes: what the device (or a host alone) runs, else what the host does while the device idles.
enum class Cause : std::uint8_t {
  data,           // the host loads data
  copy,           // data moves between host and device
  sync,           // the host is inside a synchronisation while nothing is left to run
  launch,         // the host decides what to run next: operators' overhead, short Python between them, launch latency
  compute,        // arithmetic: products, convolutions, attention
  memory,         // everything else that computes: bound by moving operands
  communication,  // between processes; on a device where nothing else runs beside it
  host,           // host code outside every operator and stage; beside a device, pieces too long to be the way from one launch to the next
  queued,         // the device idles although work is queued: it waits for other work, or for what a trace does not tell
  other,          // work of no known family
  thin_products,  // products whose shapes leave too little arithmetic for the operands they read
  unrecorded,     // the device idles before the first or after the last event of the host
};
constexpr std::size_t kCauses = 12;
std::string_view name(Cause cause);
using Causes = std::array<Ns, kCauses>;

struct Module {
  std::string path;        // the name in named_modules(); "" for the model itself; nn.Module frame chain for a bare trace
  std::string class_name;  // "Conv2d"
  ModuleId parent;         // invalid for a root
  ModuleId same_as;        // the first row of the same module: what several modules call has one under each; invalid in the first
  std::vector<ModuleId> children;
  std::int64_t calls = 0;  // forward calls in one step
  PerStep forward, backward;
  bool backward_known = true;  // false: the trace does not tell which of its backward is this module's, and `backward` says nothing
  Memory memory;
  How how = How::none;
  std::vector<Slice> slices;
  std::vector<KernelUse> kernels;             // children's included, both directions, longest first
  ModuleCosts forward_costs, backward_costs;  // recomputation in the latter
  Causes spent{}, critical{};                 // of the step's what lies inside it (Profile::spent), in the representative step
  std::optional<Site> attached;               // the statement or expression that gave the module its name
  std::optional<Site> constructed;            // where the constructor ran, when that is another place
  std::optional<Site> class_site;             // the class statement of its type
  bool by_name = false;                       // a guessed place: only names fit the source, not the lines that the trace gives
};

// What ran in one of these modules, which the same lines make; in which of them is not known, and it is in the times of none.
struct OneOf {
  std::vector<ModuleId> modules;
  PerStep forward, backward;
  std::vector<Slice> slices;
};

// Everything that ran while one source line was on the stack, called functions included; recursion counted once.
struct Line {
  FileId file;
  std::uint32_t line = 0;
  std::string function;
  std::int64_t calls = 0;  // executions of the line in one step
  PerStep forward, backward;
  std::vector<Slice> slices;
  double worker_part = 0;  // of what the step waits for workers of its loader, where the line runs in one
  Causes spent{};          // of the step's what ran here (Profile::spent); backward work counts where its forward ran, if that is known
};

// A call of modules from one expression: those called directly from it, and those that torch's containers and composites call for it.
struct CallSite {
  Site site;
  std::vector<ModuleId> modules;
  std::int64_t calls = 0;     // direct ones, in one step
  PerStep forward, backward;  // of the calls from here alone; empty where lines were guessed. What accumulates a parameter's gradient
                              // counts with the first call of its module
};

// Where the training loop enters a stage. A stage that several lines enter has its time divided among them; where a step's operators do not
// tell which line they are of, the first line has the whole.
struct StageSite {
  Site site;
  Stage stage = Stage::other;
  std::vector<Ns> wall = {}, cpu = {}, device = {};  // per measured step, of this line alone; empty where they are counted elsewhere
  std::vector<Ns> waiting = {};                      // part of wall in which the host waits for the device
  std::optional<std::uint32_t> counted_at = {};      // the site (of Profile::stage_sites) that has the time of this one
};

struct SourceFile {
  std::filesystem::path path;               // absolute, as executed
  std::filesystem::path copy;               // the executed text kept in the bundle; empty when it was not kept
  std::string sha256;                       // of the executed text, lower-case hex
  std::shared_ptr<const std::string> text;  // that lines were guessed from; null where they were recorded
  bool workspace = false;                   // false: an installed package or generated code
  std::vector<std::uint32_t> cells = {};    // of a notebook: the line of the executed text at which each code cell begins
};

struct StageTimes {
  Stage stage = Stage::other;
  std::vector<Ns> wall, cpu, device;  // per measured step
  std::vector<Ns> waiting;            // part of wall in which the host waits for the device
};

struct BucketTimes {
  Bucket bucket = Bucket::unattributed;
  std::vector<Ns> wall, device;  // per measured step
};

// What made an outlier differ from the median of the other steps.
struct Difference {
  std::string what;  // "bucket forward", "module layer1.0"
  Ns excess{};       // negative where the step was shorter
};

struct Step {
  std::int64_t index = 0;                       // the script's count where known
  Ns start{};                                   // where the host gets ahead of the device: when that began with it
  Ns wall{};                                    // until the device has caught up, where the host gets ahead of it
  Ns behind{};                                  // part of wall, after the host was done
  Ns caught_up{};                               // no part of wall: how long its host waited for what earlier steps had launched
  Ns device{};                                  // device busy; wall - device is idle
  Ns carried{};                                 // of it with work that earlier steps launched
  Ns communication{}, exposed_communication{};  // on the device; exposed: nothing else ran beside it
  Ns earlier_communication{};                   // part of the bucket earlier_step
  std::optional<double> confidence;             // share of its operators with one possible owner; absent without a map step
  bool outlier = false;
  std::vector<Difference> differences;  // of an outlier, the largest first
};

struct Device {
  std::string name, kind;  // kind: "cpu", "cuda", "hip", "xpu"
};

// A Python function of a trace with stacks, and what of the step passed in it for the reasons of a host (Profile::spent): while the device
// idled, or without device work what is no operator's own work. What torch or Python run below it is its own.
struct HostFunction {
  std::string file;  // as the trace names it
  std::uint32_t line = 0;
  std::string function;
  Causes own{}, inside{};  // in itself; with the functions that it called
};

// A stretch of the critical path (annotator/causes/critical_path.h), after the start of the step.
struct CriticalPart {
  Ns start{}, end{};
  Cause cause = Cause::launch;  // of most of it
  std::string_view on;          // "host", "device", "launch", "queue": of the longest part
  std::string what;             // operator or kernel; empty outside all
  std::int64_t parts = 1;       // that follow one another, where they are too short to be told apart
};

struct Verdict {
  struct Evidence {
    std::string what;
    Ns time{};
    std::string where;
  };
  std::string kind = "unclear";  // data, launch, sync, copy, compute, memory, communication, unclear
  std::vector<Evidence> evidence;
};

// What a change would make of the step's time, as ratios: the interval holds what such predictions are off by.
struct Foretold {
  double ratio = 1, low = 1, high = 1;
};

// A change that the recording gives evidence for (annotator/advice/rules).
struct Finding {
  std::string kind, title;  // "pin_memory"; the title says what to do
  std::vector<Verdict::Evidence> evidence;
  std::vector<std::string> assumes;
  std::string file;                       // where it belongs; empty where that is not known
  std::optional<std::int64_t> line;       // from 0
  double least_ratio = 1;                 // of step times, changed to recorded: what the change gives at best
  Ns at_most{};                           // the same of the step that is shown
  std::optional<Foretold> foretold = {};  // where the recording tells more than that bound
  bool only_measured = false;             // what it gives only runs of the script tell: the bound says nothing
  std::string note = {};                  // a sentence without its stop: what else could be done; empty: nothing
};

// How much of the step would be left, as a fraction, if one side took half its time (annotator/causes/simulate.h).
struct Sensitivity {
  double kernels = 1, host = 1;
};

// The same if all communication with other processes ran beside other work, and if there were none. Waiting for the others is part of it.
struct CommunicationSensitivity {
  double hidden = 1, without = 1;
};

// The step times of one process of a training over several: medians.
struct RankTimes {
  std::int64_t rank = 0;
  std::optional<Ns> plain_step, profiled_step;
};

struct ModuleCalls;   // module_calls.h
struct Loop;          // loop.h
struct Compiled;      // compiled.h
struct SavedTensors;  // saved.h

struct Profile {
  std::string id;                 // bundle id, or the trace's file name
  std::string source;             // the script and its arguments, or the trace's path
  std::filesystem::path folder;   // of the bundle; empty for a bare trace
  std::vector<std::string> argv;  // as given to `hotlens run`: script first, or {"-m", module, …}
  std::string created;            // UTC, ISO 8601; empty when not known
  std::string torch;              // version; empty when not known
  std::vector<Device> devices;
  std::string step_by, step_why;    // what the recorder took for a step, and why; empty without a bundle
  std::optional<Ns> plain_step;     // without a profiler: mean update of the watched loop, else the median of the steps timed so
  std::optional<Ns> profiled_step;  // the measured one that is shown
  std::optional<std::int64_t> samples_per_step;
  std::optional<std::int64_t> batch_size;     // a part of it where gradients of several batches are accumulated
  std::optional<PageFaults> page_faults;      // of a run that tells
  std::optional<bool> cudnn_benchmark;        // likewise: whether cuDNN tried its convolutions
  std::vector<RankTimes> ranks;               // of a bundle with several, in its order; else empty
  std::int64_t rank = 0;                      // the one that everything else here is of
  std::optional<double> backward_confidence;  // of a trace that tells backward by order only: share of it that found its forward
  double alignment = 1.0;                     // share of the measured operators that found their twin in the map step
  std::vector<Step> steps;
  std::size_t representative = 0;    // the step that is shown, like the others in all buckets and stages; slices are on its axis
  std::vector<StageTimes> stages;    // in the order of the step; each stage once
  std::vector<BucketTimes> buckets;  // every bucket, also empty ones
  std::vector<Module> modules;       // parents before children, call order
  std::vector<OneOf> one_of;
  std::vector<Line> lines;
  std::vector<CallSite> call_sites;
  std::vector<StageSite> stage_sites;
  std::vector<SourceFile> files;
  std::vector<Kernel> kernels;          // those of the representative step
  std::vector<KernelUse> kernel_times;  // the whole step's, longest first
  StepCosts costs;
  // The representative step twice, each adding up to its wall time. spent: device time by what ran, idle device time by what the host did
  // meanwhile. critical: the critical path (annotator/causes/critical_path.h). Without device work both are the host's time.
  Causes spent{}, critical{};
  std::vector<CriticalPart> path;            // of the representative step, in order; covers it
  std::vector<HostFunction> host_functions;  // callers before what they call, the longest first; empty without stacks
  // Most memory held at once in the step and held when it began, as the allocator counts it: the representative step's, or the map step's
  // of a bundle; on the device where the recording has events of one. Absent in a recording without memory events.
  std::optional<Bytes> memory_peak, memory_start;
  MemoryAtPeak at_peak;
  std::optional<Bytes> optimizer_elsewhere;  // state of optimizers that is of no single parameter, so of no module
  Verdict verdict;
  std::vector<Finding> findings;                                      // the largest first
  std::optional<Sensitivity> sensitivity;                             // of a run with device work
  std::optional<CommunicationSensitivity> communication_sensitivity;  // of a run that communicates
  std::vector<Issue> warnings;
  std::shared_ptr<const Loop> loop;                 // of a bundle whose loop was watched without a profiler, else null
  std::shared_ptr<const SavedTensors> saved;        // of a bundle whose map step was looked at so, else null
  std::shared_ptr<const ModuleCalls> module_calls;  // of a trace with module frames and without a bundle, else null
  std::shared_ptr<const Compiled> compiled;         // of a run with torch.compile, else null
  bool guessed = false;                             // places in source were guessed (guess_lines), not recorded
  Ns cpu{};                                         // host time of every thread that took part, in the representative step
  Ns cpu_attributed{}, device_attributed{};         // time that belongs to a module, in the representative step

  bool has_device() const;  // any device work was recorded
  Ns step_wall() const;     // of the representative step
  // Of the representative step; 0 for a list without it.
  Ns shown(const std::vector<Ns>& of_steps) const;
  Times shown(const PerStep& of_steps) const;
  const Module& at(ModuleId module) const { return modules[module.index]; }
};

// What all modules and stages held at the peak: MemoryAtPeak::total without `before`.
Holdings held_at_peak(const Profile& profile);
// What a module and all below it held then.
Bytes held_at_peak(const Profile& profile, ModuleId module);

// The number a label shows: device busy where there is a device, else host time.
Ns headline(const Times& times, bool has_device);
// Of forward and backward together, by step.
std::vector<Ns> headlines(const Module& module, bool has_device);

}  // namespace hotlens::profile
