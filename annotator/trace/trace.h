// A profiler trace as columns: what the file says, nothing interpreted but categories and units.
//
// Reads Kineto's Chrome JSON (torch 1.8 to now, C++ and Python writers, rewritten by other tools), the legacy array form, and both gzipped.
// Keys come in any order, the time base may come last, times are decimal microseconds and become whole nanoseconds exactly. A broken file
// keeps every event that is whole; what was lost is counted in Issues. Names, paths and text are kept as they are: they are hostile, and
// escaping is the sink's work. Nothing here knows steps, modules or operators' meaning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/common/units.h"
#include "annotator/trace/names.h"

namespace hotlens::trace {

enum class Category : std::uint8_t {
  cpu_op,
  annotation,         // record_function ranges, ProfilerStep, Optimizer, DataLoader
  device_annotation,  // their copies on the device's timeline
  runtime,            // calls of the CUDA, HIP or SYCL runtime
  driver,             // calls of the driver below it
  kernel,
  copy,    // device memory copies
  fill,    // device memory sets
  python,  // Python frames
  memory,
  overhead,  // the profiler's own
  sync,      // recorded device-side synchronisation
  other,
};

struct ThreadTag;
using ThreadId = Id<ThreadTag>;  // into Trace::threads

struct ProcessTag;
using ProcessId = Id<ProcessTag>;  // into Trace::processes

struct Process {
  std::string id;      // pid as written, without quotes; of device work it is the number of the device
  std::string name;    // "python3"; empty where the trace does not tell
  std::string labels;  // "CPU", "GPU 0"; empty where the trace does not tell
};

struct Thread {
  std::string process, id;  // pid and tid as written, without quotes; the tid of device work is its stream
  std::string name;         // the last thread_name record; empty where there is none
  ProcessId process_id;
};

struct Device {
  std::int64_t id = 0;
  std::string name;
  std::int64_t memory_bytes = 0;
  std::int64_t compute_capability = 0;  // the major number of CUDA's; 0 where not told
};

constexpr std::int64_t kNone = -1;  // a number the event does not carry

// Complete events (`ph` X), one entry per column, in file order.
struct Events {
  std::vector<NameId> name;
  std::vector<Category> category;
  std::vector<ThreadId> thread;
  std::vector<Ns> start;     // after Trace::base
  std::vector<Ns> duration;  // never negative
  std::vector<std::int64_t> correlation;
  std::vector<std::int64_t> sequence;        // "Sequence number"
  std::vector<std::int32_t> forward_thread;  // "Fwd thread id": > 0 on backward operators only
  std::vector<std::uint32_t> index;          // position in traceEvents

  std::size_t size() const { return name.size(); }
  Ns end(std::size_t event) const { return start[event] + duration[event]; }
};

// What operators were given, one row per operator that tells it (record_shapes), in file order. Texts are JSON arrays as written, white
// space included, into Trace::inputs_text: "[[32, 3, 224, 224], []]".
struct Inputs {
  std::vector<std::uint32_t> event;  // into Events, ascending
  std::vector<NameId> shapes;        // "Input Dims"
  std::vector<NameId> types;         // "Input type": C++ names; invalid where absent
  std::vector<NameId> values;        // "Concrete Inputs", torch 2.1 on: scalars and lists, "" for tensors; invalid where absent

  std::size_t size() const { return event.size(); }
};

// Bytes moved or set, one row per copy or fill that tells them, in file order.
struct Transfers {
  std::vector<std::uint32_t> event;  // into Events, ascending
  std::vector<std::int64_t> bytes;

  std::size_t size() const { return event.size(); }
};

// What is exchanged between processes, one row per event that tells of it, in file order: operators `record_param_comms`, device work that
// carries their arguments, and ranges that torch names BACKEND:OPERATION ("gloo:all_reduce"). Texts are in Trace::inputs_text.
struct Messages {
  std::vector<std::uint32_t> event;      // into Events, ascending
  std::vector<NameId> operation;         // "allreduce"; of a range what its name says
  std::vector<NameId> type;              // of an element: "Float", of a range "c10::BFloat16"; invalid where absent
  std::vector<std::int64_t> in, out;     // elements that one process gives and gets; of a range those of its tensors
  std::vector<NameId> group, ranks;      // "Process Group Name"; "[0, 1]"; invalid where absent
  std::vector<std::int64_t> group_size;  // processes that take part
  std::vector<std::int64_t> sequence;    // "Seq": counts the operations of a group

