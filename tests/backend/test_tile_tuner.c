/* The choice of the tiles: on invented times, so that every case can be made. */

#include "kernels/cpu/schedule/tile_tuner.h"
#include "tests/test.h"

static const struct box large = {{0, 0, 0}, {512, 512, 512}};
enum { FIRST_CALLS = TILE_TUNER_ROUNDS * TILE_TUNER_CHOICES };

/* One step, with the time that each choice takes; returns the choice. */
static int step(struct tile_record *record, const double seconds[TILE_TUNER_CHOICES])
{
    const int choice = tile_record_choose(record);
    tile_record_tell(record, choice, seconds[choice]);
    return choice;
}

TEST(tries_every_choice_and_takes_the_fastest)
{
    for (int fastest = 0; fastest < TILE_TUNER_CHOICES; fastest++) {
        struct tile_tuner tuner = {0};
        struct tile_record *record = tile_tuner_find(&tuner, &large, sizeof(double));
        double seconds[TILE_TUNER_CHOICES] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
        seconds[fastest] = 0.9;
        int tried[TILE_TUNER_CHOICES] = {0};
        for (int call = 0; call < FIRST_CALLS; call++) {
            tried[step(record, seconds)]++;
        }
        for (int choice = 0; choice < TILE_TUNER_CHOICES; choice++) {
            assert_int_equal(tried[choice], TILE_TUNER_ROUNDS);
        }
        assert_int_equal(tile_record_choose(record), fastest);
    }
}

TEST(chance_does_not_move_it_from_the_first_choice)
{
    struct tile_tuner tuner = {0};
    struct tile_record *record = tile_tuner_find(&tuner, &large, sizeof(double));
    const double seconds[TILE_TUNER_CHOICES] = {1.0, 0.98, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99};
    for (int call = 0; call < 1000; call++) {
        step(record, seconds);
        assert_true(record->calls < TILE_TUNER_CHOICES || record->best == 0);
    }
}

TEST(one_slow_first_step_decides_nothing)
{
    struct tile_tuner tuner = {0};
    struct tile_record *record = tile_tuner_find(&tuner, &large, sizeof(double));
    tile_record_tell(record, tile_record_choose(record), 50.0); /* choice 0, cold */
    const double seconds[TILE_TUNER_CHOICES] = {0.8, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
    for (int call = 1; call < FIRST_CALLS; call++) {
        step(record, seconds);
    }
    assert_int_equal(tile_record_choose(record), 0);
}

/* When the machine changes the choice follows, and few steps are spent on trying. */
TEST(follows_the_machine)
{
    struct tile_tuner tuner = {0};
    struct tile_record *record = tile_tuner_find(&tuner, &large, sizeof(double));
    const double before[TILE_TUNER_CHOICES] = {0.84, 0.88, 0.99, 0.87, 0.9, 1.3, 0.9, 0.9};
    const double after[TILE_TUNER_CHOICES] = {1.9, 1.8, 1.7, 1.8, 1.75, 1.75, 1.8, 1.8};
    for (int call = 0; call < 1000; call++) {
        step(record, before);
    }
    assert_int_equal(record->best, 0);
    for (int call = 0; call < 1000; call++) {
        step(record, after);
    }
    assert_int_equal(record->best, 2);
    int others = 0;
    for (int call = 0; call < 2000; call++) {
        others += step(record, before) != 0;
    }
    assert_int_equal(record->best, 0);
    assert_true(others < TILE_TUNER_CHOICES * TILE_TUNER_RETRY); /* each has had its turn */
}

/* A choice that suits another chip only may take many times as long: it is tried once, and seldom
 * again, but it is taken when that changes. */
TEST(spends_little_on_one_that_is_far_off)
{
    struct tile_tuner tuner = {0};
    struct tile_record *record = tile_tuner_find(&tuner, &large, sizeof(double));
    double seconds[TILE_TUNER_CHOICES] = {1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 1.0, 1.0};
    int far = 0;
    for (int call = 0; call < FIRST_CALLS; call++) {
        far += seconds[step(record, seconds)] > 1.0 ? 1 : 0;
    }
    assert_int_equal(far, 3);
    const int calls = TILE_TUNER_RETRY * TILE_TUNER_SELDOM * (TILE_TUNER_CHOICES - 1);
    for (int call = 0; call < calls; call++) {
        far += seconds[step(record, seconds)] > 1.0 ? 1 : 0;
    }
    assert_in_range(far, 6, 9); /* each a second time, and at most a third */
    seconds[4] = 0.5;
    for (int call = 0; call < calls; call++) {
        step(record, seconds);
    }
    assert_int_equal(record->best, 4);
}

/* Flat boxes too: the height of tiles means nothing there, where to fetch ahead does. */
TEST(leaves_only_small_boxes_alone)
{
    struct tile_tuner tuner = {0};
    assert_null(tile_tuner_find(&tuner, &(struct box){{0, 0, 0}, {64, 64, 64}}, sizeof(double)));
    assert_null(tile_tuner_find(&tuner, &(struct box){{0, 0, 0}, {512, 512, 1}}, sizeof(double)));
    assert_non_null(
        tile_tuner_find(&tuner, &(struct box){{0, 0, 0}, {8192, 8192, 1}}, sizeof(double)));
    assert_non_null(
        tile_tuner_find(&tuner, &(struct box){{0, 0, 0}, {8, 8, 65536}}, sizeof(double)));
}

TEST(tells_shapes_and_precisions_apart)
{
    struct tile_tuner tuner = {0};
    struct tile_record *float64 = tile_tuner_find(&tuner, &large, sizeof(double));
    assert_ptr_not_equal(tile_tuner_find(&tuner, &large, sizeof(float)), float64);
    const struct box moved = {{1, 1, 1}, {513, 513, 513}};
    assert_ptr_equal(tile_tuner_find(&tuner, &moved, sizeof(double)), float64);
    for (int64_t n = 0; n < TILE_TUNER_SHAPES; n++) { /* the oldest makes room */
        struct tile_record *record =
            tile_tuner_find(&tuner, &(struct box){{0, 0, 0}, {600 + n, 512, 512}}, sizeof(double));
        assert_int_equal(record->calls, 0);
        tile_record_tell(record, 0, 1.0);
    }
    assert_int_equal(tile_tuner_find(&tuner, &large, sizeof(double))->calls, 0);
}

TEST_MAIN(NULL, NULL)
