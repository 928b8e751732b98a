/*
 * http_parser.c - bytes of a connection into requests, over llhttp
 *
 * llhttp finds the parts, we keep them: target, names and values stand one behind the
 * other in one text, each with a terminator. What is wrong is noted down as a status and a
 * sentence, the first one wins, and llhttp is stopped; its own errors are given a status
 * too.
 *
 * While the head lasts llhttp never gets more bytes than may still come, so that a head
 * which is too long is noticed at the same byte however it was split.
 */
#include "link/http_parser.h"

#include <llhttp.h>
#include <string.h>
#include <strings.h>

#include "base/budget.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "link/http_check.h"

enum stage {
    IDLE,    /* no byte of a request yet */
    UNKNOWN, /* within a method that llhttp does not know */
    HEAD,
    BODY,
    WHOLE,
    BROKEN
};

struct mcpi_http_parser {
    llhttp_t llhttp;
    struct mcpi_http_parsers *parsers;
    struct mcpi_http_head *head; /* NULL while idle */
    size_t head_used; /* bytes of it so far; then of what is no body either */
    size_t part;      /* where in the text the target, name or value begins */
    uint64_t length;  /* announced; then what chunks have announced so far */
    const char *why;  /* BROKEN */
    int status;
    uint8_t stage;
    bool keeps_alive, is_old, expects, chunked;
    uint8_t trailers;
    struct mcpi_account *account; /* or NULL */
    size_t charged;
};

/* ---- faults ---------------------------------------------------------------- */

static int
parser_fail(struct mcpi_http_parser *p, int status, const char *why)
{
    if (p->stage != BROKEN) {
        p->stage = BROKEN;
        p->status = status;
        p->why = why;
    }
    return HPE_USER;
}

#define UNKNOWN_METHOD "a method that is not known"

/* llhttp reads RTSP too. */
static bool
method_is_rtsp(uint8_t method)
{
    return method >= HTTP_DESCRIBE && method <= HTTP_FLUSH;
}

/* llhttp says of a request line that does not end in CR and LF that its version is wrong. */
static bool
version_is_ours(const llhttp_t *llhttp)
{
    return llhttp->http_major == 1 && llhttp->http_minor <= 1;
}

static void
parser_fail_as(struct mcpi_http_parser *p, llhttp_errno_t number)
{
    bool is_rtsp = number == HPE_INVALID_CONSTANT && method_is_rtsp(p->llhttp.method);

    if (number == HPE_INVALID_VERSION && version_is_ours(&p->llhttp))
        number = HPE_LF_EXPECTED;
    switch (number) {
    case HPE_PAUSED_H2_UPGRADE:
    case HPE_INVALID_VERSION:
        (void)parser_fail(p, 505, "this is HTTP/1.1");
        break;
    case HPE_INVALID_URL:
        (void)parser_fail(p, 400, "bad request target");
        break;
    case HPE_INVALID_CONTENT_LENGTH:
    case HPE_UNEXPECTED_CONTENT_LENGTH:
        (void)parser_fail(p, 400, "bad Content-Length");
        break;
    case HPE_INVALID_TRANSFER_ENCODING:
        (void)parser_fail(p, 400, "bad Transfer-Encoding");
        break;
    case HPE_INVALID_CHUNK_SIZE:
        (void)parser_fail(p, 400, "bad chunk");
        break;
    default:
        (void)parser_fail(p, is_rtsp ? 501 : 400,
                          is_rtsp ? UNKNOWN_METHOD : "malformed HTTP");
        break;
    }
}

/* What has arrived so far may have grown. */
static int
parser_charge(struct mcpi_http_parser *p)
{
    size_t held = p->head->text_cap + p->head->body.cap;

    if (held > MCPI_HTTP_FREE_MAX &&
        !mcpi_account_change(p->account, MCPI_HELD_ARRIVING, &p->charged, held))
        return parser_fail(p, 503, "too much is arriving from this client");
    return 0;
}

static int
parser_append(struct mcpi_http_parser *p, const char *at, size_t len)
{
    size_t cap = p->head->text_cap;

    if (mcpi_http_head_append(p->parsers, p->head, at, len) < 0)
        return parser_fail(p, 503, "no memory");
    return p->head->text_cap > cap ? parser_charge(p) : 0;
}

/* ---- what llhttp finds ------------------------------------------------------ */

static struct mcpi_http_parser *
parser_of(llhttp_t *llhttp)
{
    return MCPI_CONTAINER(llhttp, struct mcpi_http_parser, llhttp);
}

static int
on_begin(llhttp_t *llhttp)
{
    struct mcpi_http_parser *p = parser_of(llhttp);

    p->head = mcpi_http_head_take(p->parsers);
    if (!p->head)
        return parser_fail(p, 503, "no memory");
    p->stage = HEAD;
    p->part = 0;
    return 0;
}

