# shellcheck shell=bash
# One machine, such as a laptop or a container: `isotherm` and `mpirun` work as typed, and Tab
# completes the words of `isotherm`. For bash and zsh, in a source tree and in an installation:
#   . jobscripts/env_local.sh
# (zsh has no BASH_SOURCE; there $0 is this file.)
isotherm_bin=$(dirname "$(bash "$(dirname "${BASH_SOURCE[0]:-$0}")/program.sh" cpu)")
case :$PATH: in
*":$isotherm_bin:"*) ;;
*) export PATH=$isotherm_bin:$PATH ;;
esac
if [ "$(id -u)" = 0 ]; then
    # mpirun refuses to start as root, as in containers, unless both are set
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# mpirun refuses more ranks than cores unless this is set
export OMPI_MCA_rmaps_base_oversubscribe=1
# ranks and threads that wait give up their core; otherwise, with more of them than cores, each
# spins while the others need the core, and a run takes ten times as long
export OMPI_MCA_mpi_yield_when_idle=1 OMP_WAIT_POLICY=passive

for isotherm_share in "$isotherm_bin/share" "$isotherm_bin/../share"; do
    case $-,${BASH_VERSION:+bash} in
    *i*,bash)
        if [ -r "$isotherm_share/bash-completion/completions/isotherm" ]; then
            # shellcheck disable=SC1091 # made by the build
            . "$isotherm_share/bash-completion/completions/isotherm"
        fi
        ;;
    *i*,)
        if [ -r "$isotherm_share/zsh/site-functions/_isotherm" ] && command -v compdef >/dev/null
        then
            autoload -Uz "$isotherm_share/zsh/site-functions/_isotherm"
            compdef _isotherm isotherm
        fi
        ;;
    esac
done
unset isotherm_bin isotherm_share
