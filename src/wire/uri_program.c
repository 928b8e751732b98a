/*
 * uri_program.c - a template as steps of an automaton
 *
 * Steps are made from the end of the template to its start, so that a step knows where
 * it leads when it is made. Where a loop comes back, the fork at its head is made first
 * and told its way into the loop afterwards. What is read this way is written down in
 * mcp/uri_template.h; which way a fork prefers decides between several readings.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "wire/uri_template.h"

struct maker {
    const mcp_uri_template *t;
    struct mcpi_uri_program *program;
    size_t step_room;
    int status;
};

/* ---- single steps ---------------------------------------------------------- */

static size_t
make_step(struct maker *m, struct mcpi_uri_step step)
{
    struct mcpi_uri_program *program = m->program;
    struct mcpi_uri_step *steps = program->steps;
    size_t room = m->step_room ? m->step_room * 2 : 32;

    if (m->status < 0)
        return 0;
    if (program->step_count == m->step_room) {
        steps = mcpi_realloc(m->t->mem, steps, room * sizeof(*steps));
        if (!steps) {
            m->status = MCP_E_NOMEM;
            return 0;
        }
        program->steps = steps;
        m->step_room = room;
    }
    steps[program->step_count] = step;
    return program->step_count++;
}

static size_t
make_fork(struct maker *m, size_t next, size_t other)
{
    return make_step(
        m, (struct mcpi_uri_step){.kind = MCPI_URI_FORK, .next = next, .other = other});
}

static void
fork_aim(struct maker *m, size_t fork, size_t other)
{
    if (m->status == 0)
        m->program->steps[fork].other = other;
}

static size_t
make_mark(struct maker *m, enum mcpi_uri_mark mark, size_t variable, size_t next)
{
    return make_step(m, (struct mcpi_uri_step){.kind = MCPI_URI_MARK,
                                               .mark = mark,
                                               .variable = variable,
                                               .next = next});
}

static size_t
make_literal(struct maker *m, const char *text, size_t len, size_t next)
{
    struct mcpi_uri_program *program = m->program;
    size_t first = program->unit_count, count = 0, read;

    read = mcpi_uri_read(text, len, program->units + first, &count);
    assert(read == len); /* the parser saw to it */
    (void)read;
    program->unit_count += count;
    return make_step(
        m, (struct mcpi_uri_step){
               .kind = MCPI_URI_LITERAL, .first = first, .count = count, .next = next});
}

static size_t
make_char(struct maker *m, char c, size_t next)
{
    return make_literal(m, &c, 1, next);
}

/* As few units of a set as will do. */
static size_t
make_run(struct maker *m, enum mcpi_uri_set set, size_t next)
{
    size_t head = make_fork(m, next, 0);
    size_t any = make_step(
        m, (struct mcpi_uri_step){.kind = MCPI_URI_ANY, .set = set, .next = head});

    fork_aim(m, head, any);
    return head;
}

/* ---- values ---------------------------------------------------------------- */

static enum mcpi_uri_set
set_of(const struct mcpi_uri_operator *form)
{
    return form->is_reserved ? MCPI_URI_EACH : MCPI_URI_PLAIN;
}

/* Text, or texts with commas between them. */
static size_t
make_plain(struct maker *m, const struct mcpi_uri_operator *form, size_t variable,
           size_t next)
{
    bool is_text = form->is_reserved || m->t->variables[variable].prefix;
    size_t head = is_text ? next : make_fork(m, next, 0);
    size_t run = make_run(m, set_of(form), make_mark(m, MCPI_URI_DONE, variable, head));

    if (!is_text)
        fork_aim(m, head,
                 make_char(m, ',', make_mark(m, MCPI_URI_MORE, variable, run)));
    return make_mark(m, MCPI_URI_ITEM, variable, run);
}

/* {list*}: texts with separators between them. */
static size_t
make_list(struct maker *m, const struct mcpi_uri_operator *form, size_t variable,
          size_t next)
{
    size_t head = make_fork(m, next, 0);
    size_t done = make_mark(m, MCPI_URI_DONE, variable, head);
    size_t item = make_mark(m, MCPI_URI_ITEM, variable,
                            make_run(m, set_of(form), done));

    fork_aim(m, head, make_char(m, form->separator, item));
    return item;
}

/* {keys*}: key=value with separators between them. */
static size_t
make_map(struct maker *m, const struct mcpi_uri_operator *form, size_t variable,
         size_t next)
{
    enum mcpi_uri_set keys = form->is_reserved ? MCPI_URI_BUT_PAIR : MCPI_URI_PLAIN;
    size_t head = make_fork(m, next, 0);
    size_t at = make_mark(m, MCPI_URI_DONE, variable, head);

    at = make_run(m, set_of(form), at);
    at = make_char(m, '=', make_mark(m, MCPI_URI_VALUE, variable, at));
    at = make_run(m, keys, make_mark(m, MCPI_URI_KEY, variable, at));
    at = make_mark(m, MCPI_URI_ITEM, variable, at);
    fork_aim(m, head, make_char(m, form->separator, at));
    return at;
}