static int
on_target(llhttp_t *llhttp, const char *at, size_t len)
{
    return parser_append(parser_of(llhttp), at, len);
}

static int
on_target_end(llhttp_t *llhttp)
{
    struct mcpi_http_parser *p = parser_of(llhttp);
    int r = parser_append(p, "", 1);

    p->part = p->head->text_len;
    return r;
}

/* Trailers are read and dropped; they count as if they were of the head. */
static int
parser_skip(struct mcpi_http_parser *p, size_t len)
{
    p->head_used += len;
    if (p->head_used > p->parsers->head_bytes)
        return parser_fail(p, 431, "trailers or chunk extensions too long");
    return 0;
}

static int
on_name(llhttp_t *llhttp, const char *at, size_t len)
{
    struct mcpi_http_parser *p = parser_of(llhttp);

    return p->stage == HEAD ? parser_append(p, at, len) : parser_skip(p, len);
}

static int
on_name_end(llhttp_t *llhttp)
{
    struct mcpi_http_parser *p = parser_of(llhttp);
    struct mcpi_http_head *head = p->head;
    int r;

    if (p->stage != HEAD)
        return 0;
    if (head->in.field_count == MCPI_HTTP_FIELDS_MAX)
        return parser_fail(p, 431, "too many headers");
    head->fields[head->in.field_count].name = head->text + p->part;
    r = parser_append(p, "", 1);
    p->part = head->text_len;
    return r;
}

static int
on_value(llhttp_t *llhttp, const char *at, size_t len)
{
    struct mcpi_http_parser *p = parser_of(llhttp);

    return p->stage == HEAD ? parser_append(p, at, len) : parser_skip(p, len);
}

static int
on_value_end(llhttp_t *llhttp)
{
    struct mcpi_http_parser *p = parser_of(llhttp);
    struct mcpi_http_head *head = p->head;
    size_t end;

    if (p->stage != HEAD) {
        p->trailers++;
        return p->trailers > MCPI_HTTP_FIELDS_MAX
                   ? parser_fail(p, 431, "too many trailers")
                   : 0;
    }
    end = head->text_len;
    while (end > p->part && (head->text[end - 1] == ' ' || head->text[end - 1] == '\t'))
        end--;
    head->text_len = end;
    if (parser_append(p, "", 1) != 0)
        return HPE_USER;
    head->fields[head->in.field_count].value = head->text + p->part;
    head->in.field_count++;
    if (head->in.field_count < MCPI_HTTP_FIELDS_MAX)
        head->fields[head->in.field_count].name = NULL;
    p->part = head->text_len;
    return 0;
}

/* ---- the head, when it is there --------------------------------------------- */

static enum mcpi_http_method
method_of(uint8_t method)
{
    switch (method) {
    case HTTP_GET:
        return MCPI_HTTP_GET;
    case HTTP_POST:
        return MCPI_HTTP_POST;
    case HTTP_DELETE:
        return MCPI_HTTP_DELETE;
    case HTTP_OPTIONS:
        return MCPI_HTTP_OPTIONS;
    case HTTP_HEAD:
        return MCPI_HTTP_HEAD;
    default:
        return MCPI_HTTP_OTHER;
    }
}

static int
head_check(struct mcpi_http_parser *p)
{
    struct mcpi_http_head *head = p->head;
    const struct mcpi_http_fault *fault;
    const llhttp_t *llhttp = &p->llhttp;
    const char *expects;

    if (!version_is_ours(llhttp))
        return parser_fail(p, 505, "this is HTTP/1.1");
    if (llhttp->method == HTTP_CONNECT)
        return parser_fail(p, 501, "no tunnels");
    p->is_old = llhttp->http_minor == 0;
    head->in.method = method_of(llhttp->method);
    head->in.method_name = llhttp_method_name((llhttp_method_t)llhttp->method);
    fault = mcpi_http_check(head, p->is_old);
    if (fault)
        return parser_fail(p, fault->status, fault->why);
    p->chunked = head->known.value[MCPI_HTTP_CODING] != NULL;
    expects = head->known.value[MCPI_HTTP_EXPECT];
    p->expects = expects && !p->is_old && strcasecmp(expects, "100-continue") == 0;
    return 0;
}

/* An Upgrade is never followed, and the request is what it would be without. */
static int
on_head(llhttp_t *llhttp)
{
    struct mcpi_http_parser *p = parser_of(llhttp);

    if (head_check(p) != 0)
        return HPE_USER;
    p->keeps_alive = llhttp_should_keep_alive(llhttp);
    llhttp->upgrade = 0;
    p->length = llhttp->content_length;
    p->stage = BODY;
    return HPE_PAUSED;
}

