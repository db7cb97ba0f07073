/* The sums of flows and temperatures of closed faces, all of them in one launch. */
/* first: they define KERNEL_INLINE */
#include "kernels/hip/field/source_kernels.h"
#include "kernels/hip/kind/faces.h"

/* Blocks of a face: a few per multiprocessor, since a face has few cells. */
enum { FACE_BLOCKS_MOST = 128 };

/* The terms of a face with their addresses. The host resolves them: a kernel for gfx90a that did so
 * would need scratch memory. */
struct face_addresses {
    enum face face;
    int nconditions, nsources;
    const struct class_closure *d_closures, *d_own; /* d_own: nullptr: none */
    double spacing;
    const struct heat_source *d_sources;
    struct exact_sum *d_sums;
};

/* A face in a launch. `patch`: of cell (0, 0) of the face, or nullptr; rows `pitch`
 * bytes apart. g: of the faces of cells, 1/s, as the classes; nullptr: the closures are those of
 * classes. across, up: the widths of its cells from lines, cell 0 on; nullptr: none. */
struct face_job {
    cell_sweep s;
    face_addresses terms;
    const uint8_t *patch;
    int64_t pitch;
    const void *g, *across, *up;
};

/* Blocks of each of the faces follow each other. */
struct face_jobs {
    unsigned blocks;
    int count;
    face_job of[FACE_COUNT];
};

template <typename REAL>
static __global__ __launch_bounds__(VISIT_THREADS) void sum_faces(
    const __grid_constant__ face_jobs jobs, const __grid_constant__ struct sum_faces_args args,
    const source_medium medium, int nclasses, struct hip_scratch *scratch)
{
    const face_job &job = jobs.of[blockIdx.x / jobs.blocks];
    const cell_sweep sweep = job.s;
    const face_addresses terms = job.terms;
    const uint8_t *patch = job.patch;
    const int64_t pitch = job.pitch;
    const REAL *field = static_cast<const REAL *>(args.d_field);
    const REAL *enthalpy = static_cast<const REAL *>(args.d_enthalpy);
    const REAL *g = static_cast<const REAL *>(job.g);
    const REAL *across = static_cast<const REAL *>(job.across);
    const REAL *up = static_cast<const REAL *>(job.up);
    const int axis = terms.face / 2;
    for (int c = 0; c < terms.nconditions; c++) {
        const struct class_closure *closures = terms.d_closures + (int64_t)c * nclasses;
        tally flow = {};
        tally temperature = {};
        long long area = 0; /* fewer registers than an exact sum has */
        const auto visit = [&](int64_t i, int64_t j, int64_t k) {
            const int64_t at = (axis == AXIS_Z ? j : k) * pitch + (axis == AXIS_X ? j : i);
            if ((patch != nullptr ? (int)patch[at] : 0) != c) {
                return;
            }
            const int of_class = medium.classes[element_at(medium.layout, i, j, k)] & medium.mask;
            const int64_t columns = axis == AXIS_X ? args.layout.cells[1] : args.layout.cells[0];
            const int64_t place = (axis == AXIS_Z ? j : k) * columns + (axis == AXIS_X ? j : i);
            const struct class_closure *from =
                terms.d_own != nullptr ? terms.d_own + place : closures + of_class;
            struct class_closure own = *from;
            if (own.conductance == 0) {
                return;
            }
            if (across != nullptr) {
                own = class_closure_wide(
                    &own, (double)(across[axis == AXIS_X ? j : i] * up[axis == AXIS_Z ? j : k]));
            }
            area += own.area;
            const int64_t element = element_at(args.layout, i, j, k);
            const double inside = (double)field[element];
            if (enthalpy != nullptr) {
                own = class_closure_of_heat(&own, &args.d_curves[args.d_material[of_class]], axis,
                                            (double)enthalpy[element] * args.heat_per_enthalpy,
                                            terms.spacing, args.volume);
            }
            if (g != nullptr) {
                const double own_g = (double)g[element_at(medium.layout, i, j, k)];
                own =
                    class_closure_of_conductance(&own, own_g * args.heat_per_enthalpy * args.volume,
                                                 args.volume / terms.spacing);
            }
            flow.add(class_closure_flow(&own, inside));
            own = class_closure_heated(own, terms.d_sources, terms.nsources, args.joule_per_kelvin,
                                       args.offset[AXIS_X] + i, args.offset[AXIS_Y] + j,
                                       args.offset[AXIS_Z] + k);
            temperature.add(class_closure_face(&own, inside) * class_closure_area(&own));
        };
        visit_rows<1>(sweep, visit, blockIdx.x % jobs.blocks);
        add_block(&terms.d_sums[FACE_SUMS * c + FACE_FLOW], flow);
        add_block(&terms.d_sums[FACE_SUMS * c + FACE_TEMPERATURE], temperature);
        add_block(&terms.d_sums[FACE_SUMS * c + FACE_AREA],
                  {{0, (area & ((1LL << FACE_AREA_BITS) - 1)) << (40 - FACE_AREA_BITS),
                    area >> FACE_AREA_BITS}});
    }
    __shared__ bool is_last;
    if (is_last_block_of_all(scratch, &is_last)) {
        constexpr int LANES = VISIT_THREADS / 8; /* of a face */
        static_assert(FACE_COUNT <= 8, "threads for each face");
        for (int f = 0; f < jobs.count; f++) {
            const int nsums = FACE_SUMS * jobs.of[f].terms.nconditions;
            const bool mine = (int)threadIdx.x / LANES == f;
            for (int n = (int)threadIdx.x % LANES; mine && n < nsums; n += LANES) {
                face_sum_normalise(&jobs.of[f].terms.d_sums[n]);
            }
        }
    }
}

