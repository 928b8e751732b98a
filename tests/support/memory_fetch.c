/* memory_fetch.c - a fetcher whose server is an endpoint in the same process */
#include "support/memory_fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "support/test.h"
#include "wire/id.h"

#define FIELDS_MAX 32
#define CANCELED_FRAME "\"notifications/cancelled\""

/* One request and its answer. The client's half is over when ops is NULL, the server's
 * when nobody serves the turn; it is freed when both are. */
struct memory_fetch {
    struct mcpi_fetch fetch; /* first */
    struct mcpi_list node, to_server;
    struct memory_http *http;
    const struct mcpi_fetch_ops *ops;
    void *user;
    struct mcpi_turn turn;

    const char *method;
    char *target, *lines, *body;
    mcp_http_field fields[FIELDS_MAX];
    size_t field_count, body_len;

    enum mcpi_fetch_phase phase;
    size_t left; /* bytes of the body that have left */
    bool raw;    /* nobody's: memory_http_post */
    bool told_sent, arrived;
    bool refused; /* nobody listened */
    bool gone;    /* the client has left, and the server does not know */
    bool kept;    /* the server waits for what it wrote to leave */

    struct mcpi_fetch_head head; /* status 0: none yet */
    char *head_lines;            /* names and values, each with a terminator */
    size_t head_len;
    bool told_head;
    char *text; /* of the body, all of it; told up to `read` */
    size_t len, read;
    bool over, lost; /* nothing more will come; and the end was no end */
    bool forced;     /* the head is not the endpoint's: memory_http_say */
};

static struct memory_fetch *
fetch_at(const struct mcpi_list *node)
{
    return MCPI_CONTAINER(node, struct memory_fetch, node);
}

static struct memory_fetch *
fetch_of(struct mcpi_turn *turn)
{
    return MCPI_CONTAINER(turn, struct memory_fetch, turn);
}

#define EACH_FETCH(http, node)                                            \
    for (struct mcpi_list *node = (http)->all.next; node != &(http)->all; \
         node = node->next)

static char *
copy(const char *text, size_t len)
{
    char *c = malloc(len + 1);

    assert_non_null(c);
    if (len > 0)
        memcpy(c, text, len);
    c[len] = '\0';
    return c;
}

static void
fetch_free(struct memory_fetch *f)
{
    mcpi_list_remove(&f->node);
    mcpi_list_remove(&f->to_server);
    free(f->target);
    free(f->lines);
    free(f->body);
    free(f->head_lines);
    free(f->text);
    free(f);
}

/* Nothing is freed but here: whoever is in the middle of something has its fetch. */
static void
http_sweep(struct memory_http *http)
{
    struct mcpi_list *node, *next;

    for (node = http->all.next; node != &http->all; node = next) {
        struct memory_fetch *f = fetch_at(node);

        next = node->next;
        if (!f->ops && !f->turn.served && mcpi_list_empty(&f->to_server))
            fetch_free(f);
    }
}

/* The server is to hear of it, behind all that it was to hear before. */
static void
fetch_tell_server(struct memory_fetch *f)
{
    if (mcpi_list_empty(&f->to_server))
        mcpi_list_append(&f->http->to_server, &f->to_server);
}

/* ---- the answer, as the endpoint writes it --------------------------------- */

static void
fetch_append(struct memory_fetch *f, const char *data, size_t len)
{
    f->text = realloc(f->text, f->len + len + 1);
    assert_non_null(f->text);
    if (len > 0)
        memcpy(f->text + f->len, data, len);
    f->len += len;
    f->text[f->len] = '\0';
}

/* Has all of it left? If not the endpoint waits. */
static bool
fetch_write(struct memory_fetch *f, const char *data, size_t len)
{
    assert_false(f->kept);
    if (!f->ops || f->lost)
        return true; /* nobody reads it, and the server will know soon */
    fetch_append(f, data, len);
    f->kept = len > 0 && (f->http->clogged || f->len - f->read > MEMORY_WINDOW);
    return !f->kept;
}

