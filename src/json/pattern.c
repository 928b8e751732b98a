/* pattern.c - regular expressions through PCRE2, with limits of length, steps, memory */
#include "json/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/pattern_ecma.h"
#include "json/pattern_simple.h"

/* A translated pattern: a character becomes some seventy at most. */
#define TRANSLATED_MAX ((size_t)MCPI_PATTERN_LENGTH_MAX * 72)

/* How hard to try from one place of the text, and what it costs: some 20 steps of PCRE2
 * for one of a budget. */
static const struct {
    uint32_t steps;
    uint64_t cost;
} efforts[] = {{40, 2}, {400, 20}, {5000, 250}, {MCPI_PATTERN_STEPS_MAX, 10000}};

#define EFFORTS (sizeof(efforts) / sizeof(efforts[0]))

/* What a search costs at least: the call. */
#define CALL_COST 6

/* Characters that PCRE2 may pass in the time of a step, without counting one. */
#define STEP_LENGTH 256

/* A place that is not one of the text that was given: it was translated. */
#define NOWHERE SIZE_MAX

/* The budget of a search that has none: a second or so. */
#define ALONE_BUDGET UINT64_C(1000000)

struct mcpi_pattern {
    const mcp_allocator *mem;
    pcre2_general_context *general;
    pcre2_match_context *limits[EFFORTS];
    pcre2_code *code;
    bool linear;
    bool anchored; /* it is found at the start of a text or not at all */
    struct mcpi_pattern_simple simple; /* of 0 items: it is not, ask PCRE2 */
    /* memory of a search that nobody runs now, or NULL; behind a pointer, because a
     * search does not change the pattern */
    _Atomic(pcre2_match_data *) *spare;
};

static void *
pattern_alloc(size_t size, void *user)
{
    const struct mcpi_pattern *pattern = user;

    return mcpi_alloc(pattern->mem, size ? size : 1);
}

static void
pattern_release(void *ptr, void *user)
{
    const struct mcpi_pattern *pattern = user;

    mcpi_free(pattern->mem, ptr);
}

static int
pattern_prepare(struct mcpi_pattern *pattern)
{
    pattern->spare = mcpi_alloc(pattern->mem, sizeof(*pattern->spare));
    if (!pattern->spare)
        return MCP_E_NOMEM;
    atomic_init(pattern->spare, NULL);
    pattern->general = pcre2_general_context_create(pattern_alloc, pattern_release,
                                                    pattern);
    if (!pattern->general)
        return MCP_E_NOMEM;
    for (size_t i = 0; i < EFFORTS; i++) {
        pattern->limits[i] = pcre2_match_context_create(pattern->general);
        if (!pattern->limits[i])
            return MCP_E_NOMEM;
        (void)pcre2_set_match_limit(pattern->limits[i], efforts[i].steps);
        (void)pcre2_set_depth_limit(pattern->limits[i], efforts[i].steps);
        (void)pcre2_set_heap_limit(pattern->limits[i], MCPI_PATTERN_HEAP_MAX);
    }
    return 0;
}

/* What ECMA-262 allows and PCRE2 cannot do, or NULL: it is not a pattern. */
static const char *
unsupported_name(int code)
{
    switch (code) {
    case PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH:
        return "a lookbehind of variable length";
    case PCRE2_ERROR_LOOKBEHIND_TOO_COMPLICATED:
    case PCRE2_ERROR_LOOKBEHIND_TOO_LONG:
        return "a lookbehind that is too large";
    case PCRE2_ERROR_QUANTIFIER_TOO_BIG:
        return "a repetition of more than 65535 times";
    case PCRE2_ERROR_PATTERN_TOO_LARGE:
        return "repetitions that make it too large";
    case PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP:
        return "groups nested too deep";
    case PCRE2_ERROR_SUBPATTERN_NAME_TOO_LONG:
        return "a group name that is too long";
    case PCRE2_ERROR_UNICODE_DISALLOWED_CODE_POINT:
        return "half of a surrogate pair";
    default:
        return NULL;
    }
}

