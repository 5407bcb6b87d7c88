"""The process that a script runs in, and what it is asked: options, reports, signals, forks, the machine. Knows nothing of torch."""
