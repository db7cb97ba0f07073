/* Part of mhd_point.h, once for each precision: MHD_REAL is the type, MHD(name) a name of it, and
 * MHD_FMA its fma. No #pragma once, for that reason. */

struct MHD(weights) {
    /* of the pairs at distances 1 to 3, by axis; of the point itself */
    MHD_REAL first[3][3];
    MHD_REAL second[3][3], second_centre[3];
    /* nu times `second`; and (nu + nu / 3 + zeta) times it, on a component's own axis */
    MHD_REAL viscous[3][3], viscous_own[3][3], viscous_centre[3];
    /* by pair of axes; times nu / 3 + zeta, and over mu0 */
    MHD_REAL viscous_mixed[3][3], current_mixed[3][3];
    MHD_REAL two_nu, zeta, eta, over_mu0, eta_mu0;
    MHD_REAL over_cp, gamma_over_cp, gamma_less_1, lnrho0, sound2, over_t0, conductivity, heating;
    MHD_REAL dt, alpha, beta; /* alpha: over the beta of the substep before */
};

/* What a point needs of the planes below and above: values at the distances 1 to 3, and the mixed
 * derivatives with z of velocity (0 to 2) and potential (3 to 5), by the component they act on. */
struct MHD(column) {
    MHD_REAL below[MHD_FIELDS][3], above[MHD_FIELDS][3];
    MHD_REAL mixed[6];
};

/* `at`: the point of a field; `step`: elements to the neighbour on the axis. */
KERNEL_INLINE MHD_REAL MHD(first)(const MHD_REAL *at, ptrdiff_t step, const MHD_REAL *w)
{
    return MHD_FMA(
        w[0], at[step] - at[-step],
        MHD_FMA(w[1], at[2 * step] - at[-2 * step], w[2] * (at[3 * step] - at[-3 * step])));
}

KERNEL_INLINE MHD_REAL MHD(first_z)(const struct MHD(column) * c, int field, const MHD_REAL *w)
{
    return MHD_FMA(w[0], c->above[field][0] - c->below[field][0],
                   MHD_FMA(w[1], c->above[field][1] - c->below[field][1],
                           w[2] * (c->above[field][2] - c->below[field][2])));
}

/* `sum` and the second derivative without its centre. */
KERNEL_INLINE MHD_REAL MHD(second)(MHD_REAL sum, const MHD_REAL *at, ptrdiff_t step,
                                   const MHD_REAL *w)
{
    sum = MHD_FMA(w[0], at[step] + at[-step], sum);
    sum = MHD_FMA(w[1], at[2 * step] + at[-2 * step], sum);
    return MHD_FMA(w[2], at[3 * step] + at[-3 * step], sum);
}

KERNEL_INLINE MHD_REAL MHD(second_z)(MHD_REAL sum, const struct MHD(column) * c, int field,
                                     const MHD_REAL *w)
{
    sum = MHD_FMA(w[0], c->above[field][0] + c->below[field][0], sum);
    sum = MHD_FMA(w[1], c->above[field][1] + c->below[field][1], sum);
    return MHD_FMA(w[2], c->above[field][2] + c->below[field][2], sum);
}

/* `sum` and the mixed derivative in x and y: the points on the two diagonals. */
KERNEL_INLINE MHD_REAL MHD(mixed_xy_at)(const MHD_REAL *at, ptrdiff_t pitch_y, int a)
{
    return (at[a + a * pitch_y] - at[a * pitch_y - a]) -
           (at[a - a * pitch_y] - at[-a - a * pitch_y]);
}

KERNEL_INLINE MHD_REAL MHD(mixed_xy)(MHD_REAL sum, const MHD_REAL *at, ptrdiff_t pitch_y,
                                     const MHD_REAL *w)
{
    sum = MHD_FMA(w[0], MHD(mixed_xy_at)(at, pitch_y, 1), sum);
    sum = MHD_FMA(w[1], MHD(mixed_xy_at)(at, pitch_y, 2), sum);
    return MHD_FMA(w[2], MHD(mixed_xy_at)(at, pitch_y, 3), sum);
}

/* Add to the mixed derivatives with z of a point what the plane at distance a above it, or below
 * for sign = -1, contributes. `at`: field 0 in that plane. Planes are added in ascending order. */
