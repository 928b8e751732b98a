/* command_login_test.c - mcpctl login: sign in to a server, and keep what it gives */
#include <sys/stat.h>

#include "cli/guarded.h"

static char tokens[256];

/* As a user: mcpctl shows a page, which is opened; that leads back to mcpctl. */
static struct ran
sign_in_for(const char *url, const char *scope)
{
    const char *const words[] = {"login", url, "--no-browser", scope ? "--scope" : NULL,
                                 scope,   NULL};
    struct running running = start_mcpctl(words, NULL);
    char page[4096];

    (void)running_until(running.err, "to sign in, open ");
    (void)snprintf(page, sizeof(page), "%s", running_until(running.err, "\n"));
    page[strcspn(page, "\n")] = '\0';
    (void)fetch_location(fetch_location(page));
    return running_end(&running);
}

static struct ran
sign_in(const char *url)
{
    return sign_in_for(url, NULL);
}

static void
without_a_sign_in_it_is_3_and_says_what_to_do(void **state)
{
    struct guarded guarded;

    (void)state;
    guarded_start(&guarded);
    CHECK_RAN(3, "", "to sign in: mcpctl login http://127.0.0.1:", "tools",
              guarded.url);
    CHECK_RAN(3, "", "\"exit\":3", "--json", "tools", guarded.url);
    guarded_stop(&guarded);
}

static void
who_has_signed_in_is_let_in_until_it_is_forgotten(void **state)
{
    struct guarded guarded;
    struct stat stat;
    struct ran ran;

    (void)state;
    guarded_start(&guarded);
    ran = sign_in(guarded.url);
    check_ran(&ran, 0, "{\"signedIn\":true}", "lets us in");
    (void)snprintf(tokens, sizeof(tokens), "%s/.local/state/mcpctl/tokens.json",
                   scratch());
    assert_int_equal(lstat(tokens, &stat), 0);
    assert_int_equal(stat.st_mode & 0777, 0600);
    CHECK_RAN(0, "\"live_handlers\":0", NULL, "call", guarded.url, "stats");
    CHECK_RAN(3, "", NULL, "call", guarded.url, "stats", "--no-store");
    CHECK_RAN(0, NULL, "is forgotten", "login", guarded.url, "--logout");
    CHECK_RAN(3, "", NULL, "call", guarded.url, "stats");
    guarded_stop(&guarded);
}

static void
a_port_that_is_taken_is_said_to_be(void **state)
{
    struct guarded guarded;
    char port[16];

    (void)state;
    guarded_start(&guarded);
    (void)snprintf(port, sizeof(port), "%s", strrchr(guarded.url, ':') + 1);
    port[strcspn(port, "/")] = '\0';
    CHECK_RAN(3, "", "the place to come back to is taken", "login", guarded.url,
              "--no-browser", "--port", port);
    guarded_stop(&guarded);
}

static void
who_needs_more_is_told_what_and_gets_it(void **state)
{
    struct guarded guarded;
    struct ran ran;

    (void)state;
    guarded_start_notes(&guarded);
    ran = sign_in(guarded.url);
    check_ran(&ran, 0, "{\"signedIn\":true}", "lets us in");
    CHECK_RAN(0, "may: notes:read", NULL, "call", guarded.url, "whoami");
    CHECK_RAN(3, "", "a token for \"notes:read notes:write\"", "call", guarded.url,
              "write");
    CHECK_RAN(3, "", " --scope ", "call", guarded.url, "write");
    ran = sign_in_for(guarded.url, "notes:write");
    check_ran(&ran, 0, "{\"signedIn\":true}", "lets us in");
    CHECK_RAN(0, "written", NULL, "call", guarded.url, "write");
    CHECK_RAN(0, NULL, "is forgotten", "login", guarded.url, "--logout");
    guarded_stop(&guarded);
}

static void
a_program_signs_in_by_itself(void **state)
{
    struct guarded guarded;
    const char *secret;

    (void)state;
    guarded_start(&guarded);
    secret = scratch_file("secret", "its-secret\n");
    CHECK_RAN(0, NULL, "lets us in", "login", guarded.url, "--client-credentials",
              "--client-id", "robot", "--client-secret-file", secret);
    CHECK_RAN(0, "\"tools\"", NULL, "tools", guarded.url);
    CHECK_RAN(1, "", "no secret in", "login", guarded.url, "--client-credentials",
              "--client-id", "robot", "--client-secret-file", "/no/such/file");
    guarded_stop(&guarded);
}

static void
no_secret_is_in_a_trace(void **state)
{
    struct guarded guarded;
    struct ran ran;

    (void)state;
    guarded_start(&guarded);
    ran = sign_in(guarded.url);
    ran_done(&ran);
    ran = RUN("--trace", "call", guarded.url, "stats");
    assert_int_equal(ran.code, 0);
    assert_null(strstr(ran.err, "eyJ"));
    assert_null(strcasestr(ran.err, "bearer e"));
    ran_done(&ran);
    guarded_stop(&guarded);
}

/* While the page waits for the user. */
static void
Ctrl_C_ends_it_at_once(void **state)
{
    struct guarded guarded;
    struct running running;
    struct ran ran;

    (void)state;
    guarded_start(&guarded);
    running = start_mcpctl(
        (const char *const[]){"login", guarded.url, "--no-browser", NULL}, NULL);
    (void)running_until(running.err, "to sign in, open ");
    assert_int_equal(kill(running.pid, SIGINT), 0);
    ran = running_end(&running);
    check_ran(&ran, 130, "", "canceled");
    guarded_stop(&guarded);
}

static void
others_than_HTTP_need_none(void **state)
{
    (void)state;
    CHECK_RAN(0, NULL, "nobody signs in there", "login", PROBE);
    CHECK_RAN(1, NULL, "only servers over HTTP", "login", PROBE, "--logout");
}

TEST_MAIN(TEST(without_a_sign_in_it_is_3_and_says_what_to_do),
          TEST(who_has_signed_in_is_let_in_until_it_is_forgotten),
          TEST(a_port_that_is_taken_is_said_to_be),
          TEST(who_needs_more_is_told_what_and_gets_it),
          TEST(a_program_signs_in_by_itself), TEST(no_secret_is_in_a_trace),
          TEST(Ctrl_C_ends_it_at_once), TEST(others_than_HTTP_need_none))