static const char *
head_find_nth(const struct mcpi_fetch_head *head, const char *name, unsigned number)
{
    const struct memory_fetch *f = MCPI_CONTAINER(head, struct memory_fetch, head);
    size_t at = 0;

    while (at < f->head_len) {
        const char *line = f->head_lines + at;
        const char *value = line + strlen(line) + 1;

        if (strcasecmp(line, name) == 0 && number-- == 0)
            return value;
        at = (size_t)(value + strlen(value) + 1 - f->head_lines);
    }
    return NULL;
}

static const char *
head_find(const struct mcpi_fetch_head *head, const char *name)
{
    return head_find_nth(head, name, 0);
}

static void
head_add(struct memory_fetch *f, const char *text)
{
    size_t size = strlen(text) + 1;

    f->head_lines = realloc(f->head_lines, f->head_len + size);
    assert_non_null(f->head_lines);
    memcpy(f->head_lines + f->head_len, text, size);
    f->head_len += size;
}

static void
fetch_set_head(struct memory_fetch *f, int status, const char *type,
               const mcp_http_field *fields, size_t count)
{
    assert_int_equal(f->head.status, 0);
    f->head.status = status;
    f->head.find = head_find;
    f->head.find_nth = head_find_nth;
    f->head.from = MCPI_ADDRESS_LOOPBACK;
    if (type) {
        head_add(f, "Content-Type");
        head_add(f, type);
    }
    for (size_t i = 0; i < count; i++) {
        head_add(f, fields[i].name);
        head_add(f, fields[i].value);
    }
}

static void
fetch_append_event(struct memory_fetch *f, const char *text, size_t len)
{
    fetch_append(f, "data: ", 6);
    fetch_append(f, text, len);
    fetch_append(f, "\n\n", 2);
}

static bool
op_reply(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct memory_fetch *f = fetch_of(turn);
    size_t len = out->body ? out->body_len : 0;

    assert_null(turn->served);
    if (f->lost)
        return true; /* it does not know yet */
    assert_false(f->over);
    f->over = true;
    if (f->http->replied && len > 0)
        f->http->replied(f->http->user, out->status, out->body, len);
    if (f->http->as_events && out->status == 200 && len > 0 && !f->forced) {
        fetch_set_head(f, 200, MEMORY_EVENTS, out->fields, out->field_count);
        f->forced = true;
    }
    if (f->forced) {
        fetch_append_event(f, out->body, len);
        return true;
    }
    fetch_set_head(f, out->status, out->type, out->fields, out->field_count);
    return fetch_write(f, out->body, len);
}

static bool
op_open(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct memory_fetch *f = fetch_of(turn);

    assert_non_null(turn->served);
    if (!f->forced && !f->lost)
        fetch_set_head(f, out->status, out->type, out->fields, out->field_count);
    return fetch_write(f, out->body, out->body ? out->body_len : 0);
}

static bool
op_write(struct mcpi_turn *turn, const char *data, size_t len)
{
    assert_non_null(turn->served);
    return fetch_write(fetch_of(turn), data, len);
}

static void
op_end(struct mcpi_turn *turn)
{
    assert_null(turn->served);
    fetch_of(turn)->over = true;
}

static void
op_abort(struct mcpi_turn *turn)
{
    assert_null(turn->served);
    fetch_of(turn)->over = fetch_of(turn)->lost = true;
}

static const struct mcpi_turn_ops turn_ops = {.reply = op_reply,
                                              .open = op_open,
                                              .write = op_write,
                                              .end = op_end,
                                              .abort = op_abort};

/* ---- starting and aborting ------------------------------------------------- */

static void
fetch_read_fields(struct memory_fetch *f, const char *lines, size_t len)
{
    char *at;

    f->lines = copy(lines, len);
    for (at = f->lines; at < f->lines + len; at += strlen(at) + 1) {
        mcp_http_field *field = &f->fields[f->field_count++];
        char *colon = strstr(at, ": ");

        assert_true(f->field_count < FIELDS_MAX && colon);
        assert_null(strpbrk(at, "\r\n"));
        *colon = '\0';
        field->name = at;
        field->value = colon + 2;
        at = colon + 2;
    }
    f->fields[f->field_count++] = (mcp_http_field){"Host", "localhost:8080"};
}

