#include "halo/plan.h"

void halo_plan_create(const struct decomp *decomp, int rank, const struct layout *layout,
                      struct halo_plan *plan)
{
    const int width = decomp->halo_width;
    const struct box owned = layout_owned(layout);
    struct halo_plan built = {.width = width, .interior = owned};
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const int peer = decomp_neighbour(decomp, rank, face);
        if (peer < 0) {
            continue;
        }
        const struct box send = box_inside(&owned, face, width);
        built.message[built.nmessages++] = (struct halo_message){
            .face = face,
            .peer = peer,
            .send = send,
            .recv = box_outside(&owned, face, width),
            .send_tag = (int)face_opposite(face),
            .recv_tag = (int)face,
            .cells = box_cells(&send),
        };
        built.interior = box_shrink_face(&built.interior, face, width);
    }
    if (box_is_empty(&built.interior)) {
        built.interior = (struct box){{0, 0, 0}, {0, 0, 0}};
    }
    built.nshell = box_shell(&owned, &built.interior, built.shell);
    *plan = built;
}

size_t halo_plan_bytes(const struct halo_plan *plan, enum precision precision)
{
    size_t bytes = 0;
    for (int m = 0; m < plan->nmessages; m++) {
        bytes += (size_t)plan->message[m].cells * precision_bytes(precision);
    }
    return bytes;
}
