#!/usr/bin/env bash
# install_models.sh TARGET: an environment with the packages of real_models/requirements.txt, on top of build/python (torch is not installed
# twice). Idempotent; packages come from PyPI.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$1
wanted=tests/e2e/real_models/requirements.txt
stamp="$target/.installed-$(sha256sum "$wanted" | cut -c1-12)"
[ -e "$stamp" ] && exit

[ -x "$target/bin/python" ] || build/python/bin/python -m venv "$target"
below=$(build/python/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$below" >"$("$target/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/below.pth"
echo "setup: packages of $wanted into $target" >&2
"$target/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$wanted"
touch "$stamp"
