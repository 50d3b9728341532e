#!/usr/bin/env bash
# Bring up a one-node SLURM cluster on this machine, to test the profile slurm/: Debian packages, root, no systemd,
# no database.
#   bash slurm_up.sh            idempotent; prints sinfo when the node is idle
#   GPUS=2 CPUS=8 MEMORY=256000 MINJOBAGE=3600 bash slurm_up.sh    CPUS and MEMORY (MB) may exceed what the machine has
# GPUs are pretended: device nodes that behave like /dev/null. Jobs are granted them, and then told to compute on the
# processor (CUDA_VISIBLE_DEVICES is empty). Undo with slurm_down.sh.
set -euo pipefail

GPUS=${GPUS:-2}
MINJOBAGE=${MINJOBAGE:-3600} # seconds a finished job stays visible to squeue/scontrol
CONF=/etc/slurm
STATE=${SLURM_STATE:-/var/lib/slurm-one-node}
RUN=/run/slurm-one-node

[ "$(id -u)" = 0 ] || {
  echo "slurm_up: needs root" >&2
  exit 1
}
if [ -e "$CONF/slurm.conf" ] && ! grep -qx ClusterName=onenode "$CONF/slurm.conf"; then
  echo "slurm_up: $CONF/slurm.conf is not of this script's making: this machine belongs to a cluster" >&2
  exit 1
fi

if ! command -v slurmctld >/dev/null || ! command -v slurmd >/dev/null || ! command -v munged >/dev/null; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive timeout 240 apt-get install -y -qq --no-install-recommends \
    slurm-wlm slurm-wlm-basic-plugins munge >/dev/null; } || {
    echo "slurm_up: the packages of SLURM cannot be installed" >&2
    exit 75
  }
fi

host=$(hostname -s)
cpus=${CPUS:-$(nproc)}
memory=${MEMORY:-$(awk '/MemTotal/ {print int($2 / 1024 * 0.8)}' /proc/meminfo)}
mkdir -p "$CONF" "$STATE/ctld" "$STATE/d" "$RUN"

# Authentication: a random key, once.
install -d -o munge -g munge -m 0700 /etc/munge /var/lib/munge /var/log/munge
install -d -o munge -g munge -m 0755 /run/munge
if [ ! -s /etc/munge/munge.key ]; then
  dd if=/dev/urandom of=/etc/munge/munge.key bs=1 count=1024 status=none
fi
chown munge:munge /etc/munge/munge.key
chmod 0400 /etc/munge/munge.key
if ! munge -n </dev/null >/dev/null 2>&1; then
  rm -f /run/munge/munge.socket.2 /run/munge/munge.socket.2.lock
  setpriv --reuid=munge --regid=munge --clear-groups munged --force
fi

# Pretended GPUs: a major:minor that reads and writes like /dev/null.
gres_node=""
: >"$CONF/gres.conf.new"
if [ "$GPUS" -gt 0 ]; then
  for ((i = 0; i < GPUS; i++)); do
    [ -e "/dev/pretend-gpu$i" ] || mknod -m 666 "/dev/pretend-gpu$i" c 1 3
  done
  last=$((GPUS - 1))
  if [ "$last" -gt 0 ]; then files="/dev/pretend-gpu[0-$last]"; else files="/dev/pretend-gpu0"; fi
  echo "NodeName=$host Name=gpu Type=pretend File=$files" >"$CONF/gres.conf.new"
  gres_node="Gres=gpu:pretend:$GPUS"
fi

printf '#!/bin/sh\necho export CUDA_VISIBLE_DEVICES=\n' >"$CONF/task_prolog.sh"
chmod 755 "$CONF/task_prolog.sh"

cat >"$CONF/slurm.conf.new" <<CONF
ClusterName=onenode
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
CredType=cred/munge
SlurmUser=root
SlurmctldPort=6817
SlurmdPort=6818
StateSaveLocation=$STATE/ctld
SlurmdSpoolDir=$STATE/d
SlurmctldPidFile=$RUN/slurmctld.pid
SlurmdPidFile=$RUN/slurmd.pid
SlurmctldLogFile=$STATE/slurmctld.log
SlurmdLogFile=$STATE/slurmd.log
# No cgroups are needed or touched: processes are followed through their parents.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
# Memory is sampled, and a job above its request is ended (as cgroups would do).
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill,UsePss
# No database, hence no sacct: a finished job stays in the controller's memory for MinJobAge.
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$STATE/jobcomp.txt
MinJobAge=$MINJOBAGE
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
SchedulerType=sched/backfill
KillWait=5
OverTimeLimit=0
ReturnToService=2
SlurmdParameters=config_overrides
TaskProlog=$CONF/task_prolog.sh
SlurmctldTimeout=30
SlurmdTimeout=60
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=$memory $gres_node State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes=$host MaxTime=INFINITE State=UP
CONF

changed=no
for file in slurm.conf gres.conf; do
  if ! cmp -s "$CONF/$file.new" "$CONF/$file"; then
    changed=yes
    mv "$CONF/$file.new" "$CONF/$file"
  else rm "$CONF/$file.new"; fi
done

running() { [ -s "$RUN/$1.pid" ] && [ "$(cat "/proc/$(cat "$RUN/$1.pid")/comm" 2>/dev/null)" = "$1" ]; }
if [ "$changed" = yes ]; then
  for daemon in slurmd slurmctld; do
    if running $daemon; then
      pid=$(cat "$RUN/$daemon.pid")
      kill "$pid"
      for _ in $(seq 50); do
        [ -d "/proc/$pid" ] || break
        sleep 0.2
      done
    fi
  done
fi
running slurmctld || slurmctld
running slurmd || slurmd

for _ in $(seq 60); do
  state=$(sinfo -h -n "$host" -o %T 2>/dev/null || true)
  case $state in
  idle | mixed | allocated)
    sinfo -o '%P %N %T %c %m %G'
    exit 0
    ;;
  down* | drain*) scontrol update nodename="$host" state=resume 2>/dev/null || true ;;
  esac
  sleep 0.5
done
echo "slurm_up: node '$host' is '${state:-unknown}' after 30 s; logs in $STATE" >&2
tail -n 5 "$STATE"/slurm*.log >&2
exit 1
