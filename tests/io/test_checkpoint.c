/* Checkpoints: exact on any other rank count, and never worse than the one before. */
#include "io_rig.h"
#include "tests/io/checkpoint_both.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const int64_t SMALL[AXIS_COUNT] = {7, 5, 6};

static void in_folder(const char *directory, const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%.2000s/checkpoints/%s", directory, name);
}

static int world_size(void)
{
    return comm_size(MPI_COMM_WORLD);
}

static bool exists(const char *directory, const char *name)
{
    char path[PATH_BYTES];
    in_folder(directory, name, path);
    return file_exists(path);
}

static void expect_state(struct rig *rig, const struct checkpoint_state *found, int64_t step)
{
    const struct checkpoint_state wanted = rig_state(rig, step);
    assert_int_equal(found->step, wanted.step);
    assert_true(found->time == wanted.time);
    assert_true(found->field_hash == wanted.field_hash);
    assert_memory_equal(&found->ledger, &wanted.ledger, sizeof wanted.ledger);
}

static void round_trip(int writers, int readers, const int64_t cells[AXIS_COUNT],
                       enum precision precision, const char *backend)
{
    struct rig rig;
    rig_open(&rig, writers, cells, precision, backend);
    rig_write_checkpoint(&rig, rig_folder, 12, 2);
    rig_close(&rig);

    MPI_Barrier(MPI_COMM_WORLD);
    rig_open(&rig, readers, cells, precision, backend);
    if (rig_has(&rig)) {
        char path[PATH_BYTES];
        struct checkpoint_state state;
        in_folder(rig_folder, "step_0000000012.h5", path);
        must(rig_read(&rig, path, &state));
        rig_expect_rough(&rig, 12);
        expect_state(&rig, &state, 12);
    }
    rig_close(&rig);
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(test_round_trips)
{
    static const int64_t shapes[][AXIS_COUNT] = {{31, 1, 1}, {9, 14, 1}, {7, 5, 6}, {33, 17, 21}};
    for (int writers = 1; writers <= world_size(); writers++) {
        for (int readers = 1; readers <= world_size(); readers++) {
            for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
                const enum precision precision = (enum precision)((s + (size_t)readers) % 2);
                round_trip(writers, readers, shapes[s], precision, s % 2 == 0 ? "cpu" : "guard");
                round_trip(writers, readers, shapes[s], precision, s % 2 == 0 ? "guard" : "cpu");
            }
        }
    }
}

TEST(test_names_and_keep)
{
    struct rig rig;
    folder_make_empty(rig_folder);
    rig_open(&rig, world_size(), SMALL, PRECISION_FLOAT64, "cpu");
    rig_write_checkpoint(&rig, rig_folder, 10, 2);
    rig_write_checkpoint(&rig, rig_folder, 20, 2);
    rig_write_checkpoint(&rig, rig_folder, 30, 2);
    MPI_Barrier(rig.comm);
    assert_false(exists(rig_folder, "step_0000000010.h5"));
    assert_true(exists(rig_folder, "step_0000000020.h5"));
    assert_true(exists(rig_folder, "step_0000000030.h5"));
    char path[PATH_BYTES];
    char *text = NULL;
    size_t bytes = 0;
    in_folder(rig_folder, "latest", path);
    must(file_read_all(path, 1000, &text, &bytes));
    assert_string_equal(text, "step_0000000030.h5\n");
    free(text);

    /* restarted from step 20: what the given-up run left past it must not be found again */
    rig_write_checkpoint(&rig, rig_folder, 25, 2);
    MPI_Barrier(rig.comm);
    assert_false(exists(rig_folder, "step_0000000030.h5"));
    assert_true(exists(rig_folder, "step_0000000025.h5"));
    assert_true(exists(rig_folder, "step_0000000020.h5"));
    rig_close(&rig);
}

static void read_whole(const char *directory, const char *name, char **bytes, size_t *nbytes)
{
    char path[PATH_BYTES];
    in_folder(directory, name, path);
    must(file_read_all(path, 1 << 20, bytes, nbytes));
}

/* Of a file system where files are written over. */
static bool tells_who_reads(void)
{
    struct statfs found;
    assert_int_equal(statfs(rig_folder, &found), 0);
    return found.f_type == EXT4_SUPER_MAGIC || found.f_type == XFS_SUPER_MAGIC ||
           found.f_type == TMPFS_MAGIC;
}

/* The file of step 10 becomes that of step 30, with the same bytes as a fresh one; unless it has
 * another name or somebody reads it. */