static struct memory_fetch *
fetch_new(struct memory_http *http, const struct mcpi_fetch_options *opt)
{
    const char *host = strstr(opt->url, "://");
    const char *path = host ? strchr(host + 3, '/') : NULL;
    struct memory_fetch *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->fetch.fetcher = &http->fetcher;
    f->http = http;
    f->ops = opt->ops;
    f->user = opt->user;
    f->turn.ops = &turn_ops;
    f->method = opt->method;
    f->target = copy(path ? path : "/", strlen(path ? path : "/"));
    f->body = copy(opt->body, opt->body ? opt->body_len : 0);
    f->body_len = opt->body ? opt->body_len : 0;
    fetch_read_fields(f, opt->fields, opt->fields_len);
    fetch_append(f, "", 0);
    mcpi_list_init(&f->to_server);
    mcpi_list_append(&http->all, &f->node);
    return f;
}

static int
op_start(struct mcpi_fetcher *self, const struct mcpi_fetch_options *opt,
         struct mcpi_fetch **ret_fetch)
{
    struct memory_http *http = MCPI_CONTAINER(self, struct memory_http, fetcher);

    if (strncmp(opt->url, "http://", 7) != 0)
        return MCP_E_INVAL;
    *ret_fetch = &fetch_new(http, opt)->fetch;
    return 0;
}

/* The client's half is over. What had not left never does. */
static void
fetch_leave(struct memory_fetch *f)
{
    f->ops = NULL;
    f->gone = true;
    if (f->phase == MCPI_FETCH_SENT && !f->over)
        fetch_tell_server(f);
}

static void
op_abort_fetch(struct mcpi_fetch *fetch)
{
    struct memory_fetch *f = MCPI_CONTAINER(fetch, struct memory_fetch, fetch);

    assert_non_null(f->ops); /* it has not ended, and was not aborted before */
    fetch_leave(f);
}

static enum mcpi_fetch_phase
op_phase(const struct mcpi_fetch *fetch)
{
    return MCPI_CONTAINER(fetch, struct memory_fetch, fetch)->phase;
}

/* ---- the client's half ----------------------------------------------------- */

static void
fetch_end(struct memory_fetch *f, const struct mcpi_fetch_fault *fault)
{
    const struct mcpi_fetch_ops *ops = f->ops;

    fetch_leave(f);
    ops->ended(f->user, fault);
}

static void
fetch_fail(struct memory_fetch *f, int status, const char *why)
{
    const struct mcpi_fetch_fault fault = {
        .status = status, .unsent = f->phase == MCPI_FETCH_UNSENT, .why = why};

    fetch_end(f, &fault);
}

static void
fetch_hear_body(struct memory_fetch *f)
{
    while (f->ops && f->read < f->len) {
        size_t n = f->http->every_byte ? 1 : f->len - f->read;
        const char *at = f->text + f->read;
        int r;

        f->read += n;
        r = f->ops->body(f->user, at, n);
        if (r < 0 && f->ops)
            fetch_fail(f, r, "the reader has enough");
    }
    if (f->kept && f->turn.served)
        fetch_tell_server(f);
}

static bool
fetch_has_news(const struct memory_fetch *f)
{
    if (!f->ops)
        return false;
    return f->refused || (f->phase == MCPI_FETCH_SENT && !f->told_sent) ||
           (f->head.status != 0 && !f->told_head) || f->read < f->len || f->over;
}

