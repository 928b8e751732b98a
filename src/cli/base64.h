/*
 * base64.h - bytes as text and back, as MCP has images, audio and blobs (RFC 4648)
 */
#ifndef CLI_BASE64_H
#define CLI_BASE64_H

#include "cli/text.h"

/* The bytes, appended to into, which may hold NUL then. Both alphabets are accepted,
 * with padding or without, and line breaks anywhere. False: it is no base64, or no
 * memory (into->failed). */
bool cli_base64_decode(struct cli_text *into, const char *text, size_t length);

/* Their text, with padding, appended. */
void cli_base64_encode(struct cli_text *into, const char *bytes, size_t length);

#endif
