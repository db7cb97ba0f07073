#!/usr/bin/env bash
# A chain of jobs that together do one long run, for queues that prefer short jobs or do not allow
# requeueing. Each job resumes from the checkpoint of the previous one.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: bash jobscripts/chain.sh N SCRIPT CONFIG --output DIR [options of `isotherm run`]

Submit SCRIPT (jobscripts/*.sbatch) N times; each job starts when the previous one has ended with 0.
A job that stops at its time limit ends with 0, and the next one resumes. When the run is complete,
the remaining jobs have nothing to do; after an error Slurm cancels them.
Options of sbatch: in the variable SBATCH_OPTIONS, such as SBATCH_OPTIONS="-A abc123 -t 120".
Prints the job numbers.
TEXT
}

if (($# < 3)) || [[ ! $1 =~ ^[1-9][0-9]*$ ]]; then
    usage >&2
    exit 2
fi
count=$1
shift
if [[ " $* " != *" --output"[\ =]* ]]; then
    echo "error: the jobs must share an output folder: give --output DIR" >&2
    exit 2
fi
if ! command -v sbatch >/dev/null; then
    echo "error: no command 'sbatch': a chain of jobs needs Slurm" >&2
    exit 2
fi
read -r -a options <<<"${SBATCH_OPTIONS:-}"
export ISOTHERM_CHAIN=1
previous=
for ((i = 0; i < count; i++)); do
    # afterok: a job after a failed one can never start, so Slurm removes it
    previous=$(sbatch --parsable "${options[@]}" --kill-on-invalid-dep=yes \
        ${previous:+--dependency=afterok:$previous} "$@")
    previous=${previous%%;*}
    echo "$previous"
done
