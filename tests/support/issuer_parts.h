/*
 * support/issuer_parts.h - what the files of the issuer share; for them only
 *
 *   issuer.c         the thread, what tests ask of it
 *   issuer_http.c    connections and requests
 *   issuer_pages.c   documents, registration, signing in
 *   issuer_client.c  who asks at the token endpoint
 *   issuer_grant.c   what for
 *   issuer_key.c     keys, and what is signed with them
 *
 * Everything is under the issuer's lock; only poll waits without it.
 */
#ifndef TESTS_SUPPORT_ISSUER_PARTS_H
#define TESTS_SUPPORT_ISSUER_PARTS_H

#include <mcp/json.h>
#include <pthread.h>

#include "auth/key.h"
#include "support/issuer.h"

enum { CONNECTIONS_MAX = 128, ANSWERS_MAX = 16, URL_ROOM = 256, WORD_ROOM = 64 };

/* A parameter of a query or form, decoded. */
struct pair {
    struct pair *next;
    char *name, *value; /* one block, name's */
};

/* A request, kept until the end. */
struct record {
    struct record *next;
    char *method, *path, *query; /* one block, method's */
    char *head;                  /* lines, each with CRLF */
    char *body;
    struct pair *params;
};

struct reply {
    const char *status;
    const char *type;
    struct mcpi_buf fields, body;
    bool endless;
};

struct connection {
    int fd; /* -1: free */
    struct mcpi_buf in, out;
    size_t sent;  /* of out */
    bool held;    /* out waits */
    bool endless; /* out is filled again */
};

/* Who registered. */
struct client {
    struct client *next;
    char id[WORD_ROOM], secret[WORD_ROOM], method[WORD_ROOM];
    mcp_doc *doc; /* what it said of itself */
};

struct name {
    struct name *next;
    char text[];
};

/* What somebody was allowed: a code, then refresh tokens, one after the other. */
struct grant {
    struct grant *next;
    char *client_id, *redirect_uri, *challenge, *scope, *resource;
    char code[WORD_ROOM];               /* "": none */
    char refresh[WORD_ROOM];            /* the one that counts; "": none */
    char jkt[MCPI_KEY_THUMBPRINT_SIZE]; /* that refresh tokens are bound to; "": none */
    struct name *old;                   /* refresh tokens that counted once */
    bool used;                          /* the code */
    bool dead;
};

struct signer {
    struct mcpi_key *key;
    char kid[WORD_ROOM];
};

struct issuer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* records, left */
    int fd, wake;
    bool closing;
    char origin[URL_ROOM], url[URL_ROOM];
    struct issuer_options opt;

    struct connection connections[CONNECTIONS_MAX];
    struct record *records, **records_end;
    size_t left; /* clients, before their answer */
    struct issuer_answer answers[ANSWERS_MAX];
    size_t answer_count;
    const char *held; /* path, or NULL */

    struct client *clients;
    struct grant *grants;
    struct name *names; /* that are good once: jti */
    unsigned serial;    /* of all that needs a number */
    char nonce[WORD_ROOM];
    struct signer keys[4]; /* the first one signs */
    size_t key_count;
    struct issuer_counts counts;
};

/* ---- issuer.c --------------------------------------------------------------------- */

/* Ends the program, with a word: nothing can be tested like that. */
void issuer_must(bool is_so, const char *what);
char *text_copy(const char *text);                    /* NULL: NULL */
void text_buf(struct mcpi_buf *buf);                  /* an empty one, of malloc */
bool path_is(const char *path, const char *wanted);   /* with '*' */
bool word_is_in(const char *words, const char *word); /* blanks between */
bool words_are_in(const char *set, const char *words);
void name_add(struct name **list, const char *text);
void names_free(struct name *name);
/* A word that nobody can guess. */
void word_make(struct issuer *issuer, const char *kind, char *ret_word);
int64_t issuer_now(const struct issuer *issuer); /* s */

/* ---- issuer_http.c ---------------------------------------------------------------- */

void connection_open(struct issuer *issuer, int fd);
void connection_close(struct connection *connection);
short connection_events(const struct connection *connection);
/* Something can be done with it. */
void connection_turn(struct issuer *issuer, struct connection *connection,
                     short events);

/* The first one of that name; NULL: none. */
const char *record_param(const struct record *record, const char *name);
/* A header, in a buffer of this thread. */
const char *record_header(const struct record *record, const char *name);
void records_free(struct record *record);

void reply_json(struct reply *reply, const char *status, mcp_builder *take_builder);
void reply_error(struct reply *reply, const char *status, const char *error,
                 const char *why);
/* Decodes in place, '+' too. */
void form_decode(char *text);

/* ---- issuer_pages.c, issuer_grant.c ------------------------------------------------- */

/* Writes the answer to a request. */
void page_answer(struct issuer *issuer, const struct record *record,
                 struct reply *reply);
void token_answer(struct issuer *issuer, const struct record *record,
                  struct reply *reply);
void grants_free(struct grant *grant);
void form_write(struct mcpi_buf *into, const char *name, const char *value);

/* ---- issuer_client.c ---------------------------------------------------------------- */

/* Is this client known, and may it be sent back there? */
bool client_may_go(const struct issuer *issuer, const char *id, const char *uri);
struct client *client_add(struct issuer *issuer, mcp_doc *take_doc);
void clients_free(struct client *client);
/* Who asks, proven as it should be: its id, in a buffer of this thread. NULL: why says
 * what is wrong. */
const char *client_prove(struct issuer *issuer, const struct record *record,
                         const char **ret_why);

/* ---- issuer_key.c ------------------------------------------------------------------- */

void key_add(struct issuer *issuer); /* in front */
void keys_drop(struct issuer *issuer, size_t from);
void keys_write(struct issuer *issuer, struct mcpi_buf *into);
/* Freed by the caller. */
char *claims_sign(struct issuer *issuer, const char *typ, const char *claims);

struct token {
    const char *client_id, *scope, *resource,
        *jkt; /* scope and jkt: NULL or "": none */
};
char *token_sign(struct issuer *issuer, const struct token *token);

/* The claims of a JWT that this issuer or the one it trusts signed, and that is alive and meant
 * for this audience (NULL: any); NULL: it is none. typ NULL: any. Freed by the caller. */
mcp_doc *claims_of(struct issuer *issuer, const char *text, const char *typ,
                   const char *audience);
/* Is text a private_key_jwt of this client? */
bool assertion_is_good(struct issuer *issuer, const char *text, const char *client_id);
/* Has nobody used this name before? It is used now. */
bool name_is_new(struct issuer *issuer, const char *name);

/* The proof of a token request. NULL: good, and ret_jkt is written, "" if there is none
 * and none is needed; else the error to answer with. */
const char *proof_fault(struct issuer *issuer, const struct record *record,
                        char *ret_jkt);

#endif