static int
pattern_refuse(int code, size_t at, mcp_error *err)
{
    PCRE2_UCHAR why[120];

    if (unsupported_name(code))
        return mcpi_error_set(err, MCP_E_LIMIT,
                              "a pattern with %s, which is not supported",
                              unsupported_name(code));
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    if (pcre2_get_error_message(code, why, sizeof(why)) < 0)
        why[0] = '\0';
    if (at == NOWHERE)
        return mcpi_error_set(err, MCP_E_INVAL, "not a pattern: %s", (const char *)why);
    return mcpi_error_set(err, MCP_E_INVAL, "not a pattern: %s at byte %zu",
                          (const char *)why, at);
}

static int
translated_compile(struct mcpi_pattern *pattern, const struct mcpi_buf *text,
                   bool is_same, mcp_error *err)
{
    const uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |
                             PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS |
                             PCRE2_NEVER_BACKSLASH_C;
    pcre2_compile_context *context = pcre2_compile_context_create(pattern->general);
    const char *data = text->data ? text->data : "";
    uint32_t found = 0;
    size_t at = 0;
    int code = 0;

    if (!context)
        return pattern_refuse(PCRE2_ERROR_HEAP_FAILED, 0, err);
    (void)pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
    pattern->code = pcre2_compile((PCRE2_SPTR)data, text->len, options, &code, &at,
                                  context);
    pcre2_compile_context_free(context);
    if (!pattern->code)
        return pattern_refuse(code, is_same ? at : NOWHERE, err);
    (void)pcre2_pattern_info(pattern->code, PCRE2_INFO_ALLOPTIONS, &found);
    pattern->anchored = found & PCRE2_ANCHORED;
    return 0;
}

static int
pattern_compile(struct mcpi_pattern *pattern, const char *text, size_t len,
                mcp_error *err)
{
    struct mcpi_buf translated;
    bool is_same;
    int r;

    /* compiled in any case: whether it is a pattern is for PCRE2 to say */
    (void)mcpi_pattern_simple_read(&pattern->simple, text, len);
    mcpi_buf_init(&translated, pattern->mem, TRANSLATED_MAX);
    r = mcpi_pattern_translate(&translated, text, len, &pattern->linear, err);
    if (r == 0 && translated.status < 0)
        r = mcpi_error_set(err, translated.status, "%s",
                           mcp_status_text(translated.status));
    is_same = translated.len == len &&
              (len == 0 || !memcmp(translated.data, text, len));
    if (r == 0)
        r = translated_compile(pattern, &translated, is_same, err);
    mcpi_buf_done(&translated);
    return r;
}

int
mcpi_pattern_new(const mcp_allocator *mem, const char *text, size_t len,
                 struct mcpi_pattern **ret, mcp_error *err)
{
    struct mcpi_pattern *pattern;
    int r;

    if (len > MCPI_PATTERN_LENGTH_MAX)
        return mcpi_error_set(err, MCP_E_LIMIT, "a pattern longer than %d bytes",
                              MCPI_PATTERN_LENGTH_MAX);
    mem = mcpi_mem_or_malloc(mem);
    pattern = mcpi_alloc_zero(mem, sizeof(*pattern));
    if (!pattern)
        return pattern_refuse(PCRE2_ERROR_HEAP_FAILED, 0, err);
    pattern->mem = mem;
    r = pattern_prepare(pattern);
    if (r < 0)
        (void)pattern_refuse(PCRE2_ERROR_HEAP_FAILED, 0, err);
    else
        r = pattern_compile(pattern, text, len, err);
    if (r < 0)
        mcpi_pattern_free(pattern);
    else
        *ret = pattern;
    return r;
}

void
mcpi_pattern_free(struct mcpi_pattern *pattern)
{
    if (!pattern)
        return;
    if (pattern->spare)
        pcre2_match_data_free(atomic_load(pattern->spare));
    pcre2_code_free(pattern->code);
    for (size_t i = 0; i < EFFORTS; i++)
        pcre2_match_context_free(pattern->limits[i]);
    pcre2_general_context_free(pattern->general);
    mcpi_free(pattern->mem, pattern->spare);
    mcpi_free(pattern->mem, pattern);
}

/* ---- searching ------------------------------------------------------------- */