KERNEL_INLINE void MHD(add_mixed)(MHD_REAL *sums, const MHD_REAL *at, ptrdiff_t pitch_field,
                                  ptrdiff_t pitch_y, int a, MHD_REAL sign,
                                  const struct MHD(weights) * w)
{
    const ptrdiff_t y = a * pitch_y;
    const MHD_REAL *u = at + MHD_UX * pitch_field;
    const MHD_REAL *p = at + MHD_AX * pitch_field;
    const MHD_REAL u_xz = sign * w->viscous_mixed[1][a - 1];
    const MHD_REAL u_yz = sign * w->viscous_mixed[2][a - 1];
    const MHD_REAL p_xz = sign * w->current_mixed[1][a - 1];
    const MHD_REAL p_yz = sign * w->current_mixed[2][a - 1];
    const ptrdiff_t f = pitch_field;
    sums[0] = MHD_FMA(u_xz, u[2 * f + a] - u[2 * f - a], sums[0]);
    sums[1] = MHD_FMA(u_yz, u[2 * f + y] - u[2 * f - y], sums[1]);
    sums[2] = MHD_FMA(u_xz, u[a] - u[-a], sums[2]);
    sums[2] = MHD_FMA(u_yz, u[f + y] - u[f - y], sums[2]);
    sums[3] = MHD_FMA(p_xz, p[2 * f + a] - p[2 * f - a], sums[3]);
    sums[4] = MHD_FMA(p_yz, p[2 * f + y] - p[2 * f - y], sums[4]);
    sums[5] = MHD_FMA(p_xz, p[a] - p[-a], sums[5]);
    sums[5] = MHD_FMA(p_yz, p[f + y] - p[f - y], sums[5]);
}

KERNEL_INLINE MHD_REAL MHD(dot)(const MHD_REAL a[3], const MHD_REAL b[3])
{
    return MHD_FMA(a[0], b[0], MHD_FMA(a[1], b[1], a[2] * b[2]));
}

KERNEL_INLINE void MHD(cross)(const MHD_REAL a[3], const MHD_REAL b[3], MHD_REAL c[3])
{
    c[0] = MHD_FMA(a[1], b[2], -(a[2] * b[1]));
    c[1] = MHD_FMA(a[2], b[0], -(a[0] * b[2]));
    c[2] = MHD_FMA(a[0], b[1], -(a[1] * b[0]));
}

/* B = curl A; j = (grad div A - lap A) / mu0; lap A. In j the second derivatives on a component's
 * own axis cancel. */
KERNEL_INLINE void MHD(magnetic)(const MHD_REAL *p, ptrdiff_t f, ptrdiff_t y,
                                 const struct MHD(column) * c, const struct MHD(weights) * w,
                                 MHD_REAL b[3], MHD_REAL j[3], MHD_REAL laplacian[3])
{
    const MHD_REAL *o = w->second_centre;
    b[0] = MHD(first)(p + 2 * f, y, w->first[1]) - MHD(first_z)(c, MHD_AY, w->first[2]);
    b[1] = MHD(first_z)(c, MHD_AX, w->first[2]) - MHD(first)(p + 2 * f, 1, w->first[0]);
    b[2] = MHD(first)(p + f, 1, w->first[0]) - MHD(first)(p, y, w->first[1]);
    MHD_REAL own = MHD(second)(o[0] * p[0], p, 1, w->second[0]);
    MHD_REAL others = MHD(second)((o[1] + o[2]) * p[0], p, y, w->second[1]);
    others = MHD(second_z)(others, c, MHD_AX, w->second[2]);
    laplacian[0] = own + others;
    j[0] = MHD(mixed_xy)(c->mixed[3], p + f, y, w->current_mixed[0]);
    j[0] = MHD_FMA(-w->over_mu0, others, j[0]);
    own = MHD(second)(o[1] * p[f], p + f, y, w->second[1]);
    others = MHD(second)((o[0] + o[2]) * p[f], p + f, 1, w->second[0]);
    others = MHD(second_z)(others, c, MHD_AY, w->second[2]);
    laplacian[1] = own + others;
    j[1] = MHD(mixed_xy)(c->mixed[4], p, y, w->current_mixed[0]);
    j[1] = MHD_FMA(-w->over_mu0, others, j[1]);
    own = MHD(second_z)(o[2] * p[2 * f], c, MHD_AZ, w->second[2]);
    others = MHD(second)((o[0] + o[1]) * p[2 * f], p + 2 * f, 1, w->second[0]);
    others = MHD(second)(others, p + 2 * f, y, w->second[1]);
    laplacian[2] = own + others;
    j[2] = MHD_FMA(-w->over_mu0, others, c->mixed[5]);
}

KERNEL_INLINE void MHD(gradient)(const MHD_REAL *at, ptrdiff_t f, ptrdiff_t y,
                                 const struct MHD(column) * c, int field,
                                 const struct MHD(weights) * w, MHD_REAL g[3])
{
    g[0] = MHD(first)(at + field * f, 1, w->first[0]);
    g[1] = MHD(first)(at + field * f, y, w->first[1]);
    g[2] = MHD(first_z)(c, field, w->first[2]);
}

