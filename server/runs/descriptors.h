// Descriptors of a forked process, in calls that are safe there (async-signal-safe).
#pragma once

namespace hotlens::runs {

// From `first` on, they close when another program is executed.
void close_from_at_exec(int first);

// Whatever this process has open.
void close_all_but(int kept);

}  // namespace hotlens::runs