struct search {
    const struct mcpi_pattern *pattern;
    const char *text;
    size_t len;
    uint64_t *budget;
    pcre2_match_data *found;
};

static bool
search_pay(const struct search *s, uint64_t cost)
{
    if (*s->budget < cost)
        return false;
    *s->budget -= cost;
    return true;
}

static int
search_try(const struct search *s, size_t at, uint32_t options, size_t effort)
{
    int r = pcre2_match(s->pattern->code, (PCRE2_SPTR)s->text, s->len, at,
                        PCRE2_NO_UTF_CHECK | options, s->found,
                        s->pattern->limits[effort]);

    if (r >= 0)
        return 1;
    if (r == PCRE2_ERROR_NOMATCH)
        return 0;
    return r == PCRE2_ERROR_NOMEMORY ? MCP_E_NOMEM : MCP_E_LIMIT;
}

/* At this place only, with more and more effort. */
static int
search_at(const struct search *s, size_t at)
{
    uint64_t weight = 1 + (s->len - at) / STEP_LENGTH;
    int r = MCP_E_LIMIT;

    for (size_t i = 1; r == MCP_E_LIMIT && i < EFFORTS; i++) {
        if (!search_pay(s, efforts[i].cost * weight))
            break;
        r = search_try(s, at, PCRE2_ANCHORED, i);
    }
    return r;
}

/* PCRE2 counts its steps anew at each place of the text where it begins. So what needs
 * more than a few is tried place by place, and pays for each. */
static int
search_each(const struct search *s)
{
    size_t at = 0;
    int r;

    do {
        r = search_at(s, at);
        for (at++; at < s->len && ((unsigned char)s->text[at] & 0xC0) == 0x80;)
            at++;
    } while (r == 0 && at <= s->len && !s->pattern->anchored);
    return r;
}

static pcre2_match_data *
spare_take(const struct mcpi_pattern *pattern)
{
    pcre2_match_data *spare = atomic_exchange(pattern->spare, NULL);

    return spare ? spare : pcre2_match_data_create(1, pattern->general);
}

/* Keep it if it is small and the place is free: the next search needs no memory then. */
static void
spare_give(const struct mcpi_pattern *pattern, pcre2_match_data *spare, bool small)
{
    pcre2_match_data *none = NULL;

    if (!small || !atomic_compare_exchange_strong(pattern->spare, &none, spare))
        pcre2_match_data_free(spare);
}

/* What the length of the text may cost without PCRE2 counting it as steps. */
static uint64_t
length_cost(const struct mcpi_pattern *pattern, uint64_t len)
{
    if (pattern->linear)
        return len / 64;
    return len > UINT32_MAX ? UINT64_MAX / 2 : len / 64 + len * len / 4096;
}

/* By PCRE2, whether the pattern is simple or not. */
static int
pattern_search(const struct mcpi_pattern *pattern, const char *text, size_t len,
               uint64_t *budget)
{
    struct search s = {pattern, text, len, budget, spare_take(pattern)};
    uint64_t places = pattern->anchored ? 1 : (uint64_t)len + 1;
    bool is_easy = false;
    int r = MCP_E_LIMIT;

    if (!s.found)
        return MCP_E_NOMEM;
    if (search_pay(&s, length_cost(pattern, len)) &&
        search_pay(&s, CALL_COST + efforts[0].cost * places)) {
        r = search_try(&s, 0, 0, 0);
        is_easy = r >= 0;
        if (r == MCP_E_LIMIT)
            r = search_each(&s);
    }
    spare_give(pattern, s.found, is_easy);
    return r;
}

int
mcpi_pattern_find(const struct mcpi_pattern *pattern, const char *text, size_t len)
{
    uint64_t budget = ALONE_BUDGET;

    return pattern_search(pattern, text, len, &budget);
}

int
mcpi_pattern_find_within(const struct mcpi_pattern *pattern, const char *text,
                         size_t len, uint64_t *budget)
{
    uint64_t cost = length_cost(pattern, len);

    if (pattern->simple.count == 0 || *budget <= cost)
        return pattern_search(pattern, text, len, budget);
    *budget -= cost + 1;
    return mcpi_pattern_simple_match(&pattern->simple, text, len);
}