/* nu lap u + (nu / 3 + zeta) grad div u. */
KERNEL_INLINE void MHD(viscous)(const MHD_REAL *u, ptrdiff_t f, ptrdiff_t y,
                                const struct MHD(column) * c, const struct MHD(weights) * w,
                                MHD_REAL v[3])
{
    v[0] = MHD(mixed_xy)(c->mixed[0], u + f, y, w->viscous_mixed[0]);
    v[1] = MHD(mixed_xy)(c->mixed[1], u, y, w->viscous_mixed[0]);
    v[2] = c->mixed[2];
    v[0] = MHD_FMA(w->viscous_centre[0], u[0], v[0]);
    v[1] = MHD_FMA(w->viscous_centre[1], u[f], v[1]);
    v[2] = MHD_FMA(w->viscous_centre[2], u[2 * f], v[2]);
    v[0] = MHD(second)(v[0], u, 1, w->viscous_own[0]);
    v[1] = MHD(second)(v[1], u + f, 1, w->viscous[0]);
    v[2] = MHD(second)(v[2], u + 2 * f, 1, w->viscous[0]);
    v[0] = MHD(second)(v[0], u, y, w->viscous[1]);
    v[1] = MHD(second)(v[1], u + f, y, w->viscous_own[1]);
    v[2] = MHD(second)(v[2], u + 2 * f, y, w->viscous[1]);
    v[0] = MHD(second_z)(v[0], c, MHD_UX, w->viscous[2]);
    v[1] = MHD(second_z)(v[1], c, MHD_UY, w->viscous[2]);
    v[2] = MHD(second_z)(v[2], c, MHD_UZ, w->viscous_own[2]);
}

KERNEL_INLINE MHD_REAL MHD(laplacian)(const MHD_REAL *at, ptrdiff_t f, ptrdiff_t y,
                                      const struct MHD(column) * c, int field,
                                      const struct MHD(weights) * w)
{
    const MHD_REAL *o = w->second_centre;
    at += field * f;
    MHD_REAL sum = (o[0] + o[1] + o[2]) * at[0];
    sum = MHD(second)(sum, at, 1, w->second[0]);
    sum = MHD(second)(sum, at, y, w->second[1]);
    return MHD(second_z)(sum, c, field, w->second[2]);
}

/* The traceless rate of shear: xx, yy, zz, xy, xz, yz. */
KERNEL_INLINE void MHD(shear)(MHD_REAL g[3][3], MHD_REAL div, MHD_REAL s[6])
{
    const MHD_REAL third = (MHD_REAL)(1.0 / 3.0);
    const MHD_REAL half = (MHD_REAL)0.5;
    s[0] = MHD_FMA(-third, div, g[0][0]);
    s[1] = MHD_FMA(-third, div, g[1][1]);
    s[2] = MHD_FMA(-third, div, g[2][2]);
    s[3] = half * (g[0][1] + g[1][0]);
    s[4] = half * (g[0][2] + g[2][0]);
    s[5] = half * (g[1][2] + g[2][1]);
}

KERNEL_INLINE MHD_REAL MHD(advance)(MHD_REAL value, MHD_REAL before, MHD_REAL rate,
                                    const struct MHD(weights) * w)
{
    return MHD_FMA(w->beta, MHD_FMA(w->alpha, value - before, w->dt * rate), value);
}

/* The point after the substep. `at`: the point of field 0, in its plane; `before`: its fields
 * before the previous substep; result: may be `before`. */