static size_t
make_unnamed(struct maker *m, const struct mcpi_uri_operator *form, size_t variable,
             size_t next)
{
    size_t map;

    if (!m->t->variables[variable].explode)
        return make_plain(m, form, variable, next);
    map = make_map(m, form, variable, next);
    return make_fork(m, map, make_list(m, form, variable, next));
}

/* {a,b}: values from the left. Where a value is none of the variable whose turn it is,
 * that one is missing. */
static size_t
make_sequence(struct maker *m, const struct mcpi_uri_part *part, size_t next)
{
    size_t last = part->first + part->count - 1;
    size_t at = make_unnamed(m, part->form, last, next);

    for (size_t i = last; i > part->first; i--) {
        size_t rest = make_fork(m, make_char(m, part->form->separator, at), next);
        size_t value = make_unnamed(m, part->form, i - 1, rest);

        at = make_fork(m, value, at);
    }
    return at;
}

/* ---- pairs ----------------------------------------------------------------- */

/* name=value, or the name alone. */
static size_t
make_named(struct maker *m, const struct mcpi_uri_operator *form, size_t variable,
           size_t next)
{
    const struct mcpi_uri_variable *v = &m->t->variables[variable];
    size_t nothing = make_mark(m, MCPI_URI_ITEM, variable,
                               make_mark(m, MCPI_URI_DONE, variable, next));
    size_t value;

    if (v->explode)
        value = make_mark(
            m, MCPI_URI_ITEM, variable,
            make_run(m, MCPI_URI_PLAIN, make_mark(m, MCPI_URI_DONE, variable, next)));
    else
        value = make_plain(m, form, variable, next);
    value = make_fork(m, make_char(m, '=', value), nothing);
    return make_literal(m, v->name, strlen(v->name), value);
}

/* A pair of any name, for {?keys*}. */
static size_t
make_other_name(struct maker *m, size_t variable, size_t next)
{
    size_t done = make_mark(m, MCPI_URI_DONE, variable, next);
    size_t nothing = make_mark(m, MCPI_URI_VALUE, variable, done);
    size_t value = make_mark(m, MCPI_URI_VALUE, variable,
                             make_run(m, MCPI_URI_PLAIN, done));
    size_t at = make_fork(m, make_char(m, '=', value), nothing);

    at = make_run(m, MCPI_URI_PLAIN, make_mark(m, MCPI_URI_KEY, variable, at));
    at = make_step(m, (struct mcpi_uri_step){
                          .kind = MCPI_URI_ANY, .set = MCPI_URI_PLAIN, .next = at});
    return make_mark(m, MCPI_URI_ITEM, variable, at);
}

/* {?a,b}: pairs in any order; known names are preferred, the first in the list most. */
static size_t
make_pairs(struct maker *m, const struct mcpi_uri_part *part, size_t next)
{
    size_t head = make_fork(m, next, 0);
    size_t at = SIZE_MAX;

    for (size_t i = part->first; i < part->first + part->count; i++) {
        if (m->t->variables[i].explode) {
            at = make_other_name(m, i, head);
            break;
        }
    }
    for (size_t i = part->first + part->count; i > part->first; i--) {
        size_t named = make_named(m, part->form, i - 1, head);

        at = at == SIZE_MAX ? named : make_fork(m, named, at);
    }
    fork_aim(m, head, make_char(m, part->form->separator, at));
    return at;
}

/* ---- the whole ------------------------------------------------------------- */

static size_t
make_expression(struct maker *m, const struct mcpi_uri_part *part, size_t next)
{
    size_t at = part->form->is_named ? make_pairs(m, part, next)
                                     : make_sequence(m, part, next);

    /* where nothing stands, it is no value rather than an empty one */
    if (!part->form->first)
        return make_fork(m, next, at);
    return make_fork(m, make_char(m, part->form->first, at), next);
}

int
mcpi_uri_program_make(mcp_uri_template *t)
{
    struct maker m = {.t = t, .program = &t->program};
    /* literals, names twice at most, and a few separators for each variable */
    size_t room = strlen(t->text) * 2 + t->variable_count * 8 + 1;
    size_t at;

    t->program.units = mcpi_alloc(t->mem, room * sizeof(*t->program.units));
    if (!t->program.units)
        return MCP_E_NOMEM;
    at = make_step(&m, (struct mcpi_uri_step){.kind = MCPI_URI_END});
    for (size_t i = t->part_count; i > 0; i--) {
        const struct mcpi_uri_part *part = &t->parts[i - 1];

        if (part->form)
            at = make_expression(&m, part, at);
        else
            at = make_literal(&m, part->text, part->len, at);
    }
    assert(t->program.unit_count <= room);
    t->program.start = at;
    return m.status;
}

void
mcpi_uri_program_done(mcp_uri_template *t)
{
    mcpi_free(t->mem, t->program.steps);
    mcpi_free(t->mem, t->program.units);
}
