/*
 * challenge.h - what a server says of who may come in (WWW-Authenticate, RFC 9110 11.6.1)
 *
 * Several challenges may stand in one header, and several headers in an answer. Of those,
 * Bearer and DPoP are ours. Pure.
 */
#ifndef MCPI_AUTH_CHALLENGE_H
#define MCPI_AUTH_CHALLENGE_H

#include <mcp/base.h>

/* Longest value of a parameter that is taken; a longer one counts as not there. */
#define MCPI_CHALLENGE_TEXT_MAX 2048

struct mcpi_challenge {
    bool bearer; /* there was one of that scheme */
    bool dpop;
    /* Of the first challenge of ours that has it, unescaped; "" none. */
    char resource_metadata[MCPI_CHALLENGE_TEXT_MAX];
    char scope[MCPI_CHALLENGE_TEXT_MAX];
    char error[64];
    char description[256]; /* error_description, cleaned for people */
};

/* Add what one header says. What is malformed is passed over up to the next challenge that
 * can be made out; never fails. Zero the challenge before the first. */
void mcpi_challenge_read(struct mcpi_challenge *challenge, const char *value);

#endif