TEST(test_overwriting)
{
    enum { PLAIN, LINKED, READ, CASES };
    struct rig rig;
    rig_open(&rig, world_size(), SMALL, PRECISION_FLOAT64, "cpu");
    folder_make_empty(rig_folder);
    rig_write_checkpoint(&rig, rig_folder, 30, 1);
    MPI_Barrier(rig.comm);
    char *fresh = NULL;
    size_t nfresh = 0;
    read_whole(rig_folder, "step_0000000030.h5", &fresh, &nfresh);
    for (int kind = 0; kind < CASES; kind++) {
        char path[PATH_BYTES];
        char link_path[PATH_BYTES];
        struct stat old;
        struct stat new;
        int fd = -1;
        folder_make_empty(rig_folder);
        rig_write_checkpoint(&rig, rig_folder, 10, 1);
        MPI_Barrier(rig.comm);
        in_folder(rig_folder, "step_0000000010.h5", path);
        in_folder(rig_folder, "copy.h5", link_path);
        char *before = NULL;
        size_t nbefore = 0;
        read_whole(rig_folder, "step_0000000010.h5", &before, &nbefore);
        assert_int_equal(stat(path, &old), 0);
        MPI_Barrier(rig.comm);
        if (comm_rank(rig.comm) == 0) {
            fd = kind == READ ? open(path, O_RDONLY) : -1;
            assert_true(kind != LINKED || link(path, link_path) == 0);
        }
        rig_write_checkpoint(&rig, rig_folder, 20, 1);
        rig_write_checkpoint(&rig, rig_folder, 30, 1);
        MPI_Barrier(rig.comm);
        in_folder(rig_folder, "step_0000000030.h5", path);
        assert_int_equal(stat(path, &new), 0);
        assert_true(kind == PLAIN || new.st_ino != old.st_ino);
        assert_true(kind != PLAIN || !tells_who_reads() || new.st_ino == old.st_ino);
        char *after = NULL;
        size_t nafter = 0;
        read_whole(rig_folder, "step_0000000030.h5", &after, &nafter);
        assert_int_equal(nafter, nfresh);
        assert_memory_equal(after, fresh, nfresh);
        free(after);
        if (fd >= 0) {
            char *kept = malloc(nbefore);
            assert_int_equal(pread(fd, kept, nbefore, 0), (ssize_t)nbefore);
            assert_memory_equal(kept, before, nbefore);
            free(kept);
            close(fd);
        }
        if (kind == LINKED) {
            read_whole(rig_folder, "copy.h5", &after, &nafter);
            assert_memory_equal(after, before, nbefore);
            free(after);
        }
        free(before);
        MPI_Barrier(rig.comm);
    }
    free(fresh);
    rig_close(&rig);
}

