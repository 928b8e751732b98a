/*
 * support/wire.h - messages that tests put on a wire, kept for the schema check
 *
 * Each message is one line of the file that MCP_TEST_WIRE names: who sent it, which
 * version its peer had agreed to, the text. scripts/run-tests validates them all
 * against the protocol's schemas when the programs have run (tests/checks/wire.py).
 */
#ifndef TESTS_SUPPORT_WIRE_H
#define TESTS_SUPPORT_WIRE_H

#include "core/peer.h"

/* Messages kept of one program; random tests say the same very often. */
#define WIRE_RECORD_MAX 20000

/* Keep one that an engine issued. conversation: a number of which both sides are
 * recorded, so that an answer can be told by its request; 0: only one side is.
 * version NULL: none agreed yet. */
void wire_record(unsigned conversation, const struct mcpi_peer *sender,
                 const char *version, const char *text, size_t len);

/* The same for one engine on its own, as its trace function. */
void wire_trace(void *user, struct mcpi_peer *sender, const char *text, size_t len);

/* Keep one that a test injected, if it is a request: it is not judged, but its answer is. */
void wire_record_injected(unsigned conversation, enum mcpi_role from, const char *text);

/* Off while a test makes an engine send what its user has spelled wrong. */
void wire_recording(bool on);

#endif