static void
fetch_hear(struct memory_fetch *f)
{
    int r;

    if (f->refused) {
        fetch_fail(f, MCP_E_SEND_FAILED, "nobody listens");
        return;
    }
    if (!f->told_sent && f->ops->sent)
        f->ops->sent(f->user);
    f->told_sent = true;
    if (f->ops && f->head.status != 0 && !f->told_head) {
        f->told_head = true;
        r = f->ops->head(f->user, &f->head);
        if (r < 0 && f->ops)
            fetch_fail(f, r, "the reader wants none of it");
    }
    fetch_hear_body(f);
    if (!f->ops || !f->over)
        return;
    if (f->lost)
        fetch_fail(f, MCP_E_CLOSED, "the connection was lost");
    else
        fetch_end(f, NULL);
}

bool
memory_http_hear(struct memory_http *http)
{
    bool heard = false;

    EACH_FETCH(http, node)
    {
        if (!fetch_has_news(fetch_at(node)))
            continue;
        heard = true;
        http->clogged = false;
        fetch_hear(fetch_at(node));
    }
    http_sweep(http);
    return heard;
}

static bool
fetch_can_leave(const struct memory_fetch *f)
{
    return f->ops && f->phase != MCPI_FETCH_SENT && !f->refused && !f->http->held;
}

static void
fetch_send(struct memory_fetch *f)
{
    size_t rest = f->body_len - f->left;

    if (!f->http->endpoint) {
        f->refused = true;
        return;
    }
    f->left += rest > MEMORY_PIECE ? MEMORY_PIECE : rest;
    f->phase = MCPI_FETCH_SENDING;
    if (f->left < f->body_len)
        return;
    f->phase = MCPI_FETCH_SENT;
    fetch_tell_server(f);
}

bool
memory_http_send(struct memory_http *http)
{
    bool sent = false;

    EACH_FETCH(http, node)
    {
        if (!fetch_can_leave(fetch_at(node)))
            continue;
        sent = true;
        fetch_send(fetch_at(node));
    }
    return sent;
}

bool
memory_http_has_news(const struct memory_http *http)
{
    EACH_FETCH(http, node)
    if (fetch_has_news(fetch_at(node)) || fetch_can_leave(fetch_at(node)))
        return true;
    return false;
}

/* ---- the server's half ----------------------------------------------------- */

static struct mcpi_http_in
fetch_request(const struct memory_fetch *f)
{
    static const char *const names[] = {"", "GET", "POST", "DELETE", "OPTIONS", "HEAD"};
    struct mcpi_http_in in = {.method_name = f->method,
                              .target = f->target,
                              .path_len = strcspn(f->target, "?"),
                              .fields = f->fields,
                              .field_count = f->field_count,
                              .body = f->body,
                              .body_len = f->body_len};

    for (int i = MCPI_HTTP_GET; i <= MCPI_HTTP_HEAD; i++)
        if (strcmp(f->method, names[i]) == 0)
            in.method = (enum mcpi_http_method)i;
    return in;
}

static void
fetch_count_frame(struct memory_fetch *f)
{
    const struct mcpi_http_in in = fetch_request(f);
    const char *session = mcpi_http_get(&in, "mcp-session-id", NULL);
    const char *version = mcpi_http_get(&in, "mcp-protocol-version", NULL);

    f->http->frames++;
    snprintf(f->http->session, sizeof(f->http->session), "%s", session ? session : "");
    snprintf(f->http->version, sizeof(f->http->version), "%s", version ? version : "");
}

static void
fetch_count_arrival(struct memory_fetch *f, enum mcpi_http_method method)
{
    struct memory_http *http = f->http;

    if (f->raw)
        return;
    http->arrived[0] += method == MCPI_HTTP_POST;
    http->arrived[1] += method == MCPI_HTTP_GET;
    http->arrived[2] += method == MCPI_HTTP_DELETE;
    if (method == MCPI_HTTP_POST && strstr(f->body, CANCELED_FRAME))
        fetch_count_frame(f);
}

/* As a connection does it: what has left already is served only if it must be. */
static void
fetch_arrive(struct memory_fetch *f)
{
    struct mcpi_endpoint *endpoint = f->http->endpoint;
    struct mcpi_http_in in = fetch_request(f);
    struct mcpi_http_out out;

    f->arrived = true;
    if (f->gone && !mcpi_endpoint_must_serve(endpoint, &in))
        return;
    fetch_count_arrival(f, in.method);
    if (mcpi_endpoint_check_head(endpoint, &in, in.body_len, &out))
        mcpi_endpoint_serve(endpoint, &f->turn, &in);
    else
        (void)op_reply(&f->turn, &out);
}

