/* support/issuer.c - an authorization server for tests: its thread, and what tests ask */
#include "support/issuer.h"

#include <arpa/inet.h>
#include <openssl/rand.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/mem.h"
#include "run/loop.h"
#include "run/thread.h"
#include "support/issuer_parts.h"
#include "support/test.h"

#define TEXT_MAX ((size_t)4 << 20)

/* ---- what all files use ----------------------------------------------------------- */

void
issuer_must(bool is_so, const char *what)
{
    if (is_so)
        return;
    fprintf(stderr, "issuer: not so: %s\n", what);
    abort();
}

char *
text_copy(const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    issuer_must(!text || copy, "there is memory");
    return copy;
}

void
text_buf(struct mcpi_buf *buf)
{
    mcpi_buf_init(buf, mcpi_mem_or_malloc(NULL), TEXT_MAX);
}

bool
path_is(const char *path, const char *wanted)
{
    size_t len = strlen(wanted);

    if (len > 0 && wanted[len - 1] == '*')
        return strncmp(path, wanted, len - 1) == 0;
    return strcmp(path, wanted) == 0;
}

bool
word_is_in(const char *words, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = words; at && *at; at += strspn(at, " ")) {
        if (strcspn(at, " ") == len && strncmp(at, word, len) == 0)
            return true;
        at += strcspn(at, " ");
    }
    return false;
}

bool
words_are_in(const char *set, const char *words)
{
    char word[WORD_ROOM];

    for (size_t len; *words; words += len + strspn(words + len, " ")) {
        len = strcspn(words, " ");
        (void)snprintf(word, sizeof(word), "%.*s", (int)len, words);
        if (len > 0 && !word_is_in(set, word))
            return false;
    }
    return true;
}

void
name_add(struct name **list, const char *text)
{
    size_t size = strlen(text) + 1;
    struct name *name = malloc(sizeof(*name) + size);

    issuer_must(name != NULL, "there is memory");
    memcpy(name->text, text, size);
    name->next = *list;
    *list = name;
}

void
names_free(struct name *name)
{
    struct name *next;

    for (; name; name = next) {
        next = name->next;
        free(name);
    }
}

void
word_make(struct issuer *issuer, const char *kind, char *ret_word)
{
    unsigned char bytes[16];
    struct mcpi_buf text;

    issuer_must(RAND_bytes(bytes, sizeof(bytes)) == 1, "there is randomness");
    text_buf(&text);
    mcpi_base64url_write(&text, bytes, sizeof(bytes));
    (void)snprintf(ret_word, WORD_ROOM, "%s.%u.%.*s", kind, ++issuer->serial,
                   (int)text.len, text.data);
    mcpi_buf_done(&text);
}

int64_t
issuer_now(const struct issuer *issuer)
{
    (void)issuer;
    return (int64_t)time(NULL);
}

/* ---- the thread ------------------------------------------------------------------- */

