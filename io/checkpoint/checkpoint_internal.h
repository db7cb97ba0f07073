/* What the parts of the checkpoint module share. */
#pragma once

#include <mpi.h>

#include "base/file.h"
#include "io/checkpoint/checkpoint.h"
#include "io/hdf5/h5.h"

enum { CHECKPOINT_SEAL_BYTES = 512, CHECKPOINT_FORMAT = 2 };

/* Collective, agreed. Write the seal and the checksums of a finished file, which must not be open
 * in HDF5. */
enum status checkpoint_seal_write(MPI_Comm comm, const char *path);
/* What that adds to a file of `bytes` bytes. */
uint64_t checkpoint_seal_table_bytes(uint64_t bytes);
/* Collective, agreed. STATUS_FILE, naming the damaged block, unless every byte of the file, the
 * seal included, is unchanged. */
enum status checkpoint_seal_check(MPI_Comm comm, const char *path);

/* The folder `directory`/checkpoints. */
enum status checkpoint_folder(const char *directory, char folder[PATH_BYTES]);
/* The attributes of a state. Those of adapted steps and of sources are kept if there are such. */
enum status checkpoint_state(hid_t dataset, struct checkpoint_state *state,
                             enum h5_direction direction);
/* Not collective. Let `folder`/latest name the checkpoint of that step. */
enum status checkpoint_name_latest(const char *folder, int64_t step);
