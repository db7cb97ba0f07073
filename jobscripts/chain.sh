#!/usr/bin/env bash
# A chain of jobs that do one long run after each other, where the queue likes short jobs, or does
# not allow requeueing. Each goes on from the checkpoint of the one before.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: bash jobscripts/chain.sh N SCRIPT CONFIG --output DIR [options of `isotherm run`]

Submit SCRIPT (jobscripts/*.sbatch) N times, each job to start when the one before has ended with 0.
A job that is stopped in time by its end ends with 0, and the next one goes on. When the run is
done, the jobs that are left find nothing to do; after an error they are cancelled by Slurm.
Options for sbatch: in the variable SBATCH_OPTIONS, such as SBATCH_OPTIONS="-A abc123 -t 120".
Prints the jobs' numbers.
TEXT
}

if (($# < 3)) || [[ ! $1 =~ ^[1-9][0-9]*$ ]]; then
    usage >&2
    exit 2
fi
count=$1
shift
if [[ " $* " != *" --output"[\ =]* ]]; then
    echo "error: the jobs must share a folder: give --output DIR" >&2
    exit 2
fi
read -r -a options <<<"${SBATCH_OPTIONS:-}"
export ISOTHERM_CHAIN=1
previous=
for ((i = 0; i < count; i++)); do
    # afterok: not after a job that failed; those can never start then, so Slurm removes them
    previous=$(sbatch --parsable "${options[@]}" --kill-on-invalid-dep=yes \
        ${previous:+--dependency=afterok:$previous} "$@")
    previous=${previous%%;*}
    echo "$previous"
done
