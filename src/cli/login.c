/* login.c - who we are over HTTP: kept tokens, and signing in */
#include "cli/login.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/login_record.h"
#include "cli/state.h"
#include "cli/target.h"
#include "cli/text.h"

#define SECRET_MAX 4096 /* bytes of a client's secret; they are much shorter */

struct cli_auth {
    struct cli *cli;
    struct cli_login_record record; /* how to sign in */
    mcp_auth_options options;
    mcp_auth_browser *browser;
    mcp_token_keep *keep;
    mcp_token_store forgetful; /* --logout */
    char *path;
    char *secret;
};

static bool
has_authorization(const char *const *headers)
{
    for (; headers && *headers; headers++) {
        if (strncasecmp(*headers, "Authorization:", 14) == 0)
            return true;
    }
    return false;
}

/* ---- the user's part ------------------------------------------------------------ */

static void
on_url(void *user, const char *url)
{
    struct cli *cli = user;
    struct cli_text text = {0};

    cli_text_add_harmless(&text, url, strlen(url), true);
    cli_note(&cli->say, "to sign in, open %s", cli_text_string(&text));
    cli_text_done(&text);
}

static int
browser_make(struct cli_auth *auth, mcp_error *err)
{
    static const char *const none[] = {NULL};
    const struct cli_options *said = &auth->cli->options;
    mcp_auth_browser_options opt = MCP_AUTH_BROWSER_OPTIONS(.port = (int)said->port,
                                                            .on_url = on_url,
                                                            .user = auth->cli);

    if (said->port > 65535) {
        *err = (mcp_error){.status = MCP_E_INVAL, .message = "--port is at most 65535"};
        return MCP_E_INVAL;
    }
    if (said->no_browser)
        opt.command = none;
    return mcp_auth_browser_new(&opt, &auth->browser, err);
}

/* One line of a file, so that it is in no list of processes. */
static int
secret_read(struct cli_auth *auth, const char *path, mcp_error *err)
{
    FILE *file = fopen(path, "re");
    size_t n;

    auth->secret = calloc(1, SECRET_MAX);
    if (file && auth->secret) {
        n = fread(auth->secret, 1, SECRET_MAX - 1, file);
        auth->secret[strcspn(auth->secret, "\r\n")] = '\0';
        if (n > 0 && auth->secret[0] != '\0') {
            fclose(file);
            return 0;
        }
    }
    *err = (mcp_error){.status = MCP_E_INVAL};
    (void)snprintf(err->message, sizeof(err->message), "no secret in %s%s%s", path,
                   file ? "" : ": ", file ? "" : strerror(errno));
    if (file)
        fclose(file);
    return MCP_E_INVAL;
}

/* ---- forgetting ------------------------------------------------------------------ */

/* What a client asks its store for is what it would use: that is forgotten. */
static int
forget_load(void *self, const char *key, char **ret_text)
{
    const mcp_token_store *kept = mcp_token_keep_interface(self);

    *ret_text = NULL;
    return kept->save(kept->self, key, NULL);
}

static int
forget_save(void *self, const char *key, const char *text)
{
    (void)self;
    (void)key;
    (void)text;
    return 0;
}

/* ---- the interface -------------------------------------------------------------- */

static int
store_open(struct cli_auth *auth, bool sign_in, mcp_error *err)
{
    auth->path = cli_state_path("tokens.json");
    if (!auth->path) {
        *err = (mcp_error){.status = MCP_E_INVAL,
                           .message = "there is no home to keep tokens in: set HOME"};
        return MCP_E_INVAL;
    }
    if (!sign_in && access(auth->path, F_OK) != 0)
        return 0; /* nobody has ever signed in */
    return mcp_token_keep_file(NULL, auth->path, &auth->keep, err);
}

static char *
copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

/* The secret's file by a path that is good in any folder. */
static void
record_fill(struct cli_auth *auth)
{
    const struct cli_options *said = &auth->cli->options;

    auth->record = (struct cli_login_record){
        .client_id = copy_of(said->client_id),
        .secret_file = said->client_secret_file
                           ? realpath(said->client_secret_file, NULL)
                           : NULL,
        .scope = copy_of(said->scope),
        .client_credentials = said->client_credentials,
        .dpop = said->dpop,
    };
    if (said->client_secret_file && !auth->record.secret_file)
        auth->record.secret_file = strdup(said->client_secret_file);
}

