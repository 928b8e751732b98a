/*
 * uri_match.c - the variables of a URI, by the program of a template
 *
 * First, from the end of the URI to its start, one bit for each place and step: does
 * the rest of the URI match from here? Then once from the start, at each fork the way
 * it prefers among those that lead to the end. No way is ever tried twice, so the work
 * is the length of the URI times that of the program, whatever they are. The walk
 * leaves events, one for each value it passed; uri_values.c makes variables of them.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/uri_values.h"

#define BITS 64

struct match {
    const mcp_uri_template *t;
    size_t count;         /* units of the URI */
    mcpi_uri_unit *units; /* one block with the bytes */
    char *bytes;          /* the same, decoded */
    uint64_t *rows;       /* count + 1 of row_words each */
    size_t row_words;
    size_t steps;
};

/* ---- does it match? -------------------------------------------------------- */

static bool
unit_is_in(mcpi_uri_unit unit, enum mcpi_uri_set set)
{
    if (unit & MCPI_URI_ENCODED || mcpi_uri_is_unreserved((unsigned char)unit))
        return true;
    if (set == MCPI_URI_BUT_PAIR)
        return unit != '=' && unit != ',';
    return set == MCPI_URI_EACH;
}

static bool
literal_is_at(struct match *m, const struct mcpi_uri_step *step, size_t at)
{
    const mcpi_uri_unit *wanted = m->t->program.units + step->first;

    if (m->count - at < step->count)
        return false;
    for (size_t i = 0; i < step->count; i++) {
        m->steps++;
        if (m->units[at + i] != wanted[i])
            return false;
    }
    return true;
}

static bool
row_get(const struct match *m, size_t at, size_t step)
{
    return m->rows[at * m->row_words + step / BITS] >> (step % BITS) & 1;
}

static void
row_set(struct match *m, size_t at, size_t step)
{
    m->rows[at * m->row_words + step / BITS] |= (uint64_t)1 << (step % BITS);
}

static bool
step_consumes(struct match *m, const struct mcpi_uri_step *step, size_t at)
{
    switch (step->kind) {
    case MCPI_URI_END:
        return at == m->count;
    case MCPI_URI_LITERAL:
        return m->count - at >= step->count &&
               row_get(m, at + step->count, step->next) && literal_is_at(m, step, at);
    case MCPI_URI_ANY:
        return at < m->count && row_get(m, at + 1, step->next) &&
               unit_is_in(m->units[at], step->set);
    default:
        return false;
    }
}

/* Steps that consume look at later rows only, the others at steps before them or at
 * steps that consume: so these come first. */
static void
row_fill(struct match *m, size_t at)
{
    const struct mcpi_uri_program *program = &m->t->program;

    m->steps += 2 * program->step_count;
    for (size_t i = 0; i < program->step_count; i++) {
        if (step_consumes(m, &program->steps[i], at))
            row_set(m, at, i);
    }
    for (size_t i = 0; i < program->step_count; i++) {
        const struct mcpi_uri_step *step = &program->steps[i];

        if (step->kind < MCPI_URI_FORK)
            continue;
        if (row_get(m, at, step->next) ||
            (step->kind == MCPI_URI_FORK && row_get(m, at, step->other)))
            row_set(m, at, i);
    }
}

static bool
match_fill(struct match *m)
{
    for (size_t at = m->count + 1; at > 0; at--)
        row_fill(m, at - 1);
    return row_get(m, 0, m->t->program.start);
}

/* ---- the walk -------------------------------------------------------------- */

static void
event_mark(struct mcpi_buf *events, struct mcpi_uri_event *event,
           const struct mcpi_uri_step *step, size_t at)
{
    switch (step->mark) {
    case MCPI_URI_ITEM:
    case MCPI_URI_MORE:
        *event = (struct mcpi_uri_event){.variable = step->variable,
                                         .key = MCPI_URI_NONE,
                                         .start = at,
                                         .next = MCPI_URI_NONE,
                                         .is_more = step->mark == MCPI_URI_MORE};
        break;
    case MCPI_URI_KEY:
        event->key = event->start;
        event->key_end = at;
        break;
    case MCPI_URI_VALUE:
        event->start = at;
        break;
    case MCPI_URI_DONE:
        event->end = at;
        mcpi_buf_append(events, event, sizeof(*event));
        break;
    }
}

