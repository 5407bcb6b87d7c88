"""The training loop's statements and their clocks, over the whole run; lines of its loaders' workers."""