/* ---- the body ---------------------------------------------------------------- */

static int
parser_keep_piece(struct mcpi_http_parser *p)
{
    struct mcpi_http_head *head = p->head;

    mcpi_buf_append(&head->body, head->piece, head->piece_len);
    head->piece = NULL;
    head->piece_len = 0;
    if (head->body.status == MCP_E_LIMIT)
        return parser_fail(p, 413, "the body is too long");
    if (head->body.status < 0)
        return parser_fail(p, 503, "no memory");
    return parser_charge(p);
}

static int
on_body(llhttp_t *llhttp, const char *at, size_t len)
{
    struct mcpi_http_parser *p = parser_of(llhttp);
    struct mcpi_http_head *head = p->head;

    if (len == 0)
        return 0;
    if (head->piece && parser_keep_piece(p) != 0)
        return HPE_USER;
    head->piece = at;
    head->piece_len = len;
    return 0;
}

/* Refused as soon as it is announced, before its bytes. */
static int
on_chunk(llhttp_t *llhttp)
{
    struct mcpi_http_parser *p = parser_of(llhttp);

    if (llhttp->content_length > p->parsers->body_bytes - p->length)
        return parser_fail(p, 413, "the body is too long");
    p->length += llhttp->content_length;
    return 0;
}

static int
on_extension(llhttp_t *llhttp, const char *at, size_t len)
{
    (void)at;
    return parser_skip(parser_of(llhttp), len);
}

static int
on_whole(llhttp_t *llhttp)
{
    struct mcpi_http_parser *p = parser_of(llhttp);
    struct mcpi_http_head *head = p->head;

    if (head->body.len > 0 && head->piece && parser_keep_piece(p) != 0)
        return HPE_USER;
    head->in.body = head->piece ? head->piece : head->body.data;
    head->in.body_len = head->piece ? head->piece_len : head->body.len;
    if (head->in.body_len == 0)
        head->in.body = "";
    p->stage = WHOLE;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_begin,
    .on_url = on_target,
    .on_url_complete = on_target_end,
    .on_header_field = on_name,
    .on_header_field_complete = on_name_end,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_end,
    .on_headers_complete = on_head,
    .on_body = on_body,
    .on_chunk_header = on_chunk,
    .on_chunk_extension_name = on_extension,
    .on_chunk_extension_value = on_extension,
    .on_message_complete = on_whole,
};

/* ---- feeding ------------------------------------------------------------------ */

/* All that was given is used, and nothing has ended with it. */
static enum mcpi_http_event
parser_wait(struct mcpi_http_parser *p)
{
    if (p->stage <= HEAD && p->head_used >= p->parsers->head_bytes)
        (void)parser_fail(p, 431, "the head is too long");
    else if (p->head && p->head->piece)
        (void)parser_keep_piece(p);
    return p->stage == BROKEN ? MCPI_HTTP_FAULT : MCPI_HTTP_MORE;
}

/* What llhttp does not know is a method all the same if it is a token with a space behind
 * it. begun: some of it stands before these bytes. */
static enum mcpi_http_event
parser_read_method(struct mcpi_http_parser *p, const char *at, const char *end,
                   bool begun)
{
    for (; at < end && mcpi_text_is_token(at, 1); at++)
        begun = true;
    p->stage = UNKNOWN;
    if (at == end)
        return parser_wait(p);
    if (begun && *at == ' ')
        (void)parser_fail(p, 501, UNKNOWN_METHOD);
    else
        (void)parser_fail(p, 400, "no method of HTTP");
    return MCPI_HTTP_FAULT;
}

/* llhttp stands at the byte where it knows that it does not know the method. */
static enum mcpi_http_event
parser_meet_method(struct mcpi_http_parser *p, const char *data, size_t len, bool begun)
{
    const char *at = llhttp_get_error_pos(&p->llhttp);

    begun = begun || (at > data && mcpi_text_is_token(at - 1, 1));
    return parser_read_method(p, at, data + len, begun);
}

/* Bytes of a head, or of what may become one. */
static size_t
parser_bound(const struct mcpi_http_parser *p, size_t len)
{
    size_t left = p->parsers->head_bytes - p->head_used;

    return p->stage <= HEAD && len > left ? left : len;
}

