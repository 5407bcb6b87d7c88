#!/usr/bin/env bash
# Builds the fuzzer (clang 19) and runs it on small traces of every writer.
#   tests/fuzz/run.sh [SECONDS] [CORPUS]     25 seconds, a corpus under build/fuzz/
# A crash leaves its input beside the corpus: build/fuzz/tests/fuzz/fuzz_report INPUT repeats it.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-25}
corpus=${2:-build/fuzz/corpus}
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzz_report
python3 tests/fuzz/seeds.py build/fuzz/seeds
mkdir -p "$corpus"
build/fuzz/tests/fuzz/fuzz_report -max_total_time="$seconds" -dict=tests/fuzz/words.dict -timeout=10 -rss_limit_mb=2048 -max_len=20000 \
  -artifact_prefix=build/fuzz/ -print_final_stats=1 "$corpus" build/fuzz/seeds
