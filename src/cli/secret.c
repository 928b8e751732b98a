/* secret.c - what must not be shown: found by its name, its shape, or since it is known */
#include "cli/secret.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

#define NAME_MAX_BYTES 64 /* a longer name says nothing */
#define LEAST 6           /* a shorter rest behind a mark is no secret, but a word */
#define KEPT_MAX 16       /* more than a form asks for */
#define KEPT_BYTES 256

/* ---- by name ------------------------------------------------------------------- */

static bool
ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), n = strlen(end);

    return length >= n && strcmp(text + length - n, end) == 0;
}

/* MCP's own tokens of progress name requests, and are needed to follow a trace. */
bool
cli_secret_is_name(const char *name)
{
    static const char *const ends[] = {
        "password",   "passwd",      "passphrase", "secret",          "token",
        "apikey",     "accesskey",   "secretkey",  "privatekey",      "authorization",
        "credential", "credentials", "cookie",     "clientassertion", "jwt",
        "sessionid",  "codeverifier"};
    char plain[NAME_MAX_BYTES];
    size_t n = 0;

    for (; *name; name++) {
        if (*name == '_' || *name == '-' || *name == '.' || *name == ' ')
            continue;
        if (n == sizeof(plain) - 1)
            return false;
        plain[n++] = (char)tolower((unsigned char)*name);
    }
    plain[n] = '\0';
    if (ends_with(plain, "progresstoken"))
        return false;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (ends_with(plain, ends[i]))
            return true;
    }
    return false;
}

/* ---- known ---------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock; /* for all below */
    char text[KEPT_MAX][KEPT_BYTES];
    size_t length[KEPT_MAX];
    size_t count;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The length of a known one that is here, or 0; under lock. A short one could be a part of
 * any word. */
static size_t
known(const char *text, size_t length, bool is_whole)
{
    for (size_t i = 0; i < kept.count; i++) {
        size_t n = kept.length[i];

        if (n <= length && memcmp(text, kept.text[i], n) == 0 &&
            (n >= LEAST || (is_whole && n == length)))
            return n;
    }
    return 0;
}

void
cli_secret_keep(const char *text, size_t length)
{
    if (length == 0 || length > KEPT_BYTES)
        return;
    pthread_mutex_lock(&kept.lock);
    if (kept.count < KEPT_MAX && known(text, length, true) != length) {
        memcpy(kept.text[kept.count], text, length);
        kept.length[kept.count++] = length;
    }
    pthread_mutex_unlock(&kept.lock);
}

void
cli_secret_forget(void)
{
    pthread_mutex_lock(&kept.lock);
    explicit_bzero(kept.text, sizeof(kept.text));
    kept.count = 0;
    pthread_mutex_unlock(&kept.lock);
}

/* ---- by shape ------------------------------------------------------------------ */

static size_t
span(const char *text, size_t length, const char *also)
{
    size_t n = 0;

    while (n < length && (isalnum((unsigned char)text[n]) ||
                          (text[n] != '\0' && strchr(also, text[n]))))
        n++;
    return n;
}

static bool
begins(const char *text, size_t length, const char *with)
{
    size_t n = strlen(with);

    return length >= n && strncasecmp(text, with, n) == 0;
}

/* Behind a mark ("Bearer "), the secret itself; *ret_kept is the mark. 0: none is here. */
static size_t
marked(const char *text, size_t length, size_t *ret_kept)
{
    static const struct {
        const char *mark,
            *also;    /* also: what such a secret has besides letters, digits */
        bool is_part; /* the mark itself belongs to it */
    } marks[] = {
        {"Bearer ", "-._~+/=", false},
        {"Basic ", "+/=", false},
        {"DPoP ", "-._~+/=", false},
        {"access_token=", "-._~+/=%", false},
        {"refresh_token=", "-._~+/=%", false},
        {"client_secret=", "-._~+/=%", false},
        {"password=", "-._~+/=%!*", false},
        {"api_key=", "-._~+/=%", false},
        {"sk-", "-_", true},
        {"ghp_", "_", true},
        {"gho_", "_", true},
        {"ghs_", "_", true},
        {"github_pat_", "_", true},
        {"glpat-", "-_", true},
        {"xoxb-", "-", true},
        {"xoxp-", "-", true},
        {"AKIA", "", true},
        {"eyJ", "-_.", true},
    };

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        size_t n = strlen(marks[i].mark), rest;

        if (!begins(text, length, marks[i].mark))
            continue;
        rest = span(text + n, length - n, marks[i].also);
        if (rest < (marks[i].is_part ? 2 * LEAST : LEAST))
            continue;
        *ret_kept = marks[i].is_part ? 0 : n;
        return n + rest;
    }
    return 0;
}

