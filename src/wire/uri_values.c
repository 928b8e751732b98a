/*
 * uri_values.c - what a walk over a URI passed, put together to variables
 *
 * What no automaton can tell is checked here: a pair that stands there twice, a
 * variable that stands there twice, a key named twice, text that is no UTF-8.
 */
#include "wire/uri_values.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/value.h"

/* ---- events of one variable ------------------------------------------------ */

static struct mcpi_uri_event *
event_at(const struct mcpi_uri_reading *reading, size_t index)
{
    return (struct mcpi_uri_event *)(void *)reading->events.data + index;
}

static size_t
event_count(const struct mcpi_uri_reading *reading)
{
    return reading->events.len / sizeof(struct mcpi_uri_event);
}

static void
chain_append(struct mcpi_uri_reading *reading, size_t variable, size_t index)
{
    struct mcpi_uri_chain *chain = &reading->chains[variable];

    if (chain->first == MCPI_URI_NONE)
        chain->first = index;
    else
        event_at(reading, chain->last)->next = index;
    chain->last = index;
}

/* The variable of the same expression that takes pairs of any name, if there is one. */
static size_t
find_taker(const mcp_uri_template *t, size_t variable)
{
    const struct mcpi_uri_part *part = t->parts;

    while (!part->form || variable >= part->first + part->count)
        part++;
    for (size_t i = part->first; part->form->is_named && i < part->first + part->count;
         i++) {
        if (t->variables[i].explode)
            return i;
    }
    return MCPI_URI_NONE;
}

/* A pair of the same name again: it can only be one of {?keys*}. */
static bool
event_give_away(struct mcpi_uri_reading *reading, size_t index)
{
    struct mcpi_uri_event *event = event_at(reading, index);
    bool is_list = index + 1 < event_count(reading) &&
                   event_at(reading, index + 1)->is_more;
    size_t taker = find_taker(reading->t, event->variable);

    if (taker == MCPI_URI_NONE || is_list)
        return false;
    event->has_name_as_key = true;
    chain_append(reading, taker, index);
    return true;
}

static bool
reading_chain(struct mcpi_uri_reading *reading)
{
    for (size_t i = 0; i < reading->t->variable_count; i++)
        reading->chains[i] = (struct mcpi_uri_chain){MCPI_URI_NONE, MCPI_URI_NONE};
    for (size_t i = 0; i < event_count(reading); i++) {
        const struct mcpi_uri_event *event = event_at(reading, i);
        bool is_again = reading->chains[event->variable].first != MCPI_URI_NONE &&
                        !event->is_more;

        if (!is_again || reading->t->variables[event->variable].explode)
            chain_append(reading, event->variable, i);
        else if (!event_give_away(reading, i))
            return false;
    }
    return true;
}

/* ---- values ---------------------------------------------------------------- */

static bool
span_is_text(const struct mcpi_uri_reading *reading, size_t start, size_t end)
{
    return mcpi_utf8_valid(reading->bytes + start, end - start);
}

static bool
spans_equal(const struct mcpi_uri_reading *reading, size_t a, size_t a_end, size_t b,
            size_t b_end)
{
    return a_end - a == b_end - b &&
           memcmp(reading->bytes + a, reading->bytes + b, a_end - a) == 0;
}

static bool
event_has_key(const struct mcpi_uri_event *event)
{
    return event->key != MCPI_URI_NONE || event->has_name_as_key;
}

/* The key of an event that has one; without its own, the name it was found by. */
static const char *
event_key(const struct mcpi_uri_reading *reading, const struct mcpi_uri_event *event,
          size_t *ret_len)
{
    if (event->key == MCPI_URI_NONE) {
        *ret_len = strlen(reading->t->variables[event->variable].name);
        return reading->t->variables[event->variable].name;
    }
    *ret_len = event->key_end - event->key;
    return reading->bytes + event->key;
}

static bool
keys_equal(const struct mcpi_uri_reading *reading, const struct mcpi_uri_event *x,
           const struct mcpi_uri_event *y)
{
    size_t x_len, y_len;
    const char *x_key = event_key(reading, x, &x_len);
    const char *y_key = event_key(reading, y, &y_len);

    return x_len == y_len && memcmp(x_key, y_key, x_len) == 0;
}

