/* The seal: any changed byte, any missing or added one, is found. */
#include "io_rig.h"

#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/checkpoint/checkpoint_internal.h"

static void in_folder(const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%.2000s/%s", rig_folder, name);
}

static void flip(int fd, off_t at, unsigned char bits)
{
    unsigned char byte = 0;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= bits;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

/* A checkpoint of a few KiB; returns its size. */
static off_t write_small(char path[PATH_BYTES])
{
    static const int64_t cells[AXIS_COUNT] = {4, 3, 2};
    struct rig rig;
    rig_open(&rig, 1, cells, PRECISION_FLOAT64, "cpu");
    rig_write_checkpoint(&rig, rig_folder, 1, 1);
    rig_close(&rig);
    MPI_Barrier(MPI_COMM_WORLD);
    in_folder("checkpoints/step_0000000001.h5", path);
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    assert_in_range(found.st_size, 2000, 100000);
    return found.st_size;
}

/* On rank 0 alone: every bit of the seal, and one bit of every other byte. */
TEST(test_flipped_bits)
{
    char path[PATH_BYTES];
    const off_t size = write_small(path);
    if (comm_rank(MPI_COMM_WORLD) != 0) {
        return;
    }
    must(checkpoint_seal_check(MPI_COMM_SELF, path));
    const int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    off_t missed = 0;
    for (off_t at = 0; at < size; at++) {
        const int first = at < CHECKPOINT_SEAL_BYTES ? 0 : (int)(at % 8);
        const int last = at < CHECKPOINT_SEAL_BYTES ? 7 : first;
        for (int bit = first; bit <= last; bit++) {
            flip(fd, at, (unsigned char)(1U << bit));
            missed += checkpoint_seal_check(MPI_COMM_SELF, path) != STATUS_FILE;
            flip(fd, at, (unsigned char)(1U << bit));
        }
    }
    close(fd);
    assert_int_equal(missed, 0);
    must(checkpoint_seal_check(MPI_COMM_SELF, path));
}

TEST(test_other_lengths)
{
    char path[PATH_BYTES];
    const off_t size = write_small(path);
    if (comm_rank(MPI_COMM_WORLD) != 0) {
        return;
    }
    assert_int_equal(truncate(path, size + 1), 0);
    must_fail(STATUS_FILE, "bytes instead of", checkpoint_seal_check(MPI_COMM_SELF, path));
    off_t missed = 0;
    for (off_t length = size - 1; length >= 0; length--) {
        assert_int_equal(truncate(path, length), 0);
        missed += checkpoint_seal_check(MPI_COMM_SELF, path) != STATUS_FILE;
    }
    assert_int_equal(missed, 0);
}

/* Whatever the damage, reading says STATUS_FILE and does not get as far as HDF5. */
TEST(test_reading_damaged)
{
    static const int64_t cells[AXIS_COUNT] = {4, 3, 2};
    struct rig rig;
    struct checkpoint_state state;
    char path[PATH_BYTES];
    const off_t size = write_small(path);
    rig_open(&rig, 1, cells, PRECISION_FLOAT64, "cpu");
    for (off_t at = 3; rig_has(&rig) && at < size; at += 97) {
        const int fd = open(path, O_RDWR);
        flip(fd, at, 0x40);
        must_fail(STATUS_FILE, "cannot be used", rig_read(&rig, path, &state));
        flip(fd, at, 0x40);
        close(fd);
    }
    rig_close(&rig);
}

/* Several blocks: the same seal for any number of ranks; exchanged blocks show, and a damaged one
 * is named. */
TEST(test_blocks)
{
    enum { BLOCK = 1 << 20, BYTES = CHECKPOINT_SEAL_BYTES + 3 * BLOCK + 12345 };
    char path[PATH_BYTES];
    char *content = malloc(BYTES);
    assert_non_null(content);
    for (size_t b = 0; b < BYTES; b++) {
        content[b] = (char)(b * b / 7 + b / BLOCK);
    }
    in_folder("blocks", path);
    const bool first = comm_rank(MPI_COMM_WORLD) == 0;
    must(status_agree(MPI_COMM_WORLD, first ? file_replace(path, content, BYTES) : STATUS_OK));
    must(checkpoint_seal_write(MPI_COMM_WORLD, path));
    must(checkpoint_seal_check(MPI_COMM_WORLD, path));
    must(checkpoint_seal_check(MPI_COMM_SELF, path));
    MPI_Barrier(MPI_COMM_WORLD);
    char *block = content + CHECKPOINT_SEAL_BYTES;
    const int fd = open(path, O_RDWR);
    if (first) {
        assert_int_equal(pwrite(fd, block, BLOCK, CHECKPOINT_SEAL_BYTES + BLOCK), BLOCK);
        assert_int_equal(pwrite(fd, block + BLOCK, BLOCK, CHECKPOINT_SEAL_BYTES), BLOCK);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    must_fail(STATUS_FILE, "block 1 of 4 is damaged, bytes 512 to 1049087",
              checkpoint_seal_check(MPI_COMM_WORLD, path));
    MPI_Barrier(MPI_COMM_WORLD);
    if (first) {
        assert_int_equal(pwrite(fd, block, 2 * BLOCK, CHECKPOINT_SEAL_BYTES), 2 * BLOCK);
        assert_int_equal(pwrite(fd, "?", 1, BYTES - 1), 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    must_fail(STATUS_FILE, "block 4 of 4 is damaged, bytes 3146240 to 3158584",
              checkpoint_seal_check(MPI_COMM_WORLD, path));
    MPI_Barrier(MPI_COMM_WORLD);
    if (first) {
        assert_int_equal(pwrite(fd, block + 3 * BLOCK + 12344, 1, BYTES - 1), 1);
        flip(fd, BYTES + 9, 0x10);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    must_fail(STATUS_FILE, "its table of checksums is damaged",
              checkpoint_seal_check(MPI_COMM_WORLD, path));
    close(fd);
    free(content);
}

/* Many blocks: the same seal from one thread and from several, and the first damaged one is named.
 */
TEST(test_threads)
{
    enum { BLOCK = 1 << 20, BLOCKS = 39, BYTES = CHECKPOINT_SEAL_BYTES + BLOCKS * BLOCK - 9 };
    char path[PATH_BYTES];
    char *content = malloc(BYTES);
    char *sealed[2];
    size_t nbytes[2];
    assert_non_null(content);
    for (size_t b = 0; b < BYTES; b++) {
        content[b] = (char)(b * b / 7 + b / BLOCK);
    }
    in_folder("many", path);
    const bool first = comm_rank(MPI_COMM_WORLD) == 0;
    for (int n = 0; n < 2; n++) {
        omp_set_num_threads(n == 0 ? 1 : 4);
        must(status_agree(MPI_COMM_WORLD, first ? file_replace(path, content, BYTES) : STATUS_OK));
        must(checkpoint_seal_write(MPI_COMM_WORLD, path));
        must(checkpoint_seal_check(MPI_COMM_WORLD, path));
        must(file_read_all(path, SIZE_MAX / 2, &sealed[n], &nbytes[n]));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    assert_int_equal(nbytes[0], nbytes[1]);
    assert_memory_equal(sealed[0], sealed[1], nbytes[0]);
    for (int block = BLOCKS - 1; block > 0; block -= 12) {
        if (first) {
            const int fd = open(path, O_RDWR);
            flip(fd, CHECKPOINT_SEAL_BYTES + (off_t)block * BLOCK, 1);
            close(fd);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "block %d of %d is damaged", block + 1, (int)BLOCKS);
        must_fail(STATUS_FILE, wanted, checkpoint_seal_check(MPI_COMM_WORLD, path));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    omp_set_num_threads(1);
    free(sealed[1]);
    free(sealed[0]);
    free(content);
}

TEST_MAIN_RANKS(rig_begin, NULL)
