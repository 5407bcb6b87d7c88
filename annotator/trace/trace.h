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

struct Thread {
  std::string process, id;  // pid and tid as written, without quotes
  std::string name;         // the last thread_name record; empty where there is none
};

struct Device {
  std::int64_t id = 0;
  std::string name;
  std::int64_t memory_bytes = 0;
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

struct Trace {
  Events events;
  Names names;
  std::vector<Thread> threads;
  std::vector<Device> devices;
  Ns base{};         // start of the time axis since the epoch; 0 where times are absolute already
  bool hip = false;  // recorded on ROCm
  std::size_t json_bytes = 0;
};

// Blocks on I/O. The error names the file, the place and what could not be read.
Result<Trace> read_file(const std::filesystem::path& path, Issues& issues);

// JSON or gzip bytes; `where` names them in messages.
Result<Trace> read_bytes(std::string_view bytes, std::string_view where, Issues& issues);

bool on_device(Category category);  // kernel, copy or fill

}  // namespace hotlens::trace