static void
match_walk(struct match *m, struct mcpi_buf *events)
{
    const struct mcpi_uri_program *program = &m->t->program;
    const struct mcpi_uri_step *step = &program->steps[program->start];
    struct mcpi_uri_event event = {0};
    size_t at = 0;

    while (step->kind != MCPI_URI_END) {
        size_t next = step->next;

        m->steps++;
        if (step->kind == MCPI_URI_LITERAL)
            at += step->count;
        else if (step->kind == MCPI_URI_ANY)
            at++;
        else if (step->kind == MCPI_URI_MARK)
            event_mark(events, &event, step, at);
        else if (!row_get(m, at, next))
            next = step->other;
        step = &program->steps[next];
    }
}

/* ---- the whole ------------------------------------------------------------- */

/* 1: it does, and the events are there; 0: it does not. */
static int
match_run(struct match *m, struct mcpi_buf *events)
{
    const struct mcpi_uri_program *program = &m->t->program;
    const struct mcpi_uri_step *start = &program->steps[program->start];
    size_t words;

    if (start->kind == MCPI_URI_LITERAL && !literal_is_at(m, start, 0))
        return 0; /* most templates a URI is tried with begin otherwise */
    m->row_words = (program->step_count + BITS - 1) / BITS;
    words = (m->count + 1) * m->row_words;
    m->rows = mcpi_alloc_zero(m->t->mem, words * sizeof(*m->rows));
    if (!m->rows)
        return MCP_E_NOMEM;
    if (!match_fill(m))
        return 0;
    match_walk(m, events);
    return events->status < 0 ? events->status : 1;
}

static int
match_units(struct match *m, mcp_doc **ret_doc, size_t *ret_missing)
{
    struct mcpi_uri_reading reading = {.t = m->t, .bytes = m->bytes};
    mcp_doc *doc = NULL;
    int r;

    /* a value takes a unit at least, apart from one empty one before each separator */
    mcpi_buf_init(&reading.events, m->t->mem,
                  (2 * m->count + m->t->variable_count + 2) *
                      sizeof(struct mcpi_uri_event));
    r = match_run(m, &reading.events);
    if (r > 0)
        r = mcpi_uri_values(&reading, &doc, ret_missing);
    if (r == 0)
        *ret_doc = doc;
    mcpi_buf_done(&reading.events);
    mcpi_free(m->t->mem, m->rows);
    return r;
}

int
mcpi_uri_match(const mcp_uri_template *t, const char *uri, size_t len,
               mcp_doc **ret_variables, size_t *ret_missing, size_t *ret_steps)
{
    struct match m = {.t = t};
    int r = 0;

    assert(len <= MCP_URI_MATCH_LENGTH_MAX);
    m.units = mcpi_alloc(t->mem, (len + 1) * (sizeof(*m.units) + 1));
    if (!m.units)
        return MCP_E_NOMEM;
    m.bytes = (char *)(m.units + len + 1);
    if (mcpi_uri_read(uri, len, m.units, &m.count) == len) {
        for (size_t i = 0; i < m.count; i++)
            m.bytes[i] = (char)(m.units[i] & 0xFF);
        r = match_units(&m, ret_variables, ret_missing);
    } else {
        *ret_variables = NULL;
    }
    *ret_steps = m.steps;
    mcpi_free(t->mem, m.units);
    return r;
}

int
mcp_uri_template_match(const mcp_uri_template *t, const char *uri, size_t length,
                       mcp_doc **ret_variables, size_t *ret_missing, mcp_error *err)
{
    size_t steps;
    int r;

    if (!t || !uri || !ret_variables)
        return mcpi_error_set(err, MCP_E_INVAL, "no template or no URI to match");
    if (length > MCP_URI_MATCH_LENGTH_MAX)
        return mcpi_error_set(err, MCP_E_LIMIT, "a URI to match longer than %d bytes",
                              MCP_URI_MATCH_LENGTH_MAX);
    r = mcpi_uri_match(t, uri, length, ret_variables, ret_missing, &steps);
    return r < 0 ? mcpi_error_set(err, r, "a URI to match: %s", mcp_status_text(r)) : 0;
}
