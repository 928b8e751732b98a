/* support/fake_fetch.c - a fetcher whose requests the test answers by hand */
#include "support/fake_fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* What is handed out; freed when the request is over. */
struct fake_handle {
    struct mcpi_fetch fetch;
    struct fake_fetch *record;
    bool ending; /* `ended` is being called */
};

static char *
copy_n(const char *data, size_t len)
{
    char *copy = malloc(len + 1);

    assert_non_null(copy);
    if (len > 0)
        memcpy(copy, data, len);
    copy[len] = '\0';
    return copy;
}

/* ---- what a fetcher does ---------------------------------------------------- */

static void
fields_check(const struct fake_fetch *fetch)
{
    const char *end = fetch->fields + fetch->fields_len;

    if (fetch->fields_len > 0)
        assert_int_equal(end[-1], '\0'); /* each line has its terminator */
    for (const char *line = fetch->fields; line < end; line += strlen(line) + 1) {
        assert_non_null(strstr(line, ": "));
        assert_null(strpbrk(line, "\r\n"));
    }
}

static void
record_add(struct fake_fetcher *fetcher, const struct mcpi_fetch_options *opt,
           struct fake_handle *handle)
{
    struct fake_fetch *fetch = calloc(1, sizeof(*fetch));
    size_t bytes = (fetcher->count + 1) * sizeof(struct fake_fetch *);

    assert_non_null(fetch);
    fetcher->all = realloc(fetcher->all, bytes);
    assert_non_null(fetcher->all);
    fetcher->all[fetcher->count++] = fetch;
    fetch->method = opt->method;
    fetch->url = copy_n(opt->url, strlen(opt->url));
    fetch->fields = copy_n(opt->fields, opt->fields_len);
    fetch->fields_len = opt->fields_len;
    fetch->body = opt->body ? copy_n(opt->body, opt->body_len) : NULL;
    fetch->body_len = opt->body_len;
    fetch->idle_us = opt->idle_us;
    fetch->nearest = opt->nearest;
    fetch->stays = opt->stays;
    fetch->within = opt->within;
    fetch->anonymous = opt->anonymous;
    fetch->by = fetcher;
    fetch->handle = handle;
    fetch->ops = opt->ops;
    fetch->user = opt->user;
    handle->fetch.fetcher = &fetcher->fetcher;
    handle->record = fetch;
    fields_check(fetch);
}

/* What start returns instead of starting; 0: it starts. */
static int
fetcher_refuse(struct fake_fetcher *fetcher)
{
    int refuse = fetcher->refuse;

    if (refuse == 0)
        return 0;
    fetcher->refused++;
    if (fetcher->refuse_times > 0 && --fetcher->refuse_times == 0)
        fetcher->refuse = 0;
    return refuse;
}

static int
fetcher_start(struct mcpi_fetcher *self, const struct mcpi_fetch_options *opt,
              struct mcpi_fetch **ret_fetch)
{
    struct fake_fetcher *fetcher = (struct fake_fetcher *)self;
    struct fake_handle *handle;
    int refuse = fetcher_refuse(fetcher);

    assert_non_null(opt->ops);
    if (refuse < 0)
        return refuse;
    handle = mcpi_alloc_zero(fetcher->mem, sizeof(*handle));
    if (!handle)
        return MCP_E_NOMEM;
    record_add(fetcher, opt, handle);
    *ret_fetch = &handle->fetch;
    return 0;
}

static void
handle_free(struct fake_handle *handle, enum fake_fetch_state state)
{
    struct fake_fetch *fetch = handle->record;

    fetch->state = state;
    fetch->handle = NULL;
    mcpi_free(fetch->by->mem, handle);
}

static void
fetcher_abort(struct mcpi_fetch *self)
{
    struct fake_handle *handle = (struct fake_handle *)self;

    assert_false(handle->ending);
    handle->record->by->aborts++;
    handle_free(handle, FAKE_ABORTED);
}

static enum mcpi_fetch_phase
fetcher_phase(const struct mcpi_fetch *self)
{
    return ((const struct fake_handle *)self)->record->phase;
}

void
fake_fetcher_init(struct fake_fetcher *fetcher, const mcp_allocator *mem)
{
    *fetcher = (struct fake_fetcher){
        .fetcher = {.start = fetcher_start,
                    .abort = fetcher_abort,
                    .phase = fetcher_phase},
        .mem = mcpi_mem_or_malloc(mem),
    };
}

void
fake_fetcher_done(struct fake_fetcher *fetcher)
{
    assert_int_equal(fake_open_count(fetcher), 0);
    for (size_t i = 0; i < fetcher->count; i++) {
        free(fetcher->all[i]->url);
        free(fetcher->all[i]->fields);
        free(fetcher->all[i]->body);
        free(fetcher->all[i]);
    }
    free(fetcher->all);
    *fetcher = (struct fake_fetcher){.count = 0};
}

/* ---- what the test sees of it ----------------------------------------------- */

struct fake_fetch *
fake_at(const struct fake_fetcher *fetcher, size_t index)
{
    assert_true(index < fetcher->count);
    return fetcher->all[index];
}

struct fake_fetch *
fake_last(const struct fake_fetcher *fetcher)
{
    assert_true(fetcher->count > 0);
    return fetcher->all[fetcher->count - 1];
}

