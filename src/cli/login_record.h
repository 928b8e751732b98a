/*
 * login_record.h - how somebody has signed in to a server, so that other commands do the same
 *
 * In logins.json beside the tokens, mode 0600; no secrets: of a client's secret only the file
 * that it is in.
 */
#ifndef CLI_LOGIN_RECORD_H
#define CLI_LOGIN_RECORD_H

#include <stdbool.h>

/* Texts are its own; NULL: not said. */
struct cli_login_record {
    char *client_id, *secret_file, *scope;
    bool client_credentials, dpop;
};

/* What is known of this URL; all empty if nothing is. */
void cli_login_record_load(const char *url, struct cli_login_record *ret_record);
/* From now on; record NULL: forget it. False: it cannot be kept. */
bool cli_login_record_save(const char *url, const struct cli_login_record *record);
void cli_login_record_done(struct cli_login_record *record);

#endif
