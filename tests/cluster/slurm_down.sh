#!/usr/bin/env bash
# Take down what slurm_up.sh brought up: cancel jobs, stop the daemons by pid, remove pretended GPUs.
#   bash slurm_down.sh          keeps logs and configuration
#   bash slurm_down.sh --purge  removes them too
set -uo pipefail

grep -qx ClusterName=onenode /etc/slurm/slurm.conf 2>/dev/null || {
  echo "slurm_down: nothing to take down"
  exit 0
}

STATE=${SLURM_STATE:-/var/lib/slurm-one-node}
RUN=/run/slurm-one-node

timeout 10 scancel --state=PENDING,RUNNING --user=root 2>/dev/null
for daemon in slurmd slurmctld; do
  pid=$(cat "$RUN/$daemon.pid" 2>/dev/null) || continue
  [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$daemon" ] || continue
  kill "$pid"
  for _ in $(seq 75); do
    [ -d "/proc/$pid" ] || break
    sleep 0.2
  done
done
pid=$(cat /run/munge/munged.pid 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = munged ] && kill "$pid"
rm -f /dev/pretend-gpu[0-9]*
if [ "${1:-}" = --purge ]; then
  rm -rf "$STATE" "$RUN" /etc/slurm/slurm.conf /etc/slurm/gres.conf
fi
echo "slurm_down: done"