  std::size_t size() const { return event.size(); }
};

// Allocations and frees of torch's allocators ("[memory]", with profile_memory), in file order. They are no events: they take no time.
struct MemoryEvents {
  std::vector<ThreadId> thread;
  std::vector<Ns> time;                       // after Trace::base
  std::vector<std::int64_t> address;          // kNone up to torch 1.9
  std::vector<std::int64_t> bytes;            // negative: freed
  std::vector<std::int8_t> device_type;       // c10::DeviceType: 0 CPU, 1 CUDA, 6 HIP, 12 XPU; kNone where absent
  std::vector<std::int32_t> device;           // kNone: the host
  std::vector<std::int64_t> total_allocated;  // in bytes on that device, this event included; kNone up to torch 1.9
  std::vector<std::int64_t> total_reserved;   // the same of the caching allocator's pool

  std::size_t size() const { return time.size(); }
};

// Arrows between events, kept only where nothing better links them: launch arrows where no device work tells its correlation,
// forward to backward where no backward operator tells its sequence number. In file order.
struct Flows {
  enum class Kind : std::uint8_t { launch, backward };
  enum class End : std::uint8_t { start, finish };

  std::vector<std::int64_t> id;  // one start and its finish share it, within a kind
  std::vector<Kind> kind;
  std::vector<End> end;
  std::vector<ThreadId> thread;
  std::vector<Ns> time;  // after Trace::base

  std::size_t size() const { return id.size(); }
};

// How the trace was recorded, as far as the file says so; torch's version is not among it.
struct Recording {
  bool record_shapes = false, with_stack = false, with_modules = false, with_flops = false, profile_memory = false;
  std::optional<std::int64_t> rank, world_size;                  // of a distributed run
  std::string backend;                                           // "nccl"; empty where not told
  std::optional<std::int64_t> cuda_runtime, cuda_driver, cupti;  // 12040 is 12.4
  std::optional<std::int64_t> hip_runtime, hip_driver, roctracer;
  bool call_stacks = false;  // operators tell the Python code that called them, as up to torch 1.11
  bool legacy = false;       // the array of the profiler before Kineto: no correlation, no stacks, no shapes
};

// Where more events could be put into the text as it is.
struct ListEnd {
  std::size_t at = 0;  // the bracket that closes the list of events: bytes from the start of the text, inflated
  bool empty = false;  // the list holds no element
};

struct Trace {
  Events events;
  Inputs inputs;
  Names inputs_text;
  Transfers transfers;
  Messages messages;
  MemoryEvents memory;
  Flows flows;
  Names names;
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<Device> devices;
  Recording recording;
  Ns base{};                // start of the time axis since the epoch; 0 where times are absolute already
  bool hip = false;         // recorded on ROCm
  std::string accelerator;  // "cuda", "xpu", "mtia", …, as the first category of one says; empty where none does. ROCm says "cuda"
  std::size_t json_bytes = 0;
  std::optional<ListEnd> list_end;  // of the last list where a text has several; nothing where it is cut
};

// Blocks on I/O. The error names the file, the place and what could not be read.
Result<Trace> read_file(const std::filesystem::path& path, Issues& issues);

// JSON or gzip bytes; `where` names them in messages.
Result<Trace> read_bytes(std::string_view bytes, std::string_view where, Issues& issues);

bool on_device(Category category);  // kernel, copy or fill

// The row of `event` in a table's ascending column of events (Inputs, Transfers, Messages); nothing where it has none. O(log n).
std::optional<std::size_t> row_of(const std::vector<std::uint32_t>& events, std::uint32_t event);

}  // namespace hotlens::trace
