/* The seal: 512 bytes of text in front of the HDF5 data, a function of two numbers (the file's
 * size and the checksum of all bytes behind it), so that damage to the seal itself shows too. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/comm.h"
#include "io/checkpoint_internal.h"

enum { BLOCK_BYTES = 1 << 20 };

struct seal {
    uint64_t size;
    uint64_t checksum;
};

static void seal_format(const struct seal *seal, char text[CHECKPOINT_SEAL_BYTES])
{
    char line[CHECKPOINT_SEAL_BYTES];
    const int length =
        snprintf(line, sizeof line, "ISOTHERM CHECKPOINT %d size=%" PRIu64 " xxh3=%016" PRIx64 "\n",
                 (int)CHECKPOINT_FORMAT, seal->size, seal->checksum);
    memset(text, ' ', CHECKPOINT_SEAL_BYTES);
    memcpy(text, line, (size_t)length);
    text[CHECKPOINT_SEAL_BYTES - 1] = '\n';
}

static enum status seal_parse(const char text[CHECKPOINT_SEAL_BYTES], struct seal *seal)
{
    char line[CHECKPOINT_SEAL_BYTES + 1];
    memcpy(line, text, CHECKPOINT_SEAL_BYTES);
    line[CHECKPOINT_SEAL_BYTES] = '\0';
    int format = 0;
    struct seal found;
    if (sscanf(line, "ISOTHERM CHECKPOINT %d size=%" SCNu64 " xxh3=%" SCNx64, &format, &found.size,
               &found.checksum) != 3) {
        return fail(STATUS_FILE, "it does not start with the seal of a checkpoint");
    }
    char again[CHECKPOINT_SEAL_BYTES];
    seal_format(&found, again);
    if (format == CHECKPOINT_FORMAT && memcmp(again, text, CHECKPOINT_SEAL_BYTES) != 0) {
        return fail(STATUS_FILE, "its seal is damaged");
    }
    if (format != CHECKPOINT_FORMAT) {
        return fail(STATUS_FILE, "it has format %d and this program reads format %d", format,
                    (int)CHECKPOINT_FORMAT);
    }
    *seal = found;
    return STATUS_OK;
}

static enum status read_at(int fd, uint64_t offset, size_t bytes, void *buffer)
{
    size_t done = 0;
    while (done < bytes) {
        const ssize_t n = pread(fd, (char *)buffer + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fail(STATUS_FILE, "it cannot be read: %s", strerror(errno));
        }
        if (n == 0) {
            return fail(STATUS_FILE, "it ends too early");
        }
        done += (size_t)n;
    }
    return STATUS_OK;
}

/* This rank's share: the blocks are dealt in contiguous runs. */
static enum status sum_blocks(int fd, uint64_t size, int rank, int nranks, uint64_t *sum)
{
    unsigned char *block = malloc(BLOCK_BYTES);
    if (block == NULL) {
        return fail(STATUS_MEMORY, "no memory for a buffer of %d bytes", (int)BLOCK_BYTES);
    }
    const uint64_t body = size - CHECKPOINT_SEAL_BYTES;
    const uint64_t blocks = (body + BLOCK_BYTES - 1) / BLOCK_BYTES;
    const uint64_t first = blocks * (uint64_t)rank / (uint64_t)nranks;
    const uint64_t last = blocks * ((uint64_t)rank + 1) / (uint64_t)nranks;
    enum status status = STATUS_OK;
    *sum = 0;
    for (uint64_t b = first; status == STATUS_OK && b < last; b++) {
        const uint64_t begin = b * BLOCK_BYTES;
        const uint64_t left = body - begin;
        const size_t bytes = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        status = read_at(fd, CHECKPOINT_SEAL_BYTES + begin, bytes, block);
        /* the number as the seed: exchanged blocks change the sum */
        *sum += XXH3_64bits_withSeed(block, bytes, b);
    }
    free(block);
    return status;
}

/* Collective, agreed. */
static enum status checksum(MPI_Comm comm, int fd, uint64_t size, uint64_t *sum)
{
    uint64_t mine = 0;
    uint64_t all = 0;
    TRY(status_agree(comm, sum_blocks(fd, size, comm_rank(comm), comm_size(comm), &mine)));
    TRY_MPI(MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, comm));
    *sum = all;
    return STATUS_OK;
}

/* Collective, agreed: open on every rank, and rank 0's idea of the size. */
static enum status open_everywhere(MPI_Comm comm, const char *path, int *fd, uint64_t *size)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat found = {0};
    enum status status = STATUS_OK;
    if (*fd < 0 || fstat(*fd, &found) != 0) {
        status = fail(STATUS_FILE, "it cannot be opened: %s", strerror(errno));
    } else if (found.st_size < CHECKPOINT_SEAL_BYTES) {
        status = fail(STATUS_FILE, "it ends too early");
    }
    TRY(status_agree(comm, status));
    *size = (uint64_t)found.st_size;
    TRY_MPI(MPI_Bcast(size, 1, MPI_UINT64_T, 0, comm));
    return STATUS_OK;
}

static enum status put_seal(const char *path, const struct seal *seal)
{
    char text[CHECKPOINT_SEAL_BYTES];
    seal_format(seal, text);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(STATUS_FILE, "it cannot be opened: %s", strerror(errno));
    }
    const bool written = pwrite(fd, text, sizeof text, 0) == (ssize_t)sizeof text;
    const bool synced = written && fsync(fd) == 0;
    const int reason = errno;
    if (close(fd) != 0 || !synced) {
        return fail(STATUS_FILE, "its seal cannot be written: %s",
                    strerror(synced ? errno : reason));
    }
    return STATUS_OK;
}

enum status checkpoint_seal_write(MPI_Comm comm, const char *path)
{
    int fd = -1;
    struct seal seal = {0};
    enum status status = open_everywhere(comm, path, &fd, &seal.size);
    if (status == STATUS_OK) {
        status = checksum(comm, fd, seal.size, &seal.checksum);
    }
    if (fd >= 0) {
        close(fd);
    }
    TRY(status);
    return status_agree(comm, comm_rank(comm) == 0 ? put_seal(path, &seal) : STATUS_OK);
}

static enum status check_open_file(MPI_Comm comm, int fd, uint64_t size)
{
    struct seal seal = {0};
    char text[CHECKPOINT_SEAL_BYTES];
    enum status status = read_at(fd, 0, sizeof text, text);
    if (status == STATUS_OK) {
        status = seal_parse(text, &seal);
    }
    if (status == STATUS_OK && seal.size != size) {
        status = fail(STATUS_FILE, "it has %" PRIu64 " bytes instead of %" PRIu64, size, seal.size);
    }
    TRY(status_agree(comm, status));
    uint64_t sum = 0;
    TRY(checksum(comm, fd, size, &sum));
    if (sum != seal.checksum) {
        status = fail(STATUS_FILE, "its bytes do not match its checksum");
    }
    return status_agree(comm, status);
}

enum status checkpoint_seal_check(MPI_Comm comm, const char *path)
{
    int fd = -1;
    uint64_t size = 0;
    enum status status = open_everywhere(comm, path, &fd, &size);
    if (status == STATUS_OK) {
        status = check_open_file(comm, fd, size);
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}
