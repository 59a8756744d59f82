#!/bin/bash
# slurm-array.sh: the jobs of a config over a Slurm array, and one file of them at the end.
#
#   sbatch --array=0-15 contrib/slurm-array.sh CONFIG [KEY=VALUE ...]
#
# Each task does its share; the one that ends last finds every job done and makes the output. Submitted again, after a
# task was cancelled or a node went down, it does what is missing. PE_RUN names the program where it is not in the PATH.
# The output's folder must be on a file system that all nodes share.
#SBATCH --job-name=pe-run
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@60
set -euo pipefail

if [ $# -lt 1 ] || [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
  echo "usage: sbatch --array=0-15 $0 CONFIG [KEY=VALUE ...]" >&2
  exit 2
fi
pe_run=${PE_RUN:-pe-run}

# Slurm tells the shell when time is up; pe-run then keeps what is done.
"$pe_run" run "$@" --shard auto -j "${SLURM_CPUS_PER_TASK:-1}" &
child=$!
trap 'kill -TERM "$child"' TERM
code=0
wait "$child" || code=$?
while kill -0 "$child" 2>/dev/null; do # a signal ends the wait, not the run
  code=0
  wait "$child" || code=$?
done

# 1: a job of this share failed; that does not keep the others from being joined.
if [ "$code" -gt 1 ]; then
  exit "$code"
fi

# 1: other tasks still have jobs to do; 6: they are at it this moment. The last one finds neither.
joined=0
"$pe_run" join "$@" --quiet || joined=$?
case $joined in
0) ;;
1 | 6) echo "the output is made when the other tasks are done" ;;
*) exit "$joined" ;;
esac
exit "$code"
