// The process between this program and a run: it has what the run starts, and ends it when this program cannot.
//
// A program that is killed cleans up nothing, and the kernel's own means (PR_SET_PDEATHSIG) reaches its child, not what the child has
// started. The keeper adopts every process of the run that loses its parent, in whatever group or session (PR_SET_CHILD_SUBREAPER). It
// leads the run's group, ends as the run's first process ends, and kills all there is when the leash is closed: a pipe whose other end this
// program holds.
#pragma once

#include <sys/types.h>

namespace hotlens::runs {

// In the forked keeper, whose child `first` is. Only async-signal-safe calls: the program that was forked has threads. `leash` is the end
// to read; every other descriptor is closed.
[[noreturn]] void keep(pid_t first, int leash);

}  // namespace hotlens::runs