static enum mcpi_http_event
parser_run(struct mcpi_http_parser *p, const char *data, size_t len, size_t *ret_used)
{
    enum stage stage = p->stage;
    llhttp_errno_t number;

    len = parser_bound(p, len);
    number = stage == UNKNOWN ? HPE_OK : llhttp_execute(&p->llhttp, data, len);
    *ret_used = len;
    if (number == HPE_PAUSED)
        *ret_used = (size_t)(llhttp_get_error_pos(&p->llhttp) - data);
    if (stage <= HEAD)
        p->head_used += *ret_used;
    switch (number) {
    case HPE_OK:
        return stage == UNKNOWN ? parser_read_method(p, data, data + len, true)
                                : parser_wait(p);
    case HPE_PAUSED:
        llhttp_resume(&p->llhttp);
        return p->stage == WHOLE ? MCPI_HTTP_DONE : MCPI_HTTP_HEAD_DONE;
    case HPE_INVALID_METHOD:
        return parser_meet_method(p, data, len, stage == HEAD);
    default:
        parser_fail_as(p, number);
        return MCPI_HTTP_FAULT;
    }
}

enum mcpi_http_event
mcpi_http_parser_feed(struct mcpi_http_parser *parser, const char *data, size_t len,
                      size_t *ret_used)
{
    *ret_used = 0;
    if (parser->stage == WHOLE)
        return MCPI_HTTP_DONE;
    if (parser->stage == BODY && parser->length > parser->parsers->body_bytes)
        (void)parser_fail(parser, 413, "the body is too long");
    if (parser->stage == BROKEN)
        return MCPI_HTTP_FAULT;
    return parser_run(parser, len > 0 ? data : "", len, ret_used);
}

_Static_assert(sizeof(struct mcpi_http_parser) <= 200, "an idle client is small");

/* ---- looking ------------------------------------------------------------------ */

struct mcpi_http_in *
mcpi_http_parser_in(const struct mcpi_http_parser *parser)
{
    return &parser->head->in;
}

void
mcpi_http_parser_known(const struct mcpi_http_parser *parser,
                       struct mcpi_http_known *ret_known)
{
    struct mcpi_http_in in = {.fields = NULL};

    if (parser->head) {
        in.fields = parser->head->fields;
        in.field_count = parser->head->in.field_count;
    }
    mcpi_http_know(&in, ret_known);
}

uint64_t
mcpi_http_parser_length(const struct mcpi_http_parser *parser)
{
    return parser->length;
}

bool
mcpi_http_parser_has_body(const struct mcpi_http_parser *parser)
{
    return parser->chunked || parser->length > 0;
}

bool
mcpi_http_parser_keeps_alive(const struct mcpi_http_parser *parser)
{
    return parser->keeps_alive;
}

bool
mcpi_http_parser_is_old(const struct mcpi_http_parser *parser)
{
    return parser->is_old;
}

bool
mcpi_http_parser_expects(const struct mcpi_http_parser *parser)
{
    return parser->expects;
}

int
mcpi_http_parser_status(const struct mcpi_http_parser *parser, const char **ret_why)
{
    *ret_why = parser->why;
    return parser->status;
}

bool
mcpi_http_parser_is_within(const struct mcpi_http_parser *parser)
{
    return parser->stage >= UNKNOWN && parser->stage <= BODY;
}

bool
mcpi_http_parser_has_head(const struct mcpi_http_parser *parser)
{
    return parser->stage == BODY || parser->stage == WHOLE;
}

/* ---- making, freeing, going on ------------------------------------------------- */

static void
parser_init(struct mcpi_http_parser *p, struct mcpi_http_parsers *parsers)
{
    memset(p, 0, sizeof(*p));
    p->parsers = parsers;
    llhttp_init(&p->llhttp, HTTP_REQUEST, &settings);
}

static void
parser_drop_head(struct mcpi_http_parser *p)
{
    mcpi_http_head_give(p->parsers, p->head);
    mcpi_account_give(p->account, MCPI_HELD_ARRIVING, p->charged);
    p->head = NULL;
    p->charged = 0;
}

void
mcpi_http_parser_charge(struct mcpi_http_parser *parser, struct mcpi_account *account)
{
    parser->account = account;
}

void
mcpi_http_parser_next(struct mcpi_http_parser *parser)
{
    struct mcpi_account *account = parser->account;

    parser_drop_head(parser);
    parser_init(parser, parser->parsers);
    parser->account = account;
}

int
mcpi_http_parser_new(struct mcpi_http_parsers *parsers,
                     struct mcpi_http_parser **ret_parser)
{
    struct mcpi_http_parser *p = parsers->spare_parser;

    parsers->spare_parser = NULL;
    if (!p)
        p = mcpi_alloc(parsers->mem, sizeof(*p));
    if (!p)
        return MCP_E_NOMEM;
    parser_init(p, parsers);
    *ret_parser = p;
    return 0;
}

void
mcpi_http_parser_free(struct mcpi_http_parser *parser)
{
    struct mcpi_http_parsers *parsers;

    if (!parser)
        return;
    parsers = parser->parsers;
    parser_drop_head(parser);
    if (parsers->spare_parser)
        mcpi_free(parsers->mem, parser);
    else
        parsers->spare_parser = parser;
}