static int
options_fill(struct cli_auth *auth, bool sign_in, mcp_error *err)
{
    const struct cli_login_record *record = &auth->record;
    bool logout = auth->cli->options.logout;
    mcp_auth_options *opt = &auth->options;
    int r = 0;

    if (record->secret_file)
        r = secret_read(auth, record->secret_file, err);
    if (r == 0 && sign_in && !logout && !record->client_credentials)
        r = browser_make(auth, err);
    if (r < 0)
        return r;
    *opt = MCP_AUTH_OPTIONS(.grant = record->client_credentials ? MCP_GRANT_CLIENT
                                                                : MCP_GRANT_CODE,
                            .client_id = record->client_id,
                            .client_secret = auth->secret, .scope = record->scope,
                            .dpop = record->dpop, .client_name = "mcpctl",
                            .no_registration = !sign_in || logout);
    if (auth->browser)
        opt->agent = mcp_auth_browser_interface(auth->browser);
    if (auth->keep)
        opt->store = mcp_token_keep_interface(auth->keep);
    if (auth->keep && logout) {
        auth->forgetful = MCP_TOKEN_STORE(.load = forget_load, .save = forget_save,
                                          .self = auth->keep);
        opt->store = &auth->forgetful;
    }
    return 0;
}

int
cli_auth_new(struct cli *cli, const char *url, bool sign_in,
             mcp_http_client_options *http, struct cli_auth **ret_auth)
{
    struct cli_auth *auth;
    mcp_error err = {0};
    int r = 0;

    if (has_authorization(http->headers) || (cli->options.no_store && !sign_in))
        return CLI_OK;
    auth = calloc(1, sizeof(*auth));
    if (!auth)
        return cli_fail_with(cli, CLI_OTHER, "out of memory");
    auth->cli = cli;
    *ret_auth = auth;
    if (sign_in && !cli->options.logout)
        record_fill(auth);
    else
        cli_login_record_load(url, &auth->record);
    if (!cli->options.no_store)
        r = store_open(auth, sign_in, &err);
    if (r == 0 && (sign_in || auth->keep)) {
        r = options_fill(auth, sign_in, &err);
        http->auth = &auth->options;
    }
    return r == 0 ? CLI_OK : cli_fail_as(cli, &err, CLI_OTHER);
}

void
cli_auth_remember(struct cli_auth *auth, const char *url)
{
    if (auth && auth->keep && !cli_login_record_save(url, &auth->record))
        cli_note(&auth->cli->say, "how you signed in cannot be kept");
}

void
cli_auth_free(struct cli_auth *auth)
{
    if (!auth)
        return;
    mcp_auth_browser_free(auth->browser);
    mcp_token_keep_free(auth->keep);
    cli_login_record_done(&auth->record);
    if (auth->secret)
        explicit_bzero(auth->secret, SECRET_MAX);
    free(auth->secret);
    free(auth->path);
    free(auth);
}

/* The client asks for what is kept when it meets the server, and finds nothing: that it is
 * refused then is what was to be expected. */
static int
forget_for(struct cli *cli, const char *url)
{
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "mcpctl",
                                                     .version = mcp_version(),
                                                     .scope = cli->scope);
    mcp_http_client_options http = MCP_HTTP_CLIENT_OPTIONS(
            .tls_ca_file = cli->options.ca, .tls_no_verify = cli->options.insecure);
    struct cli_auth *auth = NULL;
    mcp_client *client = NULL;
    mcp_error err = {0};
    int code = cli_auth_new(cli, url, true, &http, &auth);

    if (code == CLI_OK && mcp_client_connect_http(url, &http, &me, &client, &err) < 0 &&
        cli_exit_of(&err) != CLI_AUTH)
        code = cli_fail_as(cli, &err, CLI_UNREACHABLE);
    mcp_client_free(client);
    cli_auth_free(auth);
    (void)cli_login_record_save(url, NULL);
    if (code == CLI_OK)
        cli_note(&cli->say, "what was kept for %s is forgotten", url);
    return code;
}

int
cli_logout(struct cli *cli, const char *word)
{
    struct cli_target target = {0};
    int code = cli_target_get(cli, word, &target);

    if (code != CLI_OK)
        return code;
    if (target.kind == CLI_TARGET_URL)
        code = forget_for(cli, target.url);
    else
        code = cli_fail_with(cli, CLI_OTHER, "only servers over HTTP have tokens");
    cli_target_done(&target);
    return code;
}
