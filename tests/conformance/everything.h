/*
 * everything.h - what the parts of everything-server share
 *
 * The names of tools, prompts and resources, and the texts they answer with, are those
 * that the official conformance suite looks for.
 */
#ifndef EVERYTHING_H
#define EVERYTHING_H

#include <mcp/server.h>

/* Each adds its part to a server: 0, or a negative status with what is wrong in err. */
int add_tools(mcp_server *server, mcp_error *err);
int add_asking_tools(mcp_server *server, mcp_error *err);
int add_resources(mcp_server *server, mcp_error *err);
int add_prompts(mcp_server *server, mcp_error *err);

/* A picture of one red pixel, as image/png. */
#define PIXEL_BYTES 69
extern const unsigned char pixel_png[PIXEL_BYTES];

#endif
