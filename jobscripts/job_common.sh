#!/usr/bin/env bash
# What the job scripts share: the words of the job, Slurm's end time, running, and what then.
# Sourced by *.sbatch after `cd` to the folder of submission, not run by itself.
#
#   sbatch [sbatch's options] jobscripts/X.sbatch CONFIG [options of `isotherm run`]
#
# Without --output the results go to out/<name of CONFIG>-<job number>; a job that is requeued
# keeps its number and goes on with the checkpoints there. These variables may be set (before
# sbatch, which hands the environment on):
#
#   ISOTHERM          the program (build/<preset of the script>/isotherm)
#   ISOTHERM_TRIES    starts without a new checkpoint before the job gives up (3)
#   ISOTHERM_CHAIN    1: a job that was stopped in time ends with 0 instead of being requeued, and
#                     the next job of the chain goes on (jobscripts/chain.sh)
#   ISOTHERM_STRIPES  Lustre stripes of the results' files; for files above 512 GB, 8 to 128

job_say() { printf '%s job %s: %s\n' "$(date +%FT%T)" "${SLURM_JOB_ID:-none}" "$*"; }

job_die() {
    job_say "error: $*" >&2
    exit 2
}

# Slurm 22.05 does not tell a job when it will end, newer ones do; squeue does, in local time.
job_end_time() {
    local end
    [[ -z ${SLURM_JOB_END_TIME:-} && -n ${SLURM_JOB_ID:-} ]] || return 0
    end=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%e 2>/dev/null) || return 0
    end=$(date --date="$end" +%s 2>/dev/null) || return 0 # "UNLIMITED" is no date
    export SLURM_JOB_END_TIME=$end
}

# job_start PRESET WORDS...: find the program and the folder for the results.
job_start() {
    local preset=$1 previous=
    shift
    (($# > 0)) || job_die "which CONFIG? usage: sbatch jobscripts/X.sbatch CONFIG [options]"
    job_words=("$@")
    job_program=${ISOTHERM:-$ISOTHERM_ROOT/build/$preset/isotherm}
    command -v "$job_program" >/dev/null || job_die "no program $job_program; set ISOTHERM"
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
        job_words+=(--output "$job_output")
    fi
    job_end_time
    if [[ -n ${ISOTHERM_STRIPES:-} ]] && mkdir -p "$job_output/checkpoints"; then
        # new files take the layout of their folder
        lfs setstripe -p capacity -S 16M -c "$ISOTHERM_STRIPES" "$job_output" \
            "$job_output/checkpoints" || job_say "no striping: results get the default layout"
    fi
    job_say "start ${SLURM_RESTART_COUNT:-0} on ${SLURM_JOB_NODELIST:-this machine}, results in" \
        "$job_output"
}

# Where the last job came to: the name of the newest checkpoint.
job_progress() { cat "$job_output/checkpoints/latest" 2>/dev/null || echo none; }

# Count the starts that brought no new checkpoint; false when it was one too many.
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
        { job_say "giving up: $tries starts brought no checkpoint newer than $now"; return 1; }
}

# What the exit code asks for. 75: stopped in time with a good checkpoint. 4 and what a launcher
# reports of killed ranks (above 128): maybe a broken node, which may not be in the next job; a
# node that Slurm itself finds broken makes it requeue the job without asking here (--requeue).
# 2, 3 and 5 (wrong input, files, numbers) would only happen again.
job_again() {
    local code=$1
    if ((code != 75 && code != 4 && code < 128)); then
        job_say "not requeued: exit code $code would only happen again"
    elif [[ -e $job_output/stop ]]; then
        job_say "not requeued: $job_output/stop asks to stop; remove it to go on"
    elif [[ $code == 75 && -n ${ISOTHERM_CHAIN:-} ]]; then
        job_say "stopped in time; the next job of the chain goes on"
        exit 0
    elif job_may_try_again; then
        job_say "exit code $code: requeued, to go on from $(job_progress)"
        scontrol requeue "$SLURM_JOB_ID" || job_say "no requeue; submit the same line again"
    fi
    exit "$code"
}

# job_run LAUNCHER...: `isotherm run` under srun or mpirun, then the verdict. In the background,
# so that this shell hears signals; it hands them on as USR2, since mpirun kills on TERM.
job_run() {
    local pid code signalled
    # the program's own code: srun's is the greatest of all ranks, 137 for one that it had to kill
    export ISOTHERM_EXIT_FILE=$PWD/isotherm-${SLURM_JOB_ID:-$$}.exit
    rm -f "$ISOTHERM_EXIT_FILE"
    "$@" "$job_program" run "${job_words[@]}" --restart auto &
    pid=$!
    trap 'signalled=1; kill -USR1 "$pid" 2>/dev/null' USR1
    trap 'signalled=1; kill -USR2 "$pid" 2>/dev/null' USR2 TERM
    while :; do
        signalled=
        code=0
        wait "$pid" || code=$?
        [[ -n $signalled ]] || break # else a signal ended the wait, not the run
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
