/* Damaged checkpoints in the eyes of a restart: whatever byte of the newest one is changed,
 * wherever it is cut, the one before it is taken, and named. (test_seal.c: every bit and every
 * length, at the level of the seal; here a part of them, in all parts of the file.) */
#include "io_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t cells[AXIS_COUNT] = {4, 3, 2};

/* Odd, so that each bit of a byte has its turn. */
enum { STRIDE = 7 };

struct scene {
    struct rig rig;
    char newest[PATH_BYTES];
    char *bytes; /* of the newest, undamaged */
    size_t nbytes;
    uint64_t hash[3]; /* of the field of each step */
    int console;
};

/* Steps 1 and 2, on one rank. Thousands of warnings are expected: stderr is put aside. */
static void scene_open(struct scene *scene)
{
    *scene = (struct scene){0};
    folder_make_empty(rig_folder);
    rig_open(&scene->rig, 1, cells, PRECISION_FLOAT64, "cpu");
    for (int64_t step = 1; step <= 2; step++) {
        rig_write_checkpoint(&scene->rig, rig_folder, step, 2);
        scene->hash[step] = rig_hash(&scene->rig);
    }
    snprintf(scene->newest, PATH_BYTES, "%.2000s/checkpoints/step_0000000002.h5", rig_folder);
    must(file_read_all(scene->newest, 1 << 20, &scene->bytes, &scene->nbytes));
    assert_in_range(scene->nbytes, 2000, 100000);
    fflush(stderr);
    scene->console = dup(STDERR_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(dup2(nowhere, STDERR_FILENO), STDERR_FILENO);
    close(nowhere);
}

static void scene_close(struct scene *scene)
{
    fflush(stderr);
    dup2(scene->console, STDERR_FILENO);
    close(scene->console);
    free(scene->bytes);
    rig_close(&scene->rig);
}

/* The step whose state a restart takes up, whole; -1 when it is anything else. */
static int64_t step_taken(struct scene *scene)
{
    struct rig *rig = &scene->rig;
    struct checkpoint_state state;
    char path[PATH_BYTES] = "";
    char name[64];
    bool found = false;
    rig_fill_rough(rig, 99);
    if (checkpoint_read_newest(rig->comm, rig_folder, rig->field, &rig->grid, &rig->material, NULL,
                               &state, &found, path) != STATUS_OK ||
        !found || state.step < 1 || state.step > 2) {
        return -1;
    }
    snprintf(name, sizeof name, "step_%010d.h5", (int)state.step);
    const bool is_whole = rig_hash(rig) == scene->hash[state.step];
    return is_whole && strstr(path, name) != NULL ? state.step : -1;
}

static void write_at(const char *path, char byte, size_t at)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

TEST(test_bytes_everywhere)
{
    struct scene scene;
    scene_open(&scene);
    int64_t wrong = 0;
    assert_int_equal(step_taken(&scene), 2);
    for (size_t at = 0; at < scene.nbytes; at += STRIDE) {
        const char flipped = (char)(scene.bytes[at] ^ (1 << (at % 8)));
        write_at(scene.newest, flipped, at);
        wrong += step_taken(&scene) != 1;
        write_at(scene.newest, scene.bytes[at], at);
    }
    assert_int_equal(step_taken(&scene), 2);
    scene_close(&scene);
    assert_int_equal(wrong, 0);
}

TEST(test_lengths_of_all_kinds)
{
    struct scene scene;
    scene_open(&scene);
    int64_t wrong = 0;
    assert_int_equal(truncate(scene.newest, (off_t)scene.nbytes + 1), 0);
    wrong += step_taken(&scene) != 1;
    for (size_t length = scene.nbytes - 1; length >= STRIDE; length -= STRIDE) {
        assert_int_equal(truncate(scene.newest, (off_t)length), 0);
        wrong += step_taken(&scene) != 1;
    }
    scene_close(&scene);
    assert_int_equal(wrong, 0);
}

/* Nothing that is damaged is taken for want of something better. */
TEST(test_all_damaged)
{
    struct scene scene;
    char oldest[PATH_BYTES];
    scene_open(&scene);
    snprintf(oldest, PATH_BYTES, "%.2000s/checkpoints/step_0000000001.h5", rig_folder);
    write_at(oldest, 'x', 700);
    assert_int_equal(step_taken(&scene), 2);
    write_at(scene.newest, 'x', 800);
    assert_int_equal(step_taken(&scene), -1);
    scene_close(&scene);
}

TEST_MAIN_RANKS(rig_begin, NULL)
