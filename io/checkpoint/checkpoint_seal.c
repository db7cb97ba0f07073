/* The seal: 512 bytes of text before the HDF5 data, determined by three numbers, so that damage to
 * the seal itself is found too: the file's size, the number of blocks, and the checksum of their
 * table. The table follows the HDF5 data: the checksum of each block of 1 MiB between the two. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/comm.h"
#include "io/checkpoint/checkpoint_internal.h"
#include "io/raw/raw.h"

enum { BLOCK_BYTES = 1 << 20 };

struct seal {
    uint64_t size;
    uint64_t blocks;
    uint64_t checksum;
};

static void seal_format(const struct seal *seal, char text[CHECKPOINT_SEAL_BYTES])
{
    char line[CHECKPOINT_SEAL_BYTES];
    const int length =
        snprintf(line, sizeof line,
                 "ISOTHERM CHECKPOINT %d size=%" PRIu64 " blocks=%" PRIu64 " xxh3=%016" PRIx64 "\n",
                 (int)CHECKPOINT_FORMAT, seal->size, seal->blocks, seal->checksum);
    memset(text, ' ', CHECKPOINT_SEAL_BYTES);
    memcpy(text, line, (size_t)length);
    text[CHECKPOINT_SEAL_BYTES - 1] = '\n';
}

static uint64_t blocks_of(uint64_t body)
{
    return (body + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

/* What the blocks cover. */
static uint64_t body_of(const struct seal *seal)
{
    return seal->size - CHECKPOINT_SEAL_BYTES - seal->blocks * sizeof(uint64_t);
}

static bool fits(const struct seal *seal)
{
    return seal->size >= CHECKPOINT_SEAL_BYTES &&
           seal->blocks <= (seal->size - CHECKPOINT_SEAL_BYTES) / sizeof(uint64_t) &&
           seal->blocks == blocks_of(body_of(seal));
}

static enum status seal_parse(const char text[CHECKPOINT_SEAL_BYTES], struct seal *seal)
{
    char line[CHECKPOINT_SEAL_BYTES + 1];
    memcpy(line, text, CHECKPOINT_SEAL_BYTES);
    line[CHECKPOINT_SEAL_BYTES] = '\0';
    int format = 0;
    struct seal found;
    FAIL_IF(sscanf(line, "ISOTHERM CHECKPOINT %d size=", &format) != 1,
            fail(STATUS_FILE, "it does not start with the seal of a checkpoint"));
    FAIL_IF(format != CHECKPOINT_FORMAT,
            fail(STATUS_FILE, "it has format %d and this program reads format %d", format,
                 (int)CHECKPOINT_FORMAT));
    char again[CHECKPOINT_SEAL_BYTES];
    if (sscanf(line, "ISOTHERM CHECKPOINT %*d size=%" SCNu64 " blocks=%" SCNu64 " xxh3=%" SCNx64,
               &found.size, &found.blocks, &found.checksum) != 3) {
        return fail(STATUS_FILE, "its seal is damaged");
    }
    seal_format(&found, again);
    FAIL_IF(memcmp(again, text, CHECKPOINT_SEAL_BYTES) != 0,
            fail(STATUS_FILE, "its seal is damaged"));
    *seal = found;
    return STATUS_OK;
}

/* The body as a dataset of bytes; a block is a line, whose number is the seed: swapped blocks are
 * found. */
static struct raw_place place_of(uint64_t body)
{
    return (struct raw_place){.offset = CHECKPOINT_SEAL_BYTES,
                              .cells = {(int64_t)body, 1, 1},
                              .value_bytes = 1,
                              .line_cells = BLOCK_BYTES,
                              .block_lines = 1,
                              .blocks = (int64_t)blocks_of(body)};
}

/* Collective, agreed: zeros, for `blocks` checksums; caller frees. */
static enum status table_create(MPI_Comm comm, uint64_t blocks, uint64_t **table)
{
    *table = calloc((size_t)blocks + 1, sizeof **table);
    return status_agree(
        comm, CHECK_MEMORY(*table != NULL, "no memory for %" PRIu64 " checksums", blocks));
}

static uint64_t sum_table(const uint64_t *table, uint64_t blocks)
{
    return XXH3_64bits(table, (size_t)blocks * sizeof *table);
}

