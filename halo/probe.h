/* The first use of device memory by MPI: in a separate process, since a library that treats it as
 * host memory crashes. */
#ifndef ISOTHERM_HALO_PROBE_H
#define ISOTHERM_HALO_PROBE_H

#include <stdbool.h>

#include "base/status.h"
#include "kernels/backend.h"

/* A program that uses halos begins with: if (halo_probe_is_asked(argc, argv)) return
 * halo_probe_main(argc, argv). That starts MPI as a single process, sends device buffers to itself,
 * and reports the result to the process that started it. */
bool halo_probe_is_asked(int argc, char **argv);
int halo_probe_main(int argc, char **argv);

/* Not collective. Start this program as the probe, on the device of that rank, and wait for it.
 * STATUS_DEVICE, with the reason, when it crashed, hung, or received wrong bytes. If MPI does not
 * start without a launcher the result is unknown: STATUS_OK when `trusted`, or when the site has
 * enabled GPU support in MPICH. Runs once per process and backend; the result is kept. */
enum status halo_probe(const struct backend *backend, int node_rank, int node_size,
                       bool trusted) MUST_CHECK;

#endif
