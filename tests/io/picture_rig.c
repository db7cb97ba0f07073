#include "picture_rig.h"

cairo_surface_t *decode(const char *path)
{
    cairo_surface_t *image = cairo_image_surface_create_from_png(path);
    assert_int_equal(cairo_surface_status(image), CAIRO_STATUS_SUCCESS);
    return image;
}

uint32_t pixel_at(cairo_surface_t *image, int x, int y)
{
    assert_in_range(x, 0, cairo_image_surface_get_width(image) - 1);
    assert_in_range(y, 0, cairo_image_surface_get_height(image) - 1);
    const unsigned char *row = &cairo_image_surface_get_data(
        image)[(size_t)y * (size_t)cairo_image_surface_get_stride(image)];
    return ((const uint32_t *)(const void *)row)[x] & 0xFFFFFF;
}

int lightness(uint32_t color)
{
    return (int)((color >> 16) + (color >> 8 & 0xFF) + (color & 0xFF));
}

void layout_of(const struct picture_view *view, struct picture_layout *layout)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    cairo_t *cairo = cairo_create(surface);
    if (view->samples[1] > 1) {
        picture_layout(cairo, view, layout);
    } else {
        char text[PICTURE_HEADINGS][PICTURE_TEXT_BYTES];
        double x[PICTURE_MAX_SAMPLES];
        struct picture_curve curve;
        struct picture_chart chart;
        picture_chart_of(view, text, x, &curve, &chart);
        picture_layout_chart(cairo, &chart, layout);
    }
    assert_int_equal(cairo_status(cairo), CAIRO_STATUS_SUCCESS);
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
}
