/* What a restart does with a series before the run goes on with it, or without it. */
#include <inttypes.h>

#include "base/log.h"
#include "io/snapshot/snapshot.h"
#include "io/snapshot/snapshot_index.h"

enum status snapshots_check(const char *directory, const char *name, const struct view *view,
                            const struct snapshot_setting *setting, int64_t restart_step)
{
    struct snapshot_series series = {.grid = view->grid, .derived = setting->derived};
    struct snapshot_list list = {.precision = setting->precision};
    bool rebuilt = false;
    h5_init();
    TRY(snapshot_series_name(directory, name, &series));
    const enum status status = snapshot_index_read(&series, restart_step, &list, &rebuilt);
    snapshot_list_free(&list);
    return status;
}

static enum status cut(const struct snapshot_series *series, int64_t step)
{
    struct snapshot_list list = {0};
    struct snapshot_lists lists = {0};
    bool rebuilt = false;
    enum status status = STATUS_OK;
    TRY_GOTO(snapshot_index_read(series, step, &list, &rebuilt));
    TRY_GOTO(snapshot_lists_write(series, &list, &lists));
    TRY_GOTO(snapshot_files_drop_others(series, &list));
done:
    snapshot_lists_close(&lists);
    snapshot_list_free(&list);
    return status;
}

enum status snapshots_cut(const char *directory, const char *name, int64_t step)
{
    struct snapshot_series series = {0};
    h5_init();
    TRY(snapshot_series_name(directory, name, &series));
    enum status status = snapshot_series_read(&series);
    if (status == STATUS_OK) {
        status = cut(&series, step);
    }
    snapshot_series_free(&series);
    return status;
}
