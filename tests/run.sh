#!/usr/bin/env bash
# Every test: installs what is missing, builds, then unit tests (with sanitizers; `unit` runs them without), the recorder, the language server
# over stdio, both editors, formatting and types. The last line counts the groups.
#   tests/run.sh            all
#   tests/run.sh quick      what to run before every commit: a few minutes once everything is built
#   tests/run.sh unit lsp   only these groups
#   tests/run.sh tidy       clang-tidy over every source, not part of all: it parses each file once more, about 5 minutes of two cores
#   tests/run.sh fuzz       half a minute of fuzzing, not part of all: it builds the annotator once more, with clang
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(style house sanitize recorder loops golden cli lab mcp install models lsp timeline editors)

[ "${groups[*]}" != quick ] || groups=(style house unit golden quick_recorder quick_lsp quick_page)

bash tests/setup.sh test || exit 1
python=$root/build/python
export PATH="$python/bin:$PATH"
export HOTLENS_TEST_PYTHON=$python/bin/python HOTLENS_BIN=$root/build/release/bin/hotlens
[ -d ../shared/traces ] && export HOTLENS_TRACES=${HOTLENS_TRACES:-$(cd ../shared/traces && pwd)}
# What stands in for real traces, and what was left out for want of them: the last line counts it, and where CI is set it is a failure.
export HOTLENS_OWN_TRACES=$root/build/own_traces HOTLENS_LEFT_OUT=$root/build/left-out.txt
# What passed only at a second try; the last line counts it.
export HOTLENS_SECOND_TRY=$root/build/second-try.txt
: >"$HOTLENS_SECOND_TRY"
"$python/bin/python" tests/traces/own_traces.py "$HOTLENS_OWN_TRACES" 2>/dev/null || { echo "tests/traces/own_traces.py fails"; exit 1; }
: >"$HOTLENS_LEFT_OUT"

# Tests run beside each other: operators that spread over all cores would only wait for their own threads.
export OMP_NUM_THREADS=1
# Another clone of the same sources finds the same objects in the compiler cache.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

packages() { [ -d "$1/node_modules" ] || (cd "$1" && npm ci --ignore-scripts --silent); }
build() { cmake --preset "$1" >/dev/null && cmake --build --preset "$@"; }
# The program with its page and extension: what tests ask from outside needs no test program. In CI it is the one that is handed out: the wheel
# finds its objects in the compiler cache.
product() { cmake --preset release ${CI:+-DHOTLENS_PORTABLE=ON} >/dev/null && cmake --build --preset release --target hotlens hotlens_page hotlens_vsix; }

# tests ARGUMENTS: pytest; three failures or fewer are tried once more, in a process of their own. More than that is no matter of a busy machine.
tests() {
  local said code=0 names
  said=$(mktemp)
  python -m pytest -rfE --durations 5 --durations-min 10 "$@" 2>&1 | tee "$said" || code=${PIPESTATUS[0]}
  mapfile -t names < <(sed -nE 's/^(FAILED|ERROR) ([^ ]+::.*)/\2/p' "$said" | sed 's/ - .*//' | sort -u)
  rm -f "$said"
  [ "$code" = 1 ] && [ "${#names[@]}" -ge 1 ] && [ "${#names[@]}" -le 3 ] || return "$code"
  printf 'again %s\n' "${names[@]}"
  python -m pytest "${names[@]}" && printf '%s\n' "${names[@]}" >>"$HOTLENS_SECOND_TRY"
}

