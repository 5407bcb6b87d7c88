"""One run, from its options to its exit status; the script started as plain Python would start it."""