static bool
chains_equal(const struct mcpi_uri_reading *reading, size_t a, size_t b)
{
    const struct mcpi_uri_event *x, *y;

    for (; a != MCPI_URI_NONE && b != MCPI_URI_NONE; a = x->next, b = y->next) {
        x = event_at(reading, a);
        y = event_at(reading, b);
        if (event_has_key(x) != event_has_key(y) ||
            !spans_equal(reading, x->start, x->end, y->start, y->end))
            return false;
        if (event_has_key(x) && !keys_equal(reading, x, y))
            return false;
    }
    return a == MCPI_URI_NONE && b == MCPI_URI_NONE;
}

static size_t
event_characters(const struct mcpi_uri_reading *reading, size_t index)
{
    const struct mcpi_uri_event *event = event_at(reading, index);

    return mcpi_utf8_count(reading->bytes + event->start, event->end - event->start);
}

/* Is the text of a prefix the start of the whole? */
static bool
prefix_fits(const struct mcpi_uri_reading *reading, size_t first, size_t whole,
            unsigned characters)
{
    const struct mcpi_uri_event *prefix = event_at(reading, first);
    const struct mcpi_uri_event *event = event_at(reading, whole);
    size_t len = prefix->end - prefix->start;

    if (event->next != MCPI_URI_NONE || event->end - event->start < len)
        return false;
    if (!spans_equal(reading, prefix->start, prefix->end, event->start,
                     event->start + len))
        return false;
    return event_characters(reading, first) == characters ||
           event->end - event->start == len;
}

/* The occurrence that tells most of a name's value: the whole, or the longest prefix.
 * MCPI_URI_NONE: the URI has nothing of it. */
static size_t
slot_teller(const struct mcpi_uri_reading *reading, size_t slot)
{
    size_t found = MCPI_URI_NONE;

    for (size_t i = 0; i < reading->t->variable_count; i++) {
        const struct mcpi_uri_variable *v = &reading->t->variables[i];

        if (v->slot != slot || reading->chains[i].first == MCPI_URI_NONE)
            continue;
        if (!v->prefix)
            return i;
        if (found == MCPI_URI_NONE || v->prefix > reading->t->variables[found].prefix)
            found = i;
    }
    return found;
}

/* A prefix is the whole value if it is shorter than it might be. */
static bool
teller_tells_all(const struct mcpi_uri_reading *reading, size_t teller)
{
    unsigned prefix = reading->t->variables[teller].prefix;

    return prefix == 0 ||
           event_characters(reading, reading->chains[teller].first) < prefix;
}

/* Do all occurrences of a name agree with the one that tells its value, and is no
 * prefix longer than it may be? */
static bool
slot_agrees(const struct mcpi_uri_reading *reading, size_t slot, size_t teller)
{
    for (size_t i = 0; i < reading->t->variable_count; i++) {
        const struct mcpi_uri_variable *v = &reading->t->variables[i];
        size_t first = reading->chains[i].first;

        if (v->slot != slot || first == MCPI_URI_NONE)
            continue;
        if (v->prefix && event_characters(reading, first) > v->prefix)
            return false;
        if (i == teller)
            continue;
        if (v->prefix
                ? !prefix_fits(reading, first, reading->chains[teller].first, v->prefix)
                : !chains_equal(reading, first, reading->chains[teller].first))
            return false;
    }
    return true;
}

/* ---- the answer ------------------------------------------------------------ */

static bool
chain_is_text(const struct mcpi_uri_reading *reading, size_t index)
{
    for (; index != MCPI_URI_NONE; index = event_at(reading, index)->next) {
        const struct mcpi_uri_event *event = event_at(reading, index);

        if (!span_is_text(reading, event->start, event->end))
            return false;
        if (event->key != MCPI_URI_NONE &&
            (!span_is_text(reading, event->key, event->key_end) ||
             memchr(reading->bytes + event->key, '\0', event->key_end - event->key)))
            return false;
    }
    return true;
}

static void
write_text(const struct mcpi_uri_reading *reading, const struct mcpi_uri_event *event,
           mcp_builder *b, const char *key)
{
    mcp_builder_string_n(b, key, reading->bytes + event->start,
                         event->end - event->start);
}