static void
fetch_serve(struct memory_fetch *f)
{
    if (!f->http->endpoint)
        return;
    if (!f->arrived)
        fetch_arrive(f);
    if (f->gone) {
        f->http->hangups += f->turn.served && strcmp(f->method, "POST") == 0;
        mcpi_turn_gone(&f->turn);
    } else if (f->kept && f->read == f->len) {
        f->kept = false;
        mcpi_turn_written(&f->turn);
    }
}

bool
memory_http_serve(struct memory_http *http)
{
    struct mcpi_list *queue = &http->to_server;
    bool served = !mcpi_list_empty(queue);

    while (!mcpi_list_empty(queue)) {
        struct mcpi_list *node = http->reversed ? queue->prev : queue->next;

        mcpi_list_remove(node);
        fetch_serve(MCPI_CONTAINER(node, struct memory_fetch, to_server));
    }
    http_sweep(http);
    return served;
}

bool
memory_http_has_work(const struct memory_http *http)
{
    return !mcpi_list_empty(&http->to_server);
}

void
memory_http_cut(struct memory_http *http)
{
    EACH_FETCH(http, node)
    {
        struct memory_fetch *f = fetch_at(node);

        if (f->over)
            continue; /* the client has all of it, or will */
        mcpi_turn_gone(&f->turn);
        f->over = f->lost = f->phase != MCPI_FETCH_UNSENT;
    }
    http->endpoint = NULL;
}

/* ---- what tests do --------------------------------------------------------- */

static int
raw_head(void *user, const struct mcpi_fetch_head *head)
{
    (void)user, (void)head;
    return 0;
}

static int
raw_body(void *user, const char *data, size_t len)
{
    (void)user, (void)data, (void)len;
    return 0;
}

static void
raw_ended(void *user, const struct mcpi_fetch_fault *fault)
{
    (void)user, (void)fault;
}

static const struct mcpi_fetch_ops raw_ops = {
    .head = raw_head, .body = raw_body, .ended = raw_ended};

void
memory_http_post(struct memory_http *http, const char *fields, size_t fields_len,
                 const char *body)
{
    const struct mcpi_fetch_options opt = {.method = "POST",
                                           .url = "http://localhost:8080/mcp",
                                           .fields = fields,
                                           .fields_len = fields_len,
                                           .body = body,
                                           .body_len = strlen(body),
                                           .ops = &raw_ops};
    struct memory_fetch *f = fetch_new(http, &opt);

    f->raw = true;
    f->left = f->body_len;
    f->phase = MCPI_FETCH_SENT;
    fetch_tell_server(f);
}

/* The request that a message is about, as JSON; NULL: none. */
static const mcp_json *
message_names(const mcp_json *root)
{
    const mcp_json *params = mcp_json_get(root, "params");
    const mcp_json *named = mcp_json_get(params, "requestId");

    if (!mcp_json_get(root, "method"))
        return mcp_json_get(root, "id");
    if (!named)
        named = mcp_json_get(params, "progressToken");
    if (!named)
        named = mcp_json_get(mcp_json_get(params, "_meta"),
                             "io.modelcontextprotocol/subscriptionId");
    return named;
}

static bool
fetch_asks(const struct memory_fetch *f, const mcp_json *named)
{
    struct mcpi_id wanted = mcpi_id_fold(mcpi_id_read(named));
    struct mcpi_id id;
    mcp_doc *doc;
    bool same;

    if (mcp_doc_parse(f->body, f->body_len, NULL, &doc, NULL) < 0)
        return false;
    id = mcpi_id_fold(mcpi_id_read(mcp_json_get(mcp_doc_root(doc), "id")));
    same = id.kind != MCPI_ID_NONE && mcpi_id_same(&id, &wanted);
    mcp_doc_free(doc);
    return same;
}