KERNEL_INLINE void MHD(point)(const MHD_REAL *at, ptrdiff_t f, ptrdiff_t y,
                              const struct MHD(column) * c, const MHD_REAL before[MHD_FIELDS],
                              const struct MHD(weights) * w, MHD_REAL result[MHD_FIELDS])
{
    const MHD_REAL *u_at = at + MHD_UX * f;
    const MHD_REAL *p_at = at + MHD_AX * f;
    const MHD_REAL u[3] = {u_at[0], u_at[f], u_at[2 * f]};
    MHD_REAL b[3], j[3], lap_p[3], emf[3], lorentz[3];
    MHD(magnetic)(p_at, f, y, c, w, b, j, lap_p);
    MHD(cross)(u, b, emf);
    MHD(cross)(j, b, lorentz);
    const MHD_REAL ohmic = MHD_FMA(w->eta_mu0, MHD(dot)(j, j), w->heating);
    for (int n = 0; n < 3; n++) {
        const MHD_REAL rate = MHD_FMA(w->eta, lap_p[n], emf[n]);
        result[MHD_AX + n] = MHD(advance)(p_at[n * f], before[MHD_AX + n], rate, w);
    }
    MHD_REAL grad_lnrho[3], grad_s[3], grad_t[3], g[3][3], v[3], s[6];
    MHD(gradient)(at, f, y, c, MHD_LNRHO, w, grad_lnrho);
    MHD(gradient)(at, f, y, c, MHD_S, w, grad_s);
    const MHD_REAL lnrho = at[MHD_LNRHO * f];
    const MHD_REAL entropy = at[MHD_S * f];
    /* ln(T / T0) and its derivatives */
    const MHD_REAL heat = MHD_FMA(w->gamma_over_cp, entropy, w->gamma_less_1 * (lnrho - w->lnrho0));
    MHD_REAL conduction = w->gamma_less_1 * MHD(laplacian)(at, f, y, c, MHD_LNRHO, w);
    conduction = MHD_FMA(w->gamma_over_cp, MHD(laplacian)(at, f, y, c, MHD_S, w), conduction);
    for (int n = 0; n < 3; n++) {
        grad_t[n] = MHD_FMA(w->gamma_over_cp, grad_s[n], w->gamma_less_1 * grad_lnrho[n]);
    }
    conduction = w->conductivity * (conduction + MHD(dot)(grad_t, grad_t));
    const MHD_REAL over_rho = MHD(exp)(-lnrho);
    const MHD_REAL sound2 = w->sound2 * MHD(exp)(heat);
    const MHD_REAL over_t = w->over_t0 * MHD(exp)(-heat);

    MHD(gradient)(at, f, y, c, MHD_UX, w, g[0]);
    MHD(gradient)(at, f, y, c, MHD_UY, w, g[1]);
    MHD(gradient)(at, f, y, c, MHD_UZ, w, g[2]);
    const MHD_REAL div = (g[0][0] + g[1][1]) + g[2][2];
    MHD(shear)(g, div, s);
    MHD(viscous)(u_at, f, y, c, w, v);
    const MHD_REAL rows[3][3] = {{s[0], s[3], s[4]}, {s[3], s[1], s[5]}, {s[4], s[5], s[2]}};
    for (int n = 0; n < 3; n++) {
        const MHD_REAL pressure = sound2 * MHD_FMA(w->over_cp, grad_s[n], grad_lnrho[n]);
        const MHD_REAL sheared = MHD_FMA(w->two_nu, MHD(dot)(rows[n], grad_lnrho), v[n]);
        const MHD_REAL rate =
            MHD_FMA(over_rho, lorentz[n], sheared) - (pressure + MHD(dot)(u, g[n]));
        result[MHD_UX + n] = MHD(advance)(u[n], before[MHD_UX + n], rate, w);
    }
    const MHD_REAL squares = MHD_FMA(s[0], s[0], MHD_FMA(s[1], s[1], s[2] * s[2]));
    const MHD_REAL products = MHD_FMA(s[3], s[3], MHD_FMA(s[4], s[4], s[5] * s[5]));
    const MHD_REAL contraction = MHD_FMA((MHD_REAL)2, products, squares);
    const MHD_REAL friction = MHD_FMA(w->two_nu, contraction, w->zeta * (div * div));
    MHD_REAL rate = MHD_FMA(over_rho, ohmic, friction) * over_t;
    rate = MHD_FMA(over_rho, conduction, rate) - MHD(dot)(u, grad_s);
    result[MHD_S] = MHD(advance)(entropy, before[MHD_S], rate, w);
    rate = -(MHD(dot)(u, grad_lnrho) + div);
    result[MHD_LNRHO] = MHD(advance)(lnrho, before[MHD_LNRHO], rate, w);
}

/* Field by field and plane by plane without loops, so that compilers vectorise a caller's loop. */
KERNEL_INLINE void MHD(column_of)(const MHD_REAL *at, ptrdiff_t z, MHD_REAL below[3],
                                  MHD_REAL above[3])
{
    below[0] = at[-z];
    above[0] = at[z];
    below[1] = at[-2 * z];
    above[1] = at[2 * z];
    below[2] = at[-3 * z];
    above[2] = at[3 * z];
}

/* The column of a point from the fields themselves; pitch_z: elements to the plane above. */
KERNEL_INLINE void MHD(column_at)(const MHD_REAL *at, ptrdiff_t f, ptrdiff_t y, ptrdiff_t z,
                                  const struct MHD(weights) * w, struct MHD(column) * c)
{
    for (int n = 0; n < MHD_FIELDS; n++) {
        MHD(column_of)(at + n * f, z, c->below[n], c->above[n]);
    }
    for (int n = 0; n < 6; n++) {
        c->mixed[n] = 0;
    }
    MHD(add_mixed)(c->mixed, at - 3 * z, f, y, 3, -1, w);
    MHD(add_mixed)(c->mixed, at - 2 * z, f, y, 2, -1, w);
    MHD(add_mixed)(c->mixed, at - z, f, y, 1, -1, w);
    MHD(add_mixed)(c->mixed, at + z, f, y, 1, 1, w);
    MHD(add_mixed)(c->mixed, at + 2 * z, f, y, 2, 1, w);
    MHD(add_mixed)(c->mixed, at + 3 * z, f, y, 3, 1, w);
}
