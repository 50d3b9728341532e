#!/bin/sh
# Install the locked packages into a virtual environment, which is made if need be: envs/install.sh FOLDER [PYTHON]
# Run by `make install` and by the Dockerfile. Files whose hash is not in a lock are refused.
set -eu

folder=$1 python=${2:-python3}
cd "$(dirname "$0")/.."

"$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || {
	echo "$python: expected Python 3.11 to 3.13, found $("$python" --version 2>&1); name another one: make install PYTHON=python3.11" >&2
	exit 1
}
test -x "$folder/bin/python" || "$python" -m venv "$folder"

locked() {
	"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$1"
}
torch=$(sed -n 's/^torch==\([0-9.]*\).*/\1/p' requirements.lock)
# A torch of this version that is there stays; else the one for the CPU alone, where pip finds it; else that of requirements.lock.
# `sed` reads to the end, which `grep -q` does not, so that pip would complain of a broken pipe.
test -n "$("$folder/bin/python" -m pip freeze | sed -n "/^torch==$torch/p")" || locked requirements-cpu.lock 2>/dev/null || true
locked requirements.lock
if test -n "$("$folder/bin/python" -m pip check | sed -n '/^torch .* nvidia.* not installed/p')"; then
	locked requirements-cuda.lock
fi
