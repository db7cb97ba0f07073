#!/usr/bin/env bash
# The common part of the job scripts: arguments, Slurm's end time, the run, and the reaction to its
# exit code. The scripts source it; it changes to the folder of submission.
#
#   sbatch [sbatch's options] jobscripts/X.sbatch CONFIG [options of `isotherm run`]
#   sbatch --array=1-N ... jobscripts/X.sbatch CONFIG --cases FILE    # line n: options of task n
#
# Without --output the results are in out/<name of CONFIG>-<job number>; a requeued job keeps its
# number and resumes from the checkpoints there. Variables that may be set before sbatch, which
# passes the environment on:
#
#   ISOTHERM          the program (build/<preset of the script>/isotherm, or the installed one)
#   ISOTHERM_ROOT     the folder above jobscripts/ (the folder of submission, or the installed one)
#   ISOTHERM_TRIES    starts without a new checkpoint before the job gives up (3)
#   ISOTHERM_CHAIN    1: a job that was stopped in time ends with 0 instead of being requeued, and
#                     the next job of the chain resumes (jobscripts/chain.sh)
#   ISOTHERM_STRIPES  Lustre stripes of the results' files; for files above 512 GB, 8 to 128

if [[ -z ${SLURM_JOB_ID:-} ]]; then
    echo "error: $0 is a job script; submit it to Slurm: sbatch $0 CONFIG [options]" >&2
    exit 2
fi
cd "${SLURM_SUBMIT_DIR:-.}" || exit 2
# shellcheck source=jobscripts/program.sh
. "$(dirname "${BASH_SOURCE[0]}")/program.sh"

job_say() { printf '%s job %s: %s\n' "$(date +%FT%T)" "${SLURM_JOB_ID:-none}" "$*"; }

job_die() {
    job_say "error: $*" >&2
    exit 2
}

# Slurm 22.05 does not set SLURM_JOB_END_TIME, newer versions do; squeue prints it in local time.
job_end_time() {
    local end
    [[ -z ${SLURM_JOB_END_TIME:-} && -n ${SLURM_JOB_ID:-} ]] || return 0
    end=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%e 2>/dev/null) || return 0
    end=$(date --date="$end" +%s 2>/dev/null) || return 0 # "UNLIMITED" is not a date
    export SLURM_JOB_END_TIME=$end
}

# job_cases FILE: the options of this task of a job array, on the line of its number, quoted as in
# a shell.
job_cases() {
    mapfile -d '' -t job_case < <(sed -n "${SLURM_ARRAY_TASK_ID:-1}p" "$1" | xargs -r printf '%s\0')
    ((${#job_case[@]} > 0)) || job_die "$1 has no line ${SLURM_ARRAY_TASK_ID:-1}"
}

# job_start PRESET ARGUMENTS...: determine the program and the output folder.
job_start() {
    local preset=$1 previous=
    shift
    (($# > 0)) || job_die "no CONFIG; usage: sbatch jobscripts/X.sbatch CONFIG [options]"
    if [[ ${2:-} == --cases ]]; then
        job_cases "${3:-}"
        set -- "$1" "${job_case[@]}" "${@:4}"
    fi
    job_arguments=("$@")
    job_program=${ISOTHERM:-$(isotherm_program "$preset")}
    command -v "$job_program" >/dev/null ||
        job_die "no program $job_program: build it, or set ISOTHERM"
    job_output=
    for word in "$@"; do
        case $previous/$word in
        --output/*) job_output=$word ;;
        */--output=*) job_output=${word#--output=} ;;
        esac
        previous=$word
    done
    if [[ -z $job_output ]]; then
        job_output=$(basename "$1")
        job_output=out/${job_output%.*}-${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}
        job_output+=${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}
        job_arguments+=(--output "$job_output")
    fi
    job_end_time
    if [[ -n ${ISOTHERM_STRIPES:-} ]] && mkdir -p "$job_output/checkpoints"; then
        # new files inherit the layout of their folder
        lfs setstripe -p capacity -S 16M -c "$ISOTHERM_STRIPES" "$job_output" \
            "$job_output/checkpoints" ||
            job_say "warning: lfs setstripe failed: files have the default layout"
    fi
    job_say "start ${SLURM_RESTART_COUNT:-0} on ${SLURM_JOB_NODELIST:-this machine}, results in" \
        "$job_output"
}

# The name of the newest checkpoint.
job_progress() { cat "$job_output/checkpoints/latest" 2>/dev/null || echo none; }

# Count the starts without a new checkpoint; false after ISOTHERM_TRIES of them.
job_may_try_again() {
    local before tries now file=$job_output/job_tries
    now=$(job_progress)
    before=none tries=0
    [[ ! -r $file ]] || read -r before tries <"$file"
    if [[ $before == "$now" ]]; then
        tries=$((tries + 1))
    else
        tries=0
    fi
    mkdir -p "$job_output" && echo "$now $tries" >"$file"
    ((tries < ${ISOTHERM_TRIES:-3})) ||
        { job_say "giving up: $tries starts without a checkpoint newer than $now"; return 1; }
}

# Requeue the job or not. 75: stopped in time. 4, and the codes above 128 of a launcher for killed
# ranks: perhaps a broken node, which may not be in the next job. If Slurm itself finds a broken
# node, it requeues the job without this function (--requeue). 2, 3 and 5 (wrong input, files,
# invalid values) would only occur again.
job_again() {
    local code=$1
    if ((code != 75 && code != 4 && code < 128)); then
        job_say "not requeued: exit code $code, and the error would only occur again"
    elif [[ -e $job_output/stop ]]; then
        job_say "not requeued: $job_output/stop exists; remove it to continue"
    elif [[ $code == 75 && -n ${ISOTHERM_CHAIN:-} ]]; then
        job_say "stopped in time; the next job of the chain resumes"
        exit 0
    elif job_may_try_again; then
        job_say "exit code $code: requeued, to resume from $(job_progress)"
        scontrol requeue "$SLURM_JOB_ID" || job_say "requeue failed: submit the same job again"
    fi
    exit "$code"
}

# job_run LAUNCHER...: `isotherm run` under srun or mpirun, then requeue or not. In the background,
# so that this shell receives signals; it passes TERM on as USR2, since mpirun kills on TERM.
job_run() {
    local pid code signalled
    # the program's own code: srun reports the largest of all ranks, 137 for a killed rank
    export ISOTHERM_EXIT_FILE=$PWD/isotherm-${SLURM_JOB_ID:-$$}.exit
    rm -f "$ISOTHERM_EXIT_FILE"
    "$@" "$job_program" run "${job_arguments[@]}" --restart auto &
    pid=$!
    trap 'signalled=1; kill -USR1 "$pid" 2>/dev/null' USR1
    trap 'signalled=1; kill -USR2 "$pid" 2>/dev/null' USR2 TERM
    while :; do
        signalled=
        code=0
        wait "$pid" || code=$?
        [[ -n $signalled ]] || break # otherwise a signal ended the wait, not the run
    done
    trap - USR1 USR2 TERM
    if [[ -s $ISOTHERM_EXIT_FILE ]]; then
        code=$(<"$ISOTHERM_EXIT_FILE")
        rm -f "$ISOTHERM_EXIT_FILE"
    fi
    job_say "isotherm ended with exit code $code"
    ((code != 0)) || { rm -f "$job_output/job_tries"; exit 0; }
    job_again "$code"
}