static struct memory_fetch *
stream_for(struct memory_http *http, const mcp_json *named)
{
    struct memory_fetch *best = NULL;

    EACH_FETCH(http, node)
    {
        struct memory_fetch *f = fetch_at(node);
        bool post = strcmp(f->method, "POST") == 0;

        if (!f->ops || f->raw || f->over || !f->turn.served)
            continue;
        if (post && named && fetch_asks(f, named))
            return f;
        if (post || !best)
            best = f;
    }
    return best;
}

/* From now on it is a stream, whatever the endpoint makes of it. */
static void
fetch_force(struct memory_fetch *f, const char *type)
{
    if (f->head.status != 0)
        return;
    fetch_set_head(f, 200, type, NULL, 0);
    f->forced = true;
}

bool
memory_http_say(struct memory_http *http, const char *text)
{
    mcp_doc *doc = NULL;
    struct memory_fetch *f;

    (void)mcp_doc_parse(text, strlen(text), NULL, &doc, NULL); /* or it is none */
    f = stream_for(http, doc ? message_names(mcp_doc_root(doc)) : NULL);
    mcp_doc_free(doc);
    if (!f)
        return false;
    fetch_force(f, MEMORY_EVENTS);
    fetch_append_event(f, text, strlen(text));
    return true;
}

size_t
memory_http_count(const struct memory_http *http, const char *method)
{
    size_t count = 0;

    EACH_FETCH(http, node)
    count += fetch_at(node)->ops && !fetch_at(node)->raw &&
             strcmp(fetch_at(node)->method, method) == 0;
    return count;
}

static struct memory_fetch *
fetch_find(const struct memory_http *http, const char *method, const char *part)
{
    struct memory_fetch *found = NULL;

    EACH_FETCH(http, node)
    {
        struct memory_fetch *f = fetch_at(node);

        if (f->ops && !f->over && strcmp(f->method, method) == 0 &&
            strstr(f->body, part))
            found = f;
    }
    assert_non_null(found);
    return found;
}

size_t
memory_http_heard(const struct memory_http *http, const char *method, const char *part,
                  const char *said)
{
    const char *at = fetch_find(http, method, part)->text;
    size_t count = 0;

    for (at = strstr(at, said); at; at = strstr(at + 1, said))
        count++;
    return count;
}

void
memory_http_write(struct memory_http *http, const char *part, const char *type,
                  const char *bytes)
{
    struct memory_fetch *f = fetch_find(http, "POST", part);

    fetch_force(f, type);
    fetch_append(f, bytes, strlen(bytes));
}

static void
fetch_break(struct memory_fetch *f)
{
    f->over = f->lost = true;
    f->gone = true;
    if (f->phase == MCPI_FETCH_SENT)
        fetch_tell_server(f);
}

void
memory_http_break(struct memory_http *http, const char *method, const char *part)
{
    fetch_break(fetch_find(http, method, part));
}

bool
memory_http_break_any(struct memory_http *http, size_t n)
{
    EACH_FETCH(http, node)
    {
        struct memory_fetch *f = fetch_at(node);

        if (!f->ops || f->over || f->phase == MCPI_FETCH_UNSENT || n-- > 0)
            continue;
        fetch_break(f);
        return true;
    }
    return false;
}

void
memory_http_init(struct memory_http *http)
{
    memset(http, 0, sizeof(*http));
    http->fetcher = (struct mcpi_fetcher){
        .start = op_start, .abort = op_abort_fetch, .phase = op_phase};
    mcpi_list_init(&http->all);
    mcpi_list_init(&http->to_server);
}

void
memory_http_done(struct memory_http *http)
{
    EACH_FETCH(http, node)
    {
        struct memory_fetch *f = fetch_at(node);

        assert_true(f->raw || !f->ops);
        assert_null(f->turn.served);
        f->ops = NULL;
        mcpi_list_remove(&f->to_server);
    }
    http_sweep(http);
}
