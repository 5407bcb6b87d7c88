#!/usr/bin/env bash
# What is handed out (.ci/package) works where nothing but Python and torch is: the wheel in a new environment, the program alone in a root
# without any library, the VS Code package in the real editor with the program and the recorder that it brings.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/build/python
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
most_bytes=6000000

failed() { echo "FAIL  $*"; echo "0 passed, 1 failed"; exit 1; }

bash .ci/package "$place/out"
wheel=$(ls "$place"/out/hotlens-*-manylinux*.whl)
[ "$(stat -c %s "$wheel")" -le $most_bytes ] || failed "the wheel has more than $most_bytes bytes"

"$python/bin/python" -m venv "$place/env"
"$place/env/bin/pip" install -q --disable-pip-version-check --no-index --no-deps "$wheel"
"$place/env/bin/hotlens" --version
"$place/env/bin/python" -c 'import hotlens'
for part in neovim/plugin/hotlens.lua vscode/hotlens.vsix timeline/index.html licenses/zlib1g-dev.txt \
            lab/annotator/lab/worker/worker.cpp lab/nlohmann/json.hpp; do
  test -e "$place/env/share/hotlens/$part" || failed "the wheel lacks $part"
done
needs=$(readelf -Wld "$place/env/bin/hotlens" | grep -E 'NEEDED|INTERP' || true)
[ -z "$needs" ] || failed "the program needs something of its machine: $needs"

# The installed program profiles with an interpreter that has never heard of it.
digits="$place/work dir ü"
cp -r examples/resnet_digits "$digits"
(cd "$digits" && "$place/env/bin/hotlens" run --python "$python/bin/python" --steps 2 train.py >"$place/out.txt" &&
  "$place/env/bin/hotlens" check blocks.py | grep ' ms' >/dev/null) || failed "the installed program profiles nothing"

# What a machine with a GPU is asked (tests/device), as far as this one can answer.
"$python/bin/python" tests/device/run.py --wheel "$wheel" --python "$python/bin/python" || failed "tests/device finds something wrong"

# Alone: a root with the program and a bundle in it, no library, no shell.
mkdir "$place/root" && cp "$place/env/bin/hotlens" "$place/root" && cp -r "$digits/.hotlens" "$place/root"
as_root=(); [ "$(id -u)" -eq 0 ] || as_root=(unshare --map-root-user)
"${as_root[@]}" chroot "$place/root" /hotlens report latest | grep '^Verdict: ' >/dev/null || failed "the program does not run alone"

# The VS Code package: its program finds the recorder beside it, and its mode is kept.
vsix=$(ls "$place"/out/hotlens-linux-*.vsix)
"$python/bin/python" - "$vsix" "$place/ext" <<'PYTHON' || failed "the VS Code package's program is not executable"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as package:
    package.extractall(sys.argv[2])
    mode = package.getinfo("extension/dist/server/bin/hotlens").external_attr >> 16
    sys.exit(mode & 0o777 != 0o755)
PYTHON
carried=$place/ext/extension/dist/server/bin/hotlens
chmod +x "$carried"
rm -rf "$digits/.hotlens"
(cd "$digits" && "$carried" run --python "$python/bin/python" --steps 2 train.py >"$place/out.txt" &&
  "$carried" check blocks.py | grep ' ms' >/dev/null) || failed "the VS Code package's program profiles nothing"

# Install the extension, open a folder, click Profile: in the real editor, with no other Hotlens on the machine.
editor=build/editors/code-server/bin/code-server
[ -x $editor ] || failed "no $editor: tests/setup.sh test installs it"
[ -d tests/e2e/vscode/node_modules ] || (cd tests/e2e/vscode && npm ci --ignore-scripts --silent)
CARRIED=1 HOTLENS_TEST_PYTHON=$python/bin/python node tests/e2e/vscode/run.mjs $editor "$vsix" "$place/env/bin" examples/resnet_digits "" \
  first-profile || failed "the extension alone does not profile"

# The source archive has what a build needs, and nothing that was built.
tar tzf "$place"/out/hotlens-*.tar.gz >"$place/files.txt"
for part in CMakeLists.txt pyproject.toml annotator/recorder/hotlens/__main__.py editor_clients/vscode/package-lock.json; do
  grep -q "/$part\$" "$place/files.txt" || failed "the source archive lacks $part"
done
! grep -qE '/(node_modules|dist)/|^[^/]+/build/|editor_clients/[^/]+/build/' "$place/files.txt" || failed "the source archive holds what was built"
echo "1 passed, 0 failed"
