#!/usr/bin/env bash
# Bind a rank to its entry of a list of cores, by its number on the node, and run the program:
#   mpirun --bind-to none bash jobscripts/bind_rank.sh 49-55,57-63,... PROGRAM...
# For Open MPI, whose own options cannot express "rank r next to GCD r" in all versions.
set -euo pipefail
IFS=, read -r -a cores <<<"$1"
shift
rank=${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:?no number on the node from the launcher}}
exec taskset --cpu-list "${cores[rank % ${#cores[@]}]}" "$@"
