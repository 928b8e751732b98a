/* http_client_matrix.c - how calls over HTTP end: each cause, each phase, each cell */
#include "end/http_client_matrix.h"

#include <unistd.h>

static const struct {
    const char *name;
    unsigned cell;
} cells[] = {{"modern", CELL_MODERN},
             {"session", CELL_SESSION},
             {"bodies", CELL_BODIES},
             {"stateless", CELL_STATELESS},
             {"old", CELL_OLD}};
#define CELLS (sizeof(cells) / sizeof(cells[0]))

/* ---- one run ------------------------------------------------------------- */

void
run_begin(struct run *u, struct rig *r, const struct phase *phase)
{
    memset(u, 0, sizeof(*u));
    u->r = r;
    u->phase = phase;
    u->block = -1;
    u->v.fd = u->other_v.fd = -1;
    u->stream = &u->v;
    u->opt.size = sizeof(u->opt);
}

static void
drop(struct visit *v)
{
    if (v->fd >= 0)
        visit_close(v);
}

static bool
is_dead(const struct run *u)
{
    return u->cause->closes ||
           (u->cause->status == MCP_E_CLOSED && u->stream == &u->r->inlet);
}

/* Nobody listens on that port any more. */
static bool
is_deserted(const struct run *u)
{
    return u->r->s.fd < 0;
}

/* The other call has its own answer, and more can be called. */
static void
finish(struct run *u)
{
    if (is_dead(u) || is_deserted(u))
        return;
    rig_works(u->r); /* E2: the very next thing that comes */
    rig_answer(u->r, &u->other_v, u->other.id, "undisturbed");
    u->other_v.fd = -1;
    rig_ends(&u->other, 0, "undisturbed");
    rig_works(u->r);
}

static void
close_deserted(struct run *u)
{
    drop(&u->other_v);
    u->other_v.fd = -1;
    rig_ends(&u->other, MCP_E_CLOSED, NULL);
    drop(&u->r->inlet);
    mcp_client_free(u->r->client);
    test_mem_done(&u->r->mem);
}

static void
run_close(struct run *u)
{
    mcp_scope_free(u->scope);
    if (is_deserted(u))
        close_deserted(u);
    else if (is_dead(u))
        rig_done(u->r);
    else
        rig_close(u->r);
    drop(&u->v);
    drop(&u->other_v);
}

static void
run(struct run *u)
{
    const struct rig_options opt = {.unread = u->phase->left == LEFT_PART};

    rig_open(u->r, u->r->cell, u->r->tls, &opt);
    assert_int_equal(mcp_scope_new(NULL, &u->scope), 0);
    u->opt.scope = u->scope;
    if (!u->cause->closes) {
        rig_call(u->r, &u->other, NULL);
        rig_take(u->r, &u->other_v, "tools/call");
    }
    u->phase->drive(u);
    u->cause->strike(u);
    u->cause->expect(u);
    finish(u);
    run_close(u);
}

/* ---- all of them --------------------------------------------------------- */

struct one {
    const struct phase *phase;
    const struct cause *cause;
    const struct cell_case *more;
    unsigned cell;
    bool tls;
    char name[160];
};

static void
run_one(void **state)
{
    const struct one *one = *state;
    struct rig *r = calloc(1, sizeof(*r));
    struct run *u = calloc(1, sizeof(*u));

    assert_non_null(r);
    assert_non_null(u);
    test_limit(120); /* for each */
    r->cell = one->cell;
    r->tls = one->tls;
    if (one->more) {
        one->more->run(r);
    } else {
        run_begin(u, r, one->phase);
        u->cause = one->cause;
        run(u);
    }
    free(u);
    free(r);
}

static bool
fits(unsigned cell, bool tls, const struct phase *phase, const struct cause *cause)
{
    struct rig r = {.cell = cell, .tls = tls};

    if (!(phase->cells & cell) || (tls && cause->plain_only))
        return false;
    return !cause->fits || cause->fits(&r, phase);
}

static const char *
items_of(unsigned cell, const struct phase *phase, const struct cause *cause)
{
    if (phase->left == LEFT_NOTHING)
        return "B5_B7";
    if (phase->left == LEFT_ANSWERED)
        return "A16_B14";
    if (cell == CELL_STATELESS)
        return cause->stateless;
    return cell == CELL_MODERN ? cause->modern : cause->legacy;
}

static size_t
add_matrix(struct one *ones, size_t used, size_t k, bool tls)
{
    for (size_t p = 0; p < run_phase_count; p++) {
        for (size_t c = 0; c < run_cause_count; c++) {
            const struct phase *phase = &run_phases[p];
            const struct cause *cause = &run_causes[c];
            struct one *one = &ones[used];

            if (!fits(cells[k].cell, tls, phase, cause))
                continue;
            *one = (struct one){phase, cause, NULL, cells[k].cell, tls, ""};
            (void)snprintf(one->name, sizeof(one->name), "%s.%s%s_%s_%s", cells[k].name,
                           tls ? "tls." : "", items_of(cells[k].cell, phase, cause),
                           cause->name, phase->name);
            used++;
        }
    }
    return used;
}

static size_t
add_more(struct one *ones, size_t used, size_t k, bool tls)
{
    for (size_t i = 0; i < run_more_count; i++) {
        const struct cell_case *more = &run_more[i];
        struct one *one = &ones[used];

        if (!(more->cells & cells[k].cell) || (tls && more->plain_only))
            continue;
        *one = (struct one){NULL, NULL, more, cells[k].cell, tls, ""};
        (void)snprintf(one->name, sizeof(one->name), "%s.%s%s", cells[k].name,
                       tls ? "tls." : "", more->name);
        used++;
    }
    return used;
}

int
run_main(const char *file, unsigned which)
{
    size_t most = 2 * CELLS * (run_phase_count * run_cause_count + run_more_count);
    size_t used = 0;
    struct one *ones = calloc(most, sizeof(*ones));
    struct test_case *cases = calloc(most, sizeof(*cases));
    int r = 1;

    for (size_t k = 0; ones && cases && k < 2 * CELLS; k++) {
        if (!(which & cells[k / 2].cell))
            continue;
        used = add_matrix(ones, used, k / 2, k % 2 != 0);
        used = add_more(ones, used, k / 2, k % 2 != 0);
    }
    for (size_t i = 0; i < used; i++)
        cases[i] = (struct test_case){ones[i].name, run_one, &ones[i]};
    if (used > 0)
        r = test_main(file, cases, used);
    free(cases);
    free(ones);
    return r;
}
