/* command_login.c - mcpctl login: sign in to a server, and keep what it gives */
#include "cli/login.h"
#include "cli/session.h"

static int
run(struct cli *cli, int argc, char **argv)
{
    const struct cli_session_wish wish = {.sign_in = true};
    struct cli_session session;
    int code;

    (void)argc;
    if (cli->options.logout)
        return cli_logout(cli, argv[0]);
    code = cli_session_open(cli, argv[0], &wish, &session);
    if (code != CLI_OK)
        return code;
    if (session.target.kind != CLI_TARGET_URL)
        cli_note(&cli->say,
                 "this server is not reached over HTTP: nobody signs in there");
    else
        cli_note(&cli->say, "%s lets us in", session.target.url);
    if (cli->json)
        (void)cli_printf(cli, "{\"signedIn\":true}\n");
    cli_session_close(&session);
    return CLI_OK;
}

#define AT(member) offsetof(struct cli_options, member)

static const struct cli_option options[] = {
    {"client-id", "ID", NULL, CLI_TEXT, AT(client_id),
     "Who we are, if that was agreed on with the server before"},
    {"client-secret-file", "FILE", NULL, CLI_TEXT, AT(client_secret_file),
     "File whose first line is the secret that belongs to the client id"},
    {"client-credentials", NULL, NULL, CLI_FLAG, AT(client_credentials),
     "The program signs in itself, without a user"},
    {"scope", "SCOPES", NULL, CLI_TEXT, AT(scope),
     "What to ask for besides what the server wants, blanks between"},
    {"dpop", NULL, NULL, CLI_FLAG, AT(dpop), "Ask for tokens that are bound to a key"},
    {"port", "N", NULL, CLI_COUNT, AT(port),
     "Port on which the browser comes back; any free one unless said"},
    {"no-browser", NULL, NULL, CLI_FLAG, AT(no_browser),
     "Only show the page to open, do not open it"},
    {"logout", NULL, NULL, CLI_FLAG, AT(logout), "Forget what is kept for this server"},
    {0},
};

const struct cli_command cli_command_login = {
    .name = "login",
    .arguments = "TARGET",
    .summary = "Sign in to a server over HTTP (OAuth), and keep its tokens",
    .text =
        "Finds out who gives out tokens for this server, registers if it must, opens a "
        "browser, and waits until the user has signed in. Tokens are kept in a file "
        "that only the user can read; all other commands use and renew them. A command "
        "that needs a sign-in and has none exits with 3.",
    .examples = "mcpctl login https://example.com/mcp\n"
                "mcpctl login https://example.com/mcp --client-credentials "
                "--client-id me --client-secret-file secret.txt\n",
    .options = options,
    .least = 1,
    .most = 1,
    .words = {CLI_WORD_TARGET},
    .run = run,
};
