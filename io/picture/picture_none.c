/* Replaces picture_cairo.c in builds without Cairo. */
#include "io/picture/picture.h"
#include "io/picture/picture_draw.h"

bool picture_supported(void)
{
    return false;
}

enum status picture_draw_chart(const struct picture_chart *chart, const char *path)
{
    return fail(STATUS_FILE, "cannot draw %s: this build has no Cairo", path);
}

enum status picture_draw(const struct picture_view *view, const char *path)
{
    return fail(STATUS_FILE, "cannot draw %s: this build has no Cairo", path);
}
