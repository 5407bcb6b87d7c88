"""Hotlens recorder: runs an unmodified training script and writes a bundle (`../FORMAT.md`) that says where a step spends its time.

Needs only PyTorch (2.0 or newer) and the standard library, and neither is imported before the script asks for it.
Order of a run: construction capture and warm-up (`capture`, `steps`), plain timed steps, measured steps under torch.profiler (`measure`),
one map step (`mapping`), then the bundle (`bundle`). `session` owns that order; `hooks` is the only place that touches torch's classes.
"""

__version__ = "0.1.0"