static int
write_map(const struct mcpi_uri_reading *reading, size_t variable, mcp_builder *b)
{
    const char *name = reading->t->variables[variable].name;
    const char *text;
    size_t len;
    size_t index = reading->chains[variable].first;
    struct mcpi_buf key;
    int r = 0;

    mcpi_buf_init(&key, reading->t->mem, MCP_URI_MATCH_LENGTH_MAX + 1);
    mcp_builder_begin_object(b, name);
    for (; r == 0 && index != MCPI_URI_NONE; index = event_at(reading, index)->next) {
        const struct mcpi_uri_event *event = event_at(reading, index);

        mcpi_buf_clear(&key);
        text = event_key(reading, event, &len);
        mcpi_buf_append(&key, text, len);
        mcpi_buf_append(&key, "", 1);
        r = key.status;
        if (r == 0)
            write_text(reading, event, b, key.data);
    }
    mcp_builder_end(b);
    mcpi_buf_done(&key);
    return r;
}

static int
write_value(const struct mcpi_uri_reading *reading, size_t variable, mcp_builder *b)
{
    const struct mcpi_uri_variable *v = &reading->t->variables[variable];
    size_t index = reading->chains[variable].first;

    if (!v->explode && event_at(reading, index)->next == MCPI_URI_NONE) {
        write_text(reading, event_at(reading, index), b, v->name);
        return 0;
    }
    for (; v->explode && index != MCPI_URI_NONE;
         index = event_at(reading, index)->next) {
        if (event_has_key(event_at(reading, index)))
            return write_map(reading, variable, b);
    }
    mcp_builder_begin_array(b, v->name);
    for (index = reading->chains[variable].first; index != MCPI_URI_NONE;
         index = event_at(reading, index)->next)
        write_text(reading, event_at(reading, index), b, NULL);
    mcp_builder_end(b);
    return 0;
}

/* 1: written, 0: it does not match after all. */
static int
write_variables(const struct mcpi_uri_reading *reading, mcp_builder *b, size_t *missing)
{
    int r = 0;

    mcp_builder_begin_object(b, NULL);
    for (size_t slot = 0; r == 0 && slot < reading->t->name_count; slot++) {
        size_t teller = slot_teller(reading, slot);

        if (teller != MCPI_URI_NONE &&
            (!slot_agrees(reading, slot, teller) ||
             !chain_is_text(reading, reading->chains[teller].first)))
            return 0;
        if (teller != MCPI_URI_NONE && teller_tells_all(reading, teller))
            r = write_value(reading, teller, b);
        else
            (*missing)++;
    }
    mcp_builder_end(b);
    return r < 0 ? r : 1;
}

static bool
has_key_twice(const mcp_json *variables)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(variables); mcp_json_next(&it);) {
        if (mcpi_json_has_duplicates(it.value))
            return true;
    }
    return false;
}

static int
reading_answer(const struct mcpi_uri_reading *reading, mcp_doc **ret_doc,
               size_t *ret_missing)
{
    mcp_builder *b = mcp_builder_new(reading->t->mem);
    size_t missing = 0;
    mcp_doc *doc = NULL;
    int r = write_variables(reading, b, &missing);

    if (r > 0)
        r = mcp_builder_parse(b, &doc);
    mcp_builder_free(b);
    if (r < 0)
        return r;
    if (doc && has_key_twice(mcp_doc_root(doc))) {
        mcp_doc_free(doc);
        doc = NULL;
    }
    *ret_doc = doc;
    if (doc && ret_missing)
        *ret_missing = missing;
    return 0;
}

int
mcpi_uri_values(struct mcpi_uri_reading *reading, mcp_doc **ret_doc,
                size_t *ret_missing)
{
    const mcp_uri_template *t = reading->t;
    int r = 0;

    *ret_doc = NULL;
    reading->chains = mcpi_alloc(t->mem,
                                 (t->variable_count + 1) * sizeof(*reading->chains));
    if (!reading->chains)
        return MCP_E_NOMEM;
    if (reading_chain(reading))
        r = reading_answer(reading, ret_doc, ret_missing);
    mcpi_free(t->mem, reading->chains);
    return r;
}
