"""What a step is and how it is treated: the finder, the phases of a run, the profiler around steps."""
