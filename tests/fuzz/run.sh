#!/usr/bin/env bash
# Builds the fuzzers (clang 19) and runs one of them on small traces of every writer, with address and undefined-behaviour sanitizers.
#   tests/fuzz/run.sh [SECONDS] [report|trace]     25 seconds of the whole report; `trace` is the reader alone
# What was found useful is kept in build/fuzz/corpus_*. A crash leaves its input in build/fuzz/: build/fuzz/tests/fuzz/fuzz_report INPUT
# repeats it.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-25}
fuzzer=fuzz_${2:-report}
corpus=build/fuzz/corpus_${2:-report}
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target "$fuzzer"
python3 tests/fuzz/seeds.py build/fuzz/seeds
mkdir -p "$corpus"
"build/fuzz/tests/fuzz/$fuzzer" -max_total_time="$seconds" -dict=tests/fuzz/words.dict -timeout=10 -rss_limit_mb=2048 -max_len=20000 \
  -artifact_prefix=build/fuzz/ -print_final_stats=1 "$corpus" build/fuzz/seeds