static void
issuer_accept(struct issuer *issuer)
{
    int fd = accept4(issuer->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    while (fd >= 0) {
        connection_open(issuer, fd);
        fd = accept4(issuer->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    }
}

static void
issuer_turn(struct issuer *issuer)
{
    struct pollfd polled[CONNECTIONS_MAX + 2];
    struct connection *connection;
    uint64_t count;

    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        connection = &issuer->connections[i];
        polled[i] = (struct pollfd){.fd = connection->fd,
                                    .events = connection_events(connection)};
    }
    polled[CONNECTIONS_MAX] = (struct pollfd){.fd = issuer->fd, .events = POLLIN};
    polled[CONNECTIONS_MAX + 1] = (struct pollfd){.fd = issuer->wake, .events = POLLIN};
    pthread_mutex_unlock(&issuer->lock);
    (void)poll(polled, CONNECTIONS_MAX + 2, -1);
    pthread_mutex_lock(&issuer->lock);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        if (polled[i].fd >= 0 && polled[i].revents)
            connection_turn(issuer, &issuer->connections[i], polled[i].revents);
    if (polled[CONNECTIONS_MAX].revents)
        issuer_accept(issuer);
    if (polled[CONNECTIONS_MAX + 1].revents)
        (void)!read(issuer->wake, &count, sizeof(count));
}

static void *
issuer_run(void *user)
{
    struct issuer *issuer = user;

    pthread_mutex_lock(&issuer->lock);
    while (!issuer->closing)
        issuer_turn(issuer);
    pthread_mutex_unlock(&issuer->lock);
    return NULL;
}

/* Under lock, before it is given up. */
static void
issuer_wake(struct issuer *issuer)
{
    uint64_t one = 1;

    (void)!write(issuer->wake, &one, sizeof(one));
}

/* ---- from begin to end ------------------------------------------------------------ */

static int
port_listen(int port, int *ret_fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    issuer_must(fd >= 0, "there is a socket");
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    issuer_must(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                    listen(fd, SOMAXCONN) == 0 &&
                    getsockname(fd, (struct sockaddr *)&address, &len) == 0,
                "the port can be listened on");
    *ret_fd = fd;
    return ntohs(address.sin_port);
}

static const char *
or_empty(const char *text)
{
    return text ? text : "";
}

struct issuer *
issuer_open(const struct issuer_options *opt)
{
    struct issuer *issuer = calloc(1, sizeof(*issuer));
    int port;

    issuer_must(issuer != NULL, "there is memory");
    issuer->opt = opt ? *opt : ISSUER_OPTIONS(0);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        issuer->connections[i].fd = -1;
    issuer->records_end = &issuer->records;
    port = port_listen(issuer->opt.port, &issuer->fd);
    issuer->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    issuer_must(issuer->wake >= 0, "there is a descriptor");
    (void)snprintf(issuer->origin, URL_ROOM, "http://127.0.0.1:%d", port);
    (void)snprintf(issuer->url, URL_ROOM, "http://127.0.0.1:%d%s", port,
                   or_empty(issuer->opt.path));
    key_add(issuer);
    word_make(issuer, "nonce", issuer->nonce);
    issuer_must(pthread_mutex_init(&issuer->lock, NULL) == 0 &&
                    mcpi_cond_init(&issuer->changed) == 0 &&
                    mcpi_thread_start(&issuer->thread, 0, issuer_run, issuer) == 0,
                "there is a thread");
    return issuer;
}

void
issuer_close(struct issuer *issuer)
{
    if (!issuer)
        return;
    pthread_mutex_lock(&issuer->lock);
    issuer->closing = true;
    issuer_wake(issuer);
    pthread_mutex_unlock(&issuer->lock);
    pthread_join(issuer->thread, NULL);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        connection_close(&issuer->connections[i]);
    close(issuer->fd);
    close(issuer->wake);
    pthread_cond_destroy(&issuer->changed);
    pthread_mutex_destroy(&issuer->lock);
    records_free(issuer->records);
    clients_free(issuer->clients);
    grants_free(issuer->grants);
    names_free(issuer->names);
    keys_drop(issuer, 0);
    free(issuer);
}

const char *
issuer_url(const struct issuer *issuer)
{
    return issuer->url;
}

const char *
issuer_origin(const struct issuer *issuer)
{
    return issuer->origin;
}

void
issuer_change(struct issuer *issuer, const struct issuer_options *opt)
{
    struct issuer_options now = *opt;

    pthread_mutex_lock(&issuer->lock);
    now.path = issuer->opt.path;
    now.port = issuer->opt.port;
    now.alg = issuer->opt.alg;
    issuer->opt = now;
    pthread_mutex_unlock(&issuer->lock);
}

/* ---- answers of the test's own ---------------------------------------------------- */

void
issuer_say(struct issuer *issuer, const struct issuer_answer *answer)
{
    pthread_mutex_lock(&issuer->lock);
    issuer_must(issuer->answer_count < ANSWERS_MAX, "there is room for the answer");
    issuer->answers[issuer->answer_count++] = *answer;
    pthread_mutex_unlock(&issuer->lock);
}

void
issuer_hold(struct issuer *issuer, const char *path)
{
    pthread_mutex_lock(&issuer->lock);
    issuer->held = path;
    pthread_mutex_unlock(&issuer->lock);
}

void
issuer_release(struct issuer *issuer)
{
    pthread_mutex_lock(&issuer->lock);
    issuer->held = NULL;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        issuer->connections[i].held = false;
    issuer_wake(issuer);
    pthread_mutex_unlock(&issuer->lock);
}

/* ---- what was asked --------------------------------------------------------------- */

static size_t
records_count(const struct issuer *issuer, const char *path)
{
    size_t count = 0;

    for (const struct record *at = issuer->records; at; at = at->next)
        count += path_is(at->path, path);
    return count;
}

size_t
issuer_count(struct issuer *issuer, const char *path)
{
    size_t count;

    pthread_mutex_lock(&issuer->lock);
    count = records_count(issuer, path);
    pthread_mutex_unlock(&issuer->lock);
    return count;
}

bool
issuer_await(struct issuer *issuer, const char *path, size_t count)
{
    int64_t until = mcpi_loop_clock() + AWAIT_US;
    bool is_there;

    pthread_mutex_lock(&issuer->lock);
    while (records_count(issuer, path) < count)
        if (!mcpi_cond_wait(&issuer->changed, &issuer->lock, until))
            break;
    is_there = records_count(issuer, path) >= count;
    pthread_mutex_unlock(&issuer->lock);
    return is_there;
}

bool
issuer_await_left(struct issuer *issuer, size_t count)
{
    int64_t until = mcpi_loop_clock() + AWAIT_US;
    bool is_so;

    pthread_mutex_lock(&issuer->lock);
    while (issuer->left < count)
        if (!mcpi_cond_wait(&issuer->changed, &issuer->lock, until))
            break;
    is_so = issuer->left >= count;
    pthread_mutex_unlock(&issuer->lock);
    return is_so;
}

static const struct record *
record_find(const struct issuer *issuer, const char *path, size_t number)
{
    for (const struct record *at = issuer->records; at; at = at->next)
        if (path_is(at->path, path) && number-- == 0)
            return at;
    return NULL;
}

/* Records stay as they are until close, so what they have can be borrowed. */
const char *
issuer_param(struct issuer *issuer, const char *path, size_t number, const char *name)
{
    const struct record *record;

    pthread_mutex_lock(&issuer->lock);
    record = record_find(issuer, path, number);
    pthread_mutex_unlock(&issuer->lock);
    return record ? record_param(record, name) : NULL;
}

const char *
issuer_header(struct issuer *issuer, const char *path, size_t number, const char *name)
{
    const struct record *record;

    pthread_mutex_lock(&issuer->lock);
    record = record_find(issuer, path, number);
    pthread_mutex_unlock(&issuer->lock);
    return record ? record_header(record, name) : NULL;
}

static void
member_print(const mcp_json *value, char *into, size_t size)
{
    char *text = NULL;

    if (mcp_json_get_type(value) == MCP_JSON_STRING) {
        (void)snprintf(into, size, "%s", mcp_json_string(value, ""));
        return;
    }
    issuer_must(mcp_json_print(value, false, NULL, &text, NULL) == 0,
                "the member can be printed");
    (void)snprintf(into, size, "%s", text);
    mcp_text_free(text, NULL);
}

const char *
issuer_member(struct issuer *issuer, const char *path, size_t number, const char *name)
{
    static _Thread_local char text[4096];
    const struct record *record;
    const mcp_json *value;
    mcp_doc *doc = NULL;

    pthread_mutex_lock(&issuer->lock);
    record = record_find(issuer, path, number);
    pthread_mutex_unlock(&issuer->lock);
    if (!record ||
        mcp_doc_parse(record->body, strlen(record->body), NULL, &doc, NULL) < 0)
        return NULL;
    value = mcp_json_get(mcp_doc_root(doc), name);
    if (value)
        member_print(value, text, sizeof(text));
    mcp_doc_free(doc);
    return value ? text : NULL;
}

struct issuer_counts
issuer_counts(struct issuer *issuer)
{
    struct issuer_counts counts;

    pthread_mutex_lock(&issuer->lock);
    counts = issuer->counts;
    pthread_mutex_unlock(&issuer->lock);
    return counts;
}

/* ---- what else happens ------------------------------------------------------------ */

void
issuer_forget_clients(struct issuer *issuer)
{
    pthread_mutex_lock(&issuer->lock);
    clients_free(issuer->clients);
    issuer->clients = NULL;
    pthread_mutex_unlock(&issuer->lock);
}

void
issuer_revoke(struct issuer *issuer)
{
    pthread_mutex_lock(&issuer->lock);
    for (struct grant *at = issuer->grants; at; at = at->next)
        at->dead = true;
    pthread_mutex_unlock(&issuer->lock);
}

void
issuer_turn_nonce(struct issuer *issuer)
{
    pthread_mutex_lock(&issuer->lock);
    word_make(issuer, "nonce", issuer->nonce);
    pthread_mutex_unlock(&issuer->lock);
}

void
issuer_turn_key(struct issuer *issuer, bool keep)
{
    pthread_mutex_lock(&issuer->lock);
    key_add(issuer);
    if (!keep)
        keys_drop(issuer, 1);
    pthread_mutex_unlock(&issuer->lock);
}

char *
issuer_token(struct issuer *issuer, const char *resource, const char *scope,
             const char *jkt)
{
    char *text;

    pthread_mutex_lock(&issuer->lock);
    text = token_sign(issuer, &(struct token){.client_id = "a client",
                                              .scope = scope,
                                              .resource = resource,
                                              .jkt = jkt});
    pthread_mutex_unlock(&issuer->lock);
    return text;
}

char *
issuer_sign(struct issuer *issuer, const char *typ, const char *claims)
{
    char *text;

    pthread_mutex_lock(&issuer->lock);
    text = claims_sign(issuer, typ ? typ : "JWT", claims);
    pthread_mutex_unlock(&issuer->lock);
    return text;
}

char *
issuer_keys(struct issuer *issuer)
{
    struct mcpi_buf text;
    char *copy;

    text_buf(&text);
    pthread_mutex_lock(&issuer->lock);
    keys_write(issuer, &text);
    pthread_mutex_unlock(&issuer->lock);
    mcpi_buf_char(&text, '\0');
    copy = text_copy(text.data);
    mcpi_buf_done(&text);
    return copy;
}