static void put_file(const char *path, const char *text)
{
    if (comm_rank(MPI_COMM_WORLD) == 0) {
        must(file_replace(path, text, strlen(text)));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(test_stale_temporaries)
{
    struct rig rig;
    char stale[PATH_BYTES];
    char strange[PATH_BYTES];
    folder_make_empty(rig_folder);
    rig_open(&rig, world_size(), SMALL, PRECISION_FLOAT64, "cpu");
    rig_write_checkpoint(&rig, rig_folder, 10, 2);
    in_folder(rig_folder, "step_0000000015.h5.tmp", stale);
    in_folder(rig_folder, "notes.tmp", strange);
    put_file(stale, "half a checkpoint");
    put_file(strange, "somebody's notes");
    rig_write_checkpoint(&rig, rig_folder, 20, 2);
    MPI_Barrier(rig.comm);
    assert_false(file_exists(stale));
    assert_true(file_exists(strange));
    rig_close(&rig);
}

/* Rank 0 cuts the file to a length, or flips a bit of the byte there. */
static void damage(const char *directory, const char *name, long at, bool cut)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm_rank(MPI_COMM_WORLD) == 0) {
        char path[PATH_BYTES];
        in_folder(directory, name, path);
        if (cut) {
            assert_int_equal(truncate(path, at), 0);
        } else {
            FILE *file = fopen(path, "r+b");
            assert_non_null(file);
            fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
            const int byte = fgetc(file);
            fseek(file, -1, SEEK_CUR);
            fputc(byte ^ 0x10, file);
            fclose(file);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(test_fallback)
{
    struct rig rig;
    struct checkpoint_state state;
    char path[PATH_BYTES];
    bool found = true;
    folder_make_empty(rig_folder);
    rig_open(&rig, world_size(), SMALL, PRECISION_FLOAT64, "guard");
    must(rig_read_newest(&rig, rig_folder, &state, &found, path));
    assert_false(found);
    for (int64_t step = 1; step <= 4; step++) {
        rig_write_checkpoint(&rig, rig_folder, step, 4);
    }
    damage(rig_folder, "step_0000000004.h5", 3000, true);
    damage(rig_folder, "step_0000000003.h5", -100, false);
    must(rig_read_newest(&rig, rig_folder, &state, &found, path));
    assert_true(found);
    assert_non_null(strstr(path, "step_0000000002.h5"));
    rig_expect_rough(&rig, 2);
    expect_state(&rig, &state, 2);

    in_folder(rig_folder, "step_0000000003.h5", path);
    must_fail(STATUS_FILE, "do not match its checksum", rig_read(&rig, path, &state));
    in_folder(rig_folder, "step_0000000004.h5", path);
    must_fail(STATUS_FILE, "it has 3000 bytes instead of ", rig_read(&rig, path, &state));
    in_folder(rig_folder, "step_0000000005.h5", path);
    must_fail(STATUS_FILE, "No such file", rig_read(&rig, path, &state));

    damage(rig_folder, "step_0000000002.h5", 700, false);
    damage(rig_folder, "step_0000000001.h5", 0, true);
    must_fail(STATUS_FILE, "none of the 4 checkpoints",
              rig_read_newest(&rig, rig_folder, &state, &found, path));
    assert_false(found);
    rig_close(&rig);
}

static void refuse(const int64_t cells[AXIS_COUNT], enum precision precision, double lower,
                   double conductivity, double capacity, const char *why)
{
    struct rig rig;
    struct checkpoint_state state;
    char path[PATH_BYTES];
    bool found = true;
    rig_open(&rig, world_size(), cells, precision, "cpu");
    rig.grid.lower[AXIS_Y] += lower;
    rig.material.conductivity += conductivity;
    rig.material.heat_capacity_volume += capacity;
    must_fail(STATUS_INPUT, why, rig_read_newest(&rig, rig_folder, &state, &found, path));
    assert_false(found);
    rig_close(&rig);
}

TEST(test_refusals)
{
    static const int64_t other[AXIS_COUNT] = {7, 6, 5};
    struct rig rig;
    folder_make_empty(rig_folder);
    rig_open(&rig, world_size(), SMALL, PRECISION_FLOAT64, "cpu");
    rig_write_checkpoint(&rig, rig_folder, 5, 2);
    rig_close(&rig);
    refuse(other, PRECISION_FLOAT64, 0, 0, 0,
           "another grid: [7, 5, 6] cells there, [7, 6, 5] in the configuration");
    refuse(SMALL, PRECISION_FLOAT64, 0.5, 0, 0, "another grid: y from -0.75 to 0.5 m there");
    refuse(SMALL, PRECISION_FLOAT32, 0, 0, 0, "it has precision float64");
    refuse(SMALL, PRECISION_FLOAT64, 0, 1, 0, "conductivity 2.5 W/(m K) there, 3.5 in");
    refuse(SMALL, PRECISION_FLOAT64, 0, 0, 1, "density times heat capacity 4 J/(m^3 K) there");
}

/* The write must fail with this in its message, and leave the checkpoint of step 10 as it was. */
static void expect_failed_write(struct rig *rig, const char *why)
{
    rig_fill_rough(rig, 20);
    const struct checkpoint_state state = rig_state(rig, 20);
    must_fail(STATUS_FILE, why,
              checkpoint_write(rig->comm, rig_folder, rig->field, &rig->grid, &rig->material,
                               &state, "", 1));
    assert_true(fail_is_agreed());
    assert_non_null(strstr(fail_message(), "the checkpoint of step 20 could not be written"));
}

static void expect_step_10(struct rig *rig)
{
    struct checkpoint_state state;
    char path[PATH_BYTES];
    bool found = false;
    MPI_Barrier(rig->comm);
    assert_false(exists(rig_folder, "step_0000000020.h5"));
    assert_false(exists(rig_folder, "step_0000000020.h5.tmp"));
    must(rig_read_newest(rig, rig_folder, &state, &found, path));
    assert_true(found);
    assert_int_equal(state.step, 10);
    rig_expect_rough(rig, 10);
}

TEST(test_full_disk)
{
    static const int64_t cells[AXIS_COUNT] = {33, 17, 21};
    static const rlim_t limits[] = {100, 5000, 50000, 94248 + 512 + 2048 + 100};
    struct rig rig;
    folder_make_empty(rig_folder);
    rig_open(&rig, world_size(), cells, PRECISION_FLOAT64, "cpu");
    rig_write_checkpoint(&rig, rig_folder, 10, 1);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        rig_limit_file_size(limits[i]);
        expect_failed_write(&rig, "could not be written");
        rig_limit_file_size(RLIM_INFINITY);
        expect_step_10(&rig);
    }
    rig_close(&rig);
}

/* A rank's hash of the device differs from what arrives in the file: as if a write were lost. */
TEST(test_lost_write)
{
    struct rig rig;
    folder_make_empty(rig_folder);
    rig_open(&rig, world_size(), SMALL, PRECISION_FLOAT64, "cpu");
    rig_write_checkpoint(&rig, rig_folder, 10, 1);
    rig_fill_rough(&rig, 20);
    struct checkpoint_state state = rig_state(&rig, 20);
    state.field_hash ^= 1;
    must_fail(
        STATUS_FILE, "what was read back differs from what was written",
        checkpoint_write(rig.comm, rig_folder, rig.field, &rig.grid, &rig.material, &state, "", 1));
    expect_step_10(&rig);
    rig_close(&rig);
}

TEST(test_no_folder)
{
    struct rig rig;
    char path[PATH_BYTES];
    folder_make_empty(rig_folder);
    snprintf(path, sizeof path, "%.2000s/checkpoints", rig_folder);
    put_file(path, "not a folder");
    rig_open(&rig, world_size(), SMALL, PRECISION_FLOAT32, "cpu");
    expect_failed_write(&rig, "is not a folder");
    rig_close(&rig);
}

TEST_MAIN_RANKS(rig_begin, NULL)
