/*
 * http_server.c - a server on a port, for many users: who asks, what it may take, how it
 * stops
 *
 *     make && NOTES_TOKENS=tokens.txt build/bin/example-http-server 8080
 *
 * tokens.txt has lines of a token and a name. Each user has notes of its own. Stop it with
 * SIGTERM: listening ends, running calls may finish, streams end in order.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/http.h>

enum { USERS = 64, NAME = 64 };

static struct user {
    char token[NAME], name[NAME];
    char note[256]; /* under lock */
} users[USERS];
static size_t user_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- who asks ---------------------------------------------------------------------- */

/* Takes equally long for all texts of that length: strcmp would tell a stranger how much
 * of a guessed token is right. */
static bool
is_token(const char *given, const char *token)
{
    size_t length = strlen(token);
    unsigned char differ = 0;

    if (strlen(given) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        differ |= (unsigned char)(given[i] ^ token[i]);
    return differ == 0;
}

static struct user *
find_by_token(const char *given)
{
    for (size_t i = 0; i < user_count; i++)
        if (is_token(given, users[i].token))
            return &users[i];
    return NULL;
}

static struct user *
find_by_name(const char *name)
{
    for (size_t i = 0; i < user_count; i++)
        if (strcmp(users[i].name, name) == 0)
            return &users[i];
    return NULL;
}

static void
identify(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const char *given = mcp_http_header(request, "authorization");
    struct user *who = NULL;

    (void)user;
    if (given && strncmp(given, "Bearer ", 7) == 0)
        who = find_by_token(given + 7);
    if (who)
        mcp_http_allow(ticket, who->name);
    else
        mcp_http_deny(ticket, 401, "Bearer", "a token is needed");
}

/* ---- what it does ------------------------------------------------------------------ */

struct note {
    const char *text;
};

static const mcp_field note_fields[] = {
    MCP_FIELD(struct note, text, MCP_STRING, MCP_REQUIRED, "what to remember"),
    {0},
};

static int
remember(mcp_request *req, mcp_result *out, void *user)
{
    struct user *who = find_by_name(mcp_request_principal(req));
    struct note note;
    int r;

    (void)user;
    r = mcp_request_bind(req, &note);
    if (r < 0 || !who)
        return r < 0 ? r : MCP_E_INVAL;
    pthread_mutex_lock(&lock);
    (void)snprintf(who->note, sizeof(who->note), "%s", note.text);
    pthread_mutex_unlock(&lock);
    return mcp_result_text(out, "I will");
}

static int
recall(mcp_request *req, mcp_result *out, void *user)
{
    struct user *who = find_by_name(mcp_request_principal(req));
    int r;

    (void)user;
    if (!who)
        return MCP_E_INVAL;
    pthread_mutex_lock(&lock);
    r = mcp_result_text(out, who->note[0] ? who->note : "nothing");
    pthread_mutex_unlock(&lock);
    return r;
}

static void
print_log(void *user, enum mcp_log_level level, const char *line)
{
    (void)user, (void)level;
    fprintf(stderr, "%s\n", line);
}

static void
read_users(void)
{
    const char *path = getenv("NOTES_TOKENS");
    FILE *file = path ? fopen(path, "re") : NULL;
    struct user *next = users;

    while (file && next < users + USERS &&
           fscanf(file, "%63s %63s", next->token, next->name) == 2)
        next++;
    user_count = (size_t)(next - users);
    if (file)
        fclose(file);
}

/* ---- how it is served ---------------------------------------------------------------- */

static int
serve(mcp_server *server, int port, mcp_error *err)
{
    const mcp_http_options http = MCP_HTTP_OPTIONS(.port = port, .threads = 2,
                                                   .identify = identify,
                                                   .sessions = 1000,
                                                   .body_bytes = 1 << 20);
    char url[MCP_HTTP_URL_MAX];
    int r;

    r = mcp_server_listen_http(server, &http, url, err);
    if (r < 0)
        return r;
    printf("%s\n", url);
    fflush(stdout);
    return mcp_server_run(server, &MCP_RUN_OPTIONS(.signals = true), err);
}

int
main(int argc, char **argv)
{
    const mcp_server_options options = MCP_SERVER_OPTIONS(
            .name = "notes", .version = "1.0", .on_log = print_log,
            .limit_ms = 60000, /* of any call */
            .drain_ms = 5000,  /* after SIGTERM, for calls that run */
            .stop_ms = 2000);  /* and then to write what waits */
    mcp_server *server = NULL;
    mcp_error err;
    int r;

    read_users();
    r = mcp_server_new(&options, &server, &err);
    if (r == 0)
        r = mcp_server_add_tool(
            server,
            &MCP_TOOL(.name = "remember", .fields = note_fields, .reply = remember),
            &err);
    if (r == 0)
        r = mcp_server_add_tool(server, &MCP_TOOL(.name = "recall", .reply = recall),
                                &err);
    if (r == 0)
        r = serve(server, argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0, &err);
    if (r < 0)
        fprintf(stderr, "notes: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