template <typename REAL>
static face_job job_of(const struct sum_faces_args *args, const struct face_terms *terms)
{
    const struct device_medium *m = args->medium;
    const int axis = terms->face / 2;
    const struct box owned = layout_owned(&args->layout);
    const struct box layer = box_inside(&owned, terms->face, 1);
    const int64_t stride[AXIS_COUNT] = {1, m->layout.pitch_y, m->layout.pitch_z};
    const REAL *g = static_cast<const REAL *>(m->d_g[axis]);
    return {sweep_of(&layer, FACE_BLOCKS_MOST),
            {terms->face, terms->nconditions, terms->nsources,
             args->d_closures + terms->first_closure,
             terms->first_own >= 0 ? args->d_closures + terms->first_own : nullptr, terms->spacing,
             args->d_sources + terms->first_source, args->d_sums + terms->first_sum},
            m->d_patch[terms->face],
            m->patch_pitch[terms->face],
            g != nullptr ? g + terms->face % 2 * stride[axis] : nullptr,
            line_of<REAL>(m, axis == AXIS_X ? AXIS_Y : AXIS_X, GRADED_WIDTH),
            line_of<REAL>(m, axis == AXIS_Z ? AXIS_Y : AXIS_Z, GRADED_WIDTH)};
}

enum status hip_sum_faces(struct queue *queue, const struct sum_faces_args *args)
{
    const struct device_medium *m = args->medium;
    return in_precision(args->layout.precision, [&](auto real) {
        using REAL = decltype(real);
        face_jobs jobs = {1, args->nfaces, {}};
        for (int f = 0; f < args->nfaces; f++) {
            jobs.of[f] = job_of<REAL>(args, &args->faces[f]);
            jobs.blocks = jobs.of[f].s.nblocks > jobs.blocks ? jobs.of[f].s.nblocks : jobs.blocks;
        }
        if (args->nfaces > 0) {
            sum_faces<REAL>
                <<<jobs.blocks *(unsigned)args->nfaces, VISIT_THREADS, 0, queue->stream>>>(
                    jobs, *args, source_medium{m->layout, m->d_class, nullptr, m->mask, nullptr},
                    m->nclasses, queue->d_scratch);
        }
        return hip_check(hipGetLastError(), "sum_faces");
    });
}
