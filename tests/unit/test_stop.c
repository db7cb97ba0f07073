/* The arithmetic of ending well. */
#include <float.h>

#include "app/hang_monitor.h"
#include "app/stop.h"
#include "tests/test.h"

/* From one step on, agreeing every quarter of a second, whatever a step takes. */
TEST(the_interval_settles)
{
    static const double step_seconds[] = {1e-6, 3e-4, 0.04, 0.2};
    for (int i = 0; i < 4; i++) {
        int64_t steps = 1;
        for (int round = 0; round < 40; round++) {
            const int64_t next = stop_next_interval(steps, (double)steps * step_seconds[i]);
            assert_in_range(next, 1, 2 * steps);
            steps = next;
        }
        const double seconds = (double)steps * step_seconds[i];
        assert_true(seconds <= 0.25 && seconds > 0.25 - step_seconds[i] - 1e-9);
    }
}

TEST(steps_longer_than_the_interval_are_asked_after_each)
{
    assert_int_equal(stop_next_interval(1, 0.3), 1);
    assert_int_equal(stop_next_interval(1, 1e4), 1);
    /* from many short steps to one long one at once: the next question must not come late */
    assert_int_equal(stop_next_interval(1000, 1000 * 60.0), 1);
}

TEST(a_clock_without_progress_is_survived)
{
    assert_int_equal(stop_next_interval(7, 0.0), 14);
}

TEST(the_reserve_covers_each_part)
{
    assert_true(stop_reserve(3, 0, 0) >= 3);
    assert_true(stop_reserve(0, 10, 0) >= 10);
    assert_true(stop_reserve(0, 0, 30) >= 30);
    assert_true(stop_reserve(3, 10, 30) >= 43);
    assert_true(stop_reserve(3, 10, 30) <= 60);
}

TEST(the_guess_grows_with_the_file_and_shrinks_with_the_nodes)
{
    const double file = 8.0 * 512 * 512 * 512 * 8; /* 8 blocks of 512^3 in float64 */
    assert_true(stop_guess_checkpoint(file, 1) > 15);
    assert_true(stop_guess_checkpoint(file, 1) < 60);
    const double one = stop_guess_checkpoint(file, 1);
    const double many = stop_guess_checkpoint(1000 * file, 1000);
    assert_true(one - many < 1e-6 && many - one < 1e-6);
}

/* A slow file system raises the bar by itself; short steps do not lower it. */
TEST(the_watchdog_is_patient)
{
    assert_true(hang_monitor_limit(300, 20, 0.001) == 300);
    assert_true(hang_monitor_limit(300, 20, 60) == 1200);
    assert_true(hang_monitor_limit(300, 0, 1e6) == 300);
}

TEST(ends_are_unix_times)
{
    double end = 0;
    assert_true(stop_parse_end("1763700000", &end));
    assert_true(end == 1763700000.0);
    static const char *const wrong[] = {"",   "noon", "12:30", "1763700000x",
                                        "-5", "0",    "inf",   "nan"};
    for (int i = 0; i < 8; i++) {
        assert_false(stop_parse_end(wrong[i], &end));
    }
}

TEST_MAIN(NULL, NULL)
