/* The first time that MPI gets pointers to device memory: in a process of its own, since a library
 * that takes them for host memory dies of them. */
#ifndef ISOTHERM_HALO_PROBE_H
#define ISOTHERM_HALO_PROBE_H

#include <stdbool.h>

#include "base/status.h"
#include "kernels/backend.h"

/* A program that uses halos begins with: if (halo_probe_is_asked(argc, argv)) return
 * halo_probe_main(argc, argv). It starts and ends MPI itself; a single process, without a launcher.
 * There it sends device buffers to itself and tells the starting process what came. */
bool halo_probe_is_asked(int argc, char **argv);
int halo_probe_main(int argc, char **argv);

/* Start this program as the probe, on the device of that rank, and wait for it. STATUS_DEVICE, with
 * the reason, when it crashed, hung, or found wrong bytes. Where it got nowhere near device memory,
 * because MPI does not start without a launcher, nothing is known: STATUS_OK when `trusted`, or
 * when the site has told its MPICH to support GPUs. Once a process and backend: what was found is
 * kept. Not collective. */
enum status halo_probe(const struct backend *backend, int node_rank, int node_size,
                       bool trusted) MUST_CHECK;

#endif
