/*
 * support/issuer_program.c - the authorization server of the tests, as a program
 *
 *     test-issuer [OPTION...]      its issuer is the first line on stdout; SIGTERM ends it, or
 *                                  the end of who started it
 *
 *   --port N            instead of any
 *   --path /NAME        its issuer identifier ends so
 *   --scopes "A B"      scopes_supported
 *   --lifetime S        of access tokens, in seconds
 *   --told S            expires_in, if that is to be something else
 *   --documents         takes URLs as client_id
 *   --no-registration
 *   --dpop              no token without a proof;  --nonce  with a nonce
 *   --client ID SECRET  is known without registration
 *   --alg RS256|EdDSA   instead of ES256
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "support/issuer.h"

static bool
read_flag(const char *word, struct issuer_options *opt)
{
    if (strcmp(word, "--documents") == 0)
        opt->takes_documents = true;
    else if (strcmp(word, "--no-registration") == 0)
        opt->no_registration = true;
    else if (strcmp(word, "--dpop") == 0)
        opt->dpop_only = true;
    else if (strcmp(word, "--nonce") == 0)
        opt->dpop_nonce = true;
    else
        return false;
    return true;
}

static bool
read_value(const char *word, const char *value, struct issuer_options *opt)
{
    if (strcmp(word, "--port") == 0)
        opt->port = (int)strtol(value, NULL, 10);
    else if (strcmp(word, "--path") == 0)
        opt->path = value;
    else if (strcmp(word, "--scopes") == 0)
        opt->scopes = value;
    else if (strcmp(word, "--lifetime") == 0)
        opt->lifetime = strtol(value, NULL, 10);
    else if (strcmp(word, "--told") == 0)
        opt->told = strtol(value, NULL, 10);
    else if (strcmp(word, "--alg") == 0)
        opt->alg = strcmp(value, "RS256") == 0 ? ISSUER_RS256 : ISSUER_EDDSA;
    else
        return false;
    return true;
}

/* How many words it has, 0: it is none. */
static int
read_option(char **words, int left, struct issuer_options *opt)
{
    if (read_flag(words[0], opt))
        return 1;
    if (left > 1 && read_value(words[0], words[1], opt))
        return 2;
    if (left < 3 || strcmp(words[0], "--client") != 0)
        return 0;
    opt->client_id = words[1];
    opt->client_secret = words[2];
    return 3;
}

int
main(int argc, char **argv)
{
    struct issuer_options opt = {0};
    struct issuer *issuer;
    sigset_t ends;
    int number;

    for (int at = 1, used; at < argc; at += used) {
        used = read_option(argv + at, argc - at, &opt);
        if (used == 0) {
            fprintf(stderr, "%s: not understood: %s\n", argv[0], argv[at]);
            return 2;
        }
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    issuer = issuer_open(&opt);
    printf("%s\n", issuer_url(issuer));
    fflush(stdout);
    (void)sigwait(&ends, &number);
    issuer_close(issuer);
    return 0;
}
