#!/bin/bash
# A Slurm of one node on this machine, for tests: cluster.sh start FOLDER | stop FOLDER.
#
# Needs root, slurmctld, slurmd and munged (Debian: slurm-wlm, munge). All that it writes is in FOLDER, which has
# slurm.conf for the commands of Slurm (SLURM_CONF).
set -eu

folder=$(realpath "$2")

stop() {
    for name in slurmd slurmctld munged; do
        if [ -f "$folder/$name.pid" ]; then
            kill "$(cat "$folder/$name.pid")" 2>/dev/null || true
        fi
    done
}

start() {
    mkdir -p "$folder/state" "$folder/spool" "$folder/pmix"
    # not in /tmp, where a job of another test that was killed may have left one of the same number
    echo "PMIxCliTmpDirBase=$folder/pmix" > "$folder/mpi.conf"
    dd if=/dev/urandom of="$folder/munge.key" bs=128 count=1 status=none
    chmod 400 "$folder/munge.key"
    munged --force --key-file "$folder/munge.key" --socket "$folder/munge.socket" \
        --pid-file "$folder/munged.pid" --log-file "$folder/munged.log" --seed-file "$folder/munge.seed"
    # two ports that nobody has
    ports=$(python3 -c '
import socket
sockets = [socket.socket() for _ in range(2)]
for one in sockets:
    one.bind(("", 0))
print(*(one.getsockname()[1] for one in sockets))')
    host=$(hostname -s)
    cat > "$folder/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports% *}
SlurmdPort=${ports#* }
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
JobRequeue=1
KillWait=30
ReturnToService=2
SchedulerParameters=sched_interval=2,bf_interval=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
    slurmctld -f "$folder/slurm.conf"
    slurmd -f "$folder/slurm.conf"
    export SLURM_CONF="$folder/slurm.conf"
    for _ in $(seq 60); do
        if sinfo --noheader --format=%t 2>/dev/null | grep -q idle; then
            return
        fi
        sleep 0.5
    done
    echo "Slurm did not start: see $folder/slurmctld.log and slurmd.log" >&2
    stop
    exit 1
}

"$1"