/* "-----BEGIN ... PRIVATE KEY-----" and all behind it. */
static size_t
private_key(const char *text, size_t length)
{
    static const char end[] = "PRIVATE KEY-----";

    if (!begins(text, length, "-----BEGIN "))
        return 0;
    for (size_t i = 0; i + sizeof(end) - 1 <= length && i < 64; i++) {
        if (strncmp(text + i, end, sizeof(end) - 1) == 0)
            return length;
    }
    return 0;
}

/* "://name:password@": from the colon on. *ret_kept: up to the password. */
static size_t
user_of_url(const char *text, size_t length, size_t *ret_kept)
{
    size_t n, colon = 0;

    if (!begins(text, length, "://"))
        return 0;
    for (n = 3; n < length && !strchr("/?#\"' \t\n", text[n]) && text[n] != '@'; n++) {
        if (text[n] == ':' && colon == 0)
            colon = n;
    }
    if (n >= length || text[n] != '@' || colon == 0)
        return 0;
    *ret_kept = colon + 1;
    return n;
}

void
cli_secret_add(struct cli_text *into, const char *text, size_t length)
{
    size_t from = 0, i = 0, shown, n;
    bool inside = false; /* a word, where no secret begins */

    pthread_mutex_lock(&kept.lock);
    while (i < length) {
        shown = 0;
        n = known(text + i, length - i, i == 0);
        if (n == 0 && !inside)
            n = marked(text + i, length - i, &shown);
        if (n == 0)
            n = private_key(text + i, length - i);
        if (n == 0)
            n = user_of_url(text + i, length - i, &shown);
        if (n == 0) {
            inside = isalnum((unsigned char)text[i]);
            i++;
            continue;
        }
        cli_text_add(into, text + from, i + shown - from);
        cli_text_puts(into, CLI_HIDDEN);
        i += n;
        from = i;
    }
    pthread_mutex_unlock(&kept.lock);
    cli_text_add(into, text + from, length - from);
}

/* ---- JSON ---------------------------------------------------------------------- */

static void
build_text(mcp_builder *b, const char *key, const mcp_json *value)
{
    struct cli_text text = {0};

    cli_secret_add(&text, mcp_json_string(value, ""), mcp_json_string_length(value));
    mcp_builder_string_n(b, key, cli_text_string(&text), text.length);
    cli_text_done(&text);
}

/* The parser has bounded how deep this goes. */
static void
build(mcp_builder *b, const char *key, const mcp_json *value, bool secret)
{
    enum mcp_json_type type = mcp_json_get_type(value);
    mcp_json_iterator it;

    if (type == MCP_JSON_OBJECT) {
        mcp_builder_begin_object(b, key);
        for (it = mcp_json_each(value); mcp_json_next(&it);) {
            const char *name = mcp_json_string(it.key, "");

            build(b, name, it.value, cli_secret_is_name(name));
        }
        mcp_builder_end(b);
    } else if (type == MCP_JSON_ARRAY) {
        mcp_builder_begin_array(b, key);
        for (it = mcp_json_each(value); mcp_json_next(&it);)
            build(b, NULL, it.value, secret);
        mcp_builder_end(b);
    } else if (secret && (type == MCP_JSON_STRING || type == MCP_JSON_INTEGER ||
                          type == MCP_JSON_REAL)) {
        mcp_builder_string(b, key, CLI_HIDDEN);
    } else if (type == MCP_JSON_STRING) {
        build_text(b, key, value);
    } else {
        mcp_builder_value(b, key, value);
    }
}

void
cli_secret_add_json(struct cli_text *into, const mcp_json *value)
{
    mcp_builder *b = mcp_builder_new(NULL);
    const char *text;
    size_t length;

    build(b, NULL, value, false);
    text = mcp_builder_text(b, &length);
    if (text)
        cli_text_add(into, text, length);
    else
        cli_text_puts(into, "(too large to be shown)");
    mcp_builder_free(b);
}
