// Compiled code (torch.compile) and replayed graphs: which part of a step ran in it, where graphs break, what was compiled and how long
// that took.
//
// Times are of the representative step and come from the trace alone; compilations and breaks are what torch's own books told the recorder
// at the end of the run, so a bare trace has none. Compiling is start-up: it lies outside of the steps, but for a graph that is compiled
// again because an input changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotator/common/units.h"

namespace hotlens::profile {

// One graph that was compiled, or one attempt.
struct Compilation {
  std::string region;    // number of the code object and how often it was compiled before: "1/0"
  std::string function;  // "forward"; "torch_dynamo_resume_in_forward_at_22" after a break
  std::string file;      // as Python names it
  std::uint32_t line = 0;
  Ns took{};
  std::string again;   // why what was compiled before did not do; empty for the first
  std::string failed;  // why there is no graph; empty where there is one
  bool backward = false;
  bool in_step = false;  // it began within a measured step
};

// A line at which a graph ends although the function goes on.
struct GraphBreak {
  std::string file, function, reason;
  std::uint32_t line = 0;
  std::int64_t count = 0;  // attempts at a graph that met it
};

// What the recorder noted of a whole run.
struct CompilationLog {
  std::int64_t count = 0;  // graphs, also those that have no row
  Ns took{};
  std::vector<Compilation> compilations;
  std::vector<GraphBreak> breaks;
  std::vector<std::string> missing;  // what torch's books did not tell, and why
};

// Device work that has no module of its own, since a replayed graph or compiled code ran it.
struct Region {
  enum class Kind : std::uint8_t { replayed, compiled };
  // What runs again and again, kernel by kernel, in the region's run with most work: often the layers of a model.
  struct Repeat {
    std::int64_t works = 0, times = 0;  // 0: nothing does, three times and more
    Ns time{};                          // of all repetitions, summed durations
  };

  Kind kind = Kind::compiled;
  std::string name;    // what ran it: "cudaGraphLaunch", "CompiledFunction"
  std::string inside;  // path of the module that it ran in; empty where none is known
  std::int64_t runs = 0, works = 0;
  Ns device{};     // busy
  Ns durations{};  // summed
  Repeat repeat;
};

struct Compiled {
  Ns wall{}, forward{}, backward{};  // inside compiled code, on every thread; wall is the sum of both
  Ns device{};                       // busy with what it launched
  Ns in_modules{}, estimated{};      // parts of wall: with the module inside that it works for, known and by an estimate
  std::int64_t calls = 0;
  std::vector<Region> regions;        // longest first
  std::optional<CompilationLog> log;  // of a bundle
};

}  // namespace hotlens::profile