run_style() {
  git ls-files '*.h' '*.cpp' | xargs clang-format --dry-run --Werror &&
    ruff check -q annotator/recorder tests && ruff format -q --check annotator/recorder tests &&
    (cd annotator/recorder && mypy --no-error-summary hotlens) && packages tests/house &&
    git ls-files -z '*.ts' '*.mjs' '*.css' |
      xargs -0 tests/house/node_modules/.bin/biome check --error-on-warnings --config-path=tests/house/biome_rules.json &&
    git ls-files -z '*.lua' | xargs -0 node tests/house/format_lua.mjs --check &&
    git ls-files -z '*.lua' | xargs -0 luacheck -q --config tests/house/luacheckrc
}
run_tidy() {
  build release && python -m pip install -q clang-tidy==23.1.4 &&
    git ls-files '*.cpp' ':!tests' | xargs -P 2 -n 4 clang-tidy --quiet -p build/release
}
run_house() { python tests/house/includes.py && python tests/house/papers.py && python tests/house/subjects.py && python tests/house/helpers.py; }
run_unit() { build release --target unit_tests && ctest --preset release -j 2; }
run_sanitize() { build sanitize && ctest --preset sanitize -j 2; }
run_fuzz() { bash tests/fuzz/run.sh 25; }
run_recorder() { product && tests -n 3 tests/recorder; }
run_loops() { product && tests -n 2 tests/loops; }
run_install() { bash tests/install.sh; }
# beside ARGUMENTS…: the files three at a time (two leave a third of two processors idle), the tests of one in turn: they share what it has recorded.
beside() { tests -n 3 --dist loadfile "$@"; }
run_models() {
  product && bash tests/e2e/install_models.sh build/models &&
    HOTLENS_MODELS_PYTHON=$root/build/models/bin/python beside tests/e2e/real_models
}
run_golden() { product && beside tests/golden; }
run_lsp() { product && beside tests/e2e/lsp && tests -n 2 tests/e2e/static; }
# One file for each promise of the recorder, the server and the page that breaks most easily; the rest is in the groups of their names.
run_quick_recorder() { product && tests -n 2 tests/recorder/test_steps.py tests/recorder/test_bundle.py tests/recorder/test_sites.py; }
run_quick_lsp() { product && tests -n 2 tests/e2e/lsp/test_features.py tests/e2e/lsp/test_lifecycle.py tests/e2e/lsp/test_wire.py; }
run_quick_page() { packages editor_clients/timeline && (cd editor_clients/timeline && npm run --silent check && npm test --silent >/dev/null); }
run_cli() { product && beside tests/e2e/cli; }
run_mcp() { product && packages tests/e2e/mcp && beside tests/e2e/mcp; }
run_lab() { product && beside tests/e2e/lab; }
run_timeline() {
  product && beside tests/e2e/serve && bash tests/e2e/timeline/run.sh build/release/bin/hotlens build/editors/neovim/bin/nvim
}
run_editors() { product && bash tests/e2e/run.sh build/release/bin build/editors; }

passed=0 failed=0
for group in "${groups[@]}"; do
  printf '\n== %s\n' "$group"
  started=$SECONDS
  if "run_$group"; then passed=$((passed + 1)); verdict=passed; else failed=$((failed + 1)); verdict=FAILED; fi
  printf '== %s %s (%d s)\n' "$group" "$verdict" $((SECONDS - started))
done
left_out=$(wc -l <"$HOTLENS_LEFT_OUT") also=""
if [ "$left_out" -gt 0 ]; then
  printf '\nLEFT OUT, since HOTLENS_TRACES names no folder of real traces, or an editor is not installed:\n'
  sed 's/^/  /' "$HOTLENS_LEFT_OUT"
  also=", $left_out checks LEFT OUT"
fi
second=$(wc -l <"$HOTLENS_SECOND_TRY")
if [ "$second" -gt 0 ]; then
  printf '\npassed only at a second try:\n'
  sed 's/^/  /' "$HOTLENS_SECOND_TRY"
  also="$also, $second passed only at a second try"
fi
printf '\n%d passed, %d failed%s\n' "$passed" "$failed" "$also"
[ "$failed" -eq 0 ] && { [ "$left_out" -eq 0 ] || [ -z "${CI:-}" ]; }