/* Collective, agreed: open on every rank; the size that rank 0 finds. */
static enum status open_everywhere(MPI_Comm comm, const char *path, int *fd, uint64_t *size)
{
    /* of a pipe an open that waits would wait for a writer */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat found = {0};
    enum status status = STATUS_OK;
    if (*fd < 0 || fstat(*fd, &found) != 0) {
        status = fail(STATUS_FILE, "it cannot be opened: %s", strerror(errno));
    } else if (!S_ISREG(found.st_mode)) {
        status = fail(STATUS_FILE, "it is not a regular file");
    } else if (found.st_size < CHECKPOINT_SEAL_BYTES) {
        status = fail(STATUS_FILE, "it ends too early");
    }
    TRY(status_agree(comm, status));
    *size = (uint64_t)found.st_size;
    TRY_MPI(MPI_Bcast(size, 1, MPI_UINT64_T, 0, comm));
    return STATUS_OK;
}

static enum status put_all(int fd, const struct seal *seal, const uint64_t *table)
{
    char text[CHECKPOINT_SEAL_BYTES];
    seal_format(seal, text);
    TRY(file_write_at(fd, "its checksums", table, (size_t)seal->blocks * sizeof *table,
                      CHECKPOINT_SEAL_BYTES + body_of(seal)));
    return file_write_at(fd, "its seal", text, sizeof text, 0);
}

/* Rank 0. */
static enum status put_seal(const char *path, const struct seal *seal, const uint64_t *table)
{
    int fd = -1;
    TRY(file_open(path, O_WRONLY, &fd));
    return file_close(fd, "its seal", put_all(fd, seal, table));
}

enum status checkpoint_seal_write(MPI_Comm comm, const char *path)
{
    SCOPED_FD int fd = -1;
    uint64_t end = 0;
    SCOPED_FREE uint64_t *table = NULL;
    struct raw_place place;
    struct seal seal = {0};
    TRY(open_everywhere(comm, path, &fd, &end));
    seal.blocks = blocks_of(end - CHECKPOINT_SEAL_BYTES);
    seal.size = end + seal.blocks * sizeof *table;
    TRY(table_create(comm, seal.blocks, &table));
    place = place_of(body_of(&seal));
    TRY(raw_sum(comm, path, &place, table, NULL));
    seal.checksum = sum_table(table, seal.blocks);
    return status_agree(comm, comm_rank(comm) == 0 ? put_seal(path, &seal, table) : STATUS_OK);
}

/* ---- checking ------------------------------------------------------------------------------- */

static enum status read_seal(int fd, uint64_t size, struct seal *seal)
{
    char text[CHECKPOINT_SEAL_BYTES];
    TRY(file_read_at(fd, "it", text, sizeof text, 0));
    TRY(seal_parse(text, seal));
    FAIL_IF(seal->size != size,
            fail(STATUS_FILE, "it has %" PRIu64 " bytes instead of %" PRIu64, size, seal->size));
    return fits(seal) ? STATUS_OK : fail(STATUS_FILE, "its seal is damaged");
}

static enum status read_table(int fd, const struct seal *seal, uint64_t *table)
{
    TRY(file_read_at(fd, "it", table, (size_t)seal->blocks * sizeof *table,
                     CHECKPOINT_SEAL_BYTES + body_of(seal)));
    return sum_table(table, seal->blocks) == seal->checksum
               ? STATUS_OK
               : fail(STATUS_FILE, "its table of checksums is damaged");
}

enum status checkpoint_seal_check(MPI_Comm comm, const char *path)
{
    SCOPED_FD int fd = -1;
    uint64_t size = 0;
    SCOPED_FREE uint64_t *table = NULL;
    struct seal seal = {0};
    TRY(open_everywhere(comm, path, &fd, &size));
    TRY(status_agree(comm, read_seal(fd, size, &seal)));
    TRY(table_create(comm, seal.blocks, &table));
    TRY(status_agree(comm, read_table(fd, &seal, table)));
    const struct raw_place place = place_of(body_of(&seal));
    return raw_check(comm, path, NULL, &place, table, NULL);
}

uint64_t checkpoint_seal_table_bytes(uint64_t bytes)
{
    return blocks_of(bytes) * sizeof(uint64_t);
}