size_t
fake_open_count(const struct fake_fetcher *fetcher)
{
    size_t count = 0;

    for (size_t i = 0; i < fetcher->count; i++)
        count += fetcher->all[i]->state == FAKE_OPEN;
    return count;
}

const char *
fake_field(const struct fake_fetch *fetch, const char *name)
{
    const char *end = fetch->fields + fetch->fields_len, *found = NULL;
    size_t len = strlen(name);

    for (const char *line = fetch->fields; line < end; line += strlen(line) + 1) {
        if (strncasecmp(line, name, len) != 0 || line[len] != ':')
            continue;
        assert_null(found);
        found = line + len + strspn(line + len, ": ");
    }
    return found;
}

/* ---- what the test does with it --------------------------------------------- */

struct fake_fetch_head {
    struct mcpi_fetch_head head;
    char *lines; /* each with a terminator */
    size_t len;
};

static const char *
head_find_nth(const struct mcpi_fetch_head *self, const char *name, unsigned number)
{
    const struct fake_fetch_head *head = (const struct fake_fetch_head *)self;
    const char *end = head->lines + head->len;
    size_t len = strlen(name);

    for (const char *line = head->lines; line < end; line += strlen(line) + 1)
        if (strncasecmp(line, name, len) == 0 && line[len] == ':' && number-- == 0)
            return line + len + 1 + strspn(line + len + 1, " ");
    return NULL;
}

static const char *
head_find(const struct mcpi_fetch_head *self, const char *name)
{
    return head_find_nth(self, name, 0);
}

static void
head_make(struct fake_fetch_head *head, const char *lines)
{
    head->len = lines ? strlen(lines) : 0;
    head->lines = copy_n(lines, head->len);
    for (size_t i = 0; i < head->len; i++)
        if (head->lines[i] == '\n')
            head->lines[i] = '\0';
    head->head.find = head_find;
    head->head.find_nth = head_find_nth;
}

static void
fetch_end(struct fake_fetch *fetch, const struct mcpi_fetch_fault *fault)
{
    struct fake_handle *handle = fetch->handle;

    assert_int_equal(fetch->state, FAKE_OPEN);
    handle->ending = true;
    fetch->ops->ended(fetch->user, fault);
    handle_free(handle, FAKE_ENDED);
}

/* What head or body returned; it may have been aborted meanwhile. */
static void
fetch_stop(struct fake_fetch *fetch, int status)
{
    const struct mcpi_fetch_fault fault = {.status = status, .why = "stopped by us"};

    if (fetch->state != FAKE_OPEN || status >= 0)
        return;
    fetch->stopped = status;
    fetch_end(fetch, &fault);
}

void
fake_sending(struct fake_fetch *fetch)
{
    assert_int_equal(fetch->state, FAKE_OPEN);
    fetch->phase = MCPI_FETCH_SENDING;
}

void
fake_sent(struct fake_fetch *fetch)
{
    assert_int_equal(fetch->state, FAKE_OPEN);
    assert_false(fetch->told_sent);
    fetch->told_sent = true;
    fetch->phase = MCPI_FETCH_SENT;
    if (fetch->ops->sent)
        fetch->ops->sent(fetch->user);
}

void
fake_head(struct fake_fetch *fetch, int status, const char *lines)
{
    struct fake_fetch_head head = {.head = {.status = status, .from = fetch->by->from}};
    int r;

    if (!fetch->told_sent)
        fake_sent(fetch);
    if (fetch->state != FAKE_OPEN)
        return;
    assert_false(fetch->told_head);
    fetch->told_head = true;
    head_make(&head, lines);
    r = fetch->ops->head(fetch->user, &head.head);
    free(head.lines);
    fetch_stop(fetch, r);
}

void
fake_body_n(struct fake_fetch *fetch, const char *data, size_t len)
{
    char *piece = copy_n(data, len); /* as long as it is, for ASan */
    int r;

    assert_int_equal(fetch->state, FAKE_OPEN);
    assert_true(fetch->told_head);
    r = fetch->ops->body(fetch->user, piece, len);
    free(piece);
    fetch_stop(fetch, r);
}

void
fake_body(struct fake_fetch *fetch, const char *text)
{
    fake_body_n(fetch, text, strlen(text));
}

void
fake_end(struct fake_fetch *fetch)
{
    assert_true(fetch->told_head);
    fetch_end(fetch, NULL);
}

void
fake_fail(struct fake_fetch *fetch, int status, const char *why)
{
    const struct mcpi_fetch_fault fault = {
        .status = status, .unsent = fetch->phase == MCPI_FETCH_UNSENT, .why = why};

    fetch_end(fetch, &fault);
}

void
fake_answer(struct fake_fetch *fetch, int status, const char *type, const char *text)
{
    char line[256];

    (void)snprintf(line, sizeof(line), "Content-Type: %s", type ? type : "");
    fake_head(fetch, status, type ? line : NULL);
    if (fetch->state == FAKE_OPEN && text)
        fake_body(fetch, text);
    if (fetch->state == FAKE_OPEN)
        fake_end(fetch);
}

void
fake_stream(struct fake_fetch *fetch)
{
    fake_head(fetch, 200, "Content-Type: text/event-stream");
}
