/* The first use of device memory by MPI: in a separate process, since a library that treats it as
 * host memory crashes. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "base/status.h"
#include "kernels/backend.h"

/* A program that uses halos begins with: if (halo_probe_is_asked(argc, argv)) return
 * halo_probe_main(argc, argv). That starts MPI as a single process, sends device buffers to itself,
 * and reports the result to the process that started it. */
bool halo_probe_is_asked(int argc, char **argv);
int halo_probe_main(int argc, char **argv);

/* Collective. On one rank per node, start this program as the probe and wait for it. `why`: the
 * reason why MPI cannot be given device memory: the probe crashed, hung, or received wrong bytes;
 * "": it can, or the host can access that memory. If MPI does not start without a launcher the
 * result is unknown: "" when `trusted`, or when the site has enabled GPU support in MPICH. The
 * probe runs once per process and backend. Fails with STATUS_MPI, not agreed, when MPI itself
 * fails. */
enum status halo_probe(MPI_Comm comm, const struct backend *backend, bool trusted, char *why,
                       size_t why_bytes);
